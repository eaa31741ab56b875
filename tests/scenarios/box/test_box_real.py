"""Whole runs of corners on file systems of our own: measured, planted, and broken off; nothing is left of any."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hostdx.scenarios.box.measurement.corner import CORNERS
from tests.app.launcher import run_hostdx, start_hostdx
from tests.needs import MEMORY, need, one_always
from tests.real.iosched_kill import list_journals, own_processes
from tests.real.polled import happens
from tests.real.trim_disk import TrimDisk

pytestmark = [pytest.mark.real]

OPTIONS = ("--workers", "2", "--yes", "--budget")
KINDS = one_always("ext4", "xfs", "btrfs")


def run_arguments(directory: Path, budget: str = "12") -> tuple[str, ...]:
    return ("run", "box", "--dir", str(directory), *OPTIONS, budget)


@pytest.mark.parametrize("kind", KINDS)
def test_all_corners_are_measured_on_the_disk_and_nothing_is_left(tmp_path: Path, kind: str) -> None:
    with TrimDisk(tmp_path, kind) as disk:
        done = run_hostdx(tmp_path, *run_arguments(disk.mountpoint), "--json", "--quiet", timeout=120)
        assert done.returncode == 0, done.stderr
        loads: dict[str, Any] = json.loads(done.stdout)
        assert loads["status"] == "done"
        levels = {level["corner"]: level for level in loads["corners"]["levels"]}
        assert set(levels) == {corner.id for corner in CORNERS}
        # on a busy host whichever is measured second may be faster: then the two have no figures
        contradicted = {
            v["workload"] for v in loads["verdicts"] if (v.get("order") or {}).get("is_established")
        }
        corners = [c.id for c in CORNERS if c.load not in contradicted]
        assert len(corners) >= 6 and all(levels[c]["median"] for c in corners), levels
        assert loads["corners"]["file_system"] == kind and loads["corners"]["direct"]
        written = json.loads(
            run_hostdx(tmp_path, "report", "last", "--format", "json").stdout
        )  # the recording is read back as it is
        assert written["corners"] == loads["corners"]
        assert disk.names <= {"lost+found"} and list_journals(tmp_path) == []
        assert happens(lambda: not own_processes(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_of_a_run_that_is_broken_off(
    tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    with TrimDisk(tmp_path, kind) as disk:
        free = os.statvfs(disk.mountpoint).f_bavail
        running = start_hostdx(
            tmp_path,
            *run_arguments(disk.mountpoint, "60"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert happens(lambda: list(disk.mountpoint.glob(".hostdx-*/hard.*/*")), 60)  # names are being made
        began = time.monotonic()
        running.send_signal(number)
        running.wait(timeout=60)
        assert happens(lambda: not own_processes(tmp_path), 30)
        if number is signal.SIGINT:
            assert running.returncode == 130 and time.monotonic() - began < 30
        else:
            run_hostdx(tmp_path, "undo")
        assert disk.names <= {"lost+found"} and list_journals(tmp_path) == []
        # unnamed files too: their space is free again, on btrfs from the next commit on
        subprocess.run(["sync", "-f", str(disk.mountpoint)], check=True)
        assert happens(lambda: os.statvfs(disk.mountpoint).f_bavail > free - (64 << 20) // 4096, 30)


def test_a_program_of_the_site_is_not_started_and_the_line_names_import(tmp_path: Path) -> None:
    done = run_hostdx(tmp_path, *run_arguments(tmp_path), "--engine", "ior")
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and "hostdx import" in line
    assert not list(tmp_path.glob(".hostdx-*"))


def test_memory_is_refused(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    need(lambda: "" if memory.is_dir() and file_system(memory) in MEMORY else "no memory file system here")
    done = run_hostdx(tmp_path, *run_arguments(memory))
    assert done.returncode == 3 and not list(memory.glob(".hostdx-*"))


def file_system(place: Path) -> str:
    return subprocess.run(
        ["stat", "-f", "-c", "%T", str(place)], check=True, capture_output=True, text=True
    ).stdout.strip()
