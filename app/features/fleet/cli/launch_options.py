"""The options that say which nodes, how they are reached, and where their answers go."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from hostdx.app.features.fleet.folder import SCHEMA, FleetFolder, FleetRunHead
from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import COULD_NOT, INTERRUPTED, USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.probes.types import Json

if TYPE_CHECKING:
    from hostdx.app.features.fleet.launch.campaign import FleetCampaign

MAX_FANOUT = 1024
_SECONDS = click.FloatRange(1, 86400)


def launch_parameters() -> list[click.Parameter]:
    return [
        click.Option(("--nodes", "-w"), default="", metavar="NODES", help="node[001-200],@group!node7 (ClusterShell)."),
        click.Option(
            ("--rsh",), default="ssh", show_default=True, metavar="COMMAND", help="ssh or srun, or a command like it."
        ),
        click.Option(("--fanout",), type=click.IntRange(1, MAX_FANOUT), default=64, show_default=True,
                     help="Connections at once."),
        click.Option(("--python",), default="", metavar="PATH", help="Python on the nodes (default: looked for)."),
        click.Option(("--become",), type=click.Choice(("sudo",)), default=None, help="Run as root there, by sudo -n."),
        click.Option(
            ("--bundle", "shared"),
            default="",
            metavar="PATH",
            help="A bundle on a file system that the nodes share, instead of sending one over each connection.",
        ),
        click.Option(("--connect", "connect_s"), type=_SECONDS, default=10.0, show_default=True, metavar="SECONDS",
                     help="Time for a connection."),
        click.Option(("--most", "most_s"), type=_SECONDS, default=None, metavar="SECONDS",
                     help="Time for a node's answer (default: twice what its plan takes, and five minutes)."),
        click.Option(("--resume",), default="", metavar="DIR", help="Take up this run: its answers stand."),
        click.Option(("--output", "-o"), default="", metavar="DIR", help="Directory of the answers."),
    ]  # fmt: skip


def make_campaign(scenario: str, options: dict[str, Json], values: Mapping[str, object]) -> FleetCampaign:
    """A new one, or the one to resume. Raises Failure."""
    from hostdx.app.features.fleet.launch.campaign import FleetCampaign, LaunchSettings
    from hostdx.app.features.fleet.launch.engine import expand_nodes
    from hostdx.app.features.fleet.launch.errand import make_node_bundle

    node_spec, resume, output, shared = (
        str(values[name]) for name in ("nodes", "resume", "output", "shared")
    )
    nodes = expand_nodes(node_spec) if node_spec else []
    if resume and output:
        raise Failure("fleet: give --resume or -o, not both", USAGE)
    if resume:
        folder, head = _started_folder(_absolute_path(resume), scenario, options, nodes)
    elif not nodes:
        raise Failure(
            "fleet: which nodes? -w node[001-200] or -w @group; `nodeset -LL` lists the groups", USAGE
        )
    else:
        folder, head = _new_folder(scenario, options, nodes, output, together=bool(values.get("together")))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a closed terminal does not stop it, as with `hostdx run`
    manner = msgspec.convert(
        {name: value for name, value in values.items() if value is not None}, LaunchSettings
    )
    return FleetCampaign(
        folder, head, make_node_bundle(str(_absolute_path(shared)) if shared else ""), manner
    )


def _absolute_path(path: str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (a Path would keep `..`)


def _new_folder(
    scenario: str, options: dict[str, Json], nodes: Sequence[str], output: str, *, together: bool
) -> tuple[FleetFolder, FleetRunHead]:
    now = datetime.now(UTC)
    place = (
        _absolute_path(output)
        if output
        else make_private_dir(state_dir() / "fleets") / f"{now:%Y%m%dT%H%M%SZ}-{scenario}"
    )
    seed = options.get("seed")
    head = FleetRunHead(
        schema=SCHEMA,
        scenario=scenario,
        nodes=list(nodes),
        seed=int(seed) if isinstance(seed, int | float) else random.SystemRandom().getrandbits(32),
        started=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        options=options,
        together=together,
    )
    return FleetFolder.make_new(place, head), head


def _started_folder(
    place: Path, scenario: str, options: dict[str, Json], nodes: Sequence[str]
) -> tuple[FleetFolder, FleetRunHead]:
    from hostdx.app.features.fleet.launch.engine import is_node_name

    folder = FleetFolder(place)
    head = folder.read_head()
    if head.scenario != scenario or head.options != options:
        raise Failure(
            f"fleet: {place}: was started as `{head.scenario}` with other options; give the same ones", USAGE
        )
    if nodes and list(nodes) != head.nodes:
        raise Failure(f"fleet: {place}: was started with other nodes; leave out -w", USAGE)
    if not all(map(is_node_name, head.nodes)):
        raise Failure(f"fleet: {place}: names what is no node", USAGE)
    return folder, head


def report_and_get_exit_status(fleet: FleetCampaign, margin: float) -> int:
    """The exit status: 3 where most nodes did not answer. After a stop there is no judgement: `--resume` takes the rest
    up again.
    """
    from hostdx.app.features.fleet.launch.campaign import unanswered_lines

    for line in unanswered_lines(fleet):
        print_note(line)
    print_note(f"answers: {fleet.folder.path}")
    if fleet.was_interrupted:
        print_note(
            f"to measure the rest, give the same options with --resume {fleet.folder.path}, without -o"
        )
        return INTERRUPTED
    if not fleet.answered_nodes():
        return COULD_NOT
    from hostdx.app.features.fleet.reading import read_fleet_answers
    from hostdx.app.features.fleet.report import fleet_document
    from hostdx.app.report.delivery import deliver_document

    document = fleet_document(read_fleet_answers((str(fleet.folder.path),)).judge_answers(margin))
    deliver_document("fleet", None, document, "md")
    return COULD_NOT if 2 * len(fleet.answered_nodes()) < len(fleet.head.nodes) else 0
