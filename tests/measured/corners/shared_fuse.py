"""A FUSE file system over a directory, on which reads and writes of shared files are late; without libfuse (root).

Shared is a file into which something was written at an offset that is no multiple of a page: of box's files that is
ior-hard's. All else goes through as fast as Python is. include/uapi/linux/fuse.h, protocol 7.31.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import struct
import threading
import time
from collections.abc import Callable

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, OPEN, READ, WRITE = 1, 2, 3, 4, 9, 10, 11, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, CREATE = 17, 18, 20, 25, 26, 27, 28, 29, 35
BATCH_FORGET, FALLOCATE = 42, 43
ASYNC_READ, BIG_WRITES, PARALLEL_DIROPS, MAX_PAGES = 1, 1 << 5, 1 << 18, 1 << 22
SIZE = 1 << 3  # FATTR_SIZE
PAGE, TRANSFER = 4096, 1 << 20
HEADER = struct.Struct("=IIQQ")
_PASSED = os.O_ACCMODE | os.O_TRUNC  # of who opens: what the page cache above makes of it is its own


class Shared:
    """What all of the server's threads know: a descriptor of each node, and which are late."""

    def __init__(self, backing: str, late_s: float) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
        self.late_s, self.late = late_s, set[int]()
        self.nodes = {1: os.open(backing, os.O_PATH)}
        self.looked_up: dict[int, int] = {}
        self.lock = threading.Lock()
        self.does: dict[int, Callable[[int, bytes], bytes]] = {
            INIT: lambda node, body: _init(), LOOKUP: self.lookup, GETATTR: self.getattr, SETATTR: self.setattr,
            MKDIR: self.mkdir, UNLINK: self.unlink, RMDIR: self.rmdir, OPEN: self.open, OPENDIR: self.open,
            CREATE: self.create, READ: self.read, WRITE: self.write, FSYNC: self.fsync, RELEASE: self.release,
            RELEASEDIR: self.release, FLUSH: lambda node, body: b"", STATFS: self.statfs, READDIR: self.readdir,
        }  # fmt: skip

    def known(self, parent: int, name: bytes) -> bytes:
        fd = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=self.nodes[parent])
        node = os.fstat(fd).st_ino
        with self.lock:
            if node in self.nodes:
                os.close(fd)
            else:
                self.nodes[node] = fd
            self.looked_up[node] = self.looked_up.get(node, 0) + 1
        return struct.pack("=4Q2I", node, 0, 1, 1, 0, 0) + _attributes(self.nodes[node])

    def forget(self, node: int, times: int) -> None:
        with self.lock:
            self.looked_up[node] -= times
            if self.looked_up[node] == 0:
                del self.looked_up[node]
                self.late.discard(node)
                os.close(self.nodes.pop(node))

    def lookup(self, node: int, body: bytes) -> bytes:
        return self.known(node, body.rstrip(b"\0"))

    def getattr(self, node: int, body: bytes) -> bytes:
        return struct.pack("=QII", 1, 0, 0) + _attributes(self.nodes[node])

    def setattr(self, node: int, body: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("=IIQQ", body)
        if valid & SIZE:
            os.truncate(f"/proc/self/fd/{self.nodes[node]}", size)
        return self.getattr(node, body)

    def mkdir(self, node: int, body: bytes) -> bytes:
        (mode,) = struct.unpack_from("=I", body)
        name = body[8:].rstrip(b"\0")
        os.mkdir(name, mode & 0o7777, dir_fd=self.nodes[node])
        return self.known(node, name)

    def unlink(self, node: int, body: bytes) -> bytes:
        os.unlink(body.rstrip(b"\0"), dir_fd=self.nodes[node])
        return b""

    def rmdir(self, node: int, body: bytes) -> bytes:
        os.rmdir(body.rstrip(b"\0"), dir_fd=self.nodes[node])
        return b""

    def open(self, node: int, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("=I", body)
        fd = os.open(f"/proc/self/fd/{self.nodes[node]}", flags & _PASSED)
        return struct.pack("=QII", fd, 0, 0)

    def create(self, node: int, body: bytes) -> bytes:
        flags, mode = struct.unpack_from("=II", body)
        name = body[16:].rstrip(b"\0")
        made = flags & (_PASSED | os.O_EXCL) | os.O_CREAT | os.O_NOFOLLOW
        fd = os.open(name, made, mode & 0o7777, dir_fd=self.nodes[node])
        return self.known(node, name) + struct.pack("=QII", fd, 0, 0)

    def read(self, node: int, body: bytes) -> bytes:
        fd, offset, size = struct.unpack_from("=QQI", body)
        if node in self.late:
            time.sleep(self.late_s)
        return os.pread(fd, size, offset)

    def write(self, node: int, body: bytes) -> bytes:
        fd, offset, size = struct.unpack_from("=QQI", body)
        if offset % PAGE:
            self.late.add(node)
        if node in self.late:
            time.sleep(self.late_s)
        return struct.pack("=II", os.pwrite(fd, memoryview(body)[40 : 40 + size], offset), 0)

    def fsync(self, node: int, body: bytes) -> bytes:
        os.fsync(struct.unpack_from("=Q", body)[0])
        return b""

    def release(self, node: int, body: bytes) -> bytes:
        os.close(struct.unpack_from("=Q", body)[0])
        return b""

    def statfs(self, node: int, body: bytes) -> bytes:
        found = os.statvfs(f"/proc/self/fd/{self.nodes[1]}")
        counts = (found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)
        return struct.pack("=5Q4I", *counts, found.f_bsize, found.f_namemax, found.f_frsize, 0) + bytes(24)

    def readdir(self, node: int, body: bytes) -> bytes:
        fd, offset, size = struct.unpack_from("=QQI", body)
        answer = b""
        for number, name in enumerate(map(os.fsencode, os.listdir(fd)), 1):  # noqa: PTH208 (a descriptor)
            entry = struct.pack("=QQII", number, number, len(name), 0) + name
            entry += bytes(-len(entry) % 8)
            if number > offset and len(answer) + len(entry) > size:
                break
            answer += entry if number > offset else b""
        return answer

    def serve(self, device: int) -> None:
        while True:
            try:
                request = os.read(device, TRANSFER + PAGE)
            except OSError as error:
                if error.errno == errno.ENODEV:  # unmounted
                    return
                continue
            _, operation, unique, node = HEADER.unpack_from(request)
            body, number, answer = request[40:], 0, b""
            if operation == FORGET:
                self.forget(node, struct.unpack_from("=Q", body)[0])
                continue
            if operation == BATCH_FORGET:
                (count,) = struct.unpack_from("=I", body)
                for at in range(count):
                    self.forget(*struct.unpack_from("=QQ", body, 8 + 16 * at))
                continue
            if does := self.does.get(operation):
                try:
                    answer = does(node, body)
                except OSError as error:
                    number = error.errno or errno.EIO
            else:
                number = errno.ENOSYS
            with contextlib.suppress(FileNotFoundError):  # who asked was interrupted
                os.write(device, struct.pack("=IiQ", 16 + len(answer), -number, unique) + answer)


def _init() -> bytes:
    flags = ASYNC_READ | BIG_WRITES | PARALLEL_DIROPS | MAX_PAGES
    return struct.pack("=4I2H2I2H", 7, 31, TRANSFER, flags, 16, 12, TRANSFER, 1, TRANSFER // PAGE, 0) + bytes(
        32
    )


def _attributes(fd: int) -> bytes:
    found = os.fstat(fd)
    times = [divmod(ns, 10**9) for ns in (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)]
    return struct.pack(
        "=6Q10I", found.st_ino, found.st_size, found.st_blocks, *(s for s, _ in times), *(ns for _, ns in times),
        found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, PAGE, 0,
    )  # fmt: skip
