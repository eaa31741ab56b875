"""A history over nights: changes, and nodes that change together."""

import math
import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, LoadFigure, PlannedLoad, RunSummary
from hostdx.scenarios.analysis.nights.cusum import (
    BASELINE_NIGHTS,
    LIMIT,
    BaselineReference,
    baseline_references,
    cusum_of_nights,
    night_deviation,
    shift_of_nights,
)
from hostdx.scenarios.analysis.nights.findings import slowdown_findings
from hostdx.scenarios.analysis.nights.fleet import MIN_OTHER_NODES, OtherNight, remove_common_effects
from hostdx.scenarios.analysis.nights.history import (
    ChangedFact,
    Dated,
    HostHistory,
    NightRun,
    Turn,
    _group_near_turns,
    _Night,
    make_history,
    make_night_run,
)
from hostdx.scenarios.contract.plan import Metric

RATE = Metric("calls/s", "calls/s")


def run_at(
    number: int, values: dict[str, float], metric: Metric = RATE, status: str = "done", **facts: Json
) -> RunSummary:
    keys = {load: FigureKey(load, metric.name) for load in values}
    sign = 1 if metric.better == "more" else -1
    return RunSummary(
        name=f"{number:06d}-1", host="n1", boot="n1/b",
        wall=f"2026-{1 + number // 28:02}-{1 + number % 28:02}T02:30:00Z",
        scenario="kernel", version="0.1.0", status=status, reason="why" if status != "done" else "",  # type: ignore[arg-type]
        facts={("kernel", "release"): "6.1", **{tuple(k.split("/")): v for k, v in facts.items()}},  # type: ignore[dict-item]
        absent=frozenset(),
        figures={keys[load]: LoadFigure(sign * math.log(v), v, 8) for load, v in values.items()},
        loads={keys[load]: PlannedLoad(load, metric) for load in values},
    )  # fmt: skip


def fold_nights(takes: Sequence[RunSummary]) -> HostHistory:
    runs: list[NightRun] = []
    before: RunSummary | None = None
    for number, take in enumerate(takes, 1):
        runs.append(make_night_run(number, take, before))
        before = take if take.status == "done" else before
    return make_history("n1", runs)


def steady(
    nights: int, level: float = 1000.0, seed: int = 1, first: int = 0, **facts: Json
) -> list[RunSummary]:
    rng = random.Random(seed)
    return [
        run_at(
            first + n,
            {load: level * math.exp(rng.gauss(0, 0.01)) for load in ("syscall", "fork", "copy")},
            **facts,
        )
        for n in range(nights)
    ]


def test_after_a_change_a_new_baseline_is_made_and_then_used() -> None:
    after = steady(BASELINE_NIGHTS + 5, 900.0, seed=2, first=30, **{"kernel/release": "6.12"})
    past = fold_nights([*steady(30), *after[:10]])
    assert (past.baselines, past.collected) == (1, 10)
    past = fold_nights([*steady(30), *after])
    assert (past.baselines, past.collected) == (2, 0)
    assert past.loads[0].centre == pytest.approx(900, rel=0.01)
    assert [event.is_lasting for event in past.events] == [False] and not slowdown_findings(past)


def test_without_a_recorded_change_there_is_no_suspect() -> None:
    past = fold_nights([*steady(30), *steady(6, 900.0, seed=2, first=30)])
    assert past.events[0].suspects == () and past.events[0].is_lasting


def test_a_package_does_not_keep_the_first_baseline_from_being_made() -> None:
    old, new = ({"system/glibc": version} for version in ("2.36", "2.37"))
    takes = [*steady(10, **old), *steady(25, seed=2, first=10, **new)]
    past = fold_nights(takes)
    assert past.baselines == 1


def test_a_short_first_baseline_stands_in_until_the_next_is_whole() -> None:
    past = fold_nights([*steady(16), *steady(6, 880.0, seed=2, first=16, **{"kernel/release": "6.12"})])
    assert (past.baselines, past.collected) == (1, 6) and past.lasting_slowdowns


def test_a_low_night_asks_for_a_retest_and_the_better_figure_or_the_mean_counts() -> None:
    takes = [*steady(30), run_at(30, {"syscall": 700.0, "fork": 1000.0, "copy": 1000.0})]
    runs = [make_night_run(n, take, None) for n, take in enumerate(takes, 1)]
    assert make_history("n1", runs).retest
    assert not make_history("n1", runs[:-1]).retest
    retest = make_night_run(31, run_at(30, {"syscall": 999.0, "fork": 990.0, "copy": 1001.0}), None)
    history = make_history("n1", [*runs, retest])
    syscall = next(load for load in history.loads if load.key.workload == "syscall")
    assert syscall.values[-1] == (31, pytest.approx(999.0)) and syscall.total < 1
    fork = next(load for load in history.loads if load.key.workload == "fork")
    assert fork.values[-1] == (31, pytest.approx(995.0))
    assert history.nights[-1].runs == 2


def test_a_night_that_was_measured_twice_is_the_mean_of_both() -> None:
    runs = [
        make_night_run(n, run_at(n, {"syscall": rate * (1 + n % 3 / 1000)}), None)
        for n in range(BASELINE_NIGHTS + 2)
        for rate in (1000.0, 1020.0)
    ]
    centre = make_history("n1", runs).loads[0].centre
    assert centre == pytest.approx(1011, abs=2)


def _turn(load: str, since: int) -> Turn:
    return Turn(
        key=FigureKey(load, RATE.name), title=load, metric=RATE, since=since, named=since + 3, ratio=0.8,
        ci95=(0.7, 0.9), nights=4, lasting=True,
    )  # fmt: skip


def test_loads_that_turn_weeks_apart_are_two_events_each_with_the_changes_near_it() -> None:
    runs = [NightRun(night=n, name=str(n), host="n1", wall=f"night {n}", state="measured") for n in range(60)]
    fact = ChangedFact(component="kernel", subject="kernel", name="release", before="6.1", after="6.2")
    dates = [Dated(night=n, wall=f"night {n}", change=fact) for n in (9, 31, 55)]
    turns = _group_near_turns(
        [_turn("a", 10), _turn("b", 12), _turn("c", 32)], [_Night(run.night, [run]) for run in runs], dates
    )
    assert [[turn.key.workload for turn in event.turns] for event in turns] == [["a", "b"], ["c"]]
    assert [[dated.night for dated in event.suspects] for event in turns] == [[9], [31]]


OWN = BaselineReference(centre=0.0, deviation=0.01, alike=0.0, nights=BASELINE_NIGHTS)


def test_a_shift_within_the_margin_is_none_however_long_it_lasts() -> None:
    precise = OWN._replace(deviation=0.004)
    assert cusum_of_nights([math.log(0.98)] * 60, precise, 36).sums[-1] > LIMIT
    assert not cusum_of_nights([math.log(0.98)] * 60, precise, 36).shifts


def test_two_disturbed_nights_in_a_row_name_nothing_and_are_forgotten() -> None:
    cusum = cusum_of_nights([0.0, -0.4, -0.5, *[0.0] * 4], OWN, 36)
    assert not cusum.shifts and cusum.sums[-1] == 0.0


def test_disturbed_nights_among_low_ones_do_not_make_them_lower() -> None:
    low = shift_of_nights([-0.06] * 5, OWN, 36)
    spoilt = shift_of_nights([-0.06, -0.5, -0.06, -0.4, -0.06], OWN, 36)
    assert low is not None and spoilt is not None
    assert low.ratio - spoilt.ratio < OWN.deviation


def test_where_loads_differ_in_how_alike_their_nights_are_more_is_taken_for_sure() -> None:
    rng = random.Random(6)
    columns = []
    for alike in (0.0, 0.6) * 18:
        state, logs = rng.gauss(0, 1), []
        for _ in range(BASELINE_NIGHTS):
            state = alike * state + math.sqrt(1 - alike**2) * rng.gauss(0, 1)
            logs.append(0.02 * state)
        columns.append(logs)
    correlations = [to.alike for to in baseline_references(columns)]
    assert sum(correlations[1::2]) / 18 > 0.5 and sum(correlations[::2]) / 18 < 0.4


def test_what_follows_the_night_before_is_expected() -> None:
    alike = OWN._replace(alike=0.5)
    assert night_deviation(-0.02, alike, None) == pytest.approx(-2)
    assert night_deviation(-0.01, alike, -0.02) == pytest.approx(0.0)
    assert (
        shift_of_nights([-0.05] * 4, OWN, 36) is not None and shift_of_nights([-0.05] * 4, alike, 36) is None
    )


def test_a_low_night_before_a_shift_is_not_its_first() -> None:
    to = BaselineReference(0.0, 0.02, 0.0, 28)
    logs = [-0.06, 0.0, *[-0.1] * 6]  # the sum begins with the first and does not come back to nothing
    ((_, shift),) = cusum_of_nights(logs, to, 1).shifts
    assert shift.since == 2


NIGHTS, BAD = 24, 8


def node_nights(name: str, level: float, worse: float, seed: int) -> list[NightRun]:
    """Its last nights are by so much worse."""
    takes = [*steady(NIGHTS, level, seed), *steady(BAD, level * worse, seed + 100, first=NIGHTS)]
    return [replace(make_night_run(n, take, None), host=name) for n, take in enumerate(takes, 1)]


def other_nights(runs: Sequence[NightRun]) -> list[OtherNight]:
    return [OtherNight(run.host, run.wall, {f.key: f.log for f in run.figures}) for run in runs]


def test_of_too_few_others_nothing_is_taken_off() -> None:
    runs = node_nights("n1", 1000.0, 0.8, 1)
    few = {f"n{n}": other_nights(node_nights(f"n{n}", 1000.0, 0.8, n)) for n in range(2, 1 + MIN_OTHER_NODES)}
    assert remove_common_effects(runs, few) == runs
