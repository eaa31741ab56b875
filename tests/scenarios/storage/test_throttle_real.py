"""A loop device that the kernel throttles for us: `hostdx run storage` names its caps and the file that holds them."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.types import Json
from tests.needs import not_here
from tests.scenarios.storage.test_storage_real import block_leaves, mounted_file

pytestmark = [
    pytest.mark.real("cpu"),
    pytest.mark.soak("courses of a fake disk, control groups of a captured host"),
]
V1, V2 = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")


def read_controllers() -> list[str]:
    try:
        return (V2 / "cgroup.subtree_control").read_text().split()
    except OSError:
        return []


@contextmanager
def group(devno: str, bytes_s: int, iops: int) -> Iterator[Path]:
    """A control group of our own in which the device is throttled, version 1's or 2's."""
    first = (V1 / "blkio.throttle.read_bps_device").exists()
    if not first and "io" not in read_controllers():
        not_here("no control group limits I/O here: neither blkio of version 1 nor io of version 2")
    folder = (V1 if first else V2) / f"hostdx-test-{os.getpid()}"
    folder.mkdir()
    try:
        if first:
            for kind in ("read", "write"):
                (folder / f"blkio.throttle.{kind}_bps_device").write_text(f"{devno} {bytes_s}")
                (folder / f"blkio.throttle.{kind}_iops_device").write_text(f"{devno} {iops}")
        else:
            (folder / "io.max").write_text(f"{devno} rbps={bytes_s} wbps={bytes_s} riops={iops} wiops={iops}")
        yield folder
    finally:
        folder.rmdir()


def run(directory: str, state: Path, group: Path | None, budget_s: int) -> list[dict[str, Json]]:
    argv = [
        sys.executable,
        "-P",
        "-m",
        "hostdx.app.cli",
        "run",
        "storage",
        "--dir",
        directory,
        "--size",
        "64M",
        "--budget",
        str(budget_s),
        "--json",
    ]
    if group is not None:
        argv = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"), *argv]
    environment = os.environ | {"XDG_STATE_HOME": str(state)}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    findings: list[dict[str, Json]] = json.loads(done.stdout)["findings"]
    return findings


@pytest.mark.noisy("the caps are read off the course of the disk that all share", false_failures="1 of 1")
def test_a_throttled_loop_device_is_named_with_its_caps_and_its_setting(tmp_path: Path) -> None:
    with mounted_file(4096, "--direct-io=on") as folder:
        (leaf,) = block_leaves(folder)
        devno = block_devices(Host())[leaf].devno
        with group(devno, 200_000_000, 2000) as path:
            findings = run(folder, tmp_path, path, 40)
            [finding] = [f for f in findings if f["id"] == "storage.throttled"]
    assert leaf in str(finding["title"])
    caps = dict(reversed(pair) for pair in re.findall(r"([\d.]+) (k IOPS|MB/s)", str(finding["title"])))
    assert float(caps["k IOPS"]) == pytest.approx(2, rel=0.05)
    assert float(caps["MB/s"]) == pytest.approx(200, rel=0.05)
    assert str(path) in json.dumps(finding["evidence"]) and str(path) in json.dumps(finding["remedy"])


@pytest.mark.noisy("the caps are read off the course of the disk that all share", false_failures="0 of 1")
def test_an_unthrottled_directory_has_no_such_finding(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="hostdx-test-", dir="/var/tmp") as directory:
        findings = run(directory, tmp_path, None, 20)
    assert "storage.throttled" not in {f["id"] for f in findings}
