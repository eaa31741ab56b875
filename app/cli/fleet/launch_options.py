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

from app.failure import USAGE, Failure
from app.fleet.folder import SCHEMA, Folder, Head
from app.state import private, state_dir
from probes.types import Json

if TYPE_CHECKING:
    from app.fleet.launch.campaign import Campaign

MOST_FANOUT = 1024
_SECONDS = click.FloatRange(1, 86400)


def where_and_how() -> list[click.Parameter]:
    return [
        click.Option(("--nodes", "-w"), default="", metavar="NODES", help="node[001-200],@group!node7 (ClusterShell)."),
        click.Option(
            ("--rsh",), default="ssh", show_default=True, metavar="COMMAND", help="ssh or srun, or a command like it."
        ),
        click.Option(("--fanout",), type=click.IntRange(1, MOST_FANOUT), default=64, show_default=True,
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


def campaign(scenario: str, options: dict[str, Json], values: Mapping[str, object]) -> Campaign:
    """A new one, or the one to resume. Raises Failure."""
    from app.fleet.launch.campaign import Campaign, Manner
    from app.fleet.launch.engine import expanded
    from app.fleet.launch.parcel import parcel

    named, resume, output, shared = (str(values[name]) for name in ("nodes", "resume", "output", "shared"))
    nodes = expanded(named) if named else []
    if resume and output:
        raise Failure("fleet: give --resume or -o, not both", USAGE)
    if resume:
        folder, head = _resumed(_absolute(resume), scenario, options, nodes)
    elif not nodes:
        raise Failure(
            "fleet: which nodes? -w node[001-200] or -w @group; `nodeset -LL` lists the groups", USAGE
        )
    else:
        folder, head = _new(scenario, options, nodes, output, together=bool(values.get("together")))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a closed terminal does not stop it, as with `hostdx run`
    manner = msgspec.convert({name: value for name, value in values.items() if value is not None}, Manner)
    return Campaign(folder, head, parcel(str(_absolute(shared)) if shared else ""), manner)


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (a Path would keep `..`)


def _new(
    scenario: str, options: dict[str, Json], nodes: Sequence[str], output: str, *, together: bool
) -> tuple[Folder, Head]:
    now = datetime.now(UTC)
    place = (
        _absolute(output) if output else private(state_dir() / "fleets") / f"{now:%Y%m%dT%H%M%SZ}-{scenario}"
    )
    seed = options.get("seed")
    head = Head(
        schema=SCHEMA,
        scenario=scenario,
        nodes=list(nodes),
        seed=int(seed) if isinstance(seed, int | float) else random.SystemRandom().getrandbits(32),
        started=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        options=options,
        together=together,
    )
    return Folder.made(place, head), head


def _resumed(
    place: Path, scenario: str, options: dict[str, Json], nodes: Sequence[str]
) -> tuple[Folder, Head]:
    from app.fleet.launch.engine import sound

    folder = Folder(place)
    head = folder.head()
    if head.scenario != scenario or head.options != options:
        raise Failure(
            f"fleet: {place}: was started as `{head.scenario}` with other options; give the same ones", USAGE
        )
    if nodes and list(nodes) != head.nodes:
        raise Failure(f"fleet: {place}: was started with other nodes; leave out -w", USAGE)
    if not all(map(sound, head.nodes)):
        raise Failure(f"fleet: {place}: names what is no node", USAGE)
    return folder, head
