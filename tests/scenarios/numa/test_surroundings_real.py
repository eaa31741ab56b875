"""What takes CPU time away, planted on this machine: half a CPU's quota, and a competitor on one CPU."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cgroup import parse_proc_cgroup
from hostdx.scenarios.numa.findings import cpu_findings
from hostdx.scenarios.numa.measurement.cpu import NO_CLOCK, AllCoresClock, CpuBench
from hostdx.scenarios.numa.measurement.placement import PlacementBench
from hostdx.scenarios.numa.measurement.surroundings import ConditionsSurvey
from hostdx.scenarios.triage.cpus.usable import usable_cpus
from tests.needs import NOT_INIT, ROOT, needs, not_here

pytestmark = pytest.mark.real("cpu")

BURNER_NICE = -12  # leaves a fifteenth of its CPU: less, and the bench there takes half a minute
# Works until it was held back for a second, and says what the findings say of it.
HELD = """
import os, sys, time
from hostdx.probes.reading.host import Host
from hostdx.scenarios.numa.measurement.cpu import NO_CLOCK, AllCoresClock, CpuResult
from hostdx.scenarios.numa.findings import cpu_findings
from hostdx.scenarios.numa.measurement.surroundings import ConditionsSurvey
from hostdx.probes.system.processor.throttle import ThrottleReader
host = Host()
reader = ThrottleReader(host)
surveyor = ConditionsSurvey(host, os.cpu_count(), lambda: ())
surveyor.begin()
began = time.monotonic()
before = reader.read().quota_s or 0.0
while (reader.read().quota_s or 0.0) < before + 1.0 and time.monotonic() < began + 20:
    sum(range(100_000))
took = time.monotonic() - began
result = CpuResult(
    rows=(), curve={}, clock_ns=None, system_call_ns=None, share={0: 0.5}, seconds=took,
    clocked=AllCoresClock(reached_khz=NO_CLOCK, samples=0),
)
for finding in cpu_findings(result, surveyor.end(took, result.share)):
    print(finding.id, finding.severity, finding.title)
"""


@pytest.fixture
def half_a_cpu() -> Iterator[Path]:
    """A control group of our own below the one that we are in."""
    groups = parse_proc_cgroup(Path("/proc/self/cgroup").read_text(encoding="utf-8"))
    name = f"hostdx-test-{os.getpid()}"
    tried = []
    # With the greatest weight: beside many others on a busy host half a CPU would never be used up.
    first = {"cpu.shares": "262144", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}
    for base, controller, files in (
        ("/sys/fs/cgroup", "", {"cpu.weight": "10000", "cpu.max": "50000 100000"}),
        ("/sys/fs/cgroup/cpu,cpuacct", "cpu", first),
        ("/sys/fs/cgroup/cpu", "cpu", first),
    ):
        above = Path(base + groups.get(controller, "/"))
        if not (above / "cgroup.procs").exists():
            continue
        group = above / name
        try:
            group.mkdir()
            for file, value in files.items():
                # not write_text: that would create what a group without the controller does not have
                fd = os.open(group / file, os.O_WRONLY)
                try:
                    os.write(fd, value.encode())
                finally:
                    os.close(fd)
        except OSError as error:
            tried.append(f"{group}: {error.strerror}")
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        yield group
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                group.rmdir()
                return
            except OSError:
                time.sleep(0.05)
        group.rmdir()
        return
    not_here("; ".join(tried) or "no control group with a CPU controller may be made here")


@pytest.mark.noisy("whoever else is busy counts as the planted competitor", false_failures="0 of 4")
def test_half_a_cpu_is_said_as_a_quota(half_a_cpu: Path) -> None:
    inside = f"import os; open({str(half_a_cpu / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
    stdout = subprocess.run(
        [sys.executable, "-c", inside + HELD], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert stdout.startswith("numa.cpu-quota warning ")
    assert "competitor" not in stdout


@needs(NOT_INIT, ROOT)
async def test_a_competitor_on_one_cpu_is_said_with_that_cpu() -> None:
    host, cpus = Host(), sorted(os.sched_getaffinity(0))
    # not a child of this process: what we start ourselves is no competitor
    script = f"{shlex.quote(sys.executable)} -c 'while True: pass' >/dev/null 2>&1 & echo $!"
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=True, start_new_session=True
    )
    burner = int(done.stdout)
    # its CPU is its own whoever else is busy, so nobody uses more of all CPUs
    os.setpriority(os.PRIO_PROCESS, burner, BURNER_NICE)
    with contextlib.suppress(OSError):
        Path(f"/proc/{burner}/autogroup").write_text(
            str(BURNER_NICE)
        )  # sched(7): weighs the session; not on every kernel
    bench = PlacementBench(3)
    try:
        os.sched_setaffinity(burner, {cpus[-1]})
        cpu = CpuBench(host, usable_cpus(host), bench, 3)
        surveyor = ConditionsSurvey(host, len(cpus), lambda: bench.all_pids)
        surveyor.begin()
        began = time.monotonic()
        for _ in range(3):
            await cpu.measure_round()
        took = time.monotonic() - began
        result = cpu.build_result(AllCoresClock(reached_khz=NO_CLOCK, samples=0), took)
        around = surveyor.end(took, result.share)
    finally:
        os.kill(burner, signal.SIGKILL)
        await bench.close()
    cpu_findings_by_id = {f.id: f for f in cpu_findings(result, around)}
    assert any(f"CPU {cpus[-1]}: " in e.text for e in cpu_findings_by_id["numa.cpu-competitor"].evidence)
    assert around.culprit is not None and around.culprit.pid == burner
