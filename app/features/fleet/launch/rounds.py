"""Retests: the nodes that differ, and peers drawn for them, are measured again until nothing is left to decide."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence

from hostdx.app.features.fleet.launch.campaign import FleetCampaign
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.terminal.output import print_note
from hostdx.probes.types import Json
from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.peers.node import PeerNode, node_of_run
from hostdx.scenarios.analysis.peers.retest import Round, loads_to_retest, next_suspects
from hostdx.scenarios.analysis.peers.screen import PeerCheck, peers_for, screen_nodes
from hostdx.scenarios.contract.option_value import command_arguments
from hostdx.scenarios.contract.plan import Option, Plan

MARGIN = 0.05


def retest_suspects(fleet: FleetCampaign, declared: Sequence[Option], plans: dict[str, Plan]) -> None:
    """`plans` has those of the nodes that measured just now; an earlier start's are asked for when they are
    needed.

    Only what is still open is measured again, where the scenario can do so and nobody need agree to anything. Nodes
    that began together do so again, all of them: some alone would be another load.
    """
    answered = fleet.answered_nodes()
    if not answered or fleet.was_interrupted:
        return
    screened = screen_nodes(_read_nodes(fleet, answered, 0), margin_of_options(fleet.head.options))
    rounds: list[Round] = []
    chosen = fleet.head.options
    silent: list[str] = []
    while suspects := next_suspects(screened, rounds, silent):
        number = len(rounds) + 1
        together = fleet.head.together
        names = (
            answered if together else shuffle_suspects_and_peers(screened, suspects, fleet.head.seed + number)
        )
        if missing := [name for name in fleet.unanswered_nodes(names, number) if name not in plans]:
            plans |= fleet.ask_consents(fleet.fetch_plans(missing, command_arguments(chosen), number), number)
        asked = {name: plans[name] for name in names if name in plans}
        loads = set() if together else loads_to_retest(screened, rounds, suspects)
        words, fewer = short_run_arguments(declared, chosen, loads, asked.values())
        print_note(
            f"retest {number}: {count_noun(len(suspects), 'suspect')} beside "
            f"{count_noun(len(names) - len(suspects), 'peer')}"
            + (f", {count_noun(fewer, 'load')}" if fewer else "")
        )
        fleet.measure_nodes(number, asked, words, as_planned=not fewer)
        if fleet.was_interrupted:
            return
        rounds.append({node.name: node for node in _read_nodes(fleet, fleet.answered_nodes(number), number)})
        silent = [name for name in suspects if name not in rounds[-1]]


def short_run_arguments(
    declared: Sequence[Option], chosen: Mapping[str, Json], loads: set[str], plans: Collection[Plan]
) -> tuple[list[str], int]:
    """The arguments of a run of these loads alone, with their share of the time, and how many they are.

    Those of the whole, and 0, where the scenario has no such option, or a person would have to agree once more.
    """
    option = next((declared_option for declared_option in declared if declared_option.loads), None)
    every = {load.id for plan in plans for load in plan.workloads}
    if option is None or not loads or not loads < every or any(plan.needs_consent for plan in plans):
        return command_arguments(chosen), 0
    wanted: list[Json] = [*sorted(loads)]
    own: dict[str, Json] = {**chosen, option.name: wanted}
    if isinstance(budget := chosen.get("budget"), int | float):
        own["budget"] = max(1.0, budget * len(loads) / len(every))
    return command_arguments(own), len(loads)


def margin_of_options(options: Mapping[str, Json]) -> float:
    margin = options.get("margin")
    return float(margin) if isinstance(margin, int | float) else MARGIN


def shuffle_suspects_and_peers(screened: PeerCheck, suspects: Sequence[str], seed: int) -> list[str]:
    """Suspects and peers in a drawn order: where they run one after another, none comes first for what it is."""
    names = [*suspects, *peers_for(screened, suspects, seed)]
    random.Random(seed).shuffle(names)
    return names


def _read_nodes(fleet: FleetCampaign, names: Iterable[str], round: int) -> list[PeerNode]:
    place = fleet.folder.answer_path
    return [node_of_run(read_run_summaries([place(name, round, recording=True)])[0], name) for name in names]
