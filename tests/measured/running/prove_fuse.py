"""Does `hostdx prove` find a read-ahead that helps, and call nothing that does not?

    python -m tests.measured.running.prove_fuse [--runs 10] [--budget 40]      (root)

A FUSE file system of our own answers each read late, several at once, as a file server far away does. Read-ahead then
sets how many reads are under way. The true effect is measured without hostdx, by plain reads under both values in
turn, before and after the runs. Half of the runs switch `read_ahead_kb` (helps), half `max_ratio` of the same mount,
which reads do not feel. Nothing is left behind; no setting of the host itself is switched.
"""

import argparse
import ctypes
import heapq
import itertools
import json
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

FILE, FILE_BYTES = 2, 256 << 20
LATE_S = 0.004
OLD_KB, NEW_KB = 128, 512
IN, OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")  # include/uapi/linux/fuse.h
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, INIT, OPENDIR, READDIR, INTERRUPT = (
    1,
    2,
    3,
    14,
    15,
    17,
    26,
    27,
    28,
    36,
)
EMPTY = {18, 25, 29}  # release, flush, releasedir
ENOSYS, ENOENT = 38, 2


def attributes(node: int) -> bytes:
    mode = 0o40755 if node == 1 else 0o100444
    size = 0 if node == 1 else FILE_BYTES
    return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


class LateServer:
    """Serves one file of zeros at `/data`; each read is answered LATE_S after it came."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._due: list[tuple[float, int, int, int]] = []
        self._number = itertools.count()
        self._changed = threading.Condition()
        self._zeros = bytes(1 << 20)

    def serve(self) -> None:
        threading.Thread(target=self._answer_reads, daemon=True).start()
        while True:
            try:
                request = os.read(self._fd, 1 << 21)
            except OSError:  # unmounted
                return
            _, opcode, unique, node, *_ = IN.unpack_from(request)
            if opcode == READ:
                size = struct.unpack_from("<QQI", request, IN.size)[2]
                with self._changed:
                    due = time.monotonic() + LATE_S
                    heapq.heappush(self._due, (due, next(self._number), unique, size))
                    self._changed.notify()
            elif opcode not in (FORGET, INTERRUPT):
                error, body = self._answer(opcode, node, request[IN.size :])
                self._reply(unique, error, body)

    def _answer(self, opcode: int, node: int, body: bytes) -> tuple[int, bytes]:
        if opcode == INIT:
            flags = 1 | 1 << 22  # FUSE_ASYNC_READ, FUSE_MAX_PAGES
            return 0, struct.pack("<4I2H2I2H8I", 7, 31, 1 << 20, flags, 64, 48, 1 << 17, 1, 32, 0, *[0] * 8)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != b"data":
                return ENOENT, b""
            return 0, struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE)
        if opcode == GETATTR:
            return 0, struct.pack("<QII", 3600, 0, 0) + attributes(node)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", 0, 0, 0)
        if opcode == STATFS:
            return 0, struct.pack("<5Q4I6I", 1 << 20, 1 << 19, 1 << 19, 10, 5, 4096, 255, 4096, 0, *[0] * 6)
        return (0, b"") if opcode in EMPTY or opcode == READDIR else (ENOSYS, b"")

    def _answer_reads(self) -> None:
        while True:
            with self._changed:
                while not self._due or (left := self._due[0][0] - time.monotonic()) > 0:
                    self._changed.wait(left if self._due else None)
                _, _, unique, size = heapq.heappop(self._due)
            self._reply(unique, 0, self._zeros[:size])

    def _reply(self, unique: int, error: int, body: bytes) -> None:
        try:
            os.write(self._fd, OUT.pack(OUT.size + len(body), -error, unique) + body)
        except OSError:  # interrupted: nobody waits for it
            pass


def plain_rate(path: Path) -> float:
    """MB/s of a stream of half a second, cold."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < 0.5:
            done += len(os.pread(fd, 128 << 10, done % (FILE_BYTES - (128 << 10))))
        return done / (time.perf_counter() - began) / 1e6
    finally:
        os.close(fd)


def true_effect(path: Path, bdi: Path) -> float:
    """Twelve plain streams under each value in turn; the value of before is put back."""
    rates: dict[int, list[float]] = {OLD_KB: [], NEW_KB: []}
    for kb in [OLD_KB, NEW_KB] * 12:
        (bdi / "read_ahead_kb").write_text(str(kb))
        rates[kb].append(plain_rate(path))
    (bdi / "read_ahead_kb").write_text(str(OLD_KB))
    return statistics.median(rates[NEW_KB]) / statistics.median(rates[OLD_KB])


def prove(setting: str, path: Path, budget: int, state: str) -> dict[str, object]:
    words = [
        sys.executable,
        "-P",
        "-m",
        "app.cli",
        "run",
        "prove",
        "--setting",
        setting,
        "--load",
        "stream-read",
    ]
    words += ["--file", str(path), "--budget", str(budget), "--yes", "--json", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"XDG_STATE_HOME": state})
    if done.returncode != 0:
        return {"failed": done.stderr.strip()[-200:]}
    verdicts = [
        v for v in json.loads(done.stdout)["verdicts"] if v["metric"] == "rate" or v.get("judged", True)
    ]
    return next(v for v in verdicts if v["variant"] != v["baseline"] and not v.get("control"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=int, default=40)
    arguments = parser.parse_args()
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        mounted = Path(place) / "far"
        mounted.mkdir()
        fd = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other,max_read=131072".encode()
        if libc.mount(b"far", os.fsencode(mounted), b"fuse", 6, options) != 0:
            raise SystemExit(f"no FUSE here: {os.strerror(ctypes.get_errno())}")
        server = os.fork()
        if server == 0:
            LateServer(fd).serve()
            os._exit(0)
        os.close(fd)
        try:
            device = (mounted / "data").stat().st_dev
            name = f"{os.major(device)}:{os.minor(device)}"
            bdi = Path("/sys/class/bdi", name)
            (bdi / "read_ahead_kb").write_text(str(OLD_KB))
            before = true_effect(mounted / "data", bdi)
            settings = [f"bdi:{name}/read_ahead_kb={NEW_KB}", f"bdi:{name}/max_ratio=60"]
            for number in range(arguments.runs):
                found = prove(settings[number % 2], mounted / "data", arguments.budget, f"{place}/state")
                print(
                    settings[number % 2],
                    {k: found.get(k) for k in ("verdict", "ratio", "ci95", "failed")},
                    flush=True,
                )
                assert (bdi / "read_ahead_kb").read_text().strip() == str(OLD_KB)
            after = true_effect(mounted / "data", bdi)
            print(f"true effect of {OLD_KB} to {NEW_KB} KiB: {before:.2f} before, {after:.2f} after")
        finally:
            libc.umount2(os.fsencode(mounted), 2)
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)


if __name__ == "__main__":
    main()
