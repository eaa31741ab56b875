"""`hostdx fleet triage -w NODES`: every read-only rule on many nodes."""

import click

from app.features.fleet.cli.launch_options import launch_parameters, make_campaign
from app.features.fleet.cli.outcome import report_outcome


@click.command(params=launch_parameters())
def triage(**values: object) -> int:
    """Check many nodes with every read-only rule. Needs only Python 3.11 there; writes nothing that stays."""
    from app.features.fleet.folder import TRIAGE
    from app.features.fleet.launch.rounds import MARGIN

    fleet = make_campaign(TRIAGE, {}, values)
    fleet.triage_nodes()
    return report_outcome(fleet, MARGIN)
