"""What a cold run and a bound on what is written ask for, and when they end it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from probes.bench import drop_cache
from probes.bench.measured import NotApplicable, Spent
from probes.bench.supervised import JobRun, Supervisors
from probes.host import Host
from scenarios import events as ev
from scenarios.model import Options
from scenarios.registry import load
from scenarios.workload.arm import Allowance
from scenarios.workload.cold import WHOLE, Cold, paths
from scenarios.workload.variants import job
from tests.fakes.run import FakeRun


def ran(written: int, stopped: str = "") -> JobRun:
    zero: dict[str, object] = dict.fromkeys(JobRun.__struct_fields__, 0)
    return JobRun(**zero | {"written_bytes": written, "stopped": stopped})  # type: ignore[arg-type]


def test_regular_files_below_a_folder_are_dropped_and_links_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    dropped: list[str] = []

    def advise(descriptor: int, offset: int, length: int, advice: int) -> None:
        assert (offset, length, advice) == (0, 0, os.POSIX_FADV_DONTNEED)
        dropped.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "posix_fadvise", advise)
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/one").write_bytes(b"x" * 10)
    (tmp_path / "in/deep/two").write_bytes(b"x" * 5)
    (tmp_path / "out").write_bytes(b"x")
    (tmp_path / "in/link").symlink_to("../out")
    os.mkfifo(tmp_path / "in/pipe")
    drop_cache.main([str(tmp_path / "in")])
    assert sorted(dropped) == [str(tmp_path / "in/deep/two"), str(tmp_path / "in/one")]
    assert capfd.readouterr().out == "2 15\n"


def test_the_files_are_the_variants_own(tmp_path: Path, supervisors: Supervisors) -> None:
    one = job(f"a: WHERE={tmp_path}", "true", "/")
    assert paths(("$WHERE/data", "all", "tmp/x"), one) == (f"{tmp_path}/data", "/tmp/x")
    (tmp_path / "data").write_bytes(b"x" * 2048)
    run = FakeRun()
    cold = Cold(run, one, supervisors, ("$WHERE/data",))
    for _ in range(2):
        asyncio.run(cold.make(60.0))
    assert [note.text for note in run.of(ev.Note)] == [
        "a: dropped from the cache before each run: 2 KiB in 1 file"
    ]
    with pytest.raises(NotApplicable, match="No such file"):
        asyncio.run(Cold(run, one, supervisors, ("$WHERE/none",)).make(60.0))


def test_the_whole_cache_is_dropped_with_consent_only(supervisors: Supervisors) -> None:
    scenario = load("workload")
    values = {"cmd": "true", "variant": ["a:", "b: X=1"]}
    plan = scenario.plan(Host(), Options(values, scenario.options))
    assert not plan.needs_consent
    cold = scenario.plan(Host(), Options(values | {"cold": ["all"]}, scenario.options))
    assert cold.needs_consent and WHOLE in cold.actions
    run = FakeRun()
    asyncio.run(Cold(run, job("a:", "true", "/"), supervisors, ("all",)).make(60.0))
    assert run.applied == [WHOLE]


def test_what_is_written_by_all_of_them_is_bounded() -> None:
    allowance = Allowance(100)
    allowance.spend(ran(60))
    allowance.check()
    assert allowance.left_bytes == 40
    with pytest.raises(Spent, match="--most-bytes"):
        allowance.spend(ran(45, "bytes"))
    with pytest.raises(Spent, match="--most-bytes"):
        allowance.check()
    free = Allowance()
    free.spend(ran(1 << 40))
    free.check()
    assert free.left_bytes == 0
