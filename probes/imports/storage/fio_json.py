"""fio's JSON as it is written, 2.0 to 3.x: which key holds what, in which unit.

2.x: latencies in µs, `io_bytes` in KiB. 3.x: `…_ns`, `io_bytes` in bytes. Told by the keys, not by the version;
`bw` is KiB/s in both. Numbers are `Any`: versions print 1, 1.0 and "1", and a job without I/O prints nan.
"""

from collections.abc import Iterator

import msgspec

from probes.imports.numbers import KIB, parse_integer
from probes.types import Json


class FioLatency(msgspec.Struct, frozen=True):
    """In ns or µs. `percentile` has the user's list; `bins` (json+) stays raw: a large file is mostly those."""

    min: Json = None
    max: Json = None
    mean: Json = None
    N: Json = None
    percentile: dict[str, Json] = {}
    bins: msgspec.Raw = msgspec.Raw(b"")


class Direction(msgspec.Struct, frozen=True):
    io_bytes: Json = None
    io_kbytes: Json = None
    bw: Json = None
    iops: Json = None
    runtime: Json = None
    total_ios: Json = None
    clat: FioLatency | None = None
    lat: FioLatency | None = None
    slat_ns: FioLatency | None = None
    clat_ns: FioLatency | None = None
    lat_ns: FioLatency | None = None

    @property
    def has_nanoseconds(self) -> bool:
        return self.clat_ns is not None or self.lat_ns is not None or self.slat_ns is not None

    @property
    def bytes_exact(self) -> bool:
        return self.has_nanoseconds or self.io_kbytes is not None

    @property
    def moved_bytes(self) -> int | None:
        moved = parse_integer(self.io_bytes)
        return moved if moved is None or self.bytes_exact else moved * KIB

    def latency_ns(self, name: str) -> FioLatency | None:
        chosen: FioLatency | None = getattr(self, f"{name}_ns") or getattr(self, name)
        return chosen

    @property
    def to_ns(self) -> float:
        return 1.0 if self.has_nanoseconds else 1000.0


class Syncs(msgspec.Struct, frozen=True):
    """fsync, fdatasync and sync_file_range of a job, all together."""

    total_ios: Json = None
    lat: FioLatency | None = None
    lat_ns: FioLatency | None = None


class SteadyState(msgspec.Struct, frozen=True):
    ss: Json = None
    attained: Json = None
    criterion: Json = None


class JsonJob(msgspec.Struct, frozen=True):
    """One job, or one client's job."""

    jobname: Json = ""
    groupid: Json = None
    error: Json = 0
    elapsed: Json = None
    hostname: Json = None
    options: dict[str, Json] | None = msgspec.field(name="job options", default=None)
    read: Direction | None = None
    write: Direction | None = None
    trim: Direction | None = None
    mixed: Direction | None = None
    sync: Syncs | None = None
    steadystate: SteadyState | None = None


class JobHead(msgspec.Struct, frozen=True):
    """What tells two interim results of one run from two runs."""

    jobname: Json = ""
    elapsed: Json = None


class FioDocument(msgspec.Struct, frozen=True):
    """The jobs stay raw and are decoded one by one: a file of 100 MB has thousands of them."""

    version: Json = msgspec.field(name="fio version", default=None)
    timestamp: Json = None
    time: Json = None
    options: dict[str, Json] | None = msgspec.field(name="global options", default=None)
    jobs: list[msgspec.Raw] | None = None
    client_stats: list[msgspec.Raw] | None = None

    @property
    def raw_jobs(self) -> list[msgspec.Raw]:
        return self.jobs if self.jobs is not None else self.client_stats or []

    def decode_jobs(self) -> Iterator[JsonJob]:
        """Raises msgspec.MsgspecError where one is no job."""
        for part in self.raw_jobs:
            yield _entry.decode(part)

    def decode_heads(self) -> list[JobHead]:
        """Of the first thousand jobs."""
        return [_head.decode(part) for part in self.raw_jobs[:1000]]


_entry = msgspec.json.Decoder(JsonJob)
_head = msgspec.json.Decoder(JobHead)
