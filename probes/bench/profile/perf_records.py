"""The records of a perf ring as values: samples with call chains, switches, mappings, programs, forks, losses.

include/uapi/linux/perf_event.h, enum perf_event_type. Samples hold process, thread, time, call chain and, of a
tracepoint, its data; every other record ends with process, thread and time. What does not fit ends the reading.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from probes.bench.profile.perf_ring import Ring

_HEAD = struct.Struct("=IHH")  # type, misc, size
_WHO = struct.Struct("=IIQ")  # process, thread, time: ends every record that is no sample
_LOST, _COMM, _FORK, _SAMPLE, _MMAP2, _SWITCH = 2, 3, 7, 9, 10, 14
_OUT, _PREEMPTED, _EXEC = 1 << 13, 1 << 14, 1 << 13  # misc of a switch, of a name
_CONTEXT = (1 << 64) - 4095  # from here on an entry of a chain says whose the next are (PERF_CONTEXT_*)
USER_BELOW = 1 << 63  # kernel addresses lie above on 64 bits
_EXECUTABLE = 4


class Sample(NamedTuple):
    pid: int
    tid: int
    at_ns: int
    chain: tuple[int, ...]  # the innermost first
    data: bytes


class Switch(NamedTuple):
    pid: int
    tid: int
    at_ns: int
    out: bool
    preempted: bool


class Mapping(NamedTuple):
    pid: int
    at_ns: int
    start: int
    length: int
    offset: int
    path: str


class Program(NamedTuple):
    """A process runs another program from here on."""

    pid: int
    at_ns: int


class Fork(NamedTuple):
    pid: int
    at_ns: int
    parent: int


class Lost(NamedTuple):
    at_ns: int
    records: int


Record: TypeAlias = Sample | Switch | Mapping | Program | Fork | Lost


def records(data: bytes, *, with_data: bool = False) -> Iterator[Record]:
    """`with_data`: samples hold a tracepoint's data."""
    at = 0
    while at + _HEAD.size <= len(data):
        kind, misc, size = _HEAD.unpack_from(data, at)
        if size < _HEAD.size or at + size > len(data):
            return
        body = data[at + _HEAD.size : at + size]
        at += size
        try:
            found = _sample(body, with_data) if kind == _SAMPLE else _other(kind, misc, body)
        except struct.error:
            continue
        if found is not None:
            yield found


class Ordered:
    """The records of several rings by their time: what one ring tells of a thread may go on in another one.

    While a command runs they are only taken; to decode them takes a hundred times as long.
    """

    def __init__(self, rings: Sequence[Ring], *, with_data: bool = False) -> None:
        self._rings, self._with_data = rings, with_data
        self._late: list[Record] = []
        self._takings: deque[tuple[int, list[bytes]]] = deque()
        self.held_bytes = 0

    def take(self) -> int:
        """How many bytes there were."""
        until_ns, found = time.monotonic_ns(), [ring.taken() for ring in self._rings]
        self._takings.append((until_ns, found))
        self.held_bytes += (size := sum(map(len, found)))
        return size

    def oldest(self) -> list[Record]:
        """Of one taking; what is younger than that waits for the next one."""
        until_ns, taken = self._takings.popleft()
        found = self._late
        for data in taken:
            self.held_bytes -= len(data)
            found += records(data, with_data=self._with_data)
        found.sort(key=lambda record: record.at_ns)
        count = sum(record.at_ns <= until_ns for record in found)
        self._late = found[count:]
        return found[:count]

    def __bool__(self) -> bool:
        return bool(self._takings)


def _sample(body: bytes, with_data: bool) -> Sample | None:
    pid, tid, at_ns, count = struct.unpack_from("=IIQQ", body)
    after = 24 + 8 * count
    if after > len(body):
        return None
    chain = tuple(ip for ip in struct.unpack_from(f"={count}Q", body, 24) if ip < _CONTEXT)
    data = b""
    if with_data:
        (length,) = struct.unpack_from("=I", body, after)
        data = body[after + 4 : after + 4 + length]
    return Sample(pid, tid, at_ns, chain, data)


def _other(kind: int, misc: int, body: bytes) -> Record | None:
    pid, tid, at_ns = _WHO.unpack_from(body, len(body) - _WHO.size if len(body) >= _WHO.size else len(body))
    if kind == _SWITCH:
        return Switch(pid, tid, at_ns, bool(misc & _OUT), bool(misc & _PREEMPTED))
    if kind == _MMAP2:
        of, _, start, length, offset = struct.unpack_from("=IIQQQ", body)
        (protection,) = struct.unpack_from("=I", body, 56)
        path = body[64 : -_WHO.size].split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
        return Mapping(of, at_ns, start, length, offset, path) if protection & _EXECUTABLE else None
    if kind == _COMM:
        (of,) = struct.unpack_from("=I", body)
        return Program(of, at_ns) if misc & _EXEC else None
    if kind == _FORK:
        of, parent = struct.unpack_from("=II", body)
        return Fork(of, at_ns, parent) if of != parent else None  # a thread has its process's mappings
    if kind == _LOST:
        return Lost(at_ns, struct.unpack_from("=QQ", body)[1])
    return None
