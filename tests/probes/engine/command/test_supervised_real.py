"""A command's whole tree under the supervisor, for real: what is measured, and that nothing of it outlives the run."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from hostdx.probes.engine.command.process_tree import list_descendants, process_state
from hostdx.probes.engine.command.supervised import CommandOrder, JobRun, Supervisors, TreeSample
from hostdx.probes.engine.measured import BenchRefused
from tests.needs import TASKSTATS, need, needs, on_disk
from tests.real.polled import happens

pytestmark = pytest.mark.real("cpu")

SPIN = "import time\nuntil = {cpu_s}\nwhile time.process_time() < until: pass\n"


def make_order(*argv: str, **rest: object) -> CommandOrder:
    return CommandOrder(argv=argv, cwd="/", env=dict(os.environ), **rest)  # type: ignore[arg-type]


async def run_orders(*orders: CommandOrder, hear: Callable[[TreeSample], None] | None = None) -> list[JobRun]:
    """One after the other, of one server."""
    async with Supervisors() as supervisors:
        return [await supervisors.run(order, hear) for order in orders]


def run_order(*argv: str, **rest: object) -> JobRun:
    return asyncio.run(run_orders(make_order(*argv, **rest)))[0]


def is_gone(path: Path) -> bool:
    """Whether the process whose number the file holds is no longer alive."""
    return process_state(int(path.read_text())) in ("", "Z", "X")


def test_cpu_time_equals_the_kernels_own_account() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    job = run_order(sys.executable, "-c", SPIN.format(cpu_s=0.3))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert job.status == 0 and not job.stopped
    assert 0.3 <= job.cpu_s <= used_s  # the supervisor's own comes on top there
    assert job.wall_s >= 0.3 and job.seen > 0.8


def test_two_that_share_a_cpu_wait_for_it() -> None:
    cpu = min(os.sched_getaffinity(0))
    spin = f"{sys.executable} -c '{SPIN.format(cpu_s=0.3)}'"
    job = run_order("sh", "-c", f"{spin} & {spin}; wait", cpus=(cpu,))
    assert job.cpu_s >= 0.6 and job.wall_s >= 0.6
    assert job.waited_s >= 0.25  # while one of them ran the other one waited


@needs(TASKSTATS)
def test_processes_too_quick_to_be_looked_at_are_told_at_their_end() -> None:
    job = run_order("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (/bin/true &); done")
    assert job.status == 0 and job.seen == 1.0 > job.looked


def test_taskset_holds_for_the_command() -> None:
    cpu = max(os.sched_getaffinity(0))
    job = run_order(
        "sh", "-c", "grep Cpus_allowed_list /proc/self/status; nice", cpus=(cpu,), nice=7, kept_bytes=1000
    )
    assert job.output.split() == ["Cpus_allowed_list:", str(cpu), str(min(19, os.nice(0) + 7))]


def test_what_it_writes_is_counted(tmp_path: Path) -> None:
    need(on_disk(tmp_path))
    job = run_order("sh", "-c", f"head -c 3000000 /dev/zero > {tmp_path}/x")
    assert job.status == 0 and job.written_bytes is not None and job.written_bytes >= 3000000


def test_a_daemon_that_ignores_sigterm_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    daemon = f"echo $$ > {pid}; sleep 600; sleep 600"
    script = f"trap '' TERM; setsid sh -c '{daemon}' & while [ ! -s {pid} ]; do :; done"
    job = run_order("sh", "-c", script)
    assert job.status == 0 and job.left >= 1 and job.survivors == 0
    assert is_gone(tmp_path / "pid")


def test_forks_are_ended_with_the_time() -> None:
    script = """
import os, time
for _ in range(7):
    os.fork() and time.sleep(0.002)
os.fork()
time.sleep(600)
"""
    job = run_order(sys.executable, "-c", script, at_most_s=0.5)
    assert job.stopped == "time" and job.left > 1 and job.survivors == 0


def test_a_lot_printed_is_bounded() -> None:
    job = run_order(
        "sh", "-c", "head -c 200000000 /dev/zero; echo; echo last; head -c9000 /dev/zero >&2", kept_bytes=100
    )
    assert job.output_bytes > 200000000 and len(job.output) == 100 and job.output.endswith("last\n")
    assert len(job.errors) == 4096


def test_closed_output_and_a_status() -> None:
    job = run_order("sh", "-c", "echo why >&2; exec >&- 2>&-; exit 3", kept_bytes=100)
    assert job.status == 3 and job.errors == "why\n"


def test_what_cannot_be_started_is_said() -> None:
    with pytest.raises(BenchRefused, match="cannot be started: No such file"):
        run_order("/nonexistent/command")


def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    async def start_and_cancel() -> None:
        script = f"setsid sleep 600 & echo $! > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 600"
        running = asyncio.ensure_future(run_orders(make_order("sh", "-c", script)))
        while not (tmp_path / "pid").exists():
            await asyncio.wait({running}, timeout=0.01)
            assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    before = set(list_descendants(os.getpid()))  # an earlier test's, that may end later
    asyncio.run(start_and_cancel())
    assert happens(lambda: is_gone(tmp_path / "pid"))
    own_descendants = lambda: set(list_descendants(os.getpid())) - before  # noqa: E731
    assert happens(lambda: not [pid for pid in own_descendants() if process_state(pid) not in ("Z", "")])


def test_after_kill_9_of_who_ordered_it_nothing_is_left(tmp_path: Path) -> None:
    script = (
        f"setsid sleep 600 & echo $! > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 600"
    )
    text = (
        "import asyncio, os\nfrom hostdx.probes.engine.command.supervised import *\n"
        f"asyncio.run(Supervisors().run(CommandOrder(argv=('sh', '-c', {script!r}), cwd='/', env=dict(os.environ))))"
    )
    owner = subprocess.Popen([sys.executable, "-P", "-c", text])
    assert happens((tmp_path / "pid").exists, 30.0)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert happens(lambda: is_gone(tmp_path / "pid"))


def test_a_run_is_looked_into_once_a_second(tmp_path: Path) -> None:
    samples: list[TreeSample] = []
    child = f"{sys.executable} -c '{SPIN.format(cpu_s=0.4)}'"
    script = f"{child}; head -c 3000000 /dev/zero > {tmp_path}/x; sleep 3.2 & sleep 3.2; wait"
    (job,) = asyncio.run(run_orders(make_order("sh", "-c", script), hear=samples.append))
    assert job.status == 0 and len(samples) >= 3
    assert all(a.at_s < b.at_s and a.cpu_s <= b.cpu_s for a, b in pairwise(samples))
    last = samples[-1]
    assert 0.35 <= last.cpu_s <= job.cpu_s + 0.02 and last.at_s <= job.wall_s  # ticks are 0.01 s
    assert max(s.processes for s in samples) >= 3 and max(s.pss_bytes or 0 for s in samples) > 100_000
    assert last.written_bytes == job.written_bytes
    short: list[TreeSample] = []
    asyncio.run(run_orders(make_order("true"), hear=short.append))
    assert not short
