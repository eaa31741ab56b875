"""Real trims on loop devices: counters against the image's own blocks, whole runs, and every way to break them off."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostdx.probes import units
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.reading.host import Host
from hostdx.scenarios.fstrim.ageing import ChurnBench
from hostdx.scenarios.fstrim.measurement.trim import DiscardCounters, claimed_bytes, read_discard_counters
from tests.app.launcher import argv, own_env, run_hostdx, start_hostdx
from tests.fakes.held import open_private
from tests.needs import need, one_always, program
from tests.real.iosched_kill import list_journals, own_processes
from tests.real.loop_disk import LoopDisk
from tests.real.polled import happens
from tests.real.trim_disk import TrimDisk, sh

pytestmark = [pytest.mark.real]

BRIEF = ("--budget", "9", "--idle", "1")
ONE_ROUND = ("--round", "--budget", "3")
KINDS = ["ext4", "xfs", "btrfs"]


def run_arguments(disk: TrimDisk, *more: str) -> tuple[str, ...]:
    return ("run", "fstrim", "--dir", str(disk.mountpoint), *(() if "--round" in more else BRIEF), *more)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[TrimDisk]:
    with TrimDisk(tmp_path, "ext4") as trim_disk:
        yield trim_disk


async def flush_disk(disk: TrimDisk) -> None:
    """As a session does it after deleting: XFS frees in the background."""
    private = open_private(disk.mountpoint)
    bench = ChurnBench(Host(), private, (), 1, WriteBudget())
    try:
        await bench.sync_until_free()
    finally:
        await bench.close()
        private.close()


def trim_and_count(disk: TrimDisk) -> tuple[int, int, int]:
    """What fstrim says, what the counters say, what the image really gave back."""
    asyncio.run(flush_disk(disk))
    bytes_before, before = disk.allocated_bytes, read_discard_counters(Host(), (disk.device,))
    claim = claimed_bytes(sh("fstrim", "-v", str(disk.mountpoint)))
    discarded = -1
    for _ in range(100):  # XFS hands them over without waiting
        after = read_discard_counters(Host(), (disk.device,))
        assert isinstance(before, DiscardCounters) and isinstance(after, DiscardCounters)
        assert before.bytes is not None and after.bytes is not None
        if after.in_flight == 0 and after.bytes - before.bytes == discarded:
            break
        discarded = after.bytes - before.bytes
        time.sleep(0.05)
    assert claim is not None
    return claim, discarded, bytes_before - disk.allocated_bytes


@pytest.mark.parametrize("kind", KINDS)
def test_the_counters_against_the_blocks_of_the_image(tmp_path: Path, kind: str) -> None:
    with TrimDisk(tmp_path, kind, 2, allocated=True) as disk:
        claim, counted, given_back = trim_and_count(disk)
        assert given_back > disk.bytes * 0.8
        assert abs(counted - given_back) <= 0.02 * given_back
        payload = disk.mountpoint / "payload"
        payload.write_bytes(os.urandom(1 << 20) * 200)
        sh("sync", "-f", str(disk.mountpoint))
        payload.unlink()
        second, recounted, given_again = trim_and_count(disk)
        assert 190 << 20 <= given_again <= recounted
        third, last, _ = trim_and_count(disk)
        if kind == "ext4":
            assert (third, last) == (0, 0) and second == recounted < claim
        if kind == "xfs":
            assert abs(last - counted) < 0.02 * counted  # all of its free space, every time
            assert second == third
        print(
            f"{kind}: said {claim} {second} {third}, counted {counted} {recounted} {last}, gave {given_back}"
        )


def run_result(disk: TrimDisk, place: Path, *more: str, status: int = 0) -> dict[str, Any]:
    done = run_hostdx(place, *run_arguments(disk, *more), "--json", "--quiet", timeout=90)
    assert done.returncode == status, done.stderr
    loads: dict[str, Any] = json.loads(done.stdout)
    assert disk.names == set() and list_journals(place) == []
    return loads


@pytest.mark.parametrize("kind", one_always("ext4", "xfs"))
def test_a_whole_session_explains_its_numbers(tmp_path: Path, kind: str) -> None:
    with TrimDisk(tmp_path, kind) as disk:
        document = run_result(disk, tmp_path, "--yes", "--again")
        assert document["status"] == "done"
        trims = [row for row in document["ledger"] if row["explained"]]
        assert len(trims) == 3
        assert all(row["discarded_bytes"] is not None for row in trims)
        verdicts = {v["workload"]: v for v in document["verdicts"]}
        assert set(verdicts) == {"churn", "randread-4k-qd1"}
        assert verdicts["churn"]["groups"] == 6 and verdicts["churn"]["ratio"]
        ids = {f["id"]: f for f in document["findings"]}
        assert {"fstrim.effect", "fstrim.number"} <= ids.keys()
        text = " ".join(e["text"] for e in ids["fstrim.number"]["evidence"])
        if kind == "ext4":
            assert "until it is unmounted" in text
            assert trims[2]["fstrim_says_bytes"] == trims[2]["discarded_bytes"] == 0
            assert "0 B: nothing was freed" in trims[2]["explained"]
        if kind == "xfs":
            assert "the same" in text and "walks all of its free space" in text
            says_size = any("size of the file system" in row["explained"] for row in trims)
            assert says_size == ("that is the size of the file system" in text)
            assert len({row["fstrim_says_bytes"] for row in trims}) == 1
        wrote = sum(row["written_bytes"] for row in document["ledger"])
        assert 0 < wrote <= 0.02 * disk.bytes
        deleted = sum(row["deleted_bytes"] for row in document["ledger"])
        assert deleted > 0 and trims[1]["deleted_since_trim_bytes"] == 0


def test_without_the_right_the_blocks_run_and_the_trim_is_left_out(tmp_path: Path, disk: TrimDisk) -> None:
    need(program("setpriv"))
    done = subprocess.run(
        ["setpriv", "--bounding-set=-sys_admin", *argv(*run_arguments(disk, "--json"))],
        env=own_env(tmp_path), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    loads = json.loads(done.stdout)
    [verdict] = loads["verdicts"]
    assert verdict["verdict"] == "not applicable" and "CAP_SYS_ADMIN" in verdict["reason"]
    assert sum(row["written_bytes"] for row in loads["ledger"]) > 0
    assert not any(row["explained"] for row in loads["ledger"])
    assert [f["remedy"][0]["title"] for f in loads["findings"] if f["id"] == "fstrim.untrimmed"]
    stderr = done.stderr  # before anything is measured, and what to do instead
    assert stderr.index("run it with sudo") < stderr.index("write the reference file")


def test_without_consent_nothing_is_written(tmp_path: Path, disk: TrimDisk) -> None:
    done = run_hostdx(tmp_path, *run_arguments(disk), "--quiet")
    assert done.returncode not in (0, 1) and "add --yes" in done.stderr
    assert disk.names == set()


def test_rounds_are_kept_for_the_file_system(tmp_path: Path, disk: TrimDisk) -> None:
    first = run_hostdx(tmp_path, *run_arguments(disk, *ONE_ROUND), "--json", "--quiet")
    assert first.returncode == 0, first.stderr
    sh("fstrim", str(disk.mountpoint))
    document = run_result(disk, tmp_path, *ONE_ROUND)
    rounds = document["rounds"]
    assert [row["trim_before"] for row in rounds] == [False, True]
    assert rounds[1]["written_bytes"] > 0 and all(row["value"] > 0 and row["reference"] > 0 for row in rounds)
    assert document["series"][0]["verdict"] == "inconclusive" and document["series"][0]["rounds"] == 2
    [entry] = (tmp_path / "state/hostdx/series").iterdir()
    assert len(entry.read_text().splitlines()) == 2


@pytest.mark.soak("rounds are kept for the file system")
def test_the_users_own_command_is_the_load(tmp_path: Path, disk: TrimDisk) -> None:
    command = "sh -c 'head -c 500000 /dev/urandom > $TMPDIR/made; sync $TMPDIR/made'"
    document = run_result(disk, tmp_path, *ONE_ROUND, "--workload", command)
    [row] = document["rounds"]
    assert row["metric"] == "runs/h" and row["workload"] == command and row["value"] > 0


@pytest.mark.soak("rounds are kept for the file system")
def test_a_command_that_writes_too_much_is_stopped_at_the_bound(tmp_path: Path, disk: TrimDisk) -> None:
    before = read_discard_counters(Host(), (disk.device,))
    command = "dd if=/dev/zero of=made bs=1M count=900 oflag=direct"
    arguments_ = run_arguments(disk, *ONE_ROUND, "--workload", command, "--yes")
    plan = run_hostdx(tmp_path, "plan", *arguments_[1:-1]).stdout
    bound = int(0.02 * disk.bytes)
    assert f"at most {units.format_size(bound)} " in plan, plan
    done = run_hostdx(tmp_path, *arguments_, "--quiet", timeout=90)
    after = read_discard_counters(Host(), (disk.device,))
    assert isinstance(before, DiscardCounters) and isinstance(after, DiscardCounters)
    wrote = after.written - before.written
    print(f"{wrote >> 20} MiB of a bound of {bound >> 20} MiB")
    assert done.returncode == 3 and "dd was stopped before" in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert wrote <= 1.25 * bound and disk.names == set() and list_journals(tmp_path) == []


def test_a_disk_that_takes_no_discards(tmp_path: Path) -> None:
    # A device of its own number: once at zero the limit cannot be raised again (its granularity is zero then too).
    with LoopDisk(tmp_path, "6G") as lone:
        lone.write("discard_max_bytes", "0")
        command = ("run", "fstrim", "--dir", str(lone.directory), *BRIEF, "--yes", "--quiet")
        done = run_hostdx(tmp_path, *command)
        assert done.returncode == 3 and "takes no discards" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1 and list(lone.directory.iterdir()) == []


def test_a_read_only_mount_and_too_little_space(tmp_path: Path, disk: TrimDisk) -> None:
    sh("fallocate", "-l", str(disk.bytes - (1 << 30)), str(disk.mountpoint / "full"))
    sh("fallocate", "-l", str(400 << 20), str(disk.mountpoint / "fuller"))
    done = run_hostdx(tmp_path, *run_arguments(disk, "--yes"), "--quiet")
    assert done.returncode == 3 and "too little space" in done.stderr, done.stderr
    sh("mount", "-o", "remount,ro", str(disk.mountpoint))
    done = run_hostdx(tmp_path, *run_arguments(disk, "--yes"), "--quiet")
    assert done.returncode == 3 and "read-only" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert disk.names == {"full", "fuller"}


def at_work(disk: TrimDisk) -> bool:
    return any(any(path.iterdir()) for path in disk.mountpoint.glob(".hostdx-*"))


def test_a_disk_that_vanishes_in_between(tmp_path: Path, disk: TrimDisk) -> None:
    runner = start_hostdx(tmp_path, *run_arguments(disk, "--yes", "--quiet"))
    assert happens(lambda: at_work(disk))
    # reads beyond it fail from now on, as on a pulled disk; again, for what is still written would fill it again
    assert happens(lambda: os.truncate(disk.image, 0) or runner.poll() is not None, 60.0)
    _, error_text = runner.communicate()
    assert runner.returncode == 3
    lines = [line for line in error_text.decode().splitlines() if line.startswith("hostdx: run fstrim:")]
    assert len(lines) == 1 and "Traceback" not in error_text.decode(), error_text.decode()
    assert happens(lambda: own_processes(tmp_path) == [])


def test_a_stop_leaves_nothing_within_two_seconds(tmp_path: Path, disk: TrimDisk) -> None:
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    runner = start_hostdx(tmp_path, *run_arguments(disk, "--yes"), **quiet)
    assert happens(lambda: at_work(disk))
    began = time.monotonic()
    runner.terminate()
    assert runner.wait(30) == 143
    print(f"stopped and undone after {time.monotonic() - began:.2f} s")
    assert disk.names == set() and list_journals(tmp_path) == []


def test_a_stop_in_the_very_trim_does_not_wait_for_it(tmp_path: Path, disk: TrimDisk) -> None:
    """A drive may take minutes over it: a stand-in that does."""
    folder = tmp_path / "bin"
    folder.mkdir()
    slow = folder / "fstrim"
    slow.write_text(f"#!/bin/sh\ntouch {tmp_path}/trimming\nexec sleep 60\n")
    slow.chmod(0o755)
    variables = own_env(tmp_path) | {"PATH": f"{folder}:{os.environ['PATH']}"}
    runner = subprocess.Popen(
        argv(*run_arguments(disk, "--yes", "--quiet")), env=variables, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert happens((tmp_path / "trimming").exists, 40.0)
    began = time.monotonic()
    runner.terminate()
    _, error_text = runner.communicate(timeout=30)
    print(f"broken off after {time.monotonic() - began:.2f} s")
    assert runner.returncode == 143 and "Traceback" not in error_text.decode()
    assert disk.names == set() and list_journals(tmp_path) == []
    assert happens(lambda: own_processes(tmp_path) == [])
