"""Perf events count the command with all that it starts, and not the process that waits for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from probes.bench.perf_events import EVENTS, SOFTWARE, Counters

pytestmark = pytest.mark.real

TASK_CLOCK = (SOFTWARE, 1)  # nanoseconds


def test_a_command_and_its_children_are_counted() -> None:
    counters = Counters({"task": TASK_CLOCK, "none": (99, 99)})
    sum(range(5_000_000))  # not the command's
    spin = f"{sys.executable} -S -c 'sum(range(5000000))'"
    child = subprocess.Popen(["sh", "-c", f"{spin}; {spin}; true"])
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    found = counters.end()
    assert child.returncode == 0 and found["none"] is None
    if found["task"] is None:
        pytest.skip("perf events are not allowed here")
    assert found["task"] / 1e9 == pytest.approx(used.ru_utime + used.ru_stime, rel=0.25)


def test_what_is_not_there_is_none() -> None:
    assert set(Counters().end()) == set(EVENTS)
