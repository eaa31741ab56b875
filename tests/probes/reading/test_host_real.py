"""The readers on what the kernel really makes: loop devices, file systems over them, and one that never answers."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hostdx.probes.reading.hang_safe.client import GuardedReader
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices, bottom_devices_of, device_and_layers_below
from hostdx.probes.system.disk.mounts import find_mount, read_mounts_now
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.types import Absent, is_present
from tests.needs import ROOT, need, not_here, program
from tests.real.polled import happens

pytestmark = [pytest.mark.real]


def run(*argv: str, **more: object) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return str(done.stdout).strip()


class Workshop:
    """Makes loop devices and mounts, and takes them away again in the reverse order."""

    def __init__(self, folder: Path, undo: ExitStack) -> None:
        self.folder = folder
        self.undo = undo

    def loop(self, name: str, megabytes: int, *options: str) -> str:
        """Nothing is measured on it: it needs no direct I/O."""
        image = self.folder / f"{name}-{os.getpid()}.img"
        with image.open("wb") as file:
            file.truncate(megabytes << 20)
        done = subprocess.run(
            ["losetup", *options, "--find", "--show", str(image)], capture_output=True, text=True, timeout=60
        )
        if done.returncode != 0:
            not_here(f"this machine makes no loop devices: {done.stderr.strip()}")
        device = done.stdout.strip()
        self.undo.callback(run, "losetup", "--detach", device)
        return device

    def mount(self, *argv: str, at: str) -> str:
        place = self.folder / at
        place.mkdir()
        done = subprocess.run(["mount", *argv, str(place)], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            not_here(f"this machine does not mount it: {done.stderr.strip()}")
        self.undo.callback(run, "umount", str(place))
        return str(place)


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    before = list_own(tmp_path)
    with ExitStack() as undo:
        yield Workshop(tmp_path, undo)
    # udev or another test may have a loop device open: the kernel detaches it when the last one closes it
    assert before == "" and happens(lambda: not list_own(tmp_path)), f"left behind: {list_own(tmp_path)}"


def list_own(folder: Path) -> str:
    """Our loop devices and mounts, as the kernel lists them."""
    loops = [f for f in Path("/sys/block").glob("loop*/loop/backing_file") if str(folder) in read(f)]
    lines = [line for line in read(Path("/proc/self/mountinfo")).splitlines() if str(folder) in line]
    return "\n".join([*map(str, loops), *lines])


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # another test's loop device went away between the two
        return ""


def name_of(device: str) -> str:
    return device.removeprefix("/dev/")


def test_a_file_system_in_a_file(workshop: Workshop) -> None:
    need(ROOT, program("losetup", "mkfs.ext4", "mount"))
    device = workshop.loop("plain", 16)
    run("mkfs.ext4", "-q", device)
    place = workshop.mount("-o", "noatime", device, at="with space")
    Path(place, "inner").mkdir()
    Path(workshop.folder, "link").symlink_to(f"{place}/inner")
    host = Host()
    placement = find_placement(host, str(workshop.folder / "link"))
    assert is_present(placement)
    assert (placement.directory, placement.device, placement.leaves) == (
        f"{place}/inner",
        name_of(device),
        (name_of(device),),
    )
    assert (
        placement.mount.fstype == "ext4"
        and "noatime" in placement.mount.options
        and placement.mount.mountpoint == place
    )
    loop = block_devices(host)[name_of(device)]
    assert (loop.kind, loop.transport, loop.size_bytes) == ("loop", "loop", 16 << 20)
    assert loop.backing_file.endswith(f"plain-{os.getpid()}.img") and isinstance(loop.rotational, Absent)


def test_the_kernel_and_we_find_the_same_mount(workshop: Workshop) -> None:
    """The device number that stat(2) gives is the oracle. (findmnt -T names the hidden file system here.)"""
    need(ROOT, program("losetup", "mkfs.ext4", "mount"))
    device = workshop.loop("twice", 16)
    run("mkfs.ext4", "-q", device)
    place = workshop.mount("-t", "tmpfs", "none", at="over")
    Path(place, "deep").mkdir()
    run("mount", device, f"{place}/deep")
    workshop.undo.callback(run, "umount", f"{place}/deep")
    run("mount", "-t", "tmpfs", "none", place)  # hides the first, and the file system on it
    workshop.undo.callback(run, "umount", place)
    Path(place, "deep").mkdir()
    for path in (place, f"{place}/deep", "/", "/proc", "/sys", str(workshop.folder)):
        mount = find_mount(read_mounts_now(Host()), path)
        assert is_present(mount)
        device_number = Path(path).stat().st_dev
        assert mount.devno == f"{os.major(device_number)}:{os.minor(device_number)}", path


def test_partitions_of_a_loop_device(workshop: Workshop) -> None:
    need(ROOT, program("losetup", "addpart", "delpart"))
    device = workshop.loop("parts", 16)
    run("addpart", device, "1", "2048", "8192")
    workshop.undo.callback(run, "delpart", device, "1")
    part = f"{name_of(device)}p1"
    host = Host()
    block_device = block_devices(host)[part]
    assert (block_device.kind, block_device.parent, block_device.transport, block_device.size_bytes) == (
        "partition",
        name_of(device),
        "loop",
        8192 * 512,
    )
    devices = block_devices(host)
    assert device_and_layers_below(devices, part) == (part, name_of(device)) and bottom_devices_of(
        devices, part
    ) == (name_of(device),)


def test_btrfs_over_two_devices(workshop: Workshop) -> None:
    need(ROOT, program("losetup", "mkfs.btrfs", "mount"))
    devices = [workshop.loop(name, 120) for name in ("one", "two")]
    run("mkfs.btrfs", "-q", "-d", "single", "-m", "raid1", *devices)
    placement = find_placement(Host(), workshop.mount("-t", "btrfs", devices[0], at="b"))
    assert is_present(placement) and placement.mount.devno.startswith("0:")
    assert sorted(placement.leaves) == sorted(map(name_of, devices))


def test_an_overlay_over_memory_says_that_it_lies_there(workshop: Workshop) -> None:
    need(ROOT, program("mount"))
    base = Path(workshop.mount("-t", "tmpfs", "none", at="base"))
    for name in ("lower", "upper", "work"):
        (base / name).mkdir()
    options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
    placement = find_placement(Host(), workshop.mount("-t", "overlay", "overlay", "-o", options, at="merged"))
    assert is_present(placement) and placement.mount.fstype == "overlay" and placement.memory == "tmpfs"


def test_a_file_system_that_never_answers_does_not_hang_us(workshop: Workshop) -> None:
    """A FUSE mount whose server sleeps is what a dead NFS server is."""
    need(ROOT, program("mount"))
    if not Path("/dev/fuse").exists():
        not_here("no /dev/fuse")
    server = os.open("/dev/fuse", os.O_RDWR)
    place = workshop.folder / "dead"
    place.mkdir()
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
    done = subprocess.run(
        ["mount", "-i", "-t", "fuse", "none", str(place), "-o", options],
        pass_fds=[server],
        capture_output=True,
        text=True,
        timeout=30,
    )
    if done.returncode != 0:
        os.close(server)
        not_here(f"this machine mounts no FUSE: {done.stderr.strip()}")
    try:
        host = Host()
        host._guarded = GuardedReader(abandon_after_s=0.3)
        inside = f"{place}/file"
        for value in (
            host.read_statvfs(str(place)),
            host.read_file_text(inside, may_hang=True),
            find_placement(host, f"{inside}/x"),
        ):
            assert isinstance(value, Absent) and value.kind == "timeout", value
        assert host.path_exists(f"{place}/other", may_hang=True) is False
        assert is_present(host.read_statvfs("/"))  # a new child serves what answers
        table = find_mount(read_mounts_now(host), str(place))
        assert (
            is_present(table) and table.fstype == "fuse"
        )  # the table itself is read without touching the mount
        host.close()
    finally:
        os.close(server)  # the kernel fails what still waits
        run("umount", "--lazy", str(place))
