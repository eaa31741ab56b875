"""Retests: the nodes that differ, and peers drawn for them, are measured again until nothing is left to decide."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from app.fleet.launch.campaign import Campaign
from app.output import say
from app.recording.sides import takes
from probes.types import Json
from probes.units import counted
from scenarios.peers.node import Node, measured
from scenarios.peers.retest import Round, following
from scenarios.peers.screen import Screen, peers_for, screen
from scenarios.plan import Plan

MARGIN = 0.05


def retested(fleet: Campaign, plans: dict[str, Plan], arguments: Sequence[str]) -> None:
    """`plans` has those of the nodes that measured just now; an earlier start's are asked for when they are needed."""
    answered = fleet.answered()
    if not answered or fleet.interrupted:
        return
    found = screen(_nodes(fleet, answered, 0), margin_of(fleet.head.options))
    rounds: list[Round] = []
    while suspects := following(found, rounds):
        number = len(rounds) + 1
        names = drawn(found, suspects, fleet.head.seed + number)
        say(
            f"retest {number}: {counted(len(suspects), 'suspect')} beside {counted(len(names) - len(suspects), 'peer')}"
        )
        if missing := [name for name in fleet.left(names, number) if name not in plans]:
            plans |= fleet.agreed(fleet.plans(missing, arguments, number), number)
        fleet.measure(number, {name: plans[name] for name in names if name in plans}, arguments)
        if fleet.interrupted:
            return
        rounds.append({node.name: node for node in _nodes(fleet, fleet.answered(number), number)})


def margin_of(options: Mapping[str, Json]) -> float:
    margin = options.get("margin")
    return float(margin) if isinstance(margin, int | float) else MARGIN


def drawn(found: Screen, suspects: Sequence[str], seed: int) -> list[str]:
    """Suspects and peers in a drawn order: where they run one after another, none comes first for what it is."""
    names = [*suspects, *peers_for(found, suspects, seed)]
    random.Random(seed).shuffle(names)
    return names


def _nodes(fleet: Campaign, names: Iterable[str], round: int) -> list[Node]:
    place = fleet.folder.place
    return [measured(takes([place(name, round, recording=True)])[0], name) for name in names]
