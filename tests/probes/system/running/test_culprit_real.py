"""Real processes that burn a CPU and are reaped between two looks."""

import os
import signal
import subprocess
import sys
import time

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.culprit import find_dominant_process
from hostdx.probes.system.running.processes import ProcessTable, read_process_table

# The parent waits for its child; the child burns a second of CPU and lives until its standard input ends.
BURN = "import time\nwhile time.process_time() < {seconds}: pass\n"
CHILD = BURN.format(seconds=1.0) + "print('burnt', flush=True)\ninput()"
PARENT = """import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]], check=False)
print("reaped", flush=True)
sys.stdin.read()
"""
VFORK = """import ctypes
libc = ctypes.PyDLL(None)
print(flush=True)
if libc.vfork() == 0:
    libc.sleep(30)
    libc._exit(0)
"""


def others_than(table: ProcessTable, parent: int) -> frozenset[int]:
    """Everybody but the parent: whatever else this machine does is not the question."""
    return frozenset(pid for pid in table.processes if pid != parent)


@pytest.mark.noisy("a fifth of a second of CPU time between two looks", false_failures="0 of 4")
@pytest.mark.real("cpu")
def test_a_parent_that_reaps_a_busy_child_is_not_named_for_it() -> None:
    host = Host()
    argv = [sys.executable, "-c", PARENT, CHILD]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdin is not None and parent.stdout is not None
            assert parent.stdout.readline() == "burnt\n"
            before = read_process_table(host, io=True)
            parent.stdin.write("go\n")
            parent.stdin.flush()
            assert parent.stdout.readline() == "reaped\n"
            after = read_process_table(host, io=True)
        finally:
            parent.kill()
    cpu_s = after.processes[parent.pid].cpu_s - before.processes[parent.pid].cpu_s
    assert cpu_s > 0.9  # what the kernel says: the child's life
    busiest = find_dominant_process(before, after, "cpu", others_than(after, parent.pid))
    # The child's last steps count: ending an interpreter takes some 10 ms.
    assert busiest is None or busiest.rate * (after.uptime_s - before.uptime_s) < 0.2
    assert before.cpus == os.sysconf("SC_NPROCESSORS_ONLN")


@pytest.mark.noisy("a fifth of a second of CPU time between two looks", false_failures="0 of 4")
@pytest.mark.real("cpu")
def test_a_parent_whose_children_come_and_go_in_between_is_named() -> None:
    host = Host()
    script = f"while :; do {sys.executable} -c '{BURN.format(seconds=0.2)}'; echo done; done"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as shell:
        try:
            assert shell.stdout is not None
            shell.stdout.readline()
            before = read_process_table(host, io=False)
            for _ in range(3):
                shell.stdout.readline()
            after = read_process_table(host, io=False)
        finally:
            shell.kill()
    busiest = find_dominant_process(before, after, "cpu", others_than(after, shell.pid))
    assert busiest is not None and busiest.pid == shell.pid
    assert 0.35 < busiest.rate * (after.uptime_s - before.uptime_s) < 1.5


@pytest.mark.real("cpu")
def test_a_look_asks_a_process_that_waits_for_the_disk_through_a_child() -> None:
    """vfork(2) keeps the caller in D state until its child ends or calls execve."""
    host = Host()
    with subprocess.Popen([sys.executable, "-c", VFORK], stdout=subprocess.PIPE, text=True) as waiting:
        child = ""
        try:
            assert waiting.stdout is not None
            waiting.stdout.readline()
            ends = time.monotonic() + 10
            while (process := read_process_table(host, io=True).processes[waiting.pid]).state != "D":
                assert time.monotonic() < ends, "it never came into D state"
                time.sleep(0.01)
            text = host.read_file_text(f"/proc/{waiting.pid}/task/{waiting.pid}/children")
            child = text if isinstance(text, str) else ""
            assert process.io is not None
        finally:
            waiting.kill()
            for pid in child.split():
                os.kill(int(pid), signal.SIGKILL)
            host.close()
