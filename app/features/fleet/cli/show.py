"""`hostdx fleet show`: the app on a folder of many nodes."""

from pathlib import Path

import click

from hostdx.app.cli.look import appearance_options
from hostdx.app.cli.screen import open_screen
from hostdx.app.terminal.failure import USAGE, Failure


@click.command("show", params=appearance_options(), short_help="The app on a folder of many nodes.")
@click.argument("folder", metavar="DIR")
def open_fleet(folder: str, **look: object) -> int:
    """Every node a dot in a strip a measure, and a table to sort and filter (node[001-020]); Enter opens a node's own
    recording. DIR: of a `fleet run`, or of recordings and triages that anything else launched."""
    if not Path(folder).exists():
        raise Failure(f"fleet: {folder}: no such directory", USAGE)
    return open_screen(
        "feature", str(Path(folder).absolute()), look, target="hostdx.app.features.fleet.screen:show_fleet"
    )
