"""The records of a perf ring as values: samples with call chains, mappings, programs, forks, exits, losses.

include/uapi/linux/perf_event.h, enum perf_event_type. Samples hold process, thread, time, call chain and, of a
tracepoint, its data; every other record ends with process, thread and time. What does not fit ends the reading.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

_HEAD = struct.Struct("=IHH")  # type, misc, size
_SAMPLED = struct.Struct("=I2xH8xQ")  # type, size, and a sample's time
_WHO = struct.Struct("=IIQ")  # process, thread, time: ends every record that is no sample
_LOST, _COMM, _EXIT, _FORK, _SAMPLE, _MMAP2 = 2, 3, 4, 7, 9, 10
_EXEC = 1 << 13  # misc of a name
_CONTEXT = (1 << 64) - 4095  # from here on an entry of a chain says whose the next are (PERF_CONTEXT_*)
USER_BELOW = 1 << 63  # kernel addresses lie above on 64 bits
_EXECUTABLE = 4


class SampleRecord(NamedTuple):
    pid: int
    tid: int
    at_ns: int
    chain: tuple[int, ...]  # the innermost first
    data: bytes


class MappingRecord(NamedTuple):
    pid: int
    at_ns: int
    start: int
    length: int
    offset: int
    path: str


class ProgramStartRecord(NamedTuple):
    """A process runs another program from here on."""

    pid: int
    at_ns: int


class ForkRecord(NamedTuple):
    pid: int
    at_ns: int
    parent: int


class ExitRecord(NamedTuple):
    """Of a thread."""

    tid: int
    at_ns: int


class LostRecord(NamedTuple):
    at_ns: int
    records: int


Record: TypeAlias = SampleRecord | MappingRecord | ProgramStartRecord | ForkRecord | ExitRecord | LostRecord


def parse_records(data: bytes, *, with_tracepoint_data: bool = False) -> Iterator[Record]:
    """`with_tracepoint_data`: samples hold a tracepoint's data."""
    at = 0
    while at + _HEAD.size <= len(data):
        kind, misc, size = _HEAD.unpack_from(data, at)
        if size < _HEAD.size or at + size > len(data):
            return
        body = data[at + _HEAD.size : at + size]
        at += size
        try:
            record = (
                _parse_sample(body, with_tracepoint_data)
                if kind == _SAMPLE
                else _parse_mapping_or_name(kind, misc, body)
            )
        except struct.error:
            continue
        if record is not None:
            yield record


def count_samples_and_last_ns(data: bytes) -> tuple[int, int]:
    """Return how many samples these are, and the time of the last one."""
    at = count = last_ns = 0
    while at + _SAMPLED.size <= len(data):
        kind, size, at_ns = _SAMPLED.unpack_from(data, at)
        if kind == _SAMPLE:
            count, last_ns = count + 1, at_ns
        at += max(_HEAD.size, size)
    return count, last_ns


def _parse_sample(body: bytes, with_tracepoint_data: bool) -> SampleRecord | None:
    pid, tid, at_ns, count = struct.unpack_from("=IIQQ", body)
    after = 24 + 8 * count
    if after > len(body):
        return None
    chain = tuple(ip for ip in struct.unpack_from(f"={count}Q", body, 24) if ip < _CONTEXT)
    data = b""
    if with_tracepoint_data:
        (length,) = struct.unpack_from("=I", body, after)
        data = body[after + 4 : after + 4 + length]
    return SampleRecord(pid, tid, at_ns, chain, data)


def _parse_mapping_or_name(kind: int, misc: int, body: bytes) -> Record | None:
    _, _, at_ns = _WHO.unpack_from(body, len(body) - _WHO.size if len(body) >= _WHO.size else len(body))
    if kind == _MMAP2:
        of, _, start, length, offset = struct.unpack_from("=IIQQQ", body)
        (protection,) = struct.unpack_from("=I", body, 56)
        path = body[64 : -_WHO.size].split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
        return MappingRecord(of, at_ns, start, length, offset, path) if protection & _EXECUTABLE else None
    if kind == _COMM:
        (of,) = struct.unpack_from("=I", body)
        return ProgramStartRecord(of, at_ns) if misc & _EXEC else None
    if kind == _FORK:
        of, parent = struct.unpack_from("=II", body)
        return ForkRecord(of, at_ns, parent) if of != parent else None  # a thread has its process's mappings
    if kind == _EXIT:
        return ExitRecord(struct.unpack_from("=8xI", body)[0], at_ns)
    if kind == _LOST:
        return LostRecord(at_ns, struct.unpack_from("=QQ", body)[1])
    return None
