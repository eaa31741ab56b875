"""`hostdx fleet show`: the app on a folder of many nodes."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.screen import ascii_option, no_mouse_option, open_screen, theme_option
from app.failure import USAGE, Failure


@click.command(short_help="The app on a folder of many nodes.")
@click.argument("folder", metavar="DIR")
@ascii_option
@no_mouse_option
@theme_option
def show(folder: str, ascii_only: bool, no_mouse: bool, theme: str | None) -> int:
    """Every node a dot in a strip a measure, and a table to sort and filter (node[001-020]); Enter opens a node's own
    recording. DIR: of a `fleet run`, or of recordings and triages that anything else launched."""
    if not Path(folder).exists():
        raise Failure(f"fleet: {folder}: no such directory", USAGE)
    return open_screen(
        "fleet", str(Path(folder).absolute()), ascii_only=ascii_only, mouse=not no_mouse, theme=theme
    )
