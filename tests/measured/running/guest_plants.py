"""Effects of known size whose means this host may lack: control groups of version 2, device mapper, netem, swap.

For a throw-away virtual machine, as root: they load modules, and one switches a setting of the whole machine.
`python -m tests.measured.running.prove_planted --plant weight|late-disk|late-way|huge-pages|swap`
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.scenarios.prove.planters import (
    FAR,
    GROUPS,
    LARGE,
    NEAR,
    READ_FOR_EVER,
    SMALL,
    Plant,
    bytes_read,
    competing_groups,
    end_process,
    enter_namespace,
    fork_worker,
    own_groups,
    pull_for_ever,
    serve_zeros,
)

LATE_MS = 40  # each request of the late disk: an emulated CPU is slow
SMALL_DISK_KIB, DISK_KIB = 2 << 10, 64 << 10
MEMORY_LIMIT = 48 << 20
ANONYMOUS, FILE = 24 << 20, 32 << 20  # together more than the limit


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)


@contextmanager
def _make_groups(controller: str, *names: str) -> Iterator[list[Path]]:
    """Yield control groups of version 2 that have the controller."""
    (GROUPS / "cgroup.subtree_control").write_text(f"+{controller}")
    with own_groups("", *names) as groups:
        (groups[0].parent / "cgroup.subtree_control").write_text(f"+{controller}")
        yield groups


@contextmanager
def heavier_weight() -> Iterator[Plant]:
    """Two groups on one core: the weight of one is doubled, which gives it 2 of 3 instead of 1 of 2."""
    with (
        _make_groups("cpu", "one", "other") as groups,
        competing_groups(groups, "cpu.weight", "100", "200") as plant,
    ):
        yield plant


@contextmanager
def _late_device(size_kib: int, late_ms: int) -> Iterator[str]:
    """Yield the name of a device whose every request takes some milliseconds longer (dm-delay over memory)."""
    _run("modprobe", "brd", "rd_nr=1", f"rd_size={size_kib}")
    _run("modprobe", "dm-delay")
    _run("dmsetup", "create", "late", "--table", f"0 {size_kib * 2} delay /dev/ram0 0 {late_ms}")
    try:
        yield Path("/dev/mapper/late").resolve().name
    finally:
        _run("dmsetup", "remove", "--retry", "late")
        _run("modprobe", "-r", "brd")


@contextmanager
def _run_program(program: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    job = subprocess.Popen([sys.executable, "-c", program, *words])
    try:
        yield job
    finally:
        job.kill()
        job.wait()


@contextmanager
def late_disk() -> Iterator[Plant]:
    """A reader of a device that is late: with twice the read-ahead it waits half as often."""
    with _late_device(SMALL_DISK_KIB, LATE_MS) as name, _run_program(READ_FOR_EVER, f"/dev/{name}") as job:
        file = Path(f"/sys/block/{name}/queue/read_ahead_kb")
        file.write_text("128")
        words = ("--pid", str(job.pid), "--progress", "bytes")
        setting = f"block:{name}/read_ahead_kb=256"
        yield Plant(setting, words, file, "128", "256", lambda: bytes_read(job.pid))


@contextmanager
def late_way() -> Iterator[Plant]:
    """As `long_way`, with the kernel's own delay on both ends of a pair of cards."""
    _run("modprobe", "sch_netem")
    enter_namespace()
    file = Path("/proc/sys/net/ipv4/tcp_rmem")
    file.write_text(SMALL)
    near, other = socket.socketpair()
    with ExitStack() as stack:
        far = fork_worker(lambda: _serve_behind_a_pair(other))
        stack.callback(end_process, far)
        near.recv(1)  # it is in its namespace
        _run(*f"ip link add near type veth peer name far netns {far}".split())
        _set_up("near", NEAR)
        near.send(b"n")
        near.recv(1)  # its end is up
        job = fork_worker(pull_for_ever)
        stack.callback(end_process, job)
        words = ("--pid", str(job), "--progress", "bytes")
        yield Plant(f"sysctl:net.ipv4.tcp_rmem={LARGE}", words, file, SMALL, LARGE, lambda: bytes_read(job))


def _set_up(card: str, address: str) -> None:
    for words in (
        f"ip address add {address}/24 dev {card}",
        f"ip link set {card} up",
        f"tc qdisc add dev {card} root netem delay 30ms limit 10000",
    ):
        _run(*words.split())


def _serve_behind_a_pair(channel: socket.socket) -> None:
    enter_namespace()
    channel.send(b"n")
    channel.recv(1)
    _set_up("far", FAR)
    channel.send(b"u")
    serve_zeros()


TOUCH_FOR_EVER = """
import mmap, os, sys
count, size = 0, 16 << 20
while True:
    with mmap.mmap(-1, size) as pages:
        for at in range(0, size, 4096): pages[at] = 1
    count += 1
    with open(sys.argv[1] + ".new", "w") as out: out.write(str(count))
    os.replace(sys.argv[1] + ".new", sys.argv[1])
"""
SWAP_FOR_EVER = """
import mmap, os, sys
anonymous, step = int(sys.argv[3]), 1 << 16
pages = mmap.mmap(-1, anonymous)
for at in range(0, anonymous, 4096): pages[at:at + 4096] = os.urandom(2048) + bytes(2048)
count, fd = 0, os.open(sys.argv[2], os.O_RDONLY)
while True:
    for at in range(0, anonymous, 4096): pages[at]
    os.lseek(fd, 0, os.SEEK_SET)
    while os.read(fd, step): pass
    count += 1
    with open(sys.argv[1] + ".new", "w") as out: out.write(str(count))
    os.replace(sys.argv[1] + ".new", sys.argv[1])
"""


@contextmanager
def _limited_job(program: str, *words: str) -> Iterator[tuple[Path, int]]:
    """Yield the file in which a job with a memory limit counts its rounds, and the job's process."""
    count = Path(f"/tmp/rounds-{os.getpid()}")
    count.write_text("0")
    with _make_groups("memory", "one") as [group]:
        (group / "memory.max").write_text(str(MEMORY_LIMIT))
        with _run_program(program, str(count), *words) as job:
            (group / "cgroup.procs").write_text(str(job.pid))
            yield count, job.pid
    count.unlink()


@contextmanager
def huge_pages() -> Iterator[Plant]:
    """A job with a memory limit that touches new memory: one fault for 2 MiB instead of 512 faults."""
    file = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    file.write_text("never")
    with _limited_job(TOUCH_FOR_EVER) as (count, pid):
        words = ("--pid", str(pid), "--progress-cmd", f"cat {count}")
        yield Plant(
            f"sysfs:{file}=always", words, _Choice(file), "never", "always", lambda: float(count.read_text())
        )


class _Choice:
    """A file that shows all choices, the chosen one in brackets."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read_text(self) -> str:
        return self._path.read_text().partition("[")[2].partition("]")[0]

    def write_text(self, data: str) -> None:
        self._path.write_text(data)


@contextmanager
def kept_cache() -> Iterator[Plant]:
    """A job beyond its memory limit that goes through its memory and a file of a late disk in turn, with swap in
    compressed memory: what the kernel takes from it (`vm.swappiness`) decides what it waits for.
    """
    _run("modprobe", "zram")
    Path("/sys/block/zram0/disksize").write_text("256M")
    _run("mkswap", "/dev/zram0")
    _run("swapon", "/dev/zram0")
    with _late_device(DISK_KIB, LATE_MS // 10) as name:
        _run("mkfs.ext4", "-q", f"/dev/{name}")
        folder = Path(f"/tmp/late-{os.getpid()}")
        folder.mkdir()
        _run("mount", f"/dev/{name}", str(folder))
        (folder / "file").write_bytes(bytes(FILE))
        os.sync()
        file = Path("/proc/sys/vm/swappiness")
        file.write_text("10")
        try:
            with _limited_job(SWAP_FOR_EVER, str(folder / "file"), str(ANONYMOUS)) as (count, pid):
                words = ("--pid", str(pid), "--progress-cmd", f"cat {count}")
                yield Plant(
                    "sysctl:vm.swappiness=180", words, file, "10", "180", lambda: float(count.read_text())
                )
        finally:
            _run("umount", str(folder))
            folder.rmdir()
    _run("swapoff", "/dev/zram0")


GUEST_PLANTERS = {
    "weight": heavier_weight,
    "late-disk": late_disk,
    "late-way": late_way,
    "huge-pages": huge_pages,
    "swap": kept_cache,
}
