"""Runs of a variant for real: where a competitor's or a pinning's time goes, and what a failing command gives."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostdx.probes.engine.command.supervised import Supervisors
from hostdx.probes.engine.measured import Measured, MeasurementInvalid
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks
from hostdx.scenarios.workload.group import ScoreReader
from hostdx.scenarios.workload.split import split_wall_time
from hostdx.scenarios.workload.variant_bench import CPU, SCORE, USER, WAITING, WALL, CommandVariantBench
from hostdx.scenarios.workload.variants import parse_variant
from tests.fakes import FakeRun

pytestmark = pytest.mark.real("cpu")

PYTHON = str(Path(sys.executable).resolve())
SPIN = f'{PYTHON} -S -c "import time\nwhile time.process_time() < 0.2: pass"'


@contextmanager
def run_competitors(cpu: int, count: int) -> Iterator[None]:
    """Busy loops on that CPU, a session each: all of one session get what the job gets (sched(7), autogroup)."""
    loop = f"import os\nos.sched_setaffinity(0, [{cpu}])\nprint(flush=True)\nwhile True: pass"
    argv = [PYTHON, "-S", "-c", loop]
    busy = [subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) for _ in range(count)]
    try:
        for process in busy:
            assert process.stdout is not None and process.stdout.readline()
        yield
    finally:
        for process in busy:
            process.kill()
            process.communicate()


def run_bench(bench: CommandVariantBench, count: int = 1) -> list[Measured]:
    async def all_of_them() -> list[Measured]:
        return [await bench.measure_block() for _ in range(count)]

    return asyncio.run(all_of_them())


@pytest.mark.noisy("three runs beside planted competitors and whatever else is busy", false_failures="0 of 4")
@pytest.mark.soak("two that share a CPU wait for it: test_supervised_real.py")
def test_a_competitor_shows_as_waiting_for_a_cpu(supervisors: Supervisors) -> None:
    cpu = min(os.sched_getaffinity(0))
    run = FakeRun()
    free, busy = (
        CommandVariantBench(run, parse_variant(f"{name}: cpus={cpu}", SPIN, "/"), supervisors, at_most_s=60.0)
        for name in ("free", "busy")
    )
    measured = GuardedBlocks(run)

    async def measure_groups() -> None:
        for group in range(3):
            await measured.measure("command", "free", free.measure_block, group=group)
            with run_competitors(cpu, 4):
                await measured.measure("command", "busy", busy.measure_block, group=group)

    asyncio.run(measure_groups())
    time_split = split_wall_time(measured.counted_blocks("command"), "free", "busy")
    assert time_split is not None and WAITING not in time_split.unknown
    parts = {part.name: part for part in time_split.parts}
    assert max(time_split.parts[1:], key=lambda part: part.difference_s).name == WAITING
    assert parts[WAITING].difference_s > 0.5 * parts[WALL].difference_s > 0
    assert abs(parts[USER].difference_s) < parts[WAITING].difference_s


def test_a_command_that_fails_now_and_then(tmp_path: Path, supervisors: Supervisors) -> None:
    script = tmp_path / "flaky"
    message = "disk on fire"
    script.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/ran ] || {{ : > {tmp_path}/ran; echo {message} >&2; exit 1; }}\n"
    )
    script.chmod(0o755)
    run = FakeRun()
    first, second = run_bench(
        CommandVariantBench(run, parse_variant(f"a: cmd={script}", "", "/"), supervisors, at_most_s=60.0), 2
    )
    assert not first.values and second.values[CPU] > 0
    assert [note.text for note in run.of(ev.Note) if "status 1" in note.text and message in note.text]


def test_a_command_that_always_fails_is_given_up(supervisors: Supervisors) -> None:
    bench = CommandVariantBench(FakeRun(), parse_variant("a:", "false", "/"), supervisors, at_most_s=60.0)
    with pytest.raises(MeasurementInvalid, match="3 runs in a row failed"):
        run_bench(bench, 9)
    assert bench.runs == 3


def test_the_score_and_what_prepares_it(tmp_path: Path, supervisors: Supervisors) -> None:
    words = f"a: FILE={tmp_path}/x cmd='sh -c \"cat $FILE; : > $FILE\"'"
    bench = CommandVariantBench(
        FakeRun(),
        parse_variant(words, "", "/"),
        supervisors,
        at_most_s=60.0,
        score=ScoreReader("score ([0-9.]+)"),
        prepare=("sh", "-c", "echo score 4.5 > $FILE"),
    )
    assert [run.values[SCORE] for run in run_bench(bench, 2)] == [4.5, 4.5]
    assert (
        run_bench(
            CommandVariantBench(
                FakeRun(),
                parse_variant("a:", "echo no", "/"),
                supervisors,
                at_most_s=60.0,
                score=ScoreReader("score (.)"),
            )
        )[0].values
        == {}
    )


def test_the_memory_of_all_at_once_and_what_a_short_run_does_not_tell(
    tmp_path: Path, supervisors: Supervisors
) -> None:
    script = tmp_path / "two.py"
    script.write_text(
        "import os, time\nchild = os.fork()\na = bytearray(40 << 20)\ntime.sleep(2)\nchild and os.wait()\n"
    )
    values = run_bench(
        CommandVariantBench(
            FakeRun(), parse_variant(f"a: cmd='{PYTHON} -S {script}'", "", "/"), supervisors, at_most_s=60.0
        )
    )
    assert 80 << 20 < values[0].values["peak PSS"] < 160 << 20
    short = run_bench(
        CommandVariantBench(FakeRun(), parse_variant("a:", "true", "/"), supervisors, at_most_s=60.0)
    )
    assert "peak PSS" not in short[0].values
