"""One node's answer, as small as a judgement needs it: its measures and what hardware it is.

Its facts lie elsewhere (`facts.py`): ten thousand nodes have a million of them, nearly all alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from probes.types import Json
from scenarios.compare.run_summary import FactKey, FigureKey, Load, Take

Hardware: TypeAlias = tuple[tuple[str, str], ...]  # what it is, and which

_STEPS = (
    4  # of memory sizes to a factor of two: 192 and 256 GiB are two, with what the kernel keeps for itself
)
_SHOWN = 80  # characters of a model
_MOST_DEVICES = 24


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """`logs`: of each measure the natural logarithm, turned so that more is better. `findings`: ids of rules.

    `hardware` says which nodes are alike: CPU, memory, disks, network cards. The kernel is no part of it, nor is
    what a setting decides (threads, a link's speed): that may be what is odd.
    """

    name: str
    logs: dict[FigureKey, float] = {}
    hardware: Hardware = ()
    findings: tuple[str, ...] = ()
    looked: bool = False  # the rules were asked: without a finding nothing was wrong


def measured(run: Take, name: str) -> Node:
    """Of a recording, or of another tool's result."""
    logs = {key: figure.log_mean for key, figure in run.figures.items()}
    return Node(name=name, logs=logs, hardware=hardware(run.facts))


def loads_of(run: Take) -> dict[FigureKey, Load]:
    """What each of its measures is called, its unit and direction."""
    return {key: run.loads[key] for key in run.figures}


def hardware(facts: Mapping[FactKey, Json]) -> Hardware:
    """The fingerprint by which nodes are peers; what could not be read is left out."""
    found: list[tuple[str, str]] = []
    model = facts.get(("cpu", "model"))
    if isinstance(model, str):
        sockets = facts.get(("cpu", "sockets"))
        many = f"{sockets} x " if isinstance(sockets, int) and sockets > 1 else ""
        found.append(("CPU", f"{many}{model}"[:_SHOWN]))
    if size := _memory(facts.get(("memory", "total"))):
        found.append(("memory", size))
    disks, cards = [], []
    for (subject, name), value in facts.items():
        kind, _, which = subject.partition(":")
        if kind == "disk" and name == "size" and facts.get((subject, "kind")) == "disk":
            disks.append(
                f"{facts.get((subject, 'model'), facts.get((subject, 'transport'), ''))} {value}"[:_SHOWN]
            )
        elif kind == "nic" and name == "driver" and which:
            cards.append(str(value)[:_SHOWN])
    found += [("disk", one) for one in sorted(disks)[:_MOST_DEVICES]]
    found += [("network card", one) for one in sorted(cards)[:_MOST_DEVICES]]
    return tuple(found)


def _memory(total: Json) -> str:
    """The size of the modules: what Linux shows is some per cent less, a little different with each kernel."""
    if not isinstance(total, int | float) or not total > 0:
        return ""
    steps = math.ceil(math.log2(total / (1 << 30)) * _STEPS)
    return f"{2 ** (steps / _STEPS):.3g} GiB"
