"""The sequential test of a node against its class: after each round of short loads it is fit, or goes on.

Only the last look may call a node slow: one look at most errs. `fit` may come early: the earlier looks can only cost
power. The simulation (`tests/measured/simulation/health.py`) has both rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from hostdx.app.features.health.node_class import ClassLoad, LoadKey, NodeClass, Rounds, level_of_logs
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.verdict.verdict import margin_edge
from hostdx.scenarios.experiment.statistics.distributions import normal_quantile, normal_tail, t_quantile

FALSE_DRAINS = 1e-4  # of checks of a fit node, for all loads together
MARGIN = margin_edge(0.10)  # a node that is less than this slower is fit, however surely
MIN_FOUND = 0.95  # of slow nodes, within two checks: a load of a class that cannot give it drains nobody
SLOW = -math.log(0.8)  # the node that is to be found: 20 % slower
# in logs: so much faster may all nodes be than on the day of the class (recorded noise: up to 0.06)
DRIFT = 0.03
MIN_ROUNDS = 6  # before a node is called fit, or slow
FULL_ROUNDS = 12  # that a check of 15 s has room for
INFLATION = 2.0  # rounds of a few seconds are alike (lag-1 correlation up to 0.7): the mean of n varies as that of n/2
# Times as far below as the lowest node of the class: the tails of busy hosts are no normal ones.
BEYOND_LOWEST = 1.5
MEDIAN_EFFICIENCY = math.pi / 2  # variance of a median over that of a mean


# Nodes of a class as normal deviates with their weights, for the rates of checks of one and the same node.
_NODES = tuple((normal_quantile((n + 0.5) / 200), 1 / 200) for n in range(200))


class LoadStanding(NamedTuple):
    """A load of the node. `ratio`: over the level of the class; `limit`: the ratio below which the node is slow.

    `decides`: the class is even enough that a slow load makes the node unfit; else it makes the answer unsure.
    """

    load: str
    slot: str
    ratio: float
    limit: float
    rounds: int
    decides: bool

    @property
    def is_slow(self) -> bool:
        return self.rounds >= MIN_ROUNDS and self.ratio < self.limit


class LoadErrorRates(NamedTuple):
    """The rates that `--explain` prints: shares of checks, by the class's spread and scatter."""

    load: str
    slot: str
    limit: float
    false_drain: float
    found_share: float
    found_in_two_share: float

    @property
    def key(self) -> LoadKey:
        return self.load, self.slot

    @property
    def keeps_promise(self) -> bool:
        """Return whether the load keeps the promise of `health`; else it never drains a node."""
        return self.found_in_two_share >= MIN_FOUND


def level_deviation_of(load: ClassLoad, rounds: int) -> of.Deviation:
    """Return the standard deviation of a fit node's level after so many rounds, in logs."""
    return math.sqrt(load.spread**2 * (1 + 1 / load.runs) + check_noise_of(load, rounds) ** 2)


def check_noise_of(load: ClassLoad, rounds: int) -> of.Deviation:
    """Return the part of that deviation which is another one in each check of the same node."""
    return load.scatter * math.sqrt(MEDIAN_EFFICIENCY * INFLATION / max(1, rounds))


def slow_limit_of(load: ClassLoad, rounds: int, loads: int) -> of.Logarithm:
    """Return how far below its class a node must be to be slow, in logs. `loads`: how many are judged together."""
    quantile = t_quantile(1 - FALSE_DRAINS / loads, max(2, load.runs - 1))
    return max(MARGIN, quantile * level_deviation_of(load, rounds), BEYOND_LOWEST * load.lowest)


def compare_rounds(node_class: NodeClass, rounds: Rounds) -> list[LoadStanding]:
    """Return how each load of the class stands, of those that were measured."""
    count = len(node_class.loads)
    return [
        LoadStanding(
            load.load,
            load.slot,
            math.exp(level_of_logs(logs) - load.level),
            math.exp(-slow_limit_of(load, len(logs), count)),
            len(logs),
            error_rates_of_load(load, count).keeps_promise,
        )
        for load in node_class.loads
        if (logs := rounds.get((load.load, load.slot)))
    ]


def is_surely_fit(node_class: NodeClass, standings: Iterable[LoadStanding]) -> bool:
    """Return whether every load of the class is nearer to its level than to that of a slow node; of a class that is
    too uneven for that, whether no load is slow.
    """
    near: set[LoadKey] = {
        (s.load, s.slot)
        for s in standings
        if s.rounds >= MIN_ROUNDS and s.ratio > (math.exp(-SLOW / 2) if s.decides else s.limit)
    }
    return near.issuperset((load.load, load.slot) for load in node_class.loads)


def predicted_error_rates(node_class: NodeClass) -> list[LoadErrorRates]:
    """Return both rates of a check of full length for each load, as its class's figures give them."""
    return [error_rates_of_load(load, len(node_class.loads)) for load in node_class.loads]


@lru_cache(maxsize=256)
def error_rates_of_load(load: ClassLoad, loads: int) -> LoadErrorRates:
    """Return both rates of a load. `loads`: how many are judged together."""
    limit = slow_limit_of(load, FULL_ROUNDS, loads)
    found_once = found_twice = 0.0
    for deviate, weight in _NODES:
        node = deviate * load.spread - SLOW + DRIFT
        early = normal_tail((-SLOW / 2 - node) / check_noise_of(load, MIN_ROUNDS))
        probability = max(0.0, normal_tail((node + limit) / check_noise_of(load, FULL_ROUNDS)) - early)
        found_once += weight * probability
        found_twice += weight * (1 - (1 - probability) ** 2)
    false_drain = normal_tail(limit / level_deviation_of(load, FULL_ROUNDS))
    return LoadErrorRates(load.load, load.slot, math.exp(-limit), false_drain, found_once, found_twice)
