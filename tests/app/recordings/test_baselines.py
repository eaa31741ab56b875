"""Baselines asked for what got worse since: which are there for a host, and every way in which one is no help."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from app.recordings import baselines
from app.terminal.failure import Failure
from scenarios.analysis.compare.worse import worse_effects, worse_finding
from tests.fakes.streams.small_recordings import recorded

pytestmark = pytest.mark.usefixtures("own_state")


def test_what_got_worse_since(tmp_path: Path) -> None:
    baselines.save(
        "july", [recorded(tmp_path, "old", 1000.0), recorded(tmp_path, "disk", 1.0, scenario="storage")]
    )
    now = recorded(tmp_path, "now", 400.0, day=9)
    found = baselines.compare_since("july", now)
    assert (found.a.runs, found.b.names) == (1, ("now.jsonl",))  # the storage run is no part of it
    assert [e.key.workload for e in worse_effects(found)] == ["syscall"]
    assert worse_finding(found, "july", now.name).severity == "warning"


def test_the_hosts_own_baselines_are_found_the_latest_first(tmp_path: Path) -> None:
    baselines.save("old", [recorded(tmp_path, "a", 1.0, day=1)])
    baselines.save("young", [recorded(tmp_path, "b", 1.0, day=5)])
    baselines.save("site", [recorded(tmp_path, "c", 1.0, day=6, host="reference")])
    baselines.save("disks", [recorded(tmp_path, "d", 1.0, day=7, scenario="storage")])
    assert baselines.baselines_of_host("n1", "kernel") == ["young", "old"]
    assert baselines.baselines_of_host("n2", "kernel") == []


def test_every_way_in_which_it_is_no_help_is_one_line(tmp_path: Path) -> None:
    now = recorded(tmp_path, "now", 1.0)
    with pytest.raises(Failure, match="there is no such baseline; `hostdx baseline save NAME` makes one"):
        baselines.compare_since("july", now)
    baselines.save("disks", [recorded(tmp_path, "disk", 1.0, scenario="storage")])
    with pytest.raises(Failure, match="holds no run of kernel, only of storage"):
        baselines.compare_since("disks", now)
    saved = baselines.save("torn", [recorded(tmp_path, "torn", 1.0)])
    saved.recordings[0].write_bytes(b'{"type":"run"\n{')
    with pytest.raises(Failure, match=r"torn\.jsonl: line 1") as torn:
        baselines.compare_since("torn", now)
    assert "\n" not in torn.value.text


def test_only_finished_runs_are_kept_and_a_cut_one_is_no_help(tmp_path: Path) -> None:
    whole = recorded(tmp_path, "whole", 1.0)
    killed, torn = tmp_path / "killed.jsonl", tmp_path / "torn.jsonl"
    killed.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:-1]))
    torn.write_bytes(b"{}")
    for path, why in (
        (killed, r"killed\.jsonl: did not end normally \(dead\)"),
        (torn, r"torn\.jsonl: line 1"),
    ):
        with pytest.raises(Failure, match=why):
            baselines.save("x", [whole, path])
    assert baselines.list_baselines() == []
    saved = baselines.save("x", [whole])
    saved.recordings[0].write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(Failure, match="hold no figures"):
        baselines.compare_since("x", whole)


def test_nothing_in_common_before_anything_is_measured(tmp_path: Path) -> None:
    baselines.save("july", [recorded(tmp_path, "old", 1000.0)])
    assert [run.name for run in baselines.load_baseline_runs("july", "kernel")] == ["old.jsonl"]
    with pytest.raises(Failure, match="holds no run of null"):
        baselines.load_baseline_runs("july", "null")


def test_two_of_the_same_name_are_both_kept(tmp_path: Path) -> None:
    files = []
    for day, host in enumerate(("n1", "n2", "n2"), 1):
        folder = tmp_path / f"{host}-{day}"
        folder.mkdir()
        files.append(recorded(folder, "run", 1.0, host=host, day=day))
    saved = baselines.save("site", [*files, files[1]])
    assert [path.name for path in saved.recordings] == [
        "run-n2-2026-11-02T10_00_00.jsonl", "run-n2-2026-11-03T10_00_00.jsonl", "run.jsonl",
    ]  # fmt: skip
    assert len(baselines.save("site", files).recordings) == 3  # there already
    other = recorded(tmp_path, "run", 2.0, host="n2", day=3)
    with pytest.raises(Failure, match="another recording of that name, host and time"):
        baselines.save("site", [other])


def test_a_disk_that_takes_no_more_is_named_and_not_the_source(tmp_path: Path) -> None:
    source = recorded(tmp_path, "run", 1.0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # EFBIG for ENOSPC
    try:
        with pytest.raises(Failure) as why:
            baselines.save("site", [source])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (
        str(baselines.baselines_dir() / "site/run.jsonl") in why.value.text
        and str(source) not in why.value.text
    )
    assert baselines.list_baselines() == []


def test_what_is_made_is_ours_alone_whatever_the_umask(tmp_path: Path) -> None:
    source = recorded(tmp_path, "run", 1.0)
    before = os.umask(0)
    try:
        (copy,) = baselines.save("site", [source]).recordings
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (copy, *list(copy.parents)[:3])]
    assert copy.parents[2].name == "hostdx" and modes == [0o600, 0o700, 0o700, 0o700]
