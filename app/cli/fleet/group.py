"""`hostdx fleet`: many nodes at once. Each command is a module of its own, imported when it is called for."""

import click

from app.cli.lazy_group import LazyGroup

# name -> (module, what its line in --help says); a command that does not work yet is not here
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("app.cli.fleet.run", "Run a scenario on many nodes; measure the odd ones again beside peers."),
    "triage": ("app.cli.fleet.triage", "Check many nodes with every read-only rule."),
    "show": ("app.cli.fleet.show", "Open the app on a folder of many nodes."),
    "judge": (
        "app.cli.fleet.judge",
        "Say which node is odd, from recordings or triages, whatever launched them.",
    ),
}


class FleetCommands(LazyGroup):
    command_modules = COMMANDS


@click.command(cls=FleetCommands, short_help="Many nodes: which is the odd one, and what it alone has.")
def fleet() -> None:
    """Many nodes: which of them is slower than its peers, and which setting it alone has."""
