"""Which of several verdicts is the answer in one sentence."""

import msgspec
import pytest

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.headline import DISTRUST, find_headline_answer
from hostdx.app.report.wording import verdict_role
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.plan import Plan, Variant
from tests.every_case import every_case


def make_verdict(
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


@pytest.mark.parametrize("word", ["not measured", "not applicable"])
def test_a_run_that_could_compare_nothing_is_not_said_to_have_stopped_early(word: str) -> None:
    session = RunSession()
    session.apply(make_verdict("read", word))
    session.apply(ev.RunEnded(t=2, status="skipped", reason="none: served by a cache", exit=3))
    answer = find_headline_answer(session)
    assert answer.sentence == "skipped: none: served by a cache" and answer.weight == "warning"


def test_a_control_that_moved_is_the_headline_of_an_undecided_run_too() -> None:
    session = RunSession()
    session.apply(make_verdict("read", "inconclusive", 0.9, ci95=(0.7, 1.2)))
    session.apply(make_verdict("cpu", "slower", 0.9, ci95=(0.85, 0.94), control=True))
    session.apply(ev.RunEnded(t=2, status="done"))
    answer = find_headline_answer(session)
    assert answer.sentence.startswith(
        f"{DISTRUST}: in the control load cpu, B is 10 % slower than A; the two must not differ. read"
    )
    assert answer.weight == "warning"


def test_where_nothing_was_measured_no_verdict_came_before_the_end() -> None:
    session = RunSession()
    session.apply(make_verdict("B", "not measured"))
    session.apply(ev.RunEnded(t=2, status="skipped", reason="why"))
    assert find_headline_answer(session)[:3] == ("skipped: why", "warning", None)


def test_several_undecided_workloads_share_one_sentence() -> None:
    session = RunSession()
    for workload, smallest in (("read", 0.1), ("write", 0.3)):
        open_one = make_verdict(workload, "inconclusive")
        session.apply(msgspec.structs.replace(open_one, groups=6, smallest_effect=smallest))
    session.apply(ev.RunEnded(t=2, status="done"))
    assert find_headline_answer(session)[:2] == (
        "inconclusive for read and write (could be missed: less than 10 % in read, less than 30 % in write)",
        "unknown",
    )
    session.apply(make_verdict("metadata", "no material difference", 1.0))
    assert find_headline_answer(session).sentence == (
        "B against A: no material difference for metadata; "
        "inconclusive for read and write (could be missed: less than 10 % in read, less than 30 % in write)"
    )
    session.apply(msgspec.structs.replace(make_verdict("open", "inconclusive"), groups=6))
    assert "; inconclusive for 3 of 4 comparisons (" in find_headline_answer(session).sentence
    remark = Finding(id="a.b", severity="notice", confidence="measured", title="all of it: inconclusive")
    session.apply(ev.Found(t=3, finding=remark))
    assert (
        "no material difference for metadata" in find_headline_answer(session).sentence
    )  # what was decided comes first


@every_case("demo", sorted(store.list_demo_arguments()))
def test_no_answer_is_green_above_a_red_row(demo: str) -> None:
    session = load_recording(store.resolve_recording(demo))
    red = [v for v in session.verdicts.values() if not v.control and verdict_role(v) == "critical"]
    assert not (red and find_headline_answer(session).weight == "ok")


def test_a_remark_on_one_side_does_not_answer_for_both() -> None:
    session = RunSession()
    sides = tuple(Variant(id=letter, label=f"/data/{letter}") for letter in "AB")
    session.apply(ev.Planned(t=0, plan=Plan(scenario="s", title="t", question="q", variants=sides)))
    session.apply(msgspec.structs.replace(make_verdict("read", "inconclusive", 0.9), groups=6))
    for subject, is_answer in (("vda", True), ("/data/A", False)):
        remark = Finding(id="a.b", severity="notice", confidence="measured", title="good", subject=subject)
        session.findings.clear()
        session.apply(ev.Found(t=3, finding=remark))
        session.apply(ev.RunEnded(t=4, status="done"))
        assert (find_headline_answer(session).finding == remark) is is_answer
