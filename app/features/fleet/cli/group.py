"""`hostdx fleet`: many nodes at once. Each command is a module of its own, imported when it is called for."""

import click

from hostdx.app.cli.lazy_group import LazyGroup

# name -> (module, what its line in --help says); a command that does not work yet is not here
COMMANDS: dict[str, tuple[str, str]] = {
    "run": (
        "hostdx.app.features.fleet.cli.run",
        "Run a scenario on many nodes; measure the outliers again together with peers.",
    ),
    "triage": ("hostdx.app.features.fleet.cli.run", "Check many nodes with every read-only rule."),
    "show": ("hostdx.app.features.fleet.cli.show:open_fleet", "Open the app on a folder of many nodes."),
    "judge": (
        "hostdx.app.features.fleet.cli.judge",
        "Name the outlier from recordings or triages, whatever launched them.",
    ),
}


class FleetCommands(LazyGroup):
    command_modules = COMMANDS


@click.command(
    cls=FleetCommands, short_help="Find the outlier among many nodes, and the setting that differs on it."
)
def fleet() -> None:
    """Find the node that is slower than its peers, and the setting that differs on it."""
