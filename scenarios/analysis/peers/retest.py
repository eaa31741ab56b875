"""The suspects, measured again beside peers: who stays out is named, with an interval.

What made a node a suspect is not counted again: the estimate is of the retests alone, so the chance that picked it is
no part of it. In each round a suspect's measure stands against the median of the peers that ran beside it. The spread
is that of the screen's nodes and of the peers, so it holds what nodes of one kind differ by anyway. An interval is 95 %
over all suspects, measures and rounds together (Bonferroni), and the project's one rule decides on it.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import TypeAlias

import msgspec

from hostdx.scenarios.analysis.peers.node import PeerNode
from hostdx.scenarios.analysis.peers.screen import PeerCheck
from hostdx.scenarios.contract.verdict.verdict import (
    NOT_YET,
    OPEN,
    EffectEstimate,
    Judged,
    Word,
    margin_edge,
    ratio_of,
    rule_on_effect,
)
from hostdx.scenarios.experiment.statistics.distributions import t_quantile

FAMILY_ERROR = 0.05
# Of retests behind a name, out in each; of more in all but one: one wild value names nobody.
MIN_ROUNDS = 3
MAX_ROUNDS = 4
_MIN_PEERS = 3  # peers in a round, for its median
_MEDIAN = math.pi / 2  # a median's variance over a mean's, of normal values

Round: TypeAlias = Mapping[str, PeerNode]  # what a round of retests measured, by node


class RetestedMeasure(msgspec.Struct, Judged, frozen=True, kw_only=True):
    """A suspect in one measure after its retests. `ratio` to its peers, under 1 is worse; `ci95` as told above.

    `verdict` is `not measured` while no round has it, and `inconclusive` with fewer rounds than a name needs.
    """

    node: str
    column: int  # place in the screen's columns
    verdict: Word
    screened: float  # ratio at the screen
    rounds: int = 0
    ratio: float | None = None
    ci95: tuple[float, float] | None = None
    half: float = 0.0  # of the interval, in logs

    @property
    def log_distance(self) -> float:
        """Return how far from its peers, in logs: at the screen, as long as no retest has it."""
        return abs(math.log(self.ratio if self.ratio is not None else self.screened))


def suspect_standings_by_measure(screened: PeerCheck, rounds: Sequence[Round]) -> tuple[RetestedMeasure, ...]:
    """Of every suspect in each measure that it is suspected in."""
    pairs = [(name, place) for name, places in screened.suspects.items() for place in places]
    level = FAMILY_ERROR / max(1, len(pairs)) / (MAX_ROUNDS - MIN_ROUNDS + 1)
    spreads = {
        place: _variance_and_freedom(screened, place, rounds) for place in {place for _, place in pairs}
    }
    return tuple(
        _suspect_standing_in_measure(screened, n, place, rounds, spreads[place], level) for n, place in pairs
    )


def next_suspects(
    screened: PeerCheck, rounds: Sequence[Round], silent: Collection[str] = ()
) -> tuple[str, ...]:
    """Who is to be measured again in the next round, the farthest off first; nobody: it is decided, or ends undecided.

    Half as many as in the round before, more only where more are off by what matters. Before the first: all suspects.
    `silent`: who was asked in the last round and did not answer is asked again.
    """
    if not rounds:
        return tuple(screened.suspects)
    if len(rounds) >= MAX_ROUNDS:
        return ()
    before = [name for name in screened.suspects if name in rounds[-1] or name in silent]
    far: dict[str, float] = {}
    for standing in _standings_to_retest(screened, rounds):
        if standing.node in before:
            far[standing.node] = max(far.get(standing.node, 0.0), standing.log_distance)
    beyond = sum(off > margin_edge(screened.margin) for off in far.values())
    return tuple(sorted(far, key=lambda name: -far[name])[: max(beyond, (len(before) + 1) // 2)])


def loads_to_retest(screened: PeerCheck, rounds: Sequence[Round], names: Sequence[str]) -> set[str]:
    """The ids of the loads in which one of these suspects is still to be measured again."""
    left = (
        {(standing.node, standing.column) for standing in _standings_to_retest(screened, rounds)}
        if rounds
        else None
    )
    return {
        screened.columns[place].key.workload
        for name in names
        for place in screened.suspects[name]
        if left is None or (name, place) in left
    }


def _standings_to_retest(screened: PeerCheck, rounds: Sequence[Round]) -> list[RetestedMeasure]:
    return [
        standing
        for standing in suspect_standings_by_measure(screened, rounds)
        if standing.log_distance > margin_edge(screened.margin) / 2
        and not (standing.is_decided and standing.rounds >= MIN_ROUNDS)
    ]


def _log_distances_of_peers(screened: PeerCheck, place: int, nodes: Round) -> list[float]:
    """Return how far a round's peers lie from their centre at the screen: who is suspected in another measure is one
    too.
    """
    column = screened.columns[place]
    return [
        node.logs[column.key] - column.centre_of(name)
        for name, node in nodes.items()
        if name in column.logs and column.key in node.logs and place not in screened.suspects.get(name, ())
    ]


def _variance_and_freedom(screened: PeerCheck, place: int, rounds: Sequence[Round]) -> tuple[float, float]:
    """Of one node's measure: the variance and its degrees of freedom, of the screen's nodes and of the peers."""
    column = screened.columns[place]
    square, freedom = column.spread**2, _freedom_of_mad(len(column.logs))
    total = square * freedom
    for nodes in rounds:
        distances = _log_distances_of_peers(screened, place, nodes)
        if len(distances) >= _MIN_PEERS:
            middle = math.fsum(distances) / len(distances)
            total += math.fsum((log - middle) ** 2 for log in distances)
            freedom += len(distances) - 1
    return max(total / freedom, square), freedom


def _freedom_of_mad(nodes: int) -> float:
    """Of a deviation by medians: 37 % of the degrees of freedom that all values would give."""
    return 0.37 * (nodes - 1)


def _suspect_standing_in_measure(
    node_screen: PeerCheck,
    name: str,
    place: int,
    rounds: Sequence[Round],
    spread: tuple[float, float],
    level: float,
) -> RetestedMeasure:
    column = node_screen.columns[place]
    screened = ratio_of(column.log_over_centre(name))
    effects, noise = [], 0.0
    for nodes in rounds:
        distances = _log_distances_of_peers(node_screen, place, nodes)
        if len(distances) >= _MIN_PEERS and name in nodes and column.key in nodes[name].logs:
            level_then = median(distances)
            effects.append(nodes[name].logs[column.key] - column.centre_of(name) - level_then)
            noise += 1 + _MEDIAN / len(distances)
    if not effects:
        return RetestedMeasure(node=name, column=place, verdict=NOT_YET, screened=screened)
    effect, count = math.fsum(effects) / len(effects), len(effects)
    variance, freedom = spread
    half = t_quantile(1 - level / 2, freedom) * math.sqrt(variance * noise) / count
    ruling = rule_on_effect(
        EffectEstimate(effect, effect - half, effect + half, margin_edge(node_screen.margin))
    )
    word = ruling.word
    out = sum(off * effect > 0 and abs(off) > margin_edge(node_screen.margin) for off in effects)
    if count < MIN_ROUNDS or (word.is_different and out < max(MIN_ROUNDS, count - 1)):
        word = OPEN
    return RetestedMeasure(
        node=name, column=place, verdict=word, screened=screened, rounds=count, ratio=ratio_of(effect),
        ci95=(ratio_of(effect - half), ratio_of(effect + half)), half=half,
    )  # fmt: skip
