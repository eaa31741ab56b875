"""`hostdx fleet run SCENARIO -w NODES`: one scenario on many nodes, outliers measured again beside peers."""

import click

from hostdx.app.cli.scenario_command import ScenarioGroup
from hostdx.app.features.fleet.cli.launch_options import (
    launch_parameters,
    make_campaign,
    report_and_get_exit_status,
)
from hostdx.probes.types import Json
from hostdx.scenarios.contract.model import Scenario
from hostdx.scenarios.contract.option_value import command_arguments
from hostdx.scenarios.contract.plan import Option

_PROGRAMS = click.Option(
    ("--programs",),
    is_flag=True,
    help="Each node also asks its programs (zpool, lvs, smartctl, ...): up to 20 s.",
)


@click.command(params=[*launch_parameters(), _PROGRAMS])
def triage(programs: bool, **values: object) -> int:
    """Check many nodes with every read-only rule. Needs only Python 3.11 there; writes nothing that stays."""
    from hostdx.app.features.fleet.folder import TRIAGE
    from hostdx.app.features.fleet.launch.rounds import MARGIN

    fleet = make_campaign(TRIAGE, {"programs": True} if programs else {}, values)
    fleet.triage_nodes(ask_programs=programs)
    return report_and_get_exit_status(fleet, MARGIN)


def _run(scenario: Scenario, _options: tuple[Option, ...], chosen: dict[str, Json], **values: object) -> int:
    from hostdx.app.features.fleet.launch.rounds import margin_of_options, retest_suspects

    if scenario.remembers:
        chosen.pop("state", None)  # a directory of this host's
    fleet = make_campaign(scenario.id, chosen, values)
    words = command_arguments(chosen)
    plans = fleet.ask_consents(fleet.fetch_plans(fleet.unanswered_nodes(fleet.head.nodes, 0), words))
    fleet.measure_nodes(0, plans, words)
    retest_suspects(fleet, scenario.options, plans)
    return report_and_get_exit_status(fleet, margin_of_options(chosen))


def _launch_options() -> list[click.Parameter]:
    return [
        *launch_parameters(),
        click.Option(
            ("--at-once",), type=click.IntRange(1, 1024), default=None,
            help="Nodes that measure at once (default: --fanout; one where the load falls on a shared file system).",
        ),
        click.Option(
            ("--per",), default="", metavar="SOURCE",
            help="A source of groups.conf, such as racks: of each of its groups one node (or --at-once) measures.",
        ),
        click.Option(
            ("--together",), is_flag=True,
            help="All begin at the same time (by their clocks): the sum of what they reach, and each node's share.",
        ),
        click.Option(("--yes", "-y"), is_flag=True, help="Agree to the changes that the nodes' plans list."),
    ]  # fmt: skip


run: click.Group = ScenarioGroup(
    name="run",
    action=_run,
    extra=_launch_options,
    help="Run a scenario on many nodes: their plans first, agreed to in groups; then each measures itself; the ones "
    "that differ are measured again beside peers. Needs only Python 3.11 on the nodes. Ctrl-C ends all runs with their "
    "changes undone; --resume takes the rest up again.",
)
