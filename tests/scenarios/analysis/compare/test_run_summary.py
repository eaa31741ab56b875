"""One recording summed up: which blocks count, in which direction, and what the run's own stretches say."""

import pytest

from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, summarise_run
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric, Plan, Variant, Workload

BEGAN = ev.Began(
    t=0.0,
    schema=ev.SCHEMA,
    version="0.1.0",
    scenario="kernel",
    command=[],
    host="n1",
    wall="2026-11-20T10:00:00Z",
    seed=1,
    pid=1,
    pid_start=1,
    boot_id="b1",
)
PLAN = Plan(
    scenario="kernel",
    title="",
    question="",
    variants=(Variant(id="one", label="one CPU"),),
    workloads=(
        Workload(id="syscall", title="system call", metrics=(Metric("calls/s", "calls/s"),)),
        Workload(
            id="fork",
            title="fork",
            metrics=(Metric("ms", "ms", better="less"), Metric("p99", "ms", judged=False)),
        ),
    ),
)


def _make_block(
    group: int, workload: str = "syscall", variant: str = "one", phase: ev.Phase = "steady", **values: float
) -> ev.Block:
    return ev.Block(
        t=float(group),
        workload=workload,
        variant=variant,
        group=group,
        index=group,
        seconds=0.04,
        phase=phase,
        values={name.replace("_", "/"): value for name, value in values.items()},
    )


def _group(index: int, *disturbed: Disturbance) -> ev.Group:
    return ev.Group(t=float(index), workload="syscall", index=index, order="A", disturbed=disturbed)


CALLS = FigureKey("syscall", "calls/s")


def test_disturbed_groups_and_warm_ups_do_not_count() -> None:
    events = [
        BEGAN,
        ev.Planned(t=0.0, plan=PLAN),
        _make_block(0, phase="warmup", calls_s=1.0),
        *(_make_block(n, calls_s=100.0 if n != 3 else 5.0) for n in range(6)),
        *(_group(n, *([Disturbance("cpu")] if n == 3 else [])) for n in range(6)),
        ev.RunEnded(t=9.0, status="done"),
    ]
    summary = summarise_run(events, "a.jsonl")
    assert summary.figures[CALLS].value == pytest.approx(100.0) and summary.figures[CALLS].blocks == 5
    assert (summary.disturbed, summary.groups, summary.status, summary.boot) == (1, 6, "done", "n1/b1")


def test_no_run_event_is_no_recording() -> None:
    with pytest.raises(ValueError, match="does not begin"):
        summarise_run([_make_block(0, calls_s=1.0)], "a")


def test_a_side_without_recordings_is_refused() -> None:
    with pytest.raises(ValueError, match="each side"):
        compare_recordings([], [])
