"""What the fold keeps of events that come late, twice, or before a new beginning."""

import msgspec

from hostdx.app.recordings.session import RunSession
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Plan, Workload

DISTURBED = Disturbance(kind="cpu", figure=0.5)
VERDICT = ev.RunVerdict(
    t=9.0, workload="w", metric="m", baseline="A", variant="B", verdict="slower", groups=9,  # type: ignore[arg-type]
)  # fmt: skip


def fold(*events: ev.AnyEvent) -> RunSession:
    session = RunSession()
    for event in events:
        session.apply(event)
    return session


def step(t: float, state: ev.StepState = "started", name: str = "w") -> ev.RunStep:
    return ev.RunStep(t=t, id=name, title="load", state=state)


def group(index: int, *disturbed: Disturbance) -> ev.Group:
    ratios = {VERDICT.group_ratio_key: 0.1}
    return ev.Group(t=index, workload="w", index=index, order="AB", log_ratios=ratios, disturbed=disturbed)


def test_no_clock_goes_back() -> None:
    load = Workload(id="w", title="load", metrics=())
    plan = ev.Planned(t=0.0, plan=Plan(scenario="x", title="t", question="q", workloads=(load,)))
    session = fold(plan, step(1.0), ev.Progress(t=8.0, step="w", text="", seconds_left=2.0))
    assert (session.time, session.share) == (8.0, 0.8)
    session.apply(ev.Progress(t=7.0, step="w", text="", seconds_left=3.0))
    assert (session.time, session.share) == (8.0, 0.8)


def test_a_step_began_when_it_first_did_and_says_nothing_once_it_is_over() -> None:
    session = fold(step(1.0), step(4.0, name="x"), step(5.0), ev.Progress(t=6.0, step="w", text="so far"))
    assert session.began_at == {"w": 1.0, "x": 4.0} and session.told_progress is not None
    session.apply(step(7.0, "done"))
    assert session.told_progress is None


def test_a_fact_that_was_read_at_last_is_no_longer_absent() -> None:
    absent = ev.AbsentFact(t=1.0, name="n", reason="why")
    assert fold(absent).absent == {"n": absent}
    assert fold(absent, ev.FactRead(t=2.0, name="n", value=1, source="s")).absent == {}


def test_the_first_reason_is_kept() -> None:
    session = fold(ev.LeftOutLine(t=1.0, why="first"), ev.LeftOutLine(t=2.0, why="second"))
    assert (session.unsound, session.unsound_why) == (2, "first")


def test_no_verdict_rests_on_disturbed_groups_or_on_those_before_a_new_beginning() -> None:
    session = fold(group(0), group(1, DISTURBED), group(2))
    assert [g.index for g in session.groups_behind(VERDICT)] == [0, 2]
    session.apply(ev.SliceLengthChosen(t=3.0, workload="w", seconds=0.02, why="order"))
    assert session.groups_behind(VERDICT) == []
    session.apply(group(3))
    assert [g.index for g in session.groups_behind(VERDICT)] == [3]


def test_a_batch_gives_groups_once_it_is_steady() -> None:
    batch = ev.SliceBatch(
        t=1.0, workload="w", index=0, group=0, seconds=1.0, slice_s=0.02, variants=["A", "B"], order="0110 1001",
        values={"m": [1.0] * 8}, log_ratios={VERDICT.group_ratio_key: [0.1, 0.2]},
    )  # fmt: skip
    warmup = msgspec.structs.replace(batch, phase="warmup")
    assert "w" not in fold(warmup).groups
    assert len(fold(warmup, batch).groups["w"]) == 2


def test_what_was_computed_holds_until_the_next_event() -> None:
    session, numbers = fold(step(1.0)), iter(range(9))
    assert [session.compute_once("key", lambda: next(numbers)) for _ in range(2)] == [0, 0]
    session.apply(step(2.0))
    assert session.compute_once("key", lambda: next(numbers)) == 1
