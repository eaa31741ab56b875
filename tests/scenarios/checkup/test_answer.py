"""What a checkup's answer says first, and how it keeps its budget."""

import asyncio
from typing import Any

import msgspec
import pytest

from hostdx.scenarios.checkup.results import CheckupAnswer
from hostdx.scenarios.checkup.scenario import Checkup
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding, SuggestedStep
from hostdx.scenarios.contract.model import OtherRunOutcome
from tests.fakes.clock import FakeClock
from tests.fakes.run import conduct_fake
from tests.scenarios.checkup.test_scenario import (
    OUTCOMES,
    SAME,
    STORAGE,
    UNMEASURED,
    WALL,
    CheckupRun,
    answer_lines,
    make_finding,
    outcome,
    verdict,
)

HALF = outcome(
    "wall", "9 % slower until then", "warning", verdict("slower", 0.91, (0.89, 0.93)), status="interrupted"
)


class RealTimeClock(FakeClock):
    """Sleeps in real time as long as a part is not stopped."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def test_a_part_that_would_outlast_the_budget_is_stopped_and_what_it_found_stays(
    offer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(STORAGE, WALL)
    monkeypatch.setattr(
        "hostdx.scenarios.checkup.scenario.seconds_for_each_part",
        lambda waiting, left_s: {part.id: 60.0 for part in waiting},
    )
    run = CheckupRun(options={"budget": 30.0}, clock=RealTimeClock(), outcomes=OUTCOMES | {"wall": HALF})
    monkeypatch.setattr("hostdx.scenarios.checkup.scenario.END_S", 30.0 - 0.2)
    await asyncio.wait_for(conduct_fake(Checkup(), run), 10.0)
    assert "the firewall: 9 % slower until then" in answer_lines(run)[0]


@pytest.mark.parametrize(("subject", "rules"), [("/sys/fs/cgroup/batch", 0), ("/elsewhere", 1)])
async def test_a_control_group_is_no_directory_that_was_not_measured(
    offer: Any, monkeypatch: pytest.MonkeyPatch, subject: str, rules: int
) -> None:
    """Its quota was listed as a rule that nobody had measured, below the part that had."""
    offer(STORAGE)
    event = ev.Found(t=0.1, finding=make_finding("host.cpu-quota", "warning", subject))
    monkeypatch.setattr("hostdx.scenarios.triage.triage.examine_host", lambda *a, **k: iter([event]))
    slow = outcome("storage", "B is slower", "warning", verdict("slower", 0.5, (0.4, 0.6)))
    run = CheckupRun(outcomes={"storage": slow}, options={"dir": ["/d"]})
    await conduct_fake(Checkup(), run)
    assert [item.state for item in run.of(CheckupAnswer)[-1].value].count("rule") == rules


@pytest.mark.parametrize(
    ("part_outcome", "words"),
    [
        (outcome("s", "moved", "warning", SAME, verdict("slower", 0.9, (0.8, 0.9), control=True)),
         "1. the disk: moved"),
        (outcome("s", "A or B", "unknown", verdict("inconclusive", 1, (0.7, 1.4))), "1. the disk: undecided: A or B"),
        (outcome("s", "no task was stuck", "ok", findings=(Finding(id="a", severity="ok", title="x"),)),
         "1. ruled out: the disk (no task was stuck)"),
        (outcome("s", "faster", "ok", verdict("faster", 1.3, (1.2, 1.4))), "1. the disk: faster"),
        (outcome("s", "skipped: no room", "warning", status="skipped", reason="no room"),
         "1. the disk: not measured: no room"),
        (outcome("s", "skipped: none: no room", "warning", UNMEASURED,
                 status="skipped", reason="none: no room"),
         "1. the disk: not measured: no room"),
        (outcome("s", "unused", "ok", verdict("slower", 0.5, (0.4, 0.6)),
                 findings=(Finding(id="w.cost", severity="ok", title="unused", answers=True),)),
         "1. ruled out: the disk (unused)"),
        (outcome("s", "same", "ok", SAME,
                 findings=(Finding(id="compare.worse", severity="warning", title="2 of 4 lost"),)),
         "1. the disk: 2 of 4 lost"),
        (outcome("s", "same", "ok", verdict("no material difference", 1.0, (0.4, 3.5))),
         "1. ruled out: the disk (no difference over a factor of 3.5)"),
    ],
)  # fmt: skip
async def test_what_a_part_says_of_its_suspect(offer: Any, part_outcome: OtherRunOutcome, words: str) -> None:
    offer(STORAGE)
    run = CheckupRun(outcomes={"storage": part_outcome})
    await conduct_fake(Checkup(), run)
    assert answer_lines(run) == [words]


@pytest.mark.parametrize("has_undecided_load", [False, True])
async def test_a_rating_is_an_answer_and_changes_nothing_of_the_host(
    offer: Any, has_undecided_load: bool
) -> None:
    """A disk that was rated stood as undecided, with a change of a kernel setting as the way to decide it."""
    offer(STORAGE)
    rated = outcome(
        "storage",
        "good for single reads",
        "notice",
        *((verdict("inconclusive", 1, (0.7, 1.4)),) if has_undecided_load else ()),
        findings=(make_finding("storage.grade", "notice", "/d"),),
    )
    steps = (
        SuggestedStep("x", "echo 0 > /sys/x"),
        SuggestedStep("y", "hostdx run storage --dir=/d --dir=/e"),
    )
    rated = msgspec.structs.replace(rated, following=steps)
    run = CheckupRun(outcomes={"storage": rated})
    await conduct_fake(Checkup(), run)
    [item] = run.of(CheckupAnswer)[-1].value
    assert item.state == ("open" if has_undecided_load else "remark")
    assert item.following == steps[1:]
