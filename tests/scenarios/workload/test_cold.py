"""What a cold run and a bound on what is written ask for, and when they end it."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from hostdx.probes.engine.command import drop_cache
from hostdx.probes.engine.command.supervised import JobRun, Supervisors
from hostdx.probes.engine.measured import MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.contract.registry import load_scenario
from hostdx.scenarios.workload.cold import WHOLE, CacheDropper, paths_to_drop
from hostdx.scenarios.workload.variant_bench import WriteAllowance
from hostdx.scenarios.workload.variants import parse_variant
from tests.fakes import FakeRun
from tests.needs import ROOT, needs


def make_run(written: int, stopped: str = "") -> JobRun:
    zero: dict[str, object] = dict.fromkeys(JobRun.__struct_fields__, 0)
    return JobRun(**zero | {"written_bytes": written, "stopped": stopped})  # type: ignore[arg-type]


def test_regular_files_below_a_folder_are_dropped_and_links_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    dropped: list[str] = []

    def note_advice(descriptor: int, offset: int, length: int, advice: int) -> None:
        assert (offset, length, advice) == (0, 0, os.POSIX_FADV_DONTNEED)
        dropped.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "posix_fadvise", note_advice)
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/one").write_bytes(b"x" * 10)
    (tmp_path / "in/deep/two").write_bytes(b"x" * 5)
    (tmp_path / "out").write_bytes(b"x")
    (tmp_path / "in/link").symlink_to("../out")
    os.mkfifo(tmp_path / "in/pipe")
    drop_cache.main([str(tmp_path / "in")])
    assert sorted(dropped) == [str(tmp_path / "in/deep/two"), str(tmp_path / "in/one")]
    assert capfd.readouterr().out == "2 15\n"


def test_no_device_or_pipe_is_opened_behind_whatever_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A tape winds, a watchdog begins to count: what is opened with more than O_PATH is a file or a folder."""
    real = os.open

    def check_and_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        descriptor = real(path, flags, mode, dir_fd=dir_fd)
        kind = os.fstat(descriptor).st_mode
        assert flags & os.O_PATH or stat.S_ISREG(kind) or stat.S_ISDIR(kind), path
        return descriptor

    monkeypatch.setattr(os, "open", check_and_open)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_bytes(b"xx")
    (tmp_path / "in/device").symlink_to("/dev/null")
    (tmp_path / "in/dev").symlink_to("/dev")
    os.mkfifo(tmp_path / "in/pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "in2").symlink_to("in")
    drop_cache.main([str(tmp_path / name) for name in ("in", "in2", "device", "in/pipe")])
    assert capfd.readouterr().out == "2 4\n"


@needs(ROOT)
def test_anothers_link_is_refused_and_the_plan_says_who_rules(tmp_path: Path) -> None:
    (tmp_path / "alice").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "mine").symlink_to("data")
    (tmp_path / "alice/link").symlink_to("../data")
    os.chown(tmp_path / "alice", 65534, 65534)
    with pytest.raises(SystemExit, match="link is a link in a folder that others may write to"):
        drop_cache.main([str(tmp_path / "alice/link")])
    scenario = load_scenario("workload")

    def cold_sentences(name: str) -> tuple[str, ...]:
        values = {"cmd": "true", "variant": ["a:", "b: X=1"], "cold": [str(tmp_path / name)]}
        sentences = scenario.prepare(Host(), OptionMap(values, scenario.options)).plan.sentences
        return tuple(s.replace(str(tmp_path), "") for s in sentences if str(tmp_path) in s)

    assert len(cold_sentences("data")) == 1
    assert any("(/mine is /data)" in s for s in cold_sentences("mine"))
    assert any(s.startswith("/alice belongs to nobody (uid 65534), who") for s in cold_sentences("alice"))


def test_what_is_no_file_is_refused_before_anything_runs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/dev/null")
    scenario = load_scenario("workload")

    def is_refused(*names: str) -> bool:
        cold = [str(tmp_path / name) for name in names]
        values = {"cmd": "true", "variant": ["a:", "b: X=1"], "cold": cold}
        return bool(scenario.prepare(Host(), OptionMap(values, scenario.options)).plan.refusal)

    assert not is_refused("file", ".", "comes-with-prepare")
    assert is_refused("file", "pipe") and is_refused("link") and is_refused("file/below")


def test_the_files_are_the_variants_own(tmp_path: Path, supervisors: Supervisors) -> None:
    variant = parse_variant(f"a: WHERE={tmp_path}", "true", "/")
    assert paths_to_drop(("$WHERE/data", "all", "tmp/x"), variant) == (f"{tmp_path}/data", "/tmp/x")
    (tmp_path / "data").write_bytes(b"x" * 2048)
    run = FakeRun()
    cold = CacheDropper(run, variant, supervisors, ("$WHERE/data",))
    for _ in range(2):
        asyncio.run(cold.drop_caches(60.0))
    assert [note.text for note in run.of(ev.Note)] == [
        "a: dropped from the cache before each run: 2 KiB in 1 file"
    ]
    with pytest.raises(MeasurementInvalid, match="No such file"):
        asyncio.run(CacheDropper(run, variant, supervisors, ("$WHERE/none",)).drop_caches(60.0))


def test_the_whole_cache_is_dropped_with_consent_only(
    supervisors: Supervisors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # nothing is dropped: the run is a fake
    scenario = load_scenario("workload")
    values = {"cmd": "true", "variant": ["a:", "b: X=1"]}
    plan = scenario.prepare(Host(), OptionMap(values, scenario.options)).plan
    assert not plan.needs_consent
    cold = scenario.prepare(Host(), OptionMap(values | {"cold": ["all"]}, scenario.options)).plan
    assert cold.needs_consent and WHOLE in cold.actions
    run = FakeRun()
    asyncio.run(CacheDropper(run, parse_variant("a:", "true", "/"), supervisors, ("all",)).drop_caches(60.0))
    assert run.applied == [WHOLE]


def test_what_is_written_by_all_of_them_is_bounded() -> None:
    allowance = WriteAllowance(100)
    allowance.charge_run(make_run(60))
    allowance.check()
    assert allowance.left_bytes == 40
    with pytest.raises(WriteBudgetSpent, match="--most-bytes"):
        allowance.charge_run(make_run(45, "bytes"))
    with pytest.raises(WriteBudgetSpent, match="--most-bytes"):
        allowance.check()
    free = WriteAllowance()
    free.charge_run(make_run(1 << 40))
    free.check()
    assert free.left_bytes == 0
