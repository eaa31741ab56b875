"""One worker of a stream: a connection to the peer, a file to read and one to write, and the ways between them.

The kernel's own read-ahead goes on when a slice is over: what it fetched then (8 MB a slice of 20 MB on a disk that was
capped) took the disk from the next side, and this one never sent it. So it is off, and a worker asks for as many bytes
ahead itself as the disk's setting says, none once its time is over, and ends when it has sent all that it asked for.

Sends that lend the kernel their pages (MSG_ZEROCOPY), and what it says of them afterwards.

Documentation/networking/msg_zerocopy.rst: each send has a number; the socket's error queue tells from which to which
the kernel has done with, and whether it copied them all the same (SO_EE_CODE_ZEROCOPY_COPIED): over a loopback and a
veth always, for the receiver's socket may keep them for long.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hostdx.probes.engine.measured import MeasurementInvalid
from hostdx.scenarios.fullstack.measurement.messages import Direction, Job
from hostdx.scenarios.fullstack.measurement.peer import (
    CHUNK,
    DONE,
    PIECE,
    REQUEST,
    SINK,
    SOURCE,
    PeerEnded,
    receive_bytes,
    receive_into,
)

_SO_ZEROCOPY, _MSG_ZEROCOPY = 60, 0x4000000  # include/uapi/asm-generic/socket.h, include/linux/socket.h
_ERROR = struct.Struct("=IBBBBII")  # struct sock_extended_err, include/uapi/linux/errqueue.h
_ZEROCOPY, _COPIED = 5, 1  # SO_EE_ORIGIN_ZEROCOPY, SO_EE_CODE_ZEROCOPY_COPIED
_WAIT_S = 30.0


class ZeroCopySender:
    """Of one connection. `sends`: until now; `copied`: those of the ones that are done."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._allowed = False
        self._poll = select.poll()
        self._poll.register(connection, 0)  # errors are always told
        self.sends = self._done = self.copied = 0

    def send(self, data: memoryview) -> None:
        """Until all of it is on its way. Raises MeasurementInvalid where the kernel has no such sends."""
        if not self._allowed:
            try:
                self._connection.setsockopt(socket.SOL_SOCKET, _SO_ZEROCOPY, 1)
            except OSError as why:
                raise MeasurementInvalid(f"the kernel has no MSG_ZEROCOPY here ({why.strerror})") from None
            self._allowed = True
        view = data
        while view:
            try:
                sent = self._connection.send(view, _MSG_ZEROCOPY)
            except OSError as why:
                if why.errno != errno.ENOBUFS:
                    raise
                if self._done == self.sends:
                    reason = (
                        "no pages may be lent: net.core.optmem_max or the limit of locked memory (ulimit -l)"
                    )
                    raise MeasurementInvalid(reason) from None
                self.wait(self._done + 1)
                continue
            self.sends += 1
            view = view[sent:]

    def wait(self, sends: int) -> None:
        """Until the kernel has done with so many."""
        while self._done < sends:
            if not self._poll.poll(_WAIT_S * 1000):
                raise BlockingIOError(errno.EAGAIN, "the pages that were sent do not come back")
            _, control, _, _ = self._connection.recvmsg(0, 512, socket.MSG_ERRQUEUE)
            for _, _, message in control:
                _, origin, _, code, _, first, last = _ERROR.unpack_from(message)
                if origin == _ZEROCOPY:
                    count = (last - first + 1) & 0xFFFFFFFF
                    self._done += count
                    self.copied += count if code & _COPIED else 0


# Requests of a connection that are not answered yet: as many as are answered in AHEAD_S, so that a slow link has little
# under way when a slice ends and a fast one never waits for an answer.
MIN_WAITING, MAX_WAITING, AHEAD_S = 4, 16, 0.01
_MORE = socket.MSG_MORE
_SPLICE_MOVE, _SPLICE_MORE = 1, 4  # splice(2)
_F_SETPIPE_SZ = 1031
BUFFERED: tuple[Job, ...] = ("copy", "sendfile")
# A slice ends when all of it is on the disk. One that fills memory for 0.3 s and is written then has the time of
# both, seconds where the disk is capped; a long stream is written while it arrives.
WINDOW = 4 << 20
_LIBC = ctypes.CDLL(None)
_WAIT_BEFORE, _WRITE, _WAIT_AFTER = 1, 2, 4  # sync_file_range(2)
READ_AHEAD = 4 << 20  # where no disk of the file's tells: btrfs asks for as much


class WorkerBytes(NamedTuple):
    """Of one worker in one slice; `begin`, `end` by perf_counter, `counted` bytes after the onset."""

    begin: float
    end: float
    counted: int
    all_bytes: int
    operations: int
    quarters: tuple[int, int, int, int]
    cpu_s: float
    sends: int = 0
    copied: int = 0


class StreamWorker:
    """Not for two threads at once, but for `disk` beside `network`."""

    def __init__(
        self, connections: list[socket.socket], read_fd: int, write_fd: int, file_bytes: int
    ) -> None:
        """connections: by link."""
        self._connections, self._bytes = connections, file_bytes // CHUNK * CHUNK
        self._direct = {"out": read_fd, "in": write_fd}
        self._plain = {way: os.open(f"/proc/self/fd/{fd}", os.O_RDWR) for way, fd in self._direct.items()}
        self._at = {"out": 0, "in": 0}
        for way, fd in tuple(self._direct.items()):
            if not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT:
                self._direct[way] = self._plain[way]
        os.posix_fadvise(self._plain["out"], 0, 0, os.POSIX_FADV_RANDOM)
        self._ahead = read_ahead_bytes(read_fd)
        self._behind = 0  # the last window of the file that began to be written
        self._asked = 0  # of the file, until where it was asked for
        self._disk_buffer, self._buffer = _random_buffer(), _random_buffer()
        self._zero_copies = [ZeroCopySender(connection) for connection in connections]
        self._lent: deque[tuple[mmap.mmap, int]] = deque()
        self._pipe = os.pipe()
        try:
            fcntl.fcntl(self._pipe[1], _F_SETPIPE_SZ, CHUNK)
        except OSError:
            pass  # above the user's limit: smaller pieces

    def drop_cached(self, direction: Direction) -> None:
        """What a read would find in memory is dropped; outside of what is timed."""
        if direction == "out":
            os.posix_fadvise(self._plain["out"], 0, 0, os.POSIX_FADV_DONTNEED)

    def run(
        self, job: Job, direction: Direction, link: int, begin: float, onset_s: float, slice_s: float,
        cpus: Iterable[int],
    ) -> WorkerBytes:  # fmt: skip
        os.sched_setaffinity(threading.get_native_id(), cpus)
        connection = self._connections[link]
        out = direction == "out"
        do = self._operation_for(job, direction, link)
        networked = job != "disk"
        written = self._direct["in"] if job in ("disk", "direct") else self._plain["in"]
        behind = not out and job != "network" and written == self._plain["in"]
        ahead = out and (job in BUFFERED or (job == "disk" and self._direct["out"] == self._plain["out"]))
        while (now := time.perf_counter()) < begin:
            time.sleep(begin - now)
        zero = self._zero_copies[link]
        sends, copied = zero.sends, zero.copied
        cpu_s = time.thread_time()
        count = _BytesByTime(begin, onset_s, slice_s)
        waiting, most = 0, MIN_WAITING
        while (going := time.perf_counter() < begin + slice_s) or (ahead and self._asked > self._at["out"]):
            if ahead and going:
                self._request_readahead()
            if networked and out:
                connection.sendall(REQUEST.pack(SINK, CHUNK), _MORE)
                waiting += 1
            elif networked and waiting < most:
                connection.sendall(REQUEST.pack(SOURCE, CHUNK) * (most - waiting))
                waiting = most
            do()
            count.add(CHUNK)
            if behind:
                self._flush_full_windows(written)
            while networked and out and waiting >= most:
                _read_acknowledgement(connection)
                waiting -= 1
            waiting -= int(networked and not out)
            most = count.most_requests_ahead
        for _ in range(waiting):
            if out:
                _read_acknowledgement(connection)
            else:
                do()
                count.add(CHUNK)
        if not out and job != "network":
            os.fdatasync(written)
        zero.wait(zero.sends)
        done = count.as_done(time.perf_counter(), time.thread_time() - cpu_s)
        return done._replace(sends=zero.sends - sends, copied=zero.copied - copied)

    def _operation_for(self, job: Job, direction: Direction, link: int) -> Callable[[], None]:
        connection = self._connections[link]
        direct, plain, buffer = self._direct[direction], self._plain[direction], self._buffer
        disk = self._disk_buffer  # of its own: the network's may be under way beside it
        ways: dict[tuple[Job, Direction], Callable[[], None]] = {
            ("disk", "out"): lambda: self._read_chunk(direct, disk),
            ("network", "out"): lambda: _do_in_pieces(connection.sendall, buffer),
            ("copy", "out"): lambda: self._read_and_send(plain, connection),
            ("direct", "out"): lambda: self._read_and_send(direct, connection),
            ("zerocopy", "out"): lambda: self._read_and_send_uncopied(direct, self._zero_copies[link]),
            ("sendfile", "out"): lambda: self._send_from_file(plain, connection),
            ("disk", "in"): lambda: self._write_chunk(direct, disk),
            ("network", "in"): lambda: _do_in_pieces(partial(receive_into, connection), buffer),
            ("copy", "in"): lambda: self._receive_and_write(plain, connection),
            ("direct", "in"): lambda: self._receive_and_write(direct, connection),
            ("splice", "in"): lambda: self._splice_chunk(connection.fileno(), plain, self._take_offset("in")),
        }
        return ways[job, direction]

    def _take_offset(self, direction: Direction) -> int:
        at = self._at[direction]
        self._at[direction] = (at + CHUNK) % self._bytes
        if at + CHUNK >= self._bytes:
            self._asked = 0
        if at == 0:
            self.drop_cached(direction)  # once around: what was read before is in memory
        return at

    def _request_readahead(self) -> None:
        """For what is read next and beyond it."""
        at = self._at["out"]
        begin, end = max(at, self._asked), min(self._bytes, at + CHUNK + self._ahead)
        if begin < end:
            os.posix_fadvise(self._plain["out"], begin, end - begin, os.POSIX_FADV_WILLNEED)
            self._asked = end

    def _flush_full_windows(self, fd: int) -> None:
        """Of each window that is full: it begins to be written, and the one before it is on the disk."""
        end = self._at["in"] or self._bytes
        if end % WINDOW and end != self._bytes:
            return
        begin = (end - 1) // WINDOW * WINDOW
        for at, flags in ((begin, _WRITE), (self._behind, _WAIT_BEFORE | _WRITE | _WAIT_AFTER)):
            _LIBC.sync_file_range(fd, ctypes.c_int64(at), ctypes.c_int64(WINDOW), flags)
        self._behind = begin

    def _read_chunk(self, fd: int, buffer: mmap.mmap) -> None:
        at = self._take_offset("out")
        if os.preadv(fd, [buffer], at) != CHUNK:
            raise MeasurementInvalid("the test file could not be read to its end")

    def _write_chunk(self, fd: int, buffer: mmap.mmap) -> None:
        if os.pwritev(fd, [buffer], self._take_offset("in")) != CHUNK:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _read_and_send(self, fd: int, connection: socket.socket) -> None:
        self._read_chunk(fd, self._buffer)
        connection.sendall(self._buffer)

    def _read_and_send_uncopied(self, fd: int, zero: ZeroCopySender) -> None:
        """From buffers in turn: one that was sent is the kernel's until it says that it has done with it."""
        buffer, until = self._lent.popleft() if len(self._lent) > MIN_WAITING else (_random_buffer(), 0)
        zero.wait(until)
        self._read_chunk(fd, buffer)
        zero.send(memoryview(buffer))
        self._lent.append((buffer, zero.sends))

    def _receive_and_write(self, fd: int, connection: socket.socket) -> None:
        receive_into(connection, memoryview(self._buffer))
        self._write_chunk(fd, self._buffer)

    def _send_from_file(self, fd: int, connection: socket.socket) -> None:
        at = self._take_offset("out")
        end = at + CHUNK
        while at < end:
            sent = os.sendfile(connection.fileno(), fd, at, end - at)
            if sent == 0:
                raise MeasurementInvalid("the test file could not be read to its end")
            at += sent

    def _splice_chunk(self, source: int, target: int, at: int) -> None:
        read_end, write_end = self._pipe
        left = CHUNK
        while left:
            piped = os.splice(source, write_end, left, flags=_SPLICE_MOVE | _SPLICE_MORE)
            if piped == 0:
                raise PeerEnded("the other end has closed the connection")
            left -= piped
            while piped:
                moved = os.splice(read_end, target, piped, offset_dst=at, flags=_SPLICE_MOVE)
                piped -= moved
                at += moved


class _BytesByTime:
    """Bytes by when they were done."""

    def __init__(self, begin: float, onset_s: float, slice_s: float) -> None:
        self._begin, self._from, self._slice_s, self._onset_s = begin, begin + onset_s, slice_s, onset_s
        self._now = begin
        self._counted = self._all_bytes = self._operations = 0
        self._quarters = [0, 0, 0, 0]

    @property
    def most_requests_ahead(self) -> int:
        """Requests that the rate until now answers in AHEAD_S."""
        rate = self._all_bytes / max(1e-6, self._now - self._begin)
        return max(MIN_WAITING, min(MAX_WAITING, int(rate * AHEAD_S / CHUNK)))

    def add(self, count: int) -> None:
        now = self._now = time.perf_counter()
        self._all_bytes += count
        if now < self._from:
            return
        self._counted += count
        self._operations += 1
        quarter = int((now - self._from) / (self._slice_s - self._onset_s) * 4)
        if quarter < 4:
            self._quarters[quarter] += count

    def as_done(self, end: float, cpu_s: float) -> WorkerBytes:
        a, b, c, d = self._quarters
        return WorkerBytes(
            self._from, end, self._counted, self._all_bytes, self._operations, (a, b, c, d), cpu_s
        )  # fmt: skip


def read_ahead_bytes(fd: int) -> int:
    """Bytes that the kernel reads ahead of who reads this file in order, as its disk has it set."""
    device = os.fstat(fd).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for disk in (number, f"{number}/.."):  # a partition has its disk's queue
        try:
            return int(Path(f"/sys/dev/block/{disk}/queue/read_ahead_kb").read_text()) * 1024
        except (OSError, ValueError):
            continue
    return READ_AHEAD


def _random_buffer() -> mmap.mmap:
    """Aligned, and not to be compressed."""
    memory = mmap.mmap(-1, CHUNK)
    memory.write(os.urandom(CHUNK))
    return memory


def _do_in_pieces(do: Callable[[memoryview], None], buffer: mmap.mmap) -> None:
    """As much as a chunk, each time from or to the same small part."""
    with memoryview(buffer) as view, view[:PIECE] as piece:
        for _ in range(CHUNK // PIECE):
            do(piece)


def _read_acknowledgement(connection: socket.socket) -> None:
    if receive_bytes(connection, len(DONE)) != DONE:
        raise PeerEnded("the peer answers what it should not")
