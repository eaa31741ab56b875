"""What a night did to all nodes of a fleet (a shared file system, the room's heat, a site's update) is no node's own.

Of each load and night the median over the other nodes of how far they lay from their own level is taken off.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.analysis.nights.history import NightFigure, NightRun

MIN_OTHER_NODES = 5  # nodes that have the load on that night; with fewer nothing is taken off


class OtherNight(NamedTuple):
    """Of another node: `wall` is UTC, ISO 8601; a load's log is turned so that more is better."""

    host: str
    wall: str
    logs: Mapping[FigureKey, float]


def remove_common_effects(
    runs: Sequence[NightRun], others: Mapping[str, Sequence[OtherNight]]
) -> list[NightRun]:
    """`others`: the nights of each other node."""
    common = _median_deviations_by_night(others.values())

    def own_figure(figure: NightFigure, evening: str) -> NightFigure:
        off = common.get((figure.key, evening), 0.0)
        turned = -off if figure.metric.better == "more" else off
        return replace(figure, log=figure.log - off, value=figure.value * math.exp(turned))

    return [
        replace(run, figures=tuple(own_figure(figure, _night_date(run.wall)) for figure in run.figures))
        for run in runs
    ]


def _median_deviations_by_night(nodes: Iterable[Sequence[OtherNight]]) -> dict[tuple[FigureKey, str], float]:
    deviations: dict[tuple[FigureKey, str], list[float]] = {}
    for nights in nodes:
        logs: dict[FigureKey, dict[str, list[float]]] = {}
        for night in nights:
            evening = _night_date(night.wall)
            for key, log in night.logs.items():
                logs.setdefault(key, {}).setdefault(evening, []).append(log)
        for key, evenings in logs.items():
            level = median(median(values) for values in evenings.values())
            for evening, values in evenings.items():
                deviations.setdefault((key, evening), []).append(median(values) - level)
    return {at: median(values) for at, values in deviations.items() if len(values) >= MIN_OTHER_NODES}


def _night_date(wall: str) -> str:
    """The day on which a night began: from noon to noon, UTC. The text itself where it is no time."""
    try:
        return f"{datetime.fromisoformat(wall.replace('Z', '+00:00')) - timedelta(hours=12):%Y-%m-%d}"
    except (ValueError, OverflowError):
        return wall
