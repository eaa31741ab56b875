"""Faults at known times, while `hostdx watch --incidents`, sar and atop record: what each said is scored afterwards.

    python -m tests.measured.running.incident_faults --out FOLDER [--minutes 60] [--seed 1]

As root, with the control groups of version 1 (memory, blkio), sysstat and atop. Six faults in a drawn order:

    writer   a loop device of 20 MB/s; a backup takes all of it, a log on the same file system waits
    slow     a loop device of four operations a second: nobody takes anything from the log
    frozen   a frozen file system with five waiting writers
    memory   three processes of a control group use more than its memory limit, with swap on a loop device
    fuse     a FUSE mount whose server stops, with five readers
    hog      sixteen processes a CPU

and three decoys, which use much and take nothing from anybody: a process of lowest priority on one CPU, one that reads
from the page cache, one that writes to memory. FOLDER gets `truth.jsonl`, the book, `sar.data` and `atop.data`.
Nothing but loop devices, folders and control groups of its own is touched. A guard, a process of its own that ignores
signals, removes all of it when the planter ends, however it ends.
"""

import argparse
import ctypes
import fcntl
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.measured.running.fuse_server import serve_file

BLKIO, MEMORY = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup/memory")
MiB = 1 << 20
STEP_S = 10
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


class Fault(NamedTuple):
    """`minutes`: of an hour's run. `causes`: those that are right; `culprit`: "" where nobody is to be named."""

    kind: str
    minutes: float
    causes: tuple[str, ...]
    culprit: str
    decoys: tuple[str, ...]


FAULTS = (
    Fault("writer", 4, ("disk",), "backup", ("renderer", "cachereader")),
    Fault("slow", 4, ("disk",), "", ("renderer", "tmpwriter")),
    Fault("frozen", 4, ("stuck",), "", ("renderer", "cachereader")),
    Fault("memory", 4, ("memory",), "reindex", ("renderer", "tmpwriter")),
    Fault("fuse", 4, ("stuck", "file-server", "waiting"), "", ("renderer", "tmpwriter")),
    Fault("hog", 10.5, ("cpu",), "simulate", ("cachereader", "tmpwriter")),
)


def sh(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


class Planter:
    """Everything lies below `folder` and in the control groups of its name."""

    def __init__(self, folder: Path, guard_fd: int) -> None:
        self.folder, self.guard_fd = folder, guard_fd
        self.group = MEMORY / folder.name

    def make_group(self, name: str, limit: int | None = None) -> Path:
        group = self.group / name
        group.mkdir(parents=True, exist_ok=True)
        if limit is not None:
            (group / "memory.limit_in_bytes").write_text(str(limit))
        return group

    def make_loop(self, image: Path, mib: int) -> str:
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, mib * MiB)
        return sh("losetup", "--find", "--show", "--direct-io=on", str(image))

    def make_disk(self, name: str, mib: int, below: Path | None = None) -> tuple[str, Path]:
        """Return the loop device and where it is mounted. `below`: the mount that holds its file."""
        at = self.folder / name
        at.mkdir()
        device = self.make_loop((below or self.folder) / f"{name}.img", mib)
        sh("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,nodiscard", device)
        sh("mount", "-o", "noatime", device, str(at))
        return device, at

    def spawn(self, name: str, work: Callable[[], None], group: str = "work", nice: int = 0) -> int:
        """Fork a process of that name, which is killed with us."""
        procs = self.make_group(group) / "cgroup.procs"
        pid = os.fork()
        if pid:
            return pid
        try:
            os.close(self.guard_fd)  # a process that waits in the kernel would keep the guard from acting
            libc = ctypes.CDLL(None)
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
            procs.write_text(str(os.getpid()))
            os.nice(nice)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            work()
        except BaseException as error:
            print(f"{name}: {error!r}", file=sys.stderr)
        os._exit(0)


def set_throttle(group: Path, limit: str, device: str, rate: int) -> None:
    """`rate` 0: no limit any more."""
    number = Path(device).stat().st_rdev
    (group / f"blkio.throttle.{limit}_device").write_text(f"{os.major(number)}:{os.minor(number)} {rate}")


def end(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)


def log_lines(at: Path, wait_s: float = 1.0) -> None:
    """A line and fsync, again and again: what a database's log does."""
    file = os.open(at / f"log-{os.getpid()}", os.O_WRONLY | os.O_CREAT)
    while True:
        os.pwrite(file, b"x" * 4096, random.randrange(64) * 4096)
        os.fsync(file)
        time.sleep(wait_s)


def write_stream(at: Path) -> None:
    file = os.open(at / "backup", os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
    block = mmap.mmap(-1, MiB)
    while True:
        for place in range(200):
            os.pwrite(file, block, place * MiB)


def touch_memory(size: int) -> None:
    """Every page in a drawn order, again and again."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    rng = random.Random(os.getpid())
    while True:
        pages[rng.randrange(size)] = 1


def read_again(path: Path, wait_s: float, drop: bool) -> None:
    file = os.open(path, os.O_RDONLY)
    while True:
        if drop:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        place = 0
        while block := os.pread(file, MiB, place):
            place += len(block)
        time.sleep(wait_s)


def write_memory() -> None:
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        while True:
            os.pwrite(file.fileno(), b"x" * 8 * MiB, 0)
            time.sleep(0.1)


def spin() -> None:
    while True:
        pass


@contextmanager
def start_guard(folder: Path) -> Iterator[int]:
    """Fork the guard: when we are gone, by whatever signal, it removes all that lies below `folder`.

    It waits for the end of the pipe whose descriptor is returned: no child may keep that open.
    """
    reading, writing = os.pipe()
    guard = os.fork()
    if guard == 0:
        os.close(writing)
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.read(reading, 1)
        remove_all(folder)
        os._exit(0)
    os.close(reading)
    try:
        yield writing
    finally:
        os.write(writing, b"e")
        os.waitpid(guard, 0)


def remove_all(folder: Path) -> None:
    """Thaw, kill, unmount, detach and delete; twice, for what was being made meanwhile."""
    for _ in range(2):
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        own_mounts = [at for at in mounts if at.startswith(f"{folder}/")]
        for at in own_mounts:
            subprocess.run(["fsfreeze", "--unfreeze", at], capture_output=True, check=False)
        loops = [d for d in Path("/sys/block").glob("loop*") if _is_below(d / "loop/backing_file", folder)]
        for device in loops:
            with suppress(OSError):
                for limit in ("write_bps", "read_bps", "write_iops", "read_iops"):
                    set_throttle(BLKIO, limit, f"/dev/{device.name}", 0)
        for connection in Path("/sys/fs/fuse/connections").glob("*"):
            if any(_device_of(at) == connection.name for at in own_mounts if at.endswith("/fuse")):
                with suppress(OSError):
                    (connection / "abort").write_text("1")
        groups = [g for top in (MEMORY, BLKIO) for g in [*(top / folder.name).glob("*"), top / folder.name]]
        for group in groups:
            with suppress(OSError):
                for pid in (group / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
        time.sleep(1)
        for device in loops:
            subprocess.run(["swapoff", f"/dev/{device.name}"], capture_output=True, check=False)
        for at in reversed(own_mounts):
            subprocess.run(["umount", "-l", at], capture_output=True, check=False)
        for device in loops:
            subprocess.run(["losetup", "-d", f"/dev/{device.name}"], capture_output=True, check=False)
        for group in groups:
            with suppress(OSError):
                group.rmdir()
        time.sleep(1)
    for path in sorted(folder.rglob("*"), reverse=True):
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
    with suppress(OSError):
        folder.rmdir()


def _is_below(path: Path, folder: Path) -> bool:
    with suppress(OSError):
        return path.read_text().startswith(f"{folder}/")
    return False


def _device_of(at: str) -> str:
    """A stat of a dead FUSE mount would wait: the number is read from the mount table."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        if words[4] == at:
            return words[2].partition(":")[2]
    return ""


class Faults:
    """The disks with their quiet loads, and a method for each kind: it begins the fault and returns what ends it."""

    def __init__(self, planter: Planter) -> None:
        self.planter = planter
        self.outer, at = planter.make_disk("outer", 700)
        self.shared, self.shared_at = planter.make_disk("shared", 400, below=at)
        self.frozen_at = planter.make_disk("frozen", 64)[1]
        self.swap = planter.make_loop(planter.folder / "swap.img", 256)
        sh("mkswap", self.swap)
        self.fuse_at = planter.folder / "fuse"
        self.fuse_at.mkdir()
        self.server = planter.spawn("fileserver", lambda: serve_file(self.fuse_at, MiB))
        while not os.path.ismount(self.fuse_at):
            time.sleep(0.1)
        self.log = planter.spawn("dblog", lambda: log_lines(self.shared_at))
        for _ in range(5):
            planter.spawn("mailstore", lambda: log_lines(self.frozen_at, 2.0), "mail")
            planter.spawn("webserver", lambda: read_again(self.fuse_at / "file", 2.0, drop=True), "web")

    def begin(self, kind: str) -> Callable[[], None]:
        begin: Callable[[], Callable[[], None]] = getattr(self, f"begin_{kind}")
        return begin()

    def begin_writer(self) -> Callable[[], None]:
        set_throttle(BLKIO, "write_bps", self.outer, 20 * MiB)
        pids = [self.planter.spawn("backup", lambda: write_stream(self.shared_at), "backup")]

        def stop() -> None:
            set_throttle(BLKIO, "write_bps", self.outer, 0)
            end(pids)

        return stop

    def begin_slow(self) -> Callable[[], None]:
        set_throttle(BLKIO, "write_iops", self.outer, 4)
        return lambda: set_throttle(BLKIO, "write_iops", self.outer, 0)

    def begin_frozen(self) -> Callable[[], None]:
        sh("fsfreeze", "--freeze", str(self.frozen_at))
        return lambda: do_nothing(sh("fsfreeze", "--unfreeze", str(self.frozen_at)))

    def begin_memory(self) -> Callable[[], None]:
        self.planter.make_group("reindex", 96 * MiB)
        set_throttle(BLKIO, "read_iops", self.swap, 2000)
        sh("swapon", self.swap)
        pids = [self.planter.spawn("reindex", lambda: touch_memory(48 * MiB), "reindex") for _ in range(3)]

        def stop() -> None:
            end(pids)
            sh("swapoff", self.swap)

        return stop

    def begin_fuse(self) -> Callable[[], None]:
        os.kill(self.server, signal.SIGSTOP)
        return lambda: os.kill(self.server, signal.SIGCONT)

    def begin_hog(self) -> Callable[[], None]:
        pids = [self.planter.spawn("simulate", spin, "simulate") for _ in range(16 * (os.cpu_count() or 1))]
        return lambda: end(pids)

    def begin_decoy(self, name: str) -> Callable[[], None]:
        works: dict[str, Callable[[], None]] = {
            "renderer": spin,
            "cachereader": lambda: read_again(Path(sys.executable).resolve(), 0.02, drop=False),
            "tmpwriter": write_memory,
        }
        pids = [self.planter.spawn(name, works[name], "decoys", nice=19 if name == "renderer" else 0)]
        return lambda: end(pids)


def do_nothing(_value: object) -> None:
    return None


@contextmanager
def run_recorders(out: Path, seconds: int) -> Iterator[None]:
    """The three recorders, in a state directory of their own."""
    samples = str(seconds // STEP_S)
    environment = {**os.environ, "XDG_STATE_HOME": str(out / "state")}
    hostdx = str(Path(sys.executable).with_name("hostdx"))
    commands = (
        [hostdx, "watch", "--incidents"],
        ["/usr/lib/sysstat/sadc", "-S", "XALL", str(STEP_S), samples, str(out / "sar.data")],
        ["atop", "-w", str(out / "atop.data"), str(STEP_S), samples],
    )
    recorders = [subprocess.Popen(c, env=environment, stdout=subprocess.DEVNULL) for c in commands]
    time.sleep(5)
    if any(process.poll() is not None for process in recorders):
        sys.exit("a recorder ended at once: is another one running?")
    try:
        yield
    finally:
        usages = [
            Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split() for process in recorders
        ]
        ticks = os.sysconf("SC_CLK_TCK")
        cost = {
            c[0].rsplit("/", 1)[1] if "/" in c[0] else c[0]: (int(words[11]) + int(words[12])) / ticks
            for c, words in zip(commands, usages, strict=True)
        }
        append(out, {"kind": "cost", "cpu_s": cost, "load": os.getloadavg(), "at": time.time()})
        for process in recorders:
            process.terminate()
            process.wait()


def append(out: Path, entry: dict[str, object]) -> None:
    with (out / "truth.jsonl").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(entry) + "\n")


def plant_faults(planter: Planter, out: Path, minutes: float, seed: int) -> None:
    rng = random.Random(seed)
    scale = minutes / 60
    order = rng.sample(FAULTS, len(FAULTS))
    pauses = [rng.uniform(0.7, 1.3) for _ in range(len(order) + 1)]
    pause_s = 60 * (minutes - scale * sum(fault.minutes for fault in order)) / sum(pauses)
    faults = Faults(planter)
    time.sleep(5)
    append(out, {"kind": "run", "began": time.time(), "minutes": minutes, "seed": seed})
    with run_recorders(out, round(60 * minutes)):
        for fault, pause in zip(order, pauses, strict=False):
            time.sleep(pause * pause_s)
            began = time.time()
            stops = [faults.begin(fault.kind), *map(faults.begin_decoy, fault.decoys)]
            time.sleep(60 * scale * fault.minutes)
            for stop in stops:
                stop()
            append(out, {**fault._asdict(), "began": began, "ended": time.time(), "load": os.getloadavg()[0]})
            print(f"{time.strftime('%H:%M:%S')} {fault.kind} ended", flush=True)
        time.sleep(pauses[-1] * pause_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True)
    folder = Path(tempfile.mkdtemp(prefix="hostdx-planted-", dir="/var/tmp"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with start_guard(folder) as guard_fd:
        plant_faults(Planter(folder, guard_fd), options.out.resolve(), options.minutes, options.seed)


if __name__ == "__main__":
    main()
