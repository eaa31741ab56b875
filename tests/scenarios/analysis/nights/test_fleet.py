"""What all nodes of a fleet have in a night is no node's own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from scenarios.analysis.nights.fleet import MIN_OTHER_NODES, OtherNight, remove_common_effects
from scenarios.analysis.nights.history import make_history
from scenarios.analysis.nights.night import NightRun, night_run
from tests.scenarios.analysis.nights.test_history import RATE, TIME, steady, taken

NIGHTS, BAD = 24, 8


def node(name: str, level: float, worse: float, seed: int) -> list[NightRun]:
    """Its last nights are by so much worse."""
    takes = [*steady(NIGHTS, level, seed), *steady(BAD, level * worse, seed + 100, first=NIGHTS)]
    return [replace(night_run(n, take, None), host=name) for n, take in enumerate(takes, 1)]


def other(runs: Sequence[NightRun]) -> list[OtherNight]:
    return [OtherNight(run.host, run.wall, {f.key: f.log for f in run.figures}) for run in runs]


def slower(runs: Sequence[NightRun]) -> int:
    return sum(load.slow for load in make_history("n1", runs).loads)


def test_a_night_that_was_bad_for_all_is_taken_off_and_the_nodes_own_is_left() -> None:
    fleet = {f"n{n}": other(node(f"n{n}", 900.0 + 40 * n, 0.8, n)) for n in range(2, 10)}
    like_all, worse = node("n1", 1000.0, 0.8, 1), node("n1", 1000.0, 0.8 * 0.85, 1)
    assert slower(like_all) == 3 and slower(remove_common_effects(like_all, fleet)) == 0
    assert slower(remove_common_effects(worse, fleet)) == 3
    load = make_history("n1", remove_common_effects(worse, fleet)).loads[0]
    assert load.values[-1][1] == pytest.approx(850, rel=0.03), "in the unit, at its own level"


def test_of_too_few_others_nothing_is_taken_off() -> None:
    runs = node("n1", 1000.0, 0.8, 1)
    few = {f"n{n}": other(node(f"n{n}", 1000.0, 0.8, n)) for n in range(2, 1 + MIN_OTHER_NODES)}
    assert remove_common_effects(runs, few) == runs


def test_where_less_is_better_and_nights_begin_before_or_after_midnight() -> None:
    def nights(name: str, hour: str) -> list[NightRun]:
        takes = [taken(n, {"wait": 10.0 if n < 9 else 12.0}, TIME) for n in range(10)]
        found = [night_run(n, take, None) for n, take in enumerate(takes)]
        return [replace(run, host=name, wall=run.wall.replace("T02:30", hour)) for run in found]

    fleet = {f"n{n}": other(nights(f"n{n}", f"T{n:02}:10")) for n in range(6)}
    last = remove_common_effects(nights("own", "T02:30"), fleet)[-1].figures[0]
    assert last.value == pytest.approx(10.0) and last.metric == TIME != RATE
