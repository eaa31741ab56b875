"""One node's answer, as small as a judgement needs it: its measures and what hardware it is.

Its facts lie elsewhere (`facts.py`): ten thousand nodes have a million of them, nearly all alike.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from hostdx.probes.types import Json
from hostdx.probes.units import format_capacity
from hostdx.scenarios.analysis.compare.run_summary import FactKey, FigureKey, PlannedLoad, RunSummary

Hardware: TypeAlias = tuple[tuple[str, str], ...]  # what it is, and which

_STEPS = 4  # of memory sizes to a factor of two: 192 and 256 GiB are two
_NUMBERED = re.compile(r"(.*?)(\d{1,9})(\D*)", re.DOTALL)
_SHOWN = 80  # characters of a model
_MAX_DEVICES = 24
_MAX_LOG = 200.0  # of a figure: beyond 1e86 of any unit none is one, and a difference of two would overflow


class PeerNode(msgspec.Struct, frozen=True, kw_only=True):
    """`logs`: of each measure the natural logarithm, turned so that more is better. `findings`: ids of rules.

    `hardware_of_facts` says which nodes are alike: CPU, memory, disks, network cards. The kernel is no part of it,
    nor is what a setting decides (threads, a link's speed): that may be what is odd.
    """

    name: str
    logs: dict[FigureKey, float] = {}
    hardware: Hardware = ()
    findings: tuple[str, ...] = ()
    looked: bool = False  # the rules were asked: without a finding nothing was wrong


def node_of_run(run: RunSummary, name: str) -> PeerNode:
    """Of a recording, or of another tool's result."""
    logs = {key: figure.log_mean for key, figure in run.figures.items() if abs(figure.log_mean) <= _MAX_LOG}
    return PeerNode(name=name, logs=logs, hardware=hardware_of_facts(run.facts))


def planned_loads_of(run: RunSummary) -> dict[FigureKey, PlannedLoad]:
    """Return what each of its measures is called, its unit and direction."""
    return {key: run.loads[key] for key in run.figures}


def hardware_of_facts(facts: Mapping[FactKey, Json]) -> Hardware:
    """The fingerprint by which nodes are peers; what could not be read is left out."""
    parts: list[tuple[str, str]] = []
    model = facts.get(("cpu", "model"))
    if isinstance(model, str):
        sockets = facts.get(("cpu", "sockets"))
        many = f"{sockets} x " if isinstance(sockets, int) and sockets > 1 else ""
        parts.append(("CPU", f"{many}{model}"[:_SHOWN]))
    if size := _module_memory_text(facts.get(("memory", "total"))):
        parts.append(("memory", size))
    disks, cards = [], []
    for (subject, name), value in facts.items():
        kind, _, which = subject.partition(":")
        if kind == "disk" and name == "size" and facts.get((subject, "kind")) == "disk":
            model = facts.get((subject, "model"), facts.get((subject, "transport"), ""))
            sold = format_capacity(value) if isinstance(value, int) and 0 < value < 1 << 63 else value
            disks.append(f"{model} {sold}"[:_SHOWN])
        elif kind == "nic" and name == "driver" and which:
            cards.append(str(value)[:_SHOWN])
    parts += [("disk", device_name) for device_name in sorted(disks)[:_MAX_DEVICES]]
    parts += [("network card", device_name) for device_name in sorted(cards)[:_MAX_DEVICES]]
    return tuple(parts)


def _module_memory_text(total: Json) -> str:
    """The size of the modules: what Linux shows is some per cent less, a little different with each kernel."""
    if not isinstance(total, int | float) or not total > 0:
        return ""
    gib = total / (1 << 30)
    step = 2 ** math.floor(math.log2(gib)) / _STEPS
    return f"{math.ceil(gib / step) * step:g} GiB"


def fold_names(names: Sequence[str]) -> str:
    """`gpu3, node[001-012,014]`: names that differ in their last number alone, as ClusterShell and Slurm write them."""
    alike: dict[tuple[str, int, str], list[int]] = {}
    others: list[str] = []
    for name in dict.fromkeys(names):
        parts = _NUMBERED.fullmatch(name)
        if parts is None:
            others.append(name)
        else:
            alike.setdefault((parts[1], len(parts[2]), parts[3]), []).append(int(parts[2]))
    for (before, width, after), numbers in alike.items():
        ranges: list[list[int]] = []
        for number in sorted(numbers):
            if ranges and number == ranges[-1][-1] + 1:
                ranges[-1] = [ranges[-1][0], number]
            else:
                ranges.append([number])
        inside = ",".join("-".join(f"{end:0{width}}" for end in number_range) for number_range in ranges)
        others.append(f"{before}[{inside}]{after}" if len(numbers) > 1 else f"{before}{inside}{after}")
    return ", ".join(sorted(others))
