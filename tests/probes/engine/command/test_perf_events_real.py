"""Perf events count the command with all that it starts, and not the process that waits for it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostdx.probes.engine.command.perf_events import EVENTS, SOFTWARE, CountersFromExec, CycleClocks
from hostdx.probes.engine.command.topdown import PerfEvent
from tests.needs import not_here

pytestmark = pytest.mark.real("cpu")

TASK_CLOCK = PerfEvent(SOFTWARE, 1)  # nanoseconds


def test_a_command_and_its_children_are_counted() -> None:
    counters = CountersFromExec(
        {
            "task": TASK_CLOCK,
            "none": PerfEvent(99, 99),
            "led": PerfEvent(SOFTWARE, 1, "task"),
            "alone": PerfEvent(SOFTWARE, 1, "none"),
        }
    )
    sum(range(5_000_000))  # not the command's
    spin = f"{sys.executable} -S -c 'sum(range(5000000))'"
    child = subprocess.Popen(["sh", "-c", f"{spin}; {spin}; true"])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    counts = counters.read_and_close()
    assert child.returncode == 0 and "none" not in counts and "alone" not in counts
    if "task" not in counts:
        not_here("perf events are not allowed here")
    assert counts["led"] == pytest.approx(counts["task"], rel=0.05), "it counts in the other one's group"
    assert counts["task"] / 1e9 == pytest.approx(usage.ru_utime + usage.ru_stime, rel=0.25)


def test_what_is_not_there_is_none() -> None:
    assert set(CountersFromExec().read_and_close()) <= set(EVENTS)


def test_the_clock_of_running_processes() -> None:
    """Task clock counts a nanosecond each nanosecond that they ran: 1 GHz, whoever else is busy."""
    busy = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    idle = subprocess.Popen(["sleep", "60"])
    clocks = CycleClocks((busy.pid, idle.pid), TASK_CLOCK)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and _cpu_s(busy.pid) < 0.3:
            time.sleep(0.05)
    finally:
        for child in (busy, idle):
            child.kill()
            child.wait()
    gigahertz, is_running = clocks.read_and_close()
    if gigahertz is None:
        not_here("perf events are not allowed here")
    assert gigahertz == pytest.approx(1.0, rel=0.05) and is_running


def test_a_clock_that_nobody_counts_is_none() -> None:
    assert CycleClocks((os.getpid(),), PerfEvent(99, 99)).read_and_close() == (None, 0)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")
