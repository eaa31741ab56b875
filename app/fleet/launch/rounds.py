"""Retests: the nodes that differ, and peers drawn for them, are measured again until nothing is left to decide."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence

from app.fleet.launch.campaign import Campaign
from app.output import say
from app.recording.sides import takes
from probes.types import Json
from probes.units import counted
from scenarios.option_value import command_arguments
from scenarios.peers.node import Node, measured
from scenarios.peers.retest import Round, following, loads_left
from scenarios.peers.screen import Screen, peers_for, screen
from scenarios.plan import Option, Plan

MARGIN = 0.05


def retested(fleet: Campaign, declared: Sequence[Option], plans: dict[str, Plan]) -> None:
    """`plans` has those of the nodes that measured just now; an earlier start's are asked for when they are needed.

    Only what is still open is measured again, where the scenario can do so and nobody need agree to anything. Nodes
    that began together do so again, all of them: some alone would be another load.
    """
    answered = fleet.answered()
    if not answered or fleet.interrupted:
        return
    found = screen(_nodes(fleet, answered, 0), margin_of(fleet.head.options))
    rounds: list[Round] = []
    chosen = fleet.head.options
    silent: list[str] = []
    while suspects := following(found, rounds, silent):
        number = len(rounds) + 1
        together = fleet.head.together
        names = answered if together else drawn(found, suspects, fleet.head.seed + number)
        if missing := [name for name in fleet.left(names, number) if name not in plans]:
            plans |= fleet.agreed(fleet.plans(missing, command_arguments(chosen), number), number)
        asked = {name: plans[name] for name in names if name in plans}
        loads = set() if together else loads_left(found, rounds, suspects)
        words, fewer = shorter(declared, chosen, loads, asked.values())
        say(
            f"retest {number}: {counted(len(suspects), 'suspect')} beside {counted(len(names) - len(suspects), 'peer')}"
            + (f", {counted(fewer, 'load')}" if fewer else "")
        )
        fleet.measure(number, asked, words, as_planned=not fewer)
        if fleet.interrupted:
            return
        rounds.append({node.name: node for node in _nodes(fleet, fleet.answered(number), number)})
        silent = [name for name in suspects if name not in rounds[-1]]


def shorter(
    declared: Sequence[Option], chosen: Mapping[str, Json], loads: set[str], plans: Collection[Plan]
) -> tuple[list[str], int]:
    """The arguments of a run of these loads alone, with their share of the time, and how many they are.

    Those of the whole, and 0, where the scenario has no such option, or a person would have to agree once more.
    """
    option = next((one for one in declared if one.loads), None)
    every = {load.id for plan in plans for load in plan.workloads}
    if option is None or not loads or not loads < every or any(plan.needs_consent for plan in plans):
        return command_arguments(chosen), 0
    wanted: list[Json] = [*sorted(loads)]
    own: dict[str, Json] = {**chosen, option.name: wanted}
    if isinstance(budget := chosen.get("budget"), int | float):
        own["budget"] = max(1.0, budget * len(loads) / len(every))
    return command_arguments(own), len(loads)


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
