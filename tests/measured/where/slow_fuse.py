"""A FUSE file system whose reads and creations take as long as asked; mounted by hand, without libfuse (root).

One file of 4 KiB, `file`; `directory0` to `directory9`, in which any file can be created. include/uapi/linux/fuse.h,
protocol 7.31. Threads of a process of its own serve it; it ends with the mount.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, CREATE = 1, 2, 3, 14, 15, 18, 25, 26, 35
DIRECTORY, FILE, BYTES = 0o040777, 0o100666, 4096
DIRECT = 1  # FOPEN_DIRECT_IO: every read comes to us
ENOENT, ENOSYS = 2, 38
THE_FILE, FIRST, CREATED = 2, 10, 100  # node numbers
SERVERS = 6
Serve: TypeAlias = Callable[[int], None]  # of the device's descriptor


def _attributes(node: int) -> bytes:
    folder = node == 1 or FIRST <= node < CREATED
    mode, size = (DIRECTORY, 0) if folder else (FILE, BYTES)
    return struct.pack("=6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def _entry(node: int) -> bytes:
    return struct.pack("=4Q2I", node, 0, 1, 1, 0, 0) + _attributes(node)


def serve(device: int, length_s: float, numbers: Iterator[int]) -> None:
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError:
            return
        _, operation, unique, node = struct.unpack_from("=IIQQ", request)
        error, body = 0, b""
        if operation == INIT:
            body = struct.pack("=4I2HI", 7, 31, 0, 0, 8, 8, 4096) + bytes(40)
        elif operation == LOOKUP:
            name = request[40:].split(b"\0", 1)[0]
            if name == b"file":
                body = _entry(THE_FILE)
            elif name.startswith(b"directory"):
                body = _entry(FIRST + int(name[9:]))
            else:
                error = -ENOENT
        elif operation == GETATTR:
            body = struct.pack("=QII", 1, 0, 0) + _attributes(node)
        elif operation == OPEN:
            body = struct.pack("=QII", 0, DIRECT, 0)
        elif operation == CREATE:
            time.sleep(length_s)
            body = _entry(next(numbers)) + struct.pack("=QII", 0, DIRECT, 0)
        elif operation == READ:
            time.sleep(length_s)
            _, offset, size = struct.unpack_from("=QQI", request, 40)
            body = bytes(BYTES)[offset : offset + size]
        elif operation in (FORGET, 42):  # BATCH_FORGET: no answer
            continue
        elif operation not in (RELEASE, FLUSH):
            error = -ENOSYS
        os.write(device, struct.pack("=IiQ", 16 + len(body), error, unique) + body)


@contextmanager
def mounted(place: Path, length_s: float) -> Iterator[Path]:
    def serving() -> Serve:
        numbers = itertools.count(CREATED)
        return lambda device: serve(device, length_s, numbers)

    with served(place, serving):
        yield place


@contextmanager
def served(place: Path, serving: Callable[[], Serve]) -> Iterator[None]:
    """`serving` is called in the server's process; what it gives answers until the device says no more."""
    place.mkdir()
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"slow", os.fsencode(place), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {place}")
    server = os.fork()
    if server == 0:
        try:
            answer = serving()
            for _ in range(SERVERS - 1):
                threading.Thread(target=answer, args=(device,), daemon=True).start()
            answer(device)
        finally:
            os._exit(0)
    os.close(device)
    try:
        yield
    finally:
        libc.umount2(os.fsencode(place), 2)
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        place.rmdir()
