"""A measured command and its timeline."""

import asyncio
import shlex
import sys
import time
from pathlib import Path

import pytest

from hostdx.probes.engine.command import command_timeline, process_tree
from hostdx.probes.engine.command.command import CommandBench
from hostdx.probes.engine.command.command_timeline import ClockAndHeat
from hostdx.probes.engine.command.supervised import JobRun
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import ProcessStat, parse_stat
from tests.every_case import every_case
from tests.fakes.held import open_private
from tests.needs import need, on_disk


def make_bench(command: str, directory: Path, at_most_s: float = 60.0) -> CommandBench:
    return CommandBench(Host("/nonexistent"), command, open_private(directory), at_most_s=at_most_s)


def python_command(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


async def test_words_are_split_but_no_shell_sees_them(tmp_path: Path) -> None:
    await make_bench("touch 'a b' $(id) *", tmp_path).measure_block()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["$(id)", "*", "a b"]


@pytest.mark.parametrize(
    ("command", "part"),
    [
        (
            python_command("import sys; print('first'); sys.exit('no\\nquota left')"),
            "exited with status 1: no / quota left",
        ),
        (python_command("import os; os.kill(os.getpid(), 9)"), "was ended by signal 9"),
        ("/nonexistent/tool --x", "/nonexistent/tool cannot be started: No such file or directory"),
    ],
)
async def test_a_failure_is_one_line(tmp_path: Path, command: str, part: str) -> None:
    with pytest.raises(BenchRefused) as error:
        await make_bench(command, tmp_path).measure_block()
    assert part in str(error.value)
    assert "\n" not in str(error.value)


@every_case("command", ["", "  ", "echo 'open"])
def test_a_command_that_is_none(tmp_path: Path, command: str) -> None:
    with pytest.raises(BenchRefused, match="the command"):
        make_bench(command, tmp_path)


# A child of the command that ignores SIGTERM, as a build's might.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(300)"],
    stdout=subprocess.PIPE)
child.stdout.readline()
open("pids.new", "w").write(f"{os.getpid()} {child.pid}")
os.rename("pids.new", "pids")
time.sleep(300)
"""


async def wait_started(place: Path) -> list[int]:
    until = time.monotonic() + 20
    while not (place / "pids").exists() and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return [int(word) for word in (place / "pids").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def are_gone(pids: list[int], seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while any(map(is_running, pids)) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return not any(map(is_running, pids))


async def test_cancelling_ends_it_and_its_children(tmp_path: Path) -> None:
    task = asyncio.create_task(make_bench(python_command(STUBBORN), tmp_path).measure_block())
    pids = await wait_started(tmp_path)
    assert all(map(is_running, pids))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await are_gone(pids)


async def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(BenchRefused, match="did not end within 1 s"):
        await make_bench("sleep 300", tmp_path, at_most_s=1.0).measure_block()


async def test_quiescing_ends(tmp_path: Path) -> None:
    await make_bench("true", tmp_path).finish_requests()
    assert list(tmp_path.iterdir()) == []


MIB = 1 << 20


@pytest.mark.disk
@pytest.mark.parametrize(
    "command", ["dd if=/dev/zero of=made bs=1M count=900", "sh -c 'yes > made & yes > more; wait'"]
)
async def test_a_command_is_killed_before_it_passes_its_bound(tmp_path: Path, command: str) -> None:
    need(on_disk(tmp_path))
    with pytest.raises(MeasurementInvalid, match="was stopped before more than the 64 MiB"):
        await make_bench(command, tmp_path).measure_block(most_bytes=64 * MIB)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    print(f"{size / MIB:.0f} MiB made")
    assert 0 < size < 500 * MIB  # between two looks it writes at the speed of memory
    before = size
    await asyncio.sleep(0.1)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == before  # and its children are gone


async def test_below_its_bound_it_ends_by_itself(tmp_path: Path) -> None:
    measured = await make_bench("dd if=/dev/zero of=made bs=1M count=8", tmp_path).measure_block(
        most_bytes=64 * MIB
    )
    assert measured.values["seconds"] > 0 and (tmp_path / "made").stat().st_size == 8 * MIB


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ("dd: error writing '/x': Input/output error\n329+0 records in\n328+0 records out\n", "/x"),
        ("a\nb\nc\nd\n", "b / c / d"),
        (" \n", ""),
        ("Error: one\nnote\nValueError: two\n", "ValueError: two"),
    ],
)
def test_of_standard_error_the_line_that_speaks_of_a_fault_is_kept(errors: str, said: str) -> None:
    run = JobRun(**dict.fromkeys(JobRun.__struct_fields__, 0) | {"errors": errors})  # type: ignore[arg-type]
    assert said in run.error_text and bool(said) == bool(run.error_text)


TICKS = command_timeline._TICKS


def make_stat(pid: int, own_time: int, of_children: int, threads: int = 1, state: str = "R") -> ProcessStat:
    fields = [
        state,
        "1",
        *["0"] * 9,
        str(own_time),
        "0",
        str(of_children),
        "0",
        "20",
        "0",
        str(threads),
        *["0"] * 4,
    ]
    parsed = parse_stat(f"{pid} (a b) c) {' '.join(fields)}")
    assert parsed is not None
    return parsed


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[ProcessStat, tuple[int, int] | None]]:
    processes: dict[int, tuple[ProcessStat, tuple[int, int] | None]] = {}
    monkeypatch.setattr(
        command_timeline, "read_live_stat", lambda pid: processes[pid][0] if pid in processes else None
    )
    monkeypatch.setattr(process_tree, "read_and_written_bytes", lambda pid: processes[pid][1])
    return processes


Tree = dict[int, tuple[ProcessStat, tuple[int, int] | None]]


def test_sums_over_the_tree_and_what_was_waited_for(tree: Tree) -> None:
    samples: list[command_timeline.Sample] = []
    tree_timeline = command_timeline.TreeTimeline(samples.append, root="/nonexistent")
    tree[7] = (make_stat(7, 2 * TICKS, TICKS, threads=3), (10, 100))
    tree[8] = (make_stat(8, TICKS, 0), (5, 50))
    tree[9] = (make_stat(9, TICKS, 0, state="Z"), None)
    assert not tree_timeline.is_due(0.9) and tree_timeline.is_due(1.0)
    tree_timeline.take_sample(1.0, [7, 8, 9, 10], 4096, 0.5, [1, 1])  # 10 is gone
    assert not tree_timeline.is_due(1.5) and not samples
    tree[7] = (make_stat(7, 2 * TICKS, TICKS), (10, 100))
    del tree[8]  # ended between two readings: in nobody's sum
    tree_timeline.take_sample(2.0, [7, 8, 9], None, 0.5, [1, 1])
    tree_timeline.take_sample(3.0, [7], None, 0.5, None)
    assert samples[0] == {
        "celsius": None,
        "hertz": None,
        "at_s": 1.0,
        "pss_bytes": 4096,
        "cpu_s": 5.5,
        "processes": 2,
        "threads": 4,
        "read_bytes": 16,
        "written_bytes": 151,
    }
    assert (samples[1]["cpu_s"], samples[1]["written_bytes"], samples[1]["threads"]) == (5.5, 151, 1)
    assert samples[2]["read_bytes"] is None


def test_a_short_run_tells_nothing_and_a_long_one_ever_less(tree: Tree) -> None:
    samples: list[command_timeline.Sample] = []
    tree_timeline = command_timeline.TreeTimeline(samples.append)
    tree[7] = (make_stat(7, 0, 0), (0, 0))
    for second in range(1, command_timeline.MIN_SAMPLES):
        tree_timeline.take_sample(float(second), [7], None, 0.0, [0, 0])
    assert not samples
    count = 0
    for second in range(command_timeline.MIN_SAMPLES, 86400):
        if tree_timeline.is_due(float(second)):
            tree_timeline.take_sample(float(second), [7], None, 0.0, [0, 0])
            count += 1
    assert count < 3000 and samples[-1]["at_s"] > 86000  # type: ignore[operator]


def test_temperature_and_frequency_of_a_made_up_host(tmp_path: Path) -> None:
    for zone, kind, temp in (
        (0, "acpitz", "99000"),
        (1, "x86_pkg_temp", "61500"),
        (2, "x86_pkg_temp", "58000"),
    ):
        folder = tmp_path / f"class/thermal/thermal_zone{zone}"
        folder.mkdir(parents=True)
        (folder / "type").write_text(f"{kind}\n")
        (folder / "temp").write_text(f"{temp}\n")
    for cpu, khz in ((0, "2000000"), (1, "3000000"), (2, "<unknown>")):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")
    assert ClockAndHeat(str(tmp_path)).read() == {"celsius": 61.5, "hertz": 2.5e9}
    assert ClockAndHeat("/nonexistent").read() == {"celsius": None, "hertz": None}
