"""Baselines asked for what got worse since: which are there for a host, and every way in which one is no help."""

import os
import resource
import signal
from pathlib import Path

import pytest

from hostdx.app.recordings import baselines
from hostdx.app.terminal.failure import Failure
from tests.fakes.streams.small_recordings import record_small

pytestmark = pytest.mark.usefixtures("own_state")


def test_every_way_in_which_it_is_no_help_is_one_line(tmp_path: Path) -> None:
    now = record_small(tmp_path, "now", 1.0)
    with pytest.raises(Failure, match="there is no such baseline; `hostdx baseline save NAME` makes one"):
        baselines.compare_since("july", now)
    baselines.add_to_baseline("disks", [record_small(tmp_path, "disk", 1.0, scenario="storage")])
    with pytest.raises(Failure, match="holds no run of kernel, only of storage"):
        baselines.compare_since("disks", now)
    baseline = baselines.add_to_baseline("torn", [record_small(tmp_path, "torn", 1.0)])
    baseline.recordings[0].write_bytes(b'{"type":"run"\n{')
    with pytest.raises(Failure, match=r"torn\.jsonl: line 1") as torn:
        baselines.compare_since("torn", now)
    assert "\n" not in torn.value.text


def test_only_finished_runs_are_kept_and_a_cut_one_is_no_help(tmp_path: Path) -> None:
    finished = record_small(tmp_path, "whole", 1.0)
    killed, torn = tmp_path / "killed.jsonl", tmp_path / "torn.jsonl"
    killed.write_bytes(b"".join(finished.read_bytes().splitlines(keepends=True)[:-1]))
    torn.write_bytes(b"{}")
    for path, reason in (
        (killed, r"killed\.jsonl: did not end normally \(dead\)"),
        (torn, r"torn\.jsonl: line 1"),
    ):
        with pytest.raises(Failure, match=reason):
            baselines.add_to_baseline("x", [finished, path])
    assert baselines.list_baselines() == []
    baseline = baselines.add_to_baseline("x", [finished])
    baseline.recordings[0].write_bytes(b"".join(finished.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(Failure, match="hold no figures"):
        baselines.compare_since("x", finished)


def test_two_of_the_same_name_are_both_kept(tmp_path: Path) -> None:
    files = []
    for day, host in enumerate(("n1", "n2", "n2"), 1):
        folder = tmp_path / f"{host}-{day}"
        folder.mkdir()
        files.append(record_small(folder, "run", 1.0, host=host, day=day))
    baseline = baselines.add_to_baseline("site", [*files, files[1]])
    assert [path.name for path in baseline.recordings] == [
        "run-n2-2026-11-02T10_00_00.jsonl", "run-n2-2026-11-03T10_00_00.jsonl", "run.jsonl",
    ]  # fmt: skip
    assert len(baselines.add_to_baseline("site", files).recordings) == 3  # there already
    other = record_small(tmp_path, "run", 2.0, host="n2", day=3)
    with pytest.raises(Failure, match="another recording of that name, host and time"):
        baselines.add_to_baseline("site", [other])


def test_a_disk_that_takes_no_more_is_named_and_not_the_source(tmp_path: Path) -> None:
    source = record_small(tmp_path, "run", 1.0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # EFBIG for ENOSPC
    try:
        with pytest.raises(Failure) as failure:
            baselines.add_to_baseline("site", [source])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (
        str(baselines.baselines_dir() / "site/run.jsonl") in failure.value.text
        and str(source) not in failure.value.text
    )
    assert baselines.list_baselines() == []


def test_what_is_made_is_ours_alone_whatever_the_umask(tmp_path: Path) -> None:
    source = record_small(tmp_path, "run", 1.0)
    before = os.umask(0)
    try:
        (copy,) = baselines.add_to_baseline("site", [source]).recordings
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (copy, *list(copy.parents)[:3])]
    assert copy.parents[2].name == "hostdx" and modes == [0o600, 0o700, 0o700, 0o700]
