"""Known truths, for real: what is done to a command shows in the part where it must show; figures agree with others."""

import asyncio
import os
import resource
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostdx.app.run.runner import MonotonicClock
from hostdx.probes.engine.command.supervised import Supervisors
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks
from hostdx.scenarios.workload.difference import REST
from hostdx.scenarios.workload.group import find_group_root, limits_problem
from hostdx.scenarios.workload.parts import TimePart
from hostdx.scenarios.workload.scenario import CommandUnderVariants
from hostdx.scenarios.workload.split import split_wall_time
from hostdx.scenarios.workload.variant_bench import (
    BLOCKED,
    CPU,
    OTHER_D,
    SYSTEM,
    USER,
    WAITING,
    WALL,
    CommandVariantBench,
)
from hostdx.scenarios.workload.variants import parse_variant
from tests.fakes.run import FakeRun, conduct_fake
from tests.needs import TASKSTATS, needs, not_here
from tests.scenarios.workload.test_variant_bench_real import PYTHON, run_bench

pytestmark = pytest.mark.real("cpu")
BIG, WRITTEN = 60 << 20, 8 << 20


def difference_of(
    run: FakeRun, first: CommandVariantBench, second: CommandVariantBench, groups: int = 2
) -> dict[str, TimePart]:
    """The parts of a few groups of both."""
    measured = GuardedBlocks(run)

    async def all_groups() -> None:
        for group in range(groups):
            for bench in (first, second):
                await measured.measure("command", bench.variant, bench.measure_block, group=group)

    asyncio.run(all_groups())
    time_split = split_wall_time(measured.counted_blocks("command"), first.variant, second.variant)
    assert time_split is not None
    return {part.name: part for part in time_split.parts}


@pytest.mark.noisy("the same command measured twice, in turn", false_failures="0 of 6")
@needs(TASKSTATS)
def test_one_cpu_of_two_costs_wall_and_no_cpu_time(supervisors: Supervisors) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        not_here("one CPU only")
    spin = "while time.process_time() < 0.2: sum(range(9999))"
    # as root before whoever else is busy: only its own other half is waited for
    first = "if os.geteuid() == 0: os.setpriority(os.PRIO_PROCESS, 0, -20)"
    if Path("/proc/self/autogroup").exists():
        first += "; open('/proc/self/autogroup', 'w').write('-20')"  # sched(7): of its session, beside others
    command = f'{PYTHON} -S -c "import os, time\n{first}\nchild = os.fork()\n{spin}\nchild and os.wait()"'
    run = FakeRun()
    benches = [
        CommandVariantBench(run, parse_variant(f"{n}: cpus={c}", command, "/"), supervisors, at_most_s=60.0)
        for n, c in (("two", f"{cpus[0]},{cpus[1]}"), ("one", cpus[0]))
    ]
    parts = difference_of(run, benches[0], benches[1])
    assert max(list(parts.values())[1:], key=lambda part: part.difference_s).name == WAITING
    # the parts are shares of the wall time: what is used on two CPUs at once fills it half as long
    assert parts[WALL].difference_s > 0 and parts[WAITING].difference_s > parts[USER].difference_s
    cpu_s = [run_bench(bench)[0].values[CPU] for bench in benches]
    assert cpu_s[1] == pytest.approx(cpu_s[0], rel=0.25)


@pytest.mark.noisy("the same command measured twice, in turn", false_failures="0 of 4")
def test_a_slower_algorithm_shows_as_user_cpu(supervisors: Supervisors) -> None:
    run = FakeRun()
    quick, slow = (
        CommandVariantBench(
            run,
            parse_variant(
                f"{name}:",
                f'{PYTHON} -S -c "import time\nwhile time.process_time() < {cpu_s}: sum(range(9999))"',
                "/",
            ),
            supervisors,
            at_most_s=60.0,
        )
        for name, cpu_s in (("quick", 0.2), ("slow", 0.6))
    )
    parts = difference_of(run, quick, slow)
    assert parts[USER].difference_s + parts[SYSTEM].difference_s == pytest.approx(0.4, abs=0.1)
    assert (
        max(
            (parts[n] for n in (USER, SYSTEM, BLOCKED, OTHER_D, REST) if n in parts),
            key=lambda p: p.difference_s,
        ).name
        == USER
    )


@pytest.mark.noisy("the same command measured twice, in turn", false_failures="0 of 4")
def test_the_figures_are_those_of_gnu_time(tmp_path: Path, supervisors: Supervisors) -> None:
    if not (gnu := shutil.which("time")):
        not_here("GNU time is not installed")
    script = tmp_path / "job.py"
    # More than this process ever had: execve(2) keeps the peak of who started the command, so less is not told.
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + (60 << 20)
    script.write_text(
        f"import os, time\nchild = os.fork()\na = bytearray({size} if child else 0)\n"
        "while time.process_time() < 0.2: pass\n"
        "child and os.wait()\n"
    )
    time_file = tmp_path / "told"
    command = f"{gnu} -o {time_file} -f '%e %U %S %M %R %w' {PYTHON} -S {script}"
    values = run_bench(
        CommandVariantBench(FakeRun(), parse_variant("a:", command, "/"), supervisors, at_most_s=60.0)
    )[0].values
    wall, user, system, peak, faults, waits = map(float, time_file.read_text().split())
    assert values[WALL] == pytest.approx(wall, abs=0.1)  # GNU time's own start and end come on top
    assert values[USER] == pytest.approx(user, abs=0.03) and values[SYSTEM] == pytest.approx(system, abs=0.03)
    assert values["peak RSS"] == pytest.approx(peak * 1024, rel=0.01)
    assert (
        faults <= values["minor faults"] <= faults + 500
        and waits <= values["voluntary switches"] <= waits + 20
    )


@pytest.mark.noisy("the same command measured twice, in turn", false_failures="0 of 4")
def test_the_figures_are_those_of_perf_stat(tmp_path: Path, supervisors: Supervisors) -> None:
    """One run, counted by both: perf runs inside of ours. Its own start and end are in ours and not in its figures."""
    if not (perf := shutil.which("perf")):
        not_here("perf is not installed")
    script, counts_file = tmp_path / "job.py", tmp_path / "told"
    script.write_text(
        "import os, time\nchild = os.fork()\na = bytearray(40 << 20)\n"
        "while time.process_time() < 0.3: pass\nfor _ in range(200): time.sleep(0)\n"
        "child and os.wait()\n"
    )
    events = "task-clock,context-switches,cpu-migrations,page-faults,major-faults"
    counting = f"{perf} stat -x, -o {counts_file} -e {events}"
    if subprocess.run(shlex.split(f"{counting} true"), capture_output=True, check=False).returncode:
        paranoid = Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip()
        not_here(f"perf events are not allowed (kernel.perf_event_paranoid={paranoid})")

    command, before = f"{counting} {PYTHON} -S {script}", _taken_s()
    values = run_bench(
        CommandVariantBench(FakeRun(), parse_variant("a:", command, "/"), supervisors, at_most_s=60.0)
    )[0].values
    events_of = {
        line.split(",")[2].partition(":")[0]: line.split(",")[0] for line in _figure_lines(counts_file)
    }
    faults, switches = float(events_of["page-faults"]), float(events_of["context-switches"])
    # perf's clock goes on while the host or an interrupt has the CPU, that of rusage does not (update_rq_clock_task)
    clock, stolen_s = float(events_of["task-clock"]) / 1e3, _taken_s() - before
    assert clock - stolen_s - 0.05 <= values[CPU] <= clock + 0.05
    # perf itself: a process that starts, opens five counters and waits
    assert faults <= values["minor faults"] + values["major faults"] <= faults + 3000
    assert switches <= values["voluntary switches"] + values["involuntary switches"] <= switches + 60


def _taken_s() -> float:
    """From all CPUs by interrupts and by the host, since the start (proc(5): irq, softirq, steal)."""
    fields = Path("/proc/stat").read_text().split(maxsplit=9)
    return sum(map(int, fields[6:9])) / os.sysconf("SC_CLK_TCK")


def _figure_lines(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if line and not line.startswith("#")]


@contextmanager
def group_of_its_own(root: str) -> Iterator[Path]:
    """In which nothing else ever was; made by hand, as the journal's part is tested elsewhere."""
    group = Path(root) / f"hostdx-test-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        group.rmdir()


def measured_in(group: Path, code: str, supervisors: Supervisors) -> dict[str, float]:
    bench = CommandVariantBench(
        FakeRun(),
        parse_variant("a:", shlex.join([PYTHON, "-S", "-c", code]), "/"),
        supervisors,
        at_most_s=60.0,
        group=str(group),
    )
    return run_bench(bench)[0].values


@pytest.mark.noisy("the same command measured twice, in turn", false_failures="0 of 4")
def test_the_figures_are_those_of_its_control_group(supervisors: Supervisors) -> None:
    """cpu.stat of a group that nothing else was ever in."""
    root = find_group_root(Host())
    if isinstance(root, Absent):
        not_here(root.reason)
    with group_of_its_own(root) as group:
        spin = (
            "import os, time\nchild = os.fork()\nwhile time.process_time() < 0.2: pass\nchild and os.wait()"
        )
        figures = measured_in(group, spin, supervisors)
        counters = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    assert figures[CPU] == pytest.approx(int(counters["usage_usec"]) / 1e6, abs=0.05)
    assert figures[USER] == pytest.approx(int(counters["user_usec"]) / 1e6, abs=0.05)


@pytest.mark.noisy("the same command measured twice, in turn", false_failures="0 of 4")
def test_memory_and_bytes_are_those_of_its_control_group(tmp_path: Path, supervisors: Supervisors) -> None:
    """memory.peak (Linux 5.19) and io.stat, where version 2 has these controllers."""
    root = find_group_root(Host())
    if isinstance(root, Absent):
        not_here(root.reason)
    if lacking := limits_problem(Host(), root, {"memory.max": "max", "io.max": ""}):
        not_here(lacking)
    target = tmp_path / "written"
    spin = (
        f"import os\na = bytearray({BIG})\nfd = os.open({str(target)!r}, os.O_RDWR | os.O_CREAT)\n"
        f"os.write(fd, os.urandom({WRITTEN}))\nos.fsync(fd)"
    )
    with group_of_its_own(root) as group:
        figures = measured_in(group, spin, supervisors)
        device = tmp_path.stat().st_dev
        io = (group / "io.stat").read_text()
        peak = (group / "memory.peak").read_text() if (group / "memory.peak").exists() else ""
    if (
        peak
    ):  # anonymous memory and what it wrote, which is in the page cache; its libraries may be another group's
        assert int(peak) == pytest.approx(figures["peak RSS"] + WRITTEN, abs=20 << 20)
    lines = {line.split()[0]: dict(w.split("=") for w in line.split()[1:]) for line in io.splitlines()}
    line = lines.get(f"{os.major(device)}:{os.minor(device)}")
    if line is None:
        not_here(f"{tmp_path} is on no block device that io.stat tells ({io.strip()[:80]!r})")
    assert figures["written"] == pytest.approx(int(line["wbytes"]), rel=0.05, abs=256 << 10)
    assert figures["written"] >= WRITTEN


def test_a_command_that_fails_half_the_time(tmp_path: Path) -> None:
    """Its groups are measured again until it is given up or enough went well; one line each, and nothing is called."""
    counter = tmp_path / "n"
    counter.write_text("")
    flaky = f"sh -c 'printf x >> {counter}; [ $(($(wc -c < {counter}) % 2)) = 0 ]'"
    options: dict[str, Json] = {
        "variant": ["good: cmd=true", f"flaky: cmd={shlex.quote(flaky)}"],
        "cwd": "/",
        "budget": 8.0,
    }
    scenario = CommandUnderVariants()
    run = FakeRun(options=options, declared=scenario.options, clock=MonotonicClock())
    run.plan = Plan(scenario="workload", title="", question="", measuring_s=8.0)
    asyncio.run(conduct_fake(scenario, run))
    texts = [note.text for note in run.of(ev.Note) if "status 1" in note.text]
    assert texts and len(texts) <= 6 and all("\n" not in text for text in texts)
    findings = [event.finding for event in run.of(ev.Found) if event.finding.id == "workload.failed"]
    assert len(findings) == 1
    assert not [v for v in run.of(ev.RunVerdict) if v.verdict in ("faster", "no material difference")]
