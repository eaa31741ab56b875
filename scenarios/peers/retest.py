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

from scenarios.experiment.statistics.distributions import t_quantile
from scenarios.peers.node import Node
from scenarios.peers.screen import Screen
from scenarios.verdict.verdict import (
    NOT_YET,
    OPEN,
    EffectEstimate,
    Judged,
    Word,
    decide,
    margin_edge,
    ratio_of,
)

FAMILY_ERROR = 0.05
# Of retests behind a name, out in each; of more in all but one: one wild value names nobody.
LEAST_ROUNDS = 3
MOST_ROUNDS = 4
_LEAST_BESIDE = 3  # peers in a round, for its median
_MEDIAN = math.pi / 2  # a median's variance over a mean's, of normal values

Round: TypeAlias = Mapping[str, Node]  # what a round of retests measured, by node


class RetestedSuspect(msgspec.Struct, Judged, frozen=True, kw_only=True):
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
    def off(self) -> float:
        """How far from its peers, in logs: at the screen, as long as no retest has it."""
        return abs(math.log(self.ratio if self.ratio is not None else self.screened))


def standings(found: Screen, rounds: Sequence[Round]) -> tuple[RetestedSuspect, ...]:
    """Of every suspect in each measure that it is suspected in."""
    pairs = [(name, place) for name, places in found.suspects.items() for place in places]
    level = FAMILY_ERROR / max(1, len(pairs)) / (MOST_ROUNDS - LEAST_ROUNDS + 1)
    spreads = {place: _spread(found, place, rounds) for place in {place for _, place in pairs}}
    return tuple(_standing(found, name, place, rounds, spreads[place], level) for name, place in pairs)


def following(found: Screen, rounds: Sequence[Round], silent: Collection[str] = ()) -> tuple[str, ...]:
    """Who is to be measured again in the next round, the farthest off first; nobody: it is decided, or ends undecided.

    Half as many as in the round before, more only where more are off by what matters. Before the first: all suspects.
    `silent`: who was asked in the last round and did not answer is asked again.
    """
    if not rounds:
        return tuple(found.suspects)
    if len(rounds) >= MOST_ROUNDS:
        return ()
    before = [name for name in found.suspects if name in rounds[-1] or name in silent]
    far: dict[str, float] = {}
    for one in _open(found, rounds):
        if one.node in before:
            far[one.node] = max(far.get(one.node, 0.0), one.off)
    beyond = sum(off > margin_edge(found.margin) for off in far.values())
    return tuple(sorted(far, key=lambda name: -far[name])[: max(beyond, (len(before) + 1) // 2)])


def loads_left(found: Screen, rounds: Sequence[Round], names: Sequence[str]) -> set[str]:
    """The ids of the loads in which one of these suspects is still to be measured again."""
    left = {(one.node, one.column) for one in _open(found, rounds)} if rounds else None
    return {
        found.columns[place].key.workload
        for name in names
        for place in found.suspects[name]
        if left is None or (name, place) in left
    }


def _open(found: Screen, rounds: Sequence[Round]) -> list[RetestedSuspect]:
    return [
        one
        for one in standings(found, rounds)
        if one.off > margin_edge(found.margin) / 2 and not (one.is_decided and one.rounds >= LEAST_ROUNDS)
    ]


def _beside(found: Screen, place: int, one: Round) -> list[float]:
    """How far a round's peers lie from their centre at the screen: who is suspected in another measure is one too."""
    column = found.columns[place]
    return [
        node.logs[column.key] - column.centre_of(name)
        for name, node in one.items()
        if name in column.logs and column.key in node.logs and place not in found.suspects.get(name, ())
    ]


def _spread(found: Screen, place: int, rounds: Sequence[Round]) -> tuple[float, float]:
    """Of one node's measure: the variance and its degrees of freedom, of the screen's nodes and of the peers."""
    column = found.columns[place]
    square, freedom = column.spread**2, _worth(len(column.logs))
    total = square * freedom
    for one in rounds:
        beside = _beside(found, place, one)
        if len(beside) >= _LEAST_BESIDE:
            middle = math.fsum(beside) / len(beside)
            total += math.fsum((log - middle) ** 2 for log in beside)
            freedom += len(beside) - 1
    return max(total / freedom, square), freedom


def _worth(nodes: int) -> float:
    """Of a deviation by medians: 37 % of the degrees of freedom that all values would give."""
    return 0.37 * (nodes - 1)


def _standing(
    found: Screen, name: str, place: int, rounds: Sequence[Round], spread: tuple[float, float], level: float
) -> RetestedSuspect:
    column = found.columns[place]
    screened = ratio_of(column.apart(name))
    apart, noise = [], 0.0
    for one in rounds:
        beside = _beside(found, place, one)
        if len(beside) >= _LEAST_BESIDE and name in one and column.key in one[name].logs:
            level_then = median(beside)
            apart.append(one[name].logs[column.key] - column.centre_of(name) - level_then)
            noise += 1 + _MEDIAN / len(beside)
    if not apart:
        return RetestedSuspect(node=name, column=place, verdict=NOT_YET, screened=screened)
    effect, count = math.fsum(apart) / len(apart), len(apart)
    variance, freedom = spread
    half = t_quantile(1 - level / 2, freedom) * math.sqrt(variance * noise) / count
    ruling = decide(EffectEstimate(effect, effect - half, effect + half, margin_edge(found.margin)))
    word = ruling.word
    out = sum(off * effect > 0 and abs(off) > margin_edge(found.margin) for off in apart)
    if count < LEAST_ROUNDS or (word.is_different and out < max(LEAST_ROUNDS, count - 1)):
        word = OPEN
    return RetestedSuspect(
        node=name, column=place, verdict=word, screened=screened, rounds=count, ratio=ratio_of(effect),
        ci95=(ratio_of(effect - half), ratio_of(effect + half)), half=half,
    )  # fmt: skip
