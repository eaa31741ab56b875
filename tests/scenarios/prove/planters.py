"""Effects of known size on objects of the test's own: control groups that compete, a network with a long way.

Each planter yields the setting and the load of a proof, and switches nothing of the host. The true effect is measured
without hostdx, by plain readings under both values in turn (`measure_truth`).
"""

from __future__ import annotations

import collections
import ctypes
import fcntl
import os
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from tests.real.polled import happens

GROUPS = Path("/sys/fs/cgroup")
BURN = "import os,sys\nif sys.argv[1:]: os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
SETTLE_S, PLAIN_S = 0.3, 1.0  # of one plain reading
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x1, 0x1000


class TextFile(Protocol):
    """What a setting is read from and written to: a path, or what does as one."""

    def read_text(self) -> str: ...

    def write_text(self, data: str, /) -> object: ...


class Plant(NamedTuple):
    """A setting with its two values, the words of its load, and how a plain reading of that load is made."""

    setting: str
    words: tuple[str, ...]
    file: TextFile
    old: str
    new: str
    read_progress: Callable[[], float]

    def measure_truth(self, rounds: int) -> float:
        """Return the median of the rounds' ratios, new over old; the old value is in force afterwards."""
        ratios: list[float] = []
        for _ in range(rounds):
            old, new, repeated, last = (self._read_rate(v) for v in (self.old, self.new, self.new, self.old))
            ratios.append((new + repeated) / (old + last))
        return statistics.median(ratios)

    def _read_rate(self, value: str) -> float:
        self.file.write_text(value)
        time.sleep(SETTLE_S)
        before, began = self.read_progress(), time.monotonic()
        time.sleep(PLAIN_S)
        return (self.read_progress() - before) / (time.monotonic() - began)


@contextmanager
def burn_cpus(*cpus: int | None) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Yield processes that compute, each on one CPU, or where it may."""
    words = [[sys.executable, "-c", BURN, *([] if cpu is None else [str(cpu)])] for cpu in cpus]
    burners = [subprocess.Popen(argv) for argv in words]
    try:
        yield burners
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@contextmanager
def own_groups(controller: str, *names: str) -> Iterator[list[Path]]:
    """Yield control groups of the test's own, removed with their processes gone: of version 1, or of version 2 without
    a controller.
    """
    parent = GROUPS / controller / f"hostdx-test-{uuid.uuid4().hex[:8]}"
    groups = [parent, *(parent / name for name in names)]
    try:
        for group in groups:
            group.mkdir()
            if controller == "cpuset":  # empty at first
                for name in ("cpuset.cpus", "cpuset.mems"):
                    (group / name).write_text((group.parent / name).read_text())
        yield groups[1:]
    finally:
        for group in reversed(groups):
            assert not group.exists() or happens(lambda group=group: _remove_group(group))  # type: ignore[misc]


def _remove_group(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True


@contextmanager
def larger_share() -> Iterator[Plant]:
    """Two groups on one core: the share of one is doubled, which gives it 2 of 3 instead of 1 of 2."""
    with (
        own_groups("cpu", "one", "other") as groups,
        competing_groups(groups, "cpu.shares", "1024", "2048") as plant,
    ):
        yield plant


@contextmanager
def competing_groups(groups: list[Path], name: str, old: str, new: str) -> Iterator[Plant]:
    """A process of each group computes on one core; the first group's file gets another value."""
    cpu = max(os.sched_getaffinity(0))
    with burn_cpus(cpu, cpu) as burners:
        for group, burner in zip(groups, burners, strict=True):
            (group / "cgroup.procs").write_text(str(burner.pid))
        yield _group_plant(groups[0], name, old, new, burners[0].pid)


@contextmanager
def busier_cpus() -> Iterator[Plant]:
    """A group that may use a core with one other process, or a core with three: 1 of 4 instead of 1 of 2."""
    few, many = sorted(os.sched_getaffinity(0))[-2:]
    with own_groups("cpuset", "one") as [group], burn_cpus(None, few, many, many, many) as burners:
        (group / "cpuset.cpus").write_text(str(few))
        (group / "cgroup.procs").write_text(str(burners[0].pid))
        yield _group_plant(group, "cpuset.cpus", str(few), str(many), burners[0].pid)


@contextmanager
def lonely_share() -> Iterator[Plant]:
    """A group that has its core alone: its share changes nothing."""
    own_cpu, other_cpu = sorted(os.sched_getaffinity(0))[-2:]
    with own_groups("cpu", "one") as [group], burn_cpus(own_cpu, other_cpu) as burners:
        (group / "cgroup.procs").write_text(str(burners[0].pid))
        yield _group_plant(group, "cpu.shares", "1024", "2048", burners[0].pid)


def _group_plant(group: Path, name: str, old: str, new: str, pid: int) -> Plant:
    return Plant(
        f"cgroup:{group.relative_to(GROUPS)}/{name}={new}",
        ("--cgroup", str(group), "--progress", "cpu"),
        group / name,
        old,
        new,
        lambda: cpu_ns(pid),
    )


def cpu_ns(pid: int) -> float:
    return float(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


class _NiceValue(NamedTuple):
    pid: int

    def read_text(self) -> str:
        return str(os.getpriority(os.PRIO_PROCESS, self.pid))

    def write_text(self, data: str) -> None:
        os.setpriority(os.PRIO_PROCESS, self.pid, int(data))


@contextmanager
def nicer_process() -> Iterator[Plant]:
    """One of two processes on a core gets the nice value -5: the weights are 3121 to 1024 (kernel/sched/core.c)."""
    cpu = max(os.sched_getaffinity(0))
    with burn_cpus(cpu, cpu) as burners:
        pid = burners[0].pid
        words = ("--pid", str(pid), "--progress", "cpu")
        yield Plant(f"nice:{pid}=-5", words, _NiceValue(pid), "0", "-5", lambda: cpu_ns(pid))


READS_A_SECOND = 200
IMAGE_BYTES = 8 << 20
READ_FOR_EVER = """
import os, sys
while True:  # opened anew: a file keeps the read-ahead of when it was opened
    fd = os.open(sys.argv[1], os.O_RDONLY)
    while os.read(fd, 1 << 16): pass
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
"""


@contextmanager
def longer_read_ahead() -> Iterator[Plant]:
    """A reader that gets so many requests a second of a loop device (on a file below /var/tmp): twice the read-ahead
    is twice the rate.
    """
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as folder,
        own_groups("blkio", "one") as [group],
        ExitStack() as stack,
    ):
        image = Path(folder, "image")
        image.write_bytes(os.urandom(IMAGE_BYTES))
        command = ["losetup", "--find", "--show", "--read-only", str(image)]
        loop = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        stack.callback(subprocess.run, ["losetup", "-d", loop], check=True)
        number = Path(loop).stat().st_rdev
        limit = f"{os.major(number)}:{os.minor(number)} {READS_A_SECOND}"
        (group / "blkio.throttle.read_iops_device").write_text(limit)
        name = Path(loop).name
        file = Path(f"/sys/block/{name}/queue/read_ahead_kb")
        file.write_text("128")
        reader = subprocess.Popen([sys.executable, "-c", READ_FOR_EVER, loop])
        stack.callback(reader.wait)
        stack.callback(reader.kill)
        (group / "cgroup.procs").write_text(str(reader.pid))
        words = ("--pid", str(reader.pid), "--progress", "bytes")
        setting = f"block:{name}/read_ahead_kb=256"
        yield Plant(setting, words, file, "128", "256", lambda: bytes_read(reader.pid))


# --- a network with a long way, in namespaces of its own

WAY_S = 0.010  # each way
PULL_BYTES = 1 << 20
SMALL, LARGE = "4096 131072 131072", "4096 524288 524288"
NEAR, FAR, PORT, MTU = "10.77.0.1", "10.77.0.2", 7777, 1500


@contextmanager
def long_way() -> Iterator[Plant]:
    """A job that pulls a megabyte again and again through a relay that holds each packet back for 10 ms. This process
    enters a network namespace of its own for it, and stays there.
    """
    enter_namespace()
    file = Path("/proc/sys/net/ipv4/tcp_rmem")
    file.write_text(SMALL)
    near = _open_tunnel(NEAR, FAR)
    near_end, other = socket.socketpair()
    with ExitStack() as stack:
        pids: list[int] = []
        for work in (lambda: _serve_far(other), lambda: _relay_packets(near, near_end), pull_for_ever):
            pids.append(fork_worker(work))
            stack.callback(end_process, pids[-1])
        job = pids[-1]
        words = ("--pid", str(job), "--progress", "bytes")
        yield Plant(f"sysctl:net.ipv4.tcp_rmem={LARGE}", words, file, SMALL, LARGE, lambda: bytes_read(job))


def enter_namespace() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")


def _open_tunnel(address: str, other: str) -> int:
    """Return the descriptor of a TUN device, which leads to `other`."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", b"way", _IFF_TUN | _IFF_NO_PI))
    for words in (f"address add {address} peer {other} dev way", f"link set way mtu {MTU} up"):
        subprocess.run(["ip", *words.split()], check=True)
    return fd


def fork_worker(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(1)
    return pid


def end_process(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _serve_far(channel: socket.socket) -> None:
    """Answer each connection with zeros, in a namespace at the far end of the way."""
    enter_namespace()
    socket.send_fds(channel, [b"t"], [_open_tunnel(FAR, NEAR)])
    serve_zeros()


def serve_zeros() -> None:
    server, zeros = socket.create_server((FAR, PORT)), bytes(1 << 16)
    while True:
        client, _ = server.accept()
        with client, suppress(OSError):
            while True:
                client.sendall(zeros)


def _relay_packets(near: int, channel: socket.socket) -> None:
    _, [far], _, _ = socket.recv_fds(channel, 1, 1)
    other, waiting = {near: far, far: near}, collections.deque[tuple[float, int, bytes]]()
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for fd in select.select([near, far], [], [], left)[0]:
            waiting.append((time.monotonic() + WAY_S, other[fd], os.read(fd, 1 << 16)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, fd, packet = waiting.popleft()
            os.write(fd, packet)


def pull_for_ever() -> None:
    while True:
        with suppress(OSError), socket.create_connection((FAR, PORT), timeout=5) as server:
            server.settimeout(None)  # a descriptor that is read by itself must wait
            left = PULL_BYTES
            while left > 0 and (data := os.read(server.fileno(), 1 << 16)):
                left -= len(data)


def bytes_read(pid: int) -> float:
    return float(Path(f"/proc/{pid}/io").read_text().split()[1])
