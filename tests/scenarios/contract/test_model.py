"""What a run gives a scenario beside its events: steps that end by themselves, facts by subject."""

import asyncio

import pytest

from hostdx.scenarios.contract import events as ev
from tests.fakes.run import FakeRun


def steps_of(run: FakeRun) -> list[tuple[str, str]]:
    return [(step.state, step.reason) for step in run.of(ev.RunStep)]


def test_a_stop_ends_the_run_and_not_the_step() -> None:
    run = FakeRun()
    with pytest.raises(asyncio.CancelledError), run.begin_step("a", "first"):
        raise asyncio.CancelledError
    assert steps_of(run) == [("started", "")]
