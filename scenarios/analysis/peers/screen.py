"""The lax screen: for each measure, the centre and spread of like nodes, and which nodes are worth a second look.

One measurement of each node cannot name an odd one: among a thousand, chance puts fifty beyond two deviations. So what
lies there is only suspect, and is measured again beside peers (`retest.py`).
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from statistics import median

import msgspec

from hostdx.scenarios.analysis.compare.odd import MIN_RUNS
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.analysis.peers.node import Hardware, PeerNode
from hostdx.scenarios.contract.verdict.verdict import margin_edge, ratio_of
from hostdx.scenarios.experiment.statistics.distributions import normal_quantile

MIN_PART_NODES = 3  # nodes; and
MIN_PART_SHARE = 0.1  # of all: fewer are odd nodes
CUT = 4.0  # Ashman's D of one population cut in two: 2.7 for normal, 3.5 for uniform values of many nodes …
_SMALL_FLEET_FACTOR = 40.0  # … and more by chance among few nodes: so much over their number
_MIN_GAP = 0.02  # of the level, between the parts' means
_FLOOR = 0.002


class TwoLevels(msgspec.Struct, frozen=True, kw_only=True):
    """`lower` has the smaller logs (more is better: the slower part). `ratio`: its level over the other's."""

    lower: tuple[str, ...]
    upper: tuple[str, ...]
    log_centres: tuple[float, float]
    log_cut: float  # from this log on a node is in the upper part
    ashman_d: float

    @property
    def ratio(self) -> float:
        return math.exp(self.log_centres[0] - self.log_centres[1])

    def centre_for_log(self, log: float) -> float:
        """Of the part that a node with this value is in."""
        return self.log_centres[0] if log < self.log_cut else self.log_centres[1]


def split_into_two_levels(logs: Mapping[str, float]) -> TwoLevels | None:
    """None where it is one population, or where the smaller part is a few odd nodes."""
    order = sorted(logs, key=logs.__getitem__)
    n = len(order)
    least = max(MIN_PART_NODES, math.ceil(MIN_PART_SHARE * n))
    if n < 2 * least:
        return None
    middle = logs[order[n // 2]]
    sums = [0.0, *accumulate(logs[name] - middle for name in order)]
    squares = [0.0, *accumulate((logs[name] - middle) ** 2 for name in order)]

    def mean_and_squares(start: int, end: int) -> tuple[float, float]:
        """Mean and sum of squares round it."""
        total = sums[end] - sums[start]
        return total / (end - start), max(0.0, squares[end] - squares[start] - total * total / (end - start))

    cut = min(
        range(least, n - least + 1), key=lambda at: mean_and_squares(0, at)[1] + mean_and_squares(at, n)[1]
    )
    (low, a), (high, b) = mean_and_squares(0, cut), mean_and_squares(cut, n)
    scatter = math.sqrt(max(a / (cut - 1), _FLOOR**2) + max(b / (n - cut - 1), _FLOOR**2))
    distance = math.sqrt(2) * (high - low) / scatter
    if distance < CUT + _SMALL_FLEET_FACTOR / n or high - low < _MIN_GAP:
        return None
    return TwoLevels(
        lower=tuple(order[:cut]),
        upper=tuple(order[cut:]),
        log_centres=(low + middle, high + middle),
        log_cut=logs[order[cut]],
        ashman_d=distance,
    )


MIN_PEERS = MIN_RUNS  # nodes of one hardware that have a measure: with fewer there is no spread to speak of
LAX = 0.06  # of like nodes are suspect by chance in a measure, fewer where there are several measures …
_MIN_SUSPECTS = 2.0  # … and so many of few nodes, where the spread itself is hardly known
DRAWN = 8  # peers that are measured beside the suspects: ClusterKit (NVIDIA) does so
FLOOR = 0.002  # of a level: printed digits make two results equal that were not
_MAD = 1.4826  # of a normal distribution: its deviation over the median absolute one


class ScreenedMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of like nodes. `logs`: by node, more is better. `spread`: the standard deviation of one node's log.

    `centre` is the median; where the nodes are `split_into_two_levels` in two, each has the one of its own part
    (`centre_of`), and the spread is that round it.
    """

    key: FigureKey
    group: int
    logs: dict[str, float]
    centre: float
    spread: float
    beside: int = 1  # measures of these nodes, this one included
    parted: TwoLevels | None = None

    def centre_of(self, name: str) -> float:
        return self.centre if self.parted is None else self.parted.centre_for_log(self.logs[name])

    def log_over_centre(self, name: str) -> float:
        """The node's log over its peers' centre."""
        return self.logs[name] - self.centre_of(name)

    def suspect_log_distance(self, margin: float) -> float:
        """Return how far off a node is no suspect: less than half of what matters is none either."""
        share = min(0.5, max(LAX, _MIN_SUSPECTS / len(self.logs)) / math.sqrt(self.beside))
        return max(normal_quantile(1 - share / 2) * self.spread, margin_edge(margin) / 2)


class HardwareGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of one hardware."""

    hardware: Hardware
    nodes: tuple[str, ...]


class PeerCheck(msgspec.Struct, frozen=True, kw_only=True):
    """`suspects`, the farthest off first, with the places (in `columns`) of the measures that they are suspected in."""

    groups: tuple[HardwareGroup, ...]
    columns: tuple[ScreenedMeasure, ...]
    suspects: dict[str, tuple[int, ...]]
    margin: float

    def group_by_node(self) -> dict[str, int]:
        return {name: n for n, group in enumerate(self.groups) for name in group.nodes}


def screen_nodes(nodes: Sequence[PeerNode], margin: float = 0.05) -> PeerCheck:
    """`margin`: the smallest difference that matters, as a share. Names are unique."""
    alike: dict[Hardware, list[PeerNode]] = {}
    for node in nodes:
        alike.setdefault(node.hardware, []).append(node)
    members = sorted(alike.values(), key=len, reverse=True)
    columns: list[ScreenedMeasure] = []
    for number, group in enumerate(members):
        names = dict.fromkeys(key for node in group for key in node.logs)
        logs_by_key = {
            key: {node.name: node.logs[key] for node in group if key in node.logs} for key in names
        }
        enough = {key: logs for key, logs in logs_by_key.items() if len(logs) >= MIN_PEERS}
        columns += [_screen_column(key, number, logs, len(enough)) for key, logs in enough.items()]
    groups = tuple(
        HardwareGroup(hardware=g[0].hardware, nodes=tuple(node.name for node in g)) for g in members
    )
    return PeerCheck(
        groups=groups, columns=tuple(columns), suspects=_columns_by_suspect(columns, margin), margin=margin
    )


def _screen_column(key: FigureKey, group: int, logs: dict[str, float], measure_count: int) -> ScreenedMeasure:
    two = split_into_two_levels(logs)
    centre = median(logs.values())
    distances = [log - (centre if two is None else two.centre_for_log(log)) for log in logs.values()]
    return ScreenedMeasure(
        key=key,
        group=group,
        logs=logs,
        centre=centre,
        spread=robust_deviation(distances),
        beside=measure_count,
        parted=two,
    )


def robust_deviation(distances: Sequence[float]) -> float:
    """The standard deviation by the median of the absolute distances from the centre, corrected for few values
    (Croux and Rousseeuw, "Time-efficient algorithms for two highly robust estimators of scale", 1992)."""
    n = len(distances)
    return max(FLOOR, _MAD * n / (n - 0.8) * median(map(abs, distances)))


def _columns_by_suspect(columns: Sequence[ScreenedMeasure], margin: float) -> dict[str, tuple[int, ...]]:
    places_by_name: dict[str, list[int]] = {}
    far: dict[str, float] = {}
    for place, column in enumerate(columns):
        reach = column.suspect_log_distance(margin)
        for name in column.logs:
            distance = abs(column.log_over_centre(name))
            if distance > reach:
                places_by_name.setdefault(name, []).append(place)
                far[name] = max(far.get(name, 0.0), distance / column.spread)
    return {name: tuple(places_by_name[name]) for name in sorted(places_by_name, key=lambda name: -far[name])}


def peers_for(screened: PeerCheck, suspects: Iterable[str], seed: int) -> tuple[str, ...]:
    """Peers to measure beside these suspects: of each of their groups eight that are none, all where there are fewer.

    Other ones with each seed: give each round its own.
    """
    groups = screened.group_by_node()
    draw = random.Random(seed)
    drawn: list[str] = []
    for number in sorted({groups[name] for name in suspects if name in groups}):
        calm = [name for name in screened.groups[number].nodes if name not in screened.suspects]
        drawn += draw.sample(calm, min(DRAWN, len(calm)))
    return tuple(drawn)


def smallest_detectable_share(column: ScreenedMeasure, margin: float, retest_half: float) -> float:
    """The difference, as a share, that a node must have to pass the screen and the retest in 95 % of the cases.

    `retest_half`: half of an interval of the retest, in logs; 0 where there was none.
    """
    sure = 1.645 * column.spread
    return ratio_of(max(column.suspect_log_distance(margin) + sure, margin_edge(margin) + retest_half)) - 1
