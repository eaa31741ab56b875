"""Runs of a variant for real: where a competitor's or a pinning's time goes, and what a failing command gives."""

import asyncio
import sys
from pathlib import Path

import pytest

from hostdx.probes.engine.command.supervised import Supervisors
from hostdx.probes.engine.measured import Measured, MeasurementInvalid
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.workload.group import ScoreReader
from hostdx.scenarios.workload.variant_bench import CPU, SCORE, CommandVariantBench
from hostdx.scenarios.workload.variants import parse_variant
from tests.fakes import FakeRun

pytestmark = pytest.mark.real("cpu")

PYTHON = str(Path(sys.executable).resolve())


def run_bench(bench: CommandVariantBench, count: int = 1) -> list[Measured]:
    async def all_of_them() -> list[Measured]:
        return [await bench.measure_block() for _ in range(count)]

    return asyncio.run(all_of_them())


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
