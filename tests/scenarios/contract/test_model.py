"""What a run gives a scenario beside its events: steps that end by themselves, facts by subject."""

import asyncio

import pytest

from hostdx.app.recordings.session import RunSession
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import RunRefused
from tests.fakes.run import FakeRun


def steps(run: FakeRun) -> list[tuple[str, str]]:
    return [(step.state, step.reason) for step in run.of(ev.RunStep)]


def test_a_step_ends_with_its_block() -> None:
    run = FakeRun()
    with run.begin_step("prepare", "write the files") as step:
        step.report_progress("half", seconds_left=2.0)
    assert steps(run) == [("started", ""), ("done", "")]
    [told] = run.of(ev.Progress)
    assert (told.step, told.text, told.seconds_left) == ("prepare", "half", 2.0)


def test_a_step_says_how_else_it_ended() -> None:
    run = FakeRun()
    with run.begin_step("a", "first") as step:
        step.skip_step("no disk")
    with run.begin_step("b", "second") as step:
        step.finish_with_remark("7 routes copied")
    assert steps(run) == [
        ("started", ""),
        ("skipped", "no disk"),
        ("started", ""),
        ("done", "7 routes copied"),
    ]


def test_what_is_raised_fails_the_step_in_one_line_and_goes_on_up() -> None:
    run = FakeRun()
    with pytest.raises(RunRefused), run.begin_step("a", "first"):
        raise RunRefused("no room\nat all")
    assert steps(run) == [("started", ""), ("failed", "no room at all")]


def test_a_stop_ends_the_run_and_not_the_step() -> None:
    run = FakeRun()
    with pytest.raises(asyncio.CancelledError), run.begin_step("a", "first"):
        raise asyncio.CancelledError
    assert steps(run) == [("started", "")]


def test_a_fact_of_a_subject_and_one_that_could_not_be_read() -> None:
    run = FakeRun()
    run.emit_fact("disk:sda", "size", 1 << 40, "B", source="/sys/block/sda/size")
    run.emit_fact("disk:sdb", "size", 1 << 41, "B", source="/sys/block/sdb/size")
    run.emit_fact("disk:sda", "health", Absent("needs root", "permission"), source="smartctl -a /dev/sda")
    session = RunSession()
    for event in run.events:
        session.apply(event)
    assert {label: fact.value for label, fact in session.facts.items()} == {
        "disk:sda size": 1 << 40,
        "disk:sdb size": 1 << 41,
    }
    [absent] = session.absent.values()
    assert (absent.subject, absent.name, absent.kind) == ("disk:sda", "health", "permission")
    assert absent.source == "smartctl -a /dev/sda"


def test_a_fact_that_is_read_after_all_is_absent_no_more() -> None:
    session = RunSession()
    run = FakeRun()
    run.emit_fact("kernel", "log", Absent("needs root", "permission"))
    run.emit_fact("kernel", "log", "readable", source="/dev/kmsg")
    for event in run.events:
        session.apply(event)
    assert not session.absent and "kernel log" in session.facts
