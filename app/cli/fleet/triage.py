"""`hostdx fleet triage -w NODES`: every read-only rule on many nodes."""

import click

from app.cli.fleet.launch_options import campaign, where_and_how
from app.cli.fleet.outcome import told


@click.command(params=where_and_how())
def triage(**values: object) -> int:
    """Check many nodes with every read-only rule. Needs only Python 3.11 there; writes nothing that stays."""
    from app.fleet.folder import TRIAGE
    from app.fleet.launch.rounds import MARGIN

    fleet = campaign(TRIAGE, {}, values)
    fleet.look()
    return told(fleet, MARGIN)
