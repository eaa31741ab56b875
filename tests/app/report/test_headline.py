"""Which of several verdicts is the answer in one sentence."""

from __future__ import annotations

import msgspec
import pytest

from app.recordings import store
from app.recordings.reader import load
from app.recordings.session import RunSession
from app.report.headline import DISTRUST, find_answer
from app.report.verdict_style import verdict_role
from scenarios.contract import events as ev
from scenarios.contract.finding import Finding
from scenarios.contract.plan import Metric, Plan, Variant, Workload
from tests.every_case import every_case

NS = Metric(name="ns/packet", unit="ns", better="less")


def judged(
    workload: str,
    word: str,
    ratio: float | None = None,
    *,
    variant: str = "B",
    ci95: tuple[float, float] | None = None,
    control: bool = False,
) -> ev.RunVerdict:
    return ev.RunVerdict(
        t=1, workload=workload, metric="IOPS", baseline="A", variant=variant, verdict=word, ratio=ratio, ci95=ci95,
        control=control,
    )  # fmt: skip


def told(own: str, ratio: float, controls: tuple[str, ...]) -> str:
    """The host's own check at `ratio`, a dearer variant of it, another workload that is clearer still."""
    session = RunSession()
    plan = Plan(
        scenario="rpfilter",
        title="t",
        question="q",
        variants=tuple(Variant(id=v, label=v) for v in ("none", "check", "trivial", "mark", "fib")),
        workloads=(
            Workload(id="six", title="six", metrics=(NS,), controls=controls),
            Workload(id="four", title="four", metrics=(NS,)),
        ),
    )
    session.apply(ev.Planned(t=0, plan=plan))
    words: list[tuple[str, str, str, float]] = [
        ("six", "mark", "slower", 0.5),
        ("six", "trivial", "slower", 0.3),
        ("six", "check", own, ratio),
        ("four", "fib", "slower", 0.4),
    ]
    for workload, variant, verdict, value in words:
        ratio_of = value if verdict != "not applicable" else None
        one = judged(workload, verdict, ratio_of, variant=variant, control=variant == "trivial")
        session.apply(msgspec.structs.replace(one, metric="ns/packet", baseline="none"))
    session.apply(ev.RunEnded(t=2, status="done"))
    return find_answer(session).sentence


@every_case(
    ("own", "ratio", "controls", "begins"),
    [
        ("slower", 0.7, ("trivial",), "six: check is 30 % slower than none"),
        ("no material difference", 1.0, ("trivial",), "six: no material difference between check and none"),
        (
            "not applicable",
            0.0,
            ("trivial",),
            "four: fib is 2.5 × slower than none",
        ),  # not measured: the clearest
        ("slower", 0.7, (), "four: fib is 2.5 × slower than none"),  # pairs of equal standing: the clearest
    ],
)
def test_the_pair_that_was_asked_about_is_the_answer(
    own: str, ratio: float, controls: tuple[str, ...], begins: str
) -> None:
    said = told(own, ratio, controls)
    assert said.startswith(DISTRUST) and f". {begins}" in said


def test_what_a_control_that_moved_does_to_the_answer() -> None:
    session = RunSession()
    for variant, control in (("B", False), ("C", True)):
        session.apply(judged(variant, "slower", 0.8, variant=variant, ci95=(0.75, 0.85), control=control))
    session.apply(ev.RunEnded(t=2, status="done"))
    said = find_answer(session)
    assert said.sentence == (
        f"{DISTRUST}: in the control load C, C is 20 % slower than A; the two must not differ. "
        "B: B is 20 % slower than A in IOPS (95 % CI 15 to 25 %)"
    )
    assert said.weight == "warning"


@pytest.mark.parametrize("word", ["not measured", "not applicable"])
def test_a_run_that_could_compare_nothing_is_not_said_to_have_stopped_early(word: str) -> None:
    session = RunSession()
    session.apply(judged("read", word))
    session.apply(ev.RunEnded(t=2, status="skipped", reason="none: served by a cache", exit=3))
    said = find_answer(session)
    assert said.sentence == "skipped: none: served by a cache" and said.weight == "warning"


def test_a_control_that_moved_is_the_headline_of_an_undecided_run_too() -> None:
    session = RunSession()
    session.apply(judged("read", "inconclusive", 0.9, ci95=(0.7, 1.2)))
    session.apply(judged("cpu", "slower", 0.9, ci95=(0.85, 0.94), control=True))
    session.apply(ev.RunEnded(t=2, status="done"))
    said = find_answer(session)
    assert said.sentence.startswith(
        f"{DISTRUST}: in the control load cpu, B is 10 % slower than A; the two must not differ. read"
    )
    assert said.weight == "warning"


@every_case(
    ("status", "reason", "begins", "weight"),
    [
        ("done", "", "B: B is 20 % slower", "critical"),
        ("interrupted", "stopped", "stopped early; also found: B: B is 20 % slower", "critical"),
        ("failed", "disk full", "failed; also found: B: B is 20 % slower", "critical"),
    ],
)
def test_what_was_decided_before_the_end_is_the_answer(
    status: ev.Status, reason: str, begins: str, weight: str
) -> None:
    session = RunSession()
    session.apply(judged("B", "slower", 0.8))
    assert find_answer(session).sentence.startswith(
        "incomplete (not ended, or killed); so far: B: B is 20 % slower"
    )
    session.apply(ev.RunEnded(t=2, status=status, reason=reason))
    said = find_answer(session)
    assert said.sentence.startswith(begins) and said.weight == weight


def test_where_nothing_was_measured_no_verdict_came_before_the_end() -> None:
    session = RunSession()
    session.apply(judged("B", "not measured"))
    session.apply(ev.RunEnded(t=2, status="skipped", reason="why"))
    assert find_answer(session)[:3] == ("skipped: why", "warning", None)


def test_several_undecided_workloads_share_one_sentence() -> None:
    session = RunSession()
    for workload, smallest in (("read", 0.1), ("write", 0.3)):
        open_one = judged(workload, "inconclusive")
        session.apply(msgspec.structs.replace(open_one, groups=6, smallest_effect=smallest))
    session.apply(ev.RunEnded(t=2, status="done"))
    assert find_answer(session)[:2] == (
        "inconclusive for read and write (smallest detectable effect here: ±10 % to ±30 %)",
        "unknown",
    )
    session.apply(judged("metadata", "no material difference", 1.0))
    assert find_answer(session).sentence == (
        "B against A: no material difference for metadata; "
        "inconclusive for read and write (smallest detectable effect here: ±10 % to ±30 %)"
    )
    session.apply(msgspec.structs.replace(judged("open", "inconclusive"), groups=6))
    assert "; inconclusive for 3 of 4 comparisons (" in find_answer(session).sentence
    remark = Finding(id="a.b", severity="notice", confidence="measured", title="all of it: inconclusive")
    session.apply(ev.Found(t=3, finding=remark))
    assert (
        "no material difference for metadata" in find_answer(session).sentence
    )  # what was decided comes first


def test_a_loss_comes_before_a_larger_gain_and_the_gain_is_said() -> None:
    session = RunSession()
    session.apply(judged("sync", "slower", 0.6))
    session.apply(judged("read", "slower", 0.8))
    session.apply(judged("metadata", "faster", 2.9))
    session.apply(ev.RunEnded(t=2, status="done"))
    said = find_answer(session)
    assert said.sentence == (
        "B is slower than A in 2 of 3 loads, 20 % (read) to 40 % (sync); but 2.9 × faster for metadata"
    )
    assert said.weight == "critical" and said.verdict is not None and said.verdict.workload == "sync"


def test_a_finding_that_answers_stands_before_every_verdict() -> None:
    """A check that is not loaded slows nobody, however clear its verdict is."""
    session = RunSession()
    title = (
        "the firewall here has no reverse-path check: firewalld's default check would cost 560 ns a packet"
    )
    slower = ev.RunVerdict(
        t=1, workload="six", metric="ns/packet", baseline="none", variant="check", verdict="slower", ratio=0.6
    )
    session.apply(slower)
    for answers in (False, True):
        finding = Finding(
            id="rpfilter.cost", severity="ok", confidence="measured", title=title, answers=answers
        )
        session.apply(ev.Found(t=2, finding=finding))
        session.apply(ev.RunEnded(t=3, status="done"))
        said = find_answer(session)
        assert (said.sentence == title, said.weight) == ((True, "notice") if answers else (False, "critical"))
    session.apply(ev.Found(t=3, finding=msgspec.structs.replace(finding, confidence="hint")))
    assert find_answer(session).weight == "unknown"
    session.apply(ev.Found(t=3, finding=finding))
    session.apply(msgspec.structs.replace(slower, variant="trivial", control=True))
    words = f"{DISTRUST}: in load six, the control trivial is 40 % slower than none; the two must not differ. {title}"
    assert find_answer(session)[:3] == (words, "warning", None)


def test_a_rule_is_no_answer_of_a_run_that_compared_something() -> None:
    rule = Finding(id="storage.mount-options", severity="warning", title="read", subject="/s")
    level = Finding(id="storage.levels", severity="notice", title="measured", confidence="measured")
    compared, alone = RunSession(), RunSession()
    compared.apply(judged("w", "inconclusive", 1.0))
    alone.apply(ev.Found(t=1, finding=level))
    for session in (compared, alone):
        session.apply(ev.Found(t=1, finding=rule))
        session.apply(ev.RunEnded(t=2, status="done"))
    assert find_answer(compared).weight == "unknown"
    assert find_answer(alone).sentence == level.title


@pytest.mark.parametrize("demo", sorted(store.list_demos()))
def test_no_answer_is_green_above_a_red_row(demo: str) -> None:
    session = load(store.resolve_recording(demo))
    red = [v for v in session.verdicts.values() if not v.control and verdict_role(v) == "critical"]
    assert not (red and find_answer(session).weight == "ok")
