"""One server for many runs, for real: nothing of a run is in the next one, and nothing of it outlives whoever dies."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hostdx.probes.engine.command import group_counters
from hostdx.probes.engine.command.process_tree import list_children, list_descendants, process_state
from hostdx.probes.engine.command.supervised import CommandOrder, JobRun, Supervisors
from hostdx.probes.engine.measured import BenchRefused
from tests.real.polled import happens

pytestmark = pytest.mark.real("cpu")

# All that a process has from the one that made it.
INHERITED = """
import os
print(sorted(os.environ.items()), os.getcwd(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))
print(open("/proc/self/limits").read(), os.umask(0), os.getgroups())
print({fd: os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in range(3)})
print([fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")])
wanted = ("SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Cpus_allowed", "Mems_allowed", "CapEff")
print([line for line in open("/proc/self/status") if line.startswith(wanted)])
print(open("/proc/self/oom_score_adj").read(), open("/proc/self/cgroup").read())
print(os.getpid() == os.getpgrp(), os.getsid(0) == os.getppid(), os.isatty(0))
"""
# One that changes what it can, and leaves a process that holds all it has.
DIRTY = """
ulimit -n 64; umask 077; trap '' HUP INT TERM QUIT; exec 7</dev/null; echo 500 > /proc/self/oom_score_adj
renice -n 9 $PPID $$; cd /tmp; setsid sleep 600 & exit 3
"""


def make_order(*argv: str, env: dict[str, str] | None = None, **rest: object) -> CommandOrder:
    return CommandOrder(argv=argv, env=dict(os.environ) if env is None else env, **({"cwd": "/"} | rest))  # type: ignore[arg-type]


def test_a_run_gets_nothing_of_the_one_before(supervisors: Supervisors, tmp_path: Path) -> None:
    probe = make_order(
        sys.executable, "-S", "-c", INHERITED, env={"PATH": "/bin", "A": "1"}, kept_bytes=1 << 16
    )
    cpu = max(os.sched_getaffinity(0))
    dirty = make_order(
        "sh", "-c", DIRTY, env={"SECRET": "x"}, cwd=str(tmp_path), cpus=(cpu,), node=0, nice=5, ionice=(3, 0)
    )

    async def run_orders() -> list[JobRun]:
        return [await supervisors.run(order) for order in (probe, dirty, probe)]

    before, between, after = asyncio.run(run_orders())
    assert before.status == 0 and "'A', '1'" in before.output, before.errors
    assert between.status == 3 and between.left == 1 and between.survivors == 0
    assert after.output == before.output


def test_neither_its_words_nor_its_environment_are_in_the_process_list(supervisors: Supervisors) -> None:
    """Of those that are ours: the command's own line is the user's affair."""
    secret = "s3cr3t-words"
    texts: list[bytes] = []

    async def read_process_list() -> None:
        running = asyncio.ensure_future(
            supervisors.run(make_order("sleep", "600", env=dict(os.environ) | {"PASSWORD": secret}))
        )
        server = await _wait_for_one(lambda: list_children(os.getpid()), before)
        supervisor = await _wait_for_one(lambda: list_children(server), set())
        command = await _wait_for_one(lambda: list_children(supervisor), set())
        while Path(f"/proc/{command}/comm").read_text() != "sleep\n":
            await asyncio.sleep(0.01)
        for pid in (server, supervisor):
            texts.extend(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
        running.cancel()
        await asyncio.wait({running})

    before = set(list_children(os.getpid()))
    asyncio.run(read_process_list())
    assert len(texts) == 4 and b"hostdx.probes.engine.command.run_server" in texts[0]
    assert not [text for text in texts if secret.encode() in text or b"600" in text.split(b"\0")]


async def _wait_for_one(list_pids: Callable[[], list[int]], but: set[int]) -> int:
    until = time.monotonic() + 20
    while not (pids := [pid for pid in list_pids() if pid not in but]):
        assert time.monotonic() < until
        await asyncio.sleep(0.01)
    return pids[0]


@pytest.mark.parametrize("victim", ["server", "supervisor"])
def test_after_kill_9_nothing_is_left_and_the_next_run_is_one(
    supervisors: Supervisors, tmp_path: Path, victim: str
) -> None:
    pid = tmp_path / "pid"
    script = f"setsid sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; trap '' TERM; sleep 600"
    before = set(list_children(os.getpid()))

    async def kill_and_run() -> JobRun:
        running = asyncio.ensure_future(supervisors.run(make_order("sh", "-c", script)))
        while not pid.exists():
            await asyncio.wait({running}, timeout=0.01)
            assert not running.done()
        server = await _wait_for_one(lambda: list_children(os.getpid()), before)
        (supervisor,) = list_children(server)
        all_of_them = list_descendants(server)
        os.kill(server if victim == "server" else supervisor, signal.SIGKILL)
        try:
            assert (await running).stopped == "told" and victim == "server"
        except BenchRefused as error:
            assert "supervisor was killed" in str(error) and victim == "supervisor"
        all_gone = lambda: not [pid for pid in all_of_them if process_state(pid) not in ("", "Z", "X")]  # noqa: E731
        assert happens(all_gone)
        return await supervisors.run(make_order("true"))

    assert asyncio.run(kill_and_run()).status == 0


@pytest.mark.noisy("milliseconds against milliseconds", false_failures="0 of 4")
def test_its_own_start_is_not_in_the_wall_time(supervisors: Supervisors) -> None:
    """Against the same command started directly, in turn: each one's shortest."""
    supervised: list[float] = []
    directly: list[float] = []

    async def run_in_turn() -> None:
        for _ in range(25):
            supervised.append((await supervisors.run(make_order("/bin/true"))).wall_s)
            began = time.perf_counter()
            subprocess.run(["/bin/true"], check=True)
            directly.append(time.perf_counter() - began)

    asyncio.run(run_in_turn())
    assert 0 < min(supervised) < 2 * min(directly) + 0.003  # a bare interpreter alone takes 10 ms and more


def test_a_group_that_is_not_there(supervisors: Supervisors) -> None:
    assert group_counters.fork_into_group("/nonexistent") is None
    with pytest.raises(BenchRefused, match="cannot be started: No such file"):
        asyncio.run(supervisors.run(make_order("true", group="/nonexistent")))
    assert asyncio.run(supervisors.run(make_order("true"))).status == 0
