"""A fio job as it is imported, and what its own numbers say of each other.

fio's JSON as it is written, 2.0 to 3.x: which key holds what, in which unit.

2.x: latencies in µs, `io_bytes` in KiB. 3.x: `…_ns`, `io_bytes` in bytes. Told by the keys, not by the version;
`bw` is KiB/s in both. Numbers are `Any`: versions print 1, 1.0 and "1", and a job without I/O prints nan.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice

import msgspec

from hostdx.probes import units
from hostdx.probes.imports.formats import load_format_toml
from hostdx.probes.imports.model import Contradiction, compare_claim
from hostdx.probes.imports.numbers import KIB, parse_byte_size, parse_integer, parse_number
from hostdx.probes.types import Json


class FioLatency(msgspec.Struct, frozen=True):
    """In ns or µs. `percentile` has the user's list."""

    mean: Json = None
    N: Json = None
    percentile: dict[str, Json] = {}


class FioDirection(msgspec.Struct, frozen=True):
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
    def are_bytes_exact(self) -> bool:
        return self.has_nanoseconds or self.io_kbytes is not None

    @property
    def moved_bytes(self) -> int | None:
        moved = parse_integer(self.io_bytes)
        return moved if moved is None or self.are_bytes_exact else moved * KIB

    def latency_ns(self, name: str) -> FioLatency | None:
        chosen: FioLatency | None = getattr(self, f"{name}_ns") or getattr(self, name)
        return chosen

    @property
    def ns_per_unit(self) -> float:
        return 1.0 if self.has_nanoseconds else 1000.0


class FioSyncs(msgspec.Struct, frozen=True):
    """fsync, fdatasync and sync_file_range of a job, all together."""

    total_ios: Json = None
    lat: FioLatency | None = None
    lat_ns: FioLatency | None = None


class FioSteadyState(msgspec.Struct, frozen=True):
    ss: Json = None
    attained: Json = None
    criterion: Json = None


class FioJsonJob(msgspec.Struct, frozen=True):
    """One job, or one client's job."""

    jobname: Json = ""
    groupid: Json = None
    error: Json = 0
    elapsed: Json = None
    hostname: Json = None
    options: dict[str, Json] | None = msgspec.field(name="job options", default=None)
    read: FioDirection | None = None
    write: FioDirection | None = None
    trim: FioDirection | None = None
    mixed: FioDirection | None = None
    sync: FioSyncs | None = None
    steadystate: FioSteadyState | None = None


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

    def decode_jobs(self) -> Iterator[FioJsonJob]:
        """Raises msgspec.MsgspecError where one is no job."""
        for part in self.raw_jobs:
            yield _entry.decode(part)

    def decode_heads(self) -> list[FioJsonJob]:
        """The first thousand jobs."""
        return list(islice(self.decode_jobs(), 1000))


_entry = msgspec.json.Decoder(FioJsonJob)


class FioSettings(msgspec.Struct, frozen=True):
    """`neutral`: options that change no load, by name or by its beginning. `zero_is_off`: 0 is as much as no option."""

    neutral: frozenset[str]
    neutral_beginnings: tuple[str, ...]
    zero_is_off: frozenset[str]
    alias: dict[str, str]


@lru_cache(maxsize=1)
def load_fio_settings() -> FioSettings:
    return load_format_toml("fio_options.toml", FioSettings)


DIRECTIONS = ("read", "write", "trim", "mixed")
_RATE_SLACK = 0.01  # relative: fio rounds run times to a millisecond
ALL_CLIENTS = "All clients"  # the sum over the clients, printed as an entry of its own


class FioRate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One direction of one job. Bandwidth as printed in KiB/s; latencies in ns; None: not in the file."""

    iops: float | None = None
    bw_kib_s: float | None = None
    bytes: int | None = None
    runtime_ms: float | None = None
    total_ios: int | None = None
    clat_mean_ns: float | None = None
    lat_mean_ns: float | None = None
    percentiles_ns: dict[str, float] = {}  # "50", "99", "99.9": as in the file, without its zeros


class SyncLatency(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long the job waited for its syncs (fsync, fdatasync, sync_file_range), in ns."""

    count: int | None = None
    mean_ns: float | None = None
    percentiles_ns: dict[str, float] = {}


class FioJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`rw` … `direct` are None where the file does not say; `options_known`: it has options at all."""

    name: str
    group: int = 0
    error: int = 0
    rw: str | None = None
    bs: str | None = None
    iodepth: int | None = None
    numjobs: int | None = None
    ioengine: str | None = None
    direct: str | None = None
    size: str | None = None
    runtime: str | None = None
    mix: str | None = None  # per cent of reads
    place: str | None = None  # file, device or directory
    options_known: bool = False
    options_whole: bool = True  # False: what is not named may have any value
    elapsed_s: float | None = None
    hostname: str | None = None
    rates: dict[str, FioRate] = {}
    sync: SyncLatency | None = None
    other_options: dict[str, str] = {}  # those that change the load, besides the ones above
    invalid: str = ""  # why fio itself calls the job's figures invalid


def make_job(entry: FioJsonJob, common: Mapping[str, object], *, with_details: bool = True) -> FioJob:
    """`with_details`: with its percentiles and options; else only what is summed up."""
    own = entry.options or {}
    options = {**common, **own} if with_details else {}

    def first_option(*names: str) -> str | None:
        return next((str(options[n])[:80] for n in names if n in options), None)

    rates = {d: r for d in DIRECTIONS if (r := _rate_if_moved(getattr(entry, d), with_details)) is not None}
    if len(rates) > 1:
        rates.pop("mixed", None)  # unified_rw_reporting=both: the sum of the others
    return FioJob(
        name=str(entry.jobname)[:200],
        group=parse_integer(entry.groupid) or 0,
        error=parse_integer(entry.error) or 0,
        rw=first_option("rw", "readwrite"),
        bs=first_option("bssplit", "bsrange", "blocksize_range", "bs", "blocksize"),
        iodepth=parse_integer(first_option("iodepth")),
        numjobs=parse_integer(first_option("numjobs")),
        ioengine=first_option("ioengine"),
        direct=first_option("direct"),
        size=first_option("size", "filesize"),
        runtime=first_option("runtime", "timeout"),
        mix=_read_percent(first_option("rwmixread"), first_option("rwmixwrite")),
        place=first_option("filename", "directory"),
        options_known=bool(options),
        elapsed_s=parse_number(entry.elapsed),
        hostname=str(entry.hostname)[:200] if entry.hostname else None,
        rates=rates,
        sync=_sync_latency(entry.sync),
        other_options=_significant_options(options),
        invalid=_invalid_job_reason(entry),
    )


def _significant_options(options: Mapping[str, object]) -> dict[str, str]:
    """Every option that is not neutral, under fio's main name, one value spelled one way."""
    settings = load_fio_settings()
    others: dict[str, str] = {}
    for option_name, value in sorted(options.items()):
        name = settings.alias.get(option_name, option_name)[:60]
        text = str(value).strip()[:80] or "1"  # an option without a value is switched on
        is_neutral = name in settings.neutral or name.startswith(settings.neutral_beginnings)
        if is_neutral or (name in settings.zero_is_off and text in ("0", "none", "false")):
            continue
        others[name] = _one_spelling(text)
    return others


def _one_spelling(text: str) -> str:
    """`4096` and `4k` alike; a word as it is."""
    value = parse_byte_size(text)
    return str(value) if value is not None else text.lower()


def _invalid_job_reason(entry: FioJsonJob) -> str:
    steady = entry.steadystate
    if steady is not None and steady.attained in (0, False):
        return f"steady state not attained: {str(steady.criterion)[:40]} reached, {str(steady.ss)[:40]} asked for"
    return f"fio ended with error {parse_integer(entry.error)}" if parse_integer(entry.error) else ""


def _sync_latency(syncs: FioSyncs | None) -> SyncLatency | None:
    latency = (syncs.lat_ns or syncs.lat) if syncs is not None else None
    if syncs is None or latency is None:
        return None
    count = parse_integer(syncs.total_ios) or parse_integer(latency.N)
    to_ns = 1.0 if syncs.lat_ns is not None else 1000.0
    mean = _mean_ns(latency, to_ns)
    if not count or mean is None:
        return None
    return SyncLatency(count=count, mean_ns=mean, percentiles_ns=_percentiles_in_ns(latency, to_ns))


def _percentiles_in_ns(latency: FioLatency, to_ns: float) -> dict[str, float]:
    percentiles: dict[str, float] = {}
    for key, value in latency.percentile.items():
        rank, ns = _percentile_rank(key), parse_number(value)
        if rank and ns is not None and len(percentiles) < 40:
            percentiles[rank] = ns * to_ns
    return percentiles


def _read_percent(reads: str | None, writes: str | None) -> str | None:
    """Per cent of reads. Of both fio takes the later one (HOWTO, rwmixwrite); here it is that of writes."""
    share = parse_integer(writes)
    return str(100 - share) if share is not None and 0 <= share <= 100 else reads


def job_conditions(job: FioJob) -> dict[str, str]:
    """Return what the job did, spelled one way: "4 KiB" for 4k and 4096B, fio's default for what is left out.

    Empty where the file has no options at all.
    """
    syncs = {"syncs": "yes"} if job.sync is not None else {}  # where no option tells it
    if not job.options_known:
        return syncs
    pattern = job.rw or "read"
    if pattern in ("rw", "readwrite", "randrw") and job.options_whole:
        pattern = f"{pattern.replace('readwrite', 'rw')} {job.mix or '50'} % read"
    base_conditions = {
        "pattern": pattern,
        "block size": _size_text(job.bs or "4k"),
        "iodepth": str(job.iodepth or 1),
        "jobs": str(job.numjobs or 1),
        "engine": job.ioengine or "default",
    }
    if not job.options_whole:
        return base_conditions | syncs
    return (
        base_conditions
        | job.other_options
        | {
            "direct": "1" if job.direct in ("1", "true") else "0",
            "size": _size_text(job.size) if job.size else "not given",
            "runtime": _time_text_in_s(job.runtime) if job.runtime else "not given",
        }
    )


def _size_text(text: str) -> str:
    """Of one size; a range, or sizes by direction, as it is written."""
    value = parse_byte_size(text)
    return units.format_size(value) if value is not None else text.lower()


_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "ms": 1e-3}


def _time_text_in_s(text: str) -> str:
    match = re.fullmatch(r"(\d{1,9})([a-z]{0,3})", text.strip().lower())
    factor = _SECONDS.get(match[2]) if match else None
    return f"{int(match[1]) * factor:g} s" if match and factor is not None else text


def _rate_if_moved(part: FioDirection | None, with_details: bool) -> FioRate | None:
    """None where this direction moved nothing."""
    if part is None:
        return None
    iops, moved = parse_number(part.iops), part.moved_bytes
    if not iops and not moved:
        return None
    clat, lat = part.latency_ns("clat"), part.latency_ns("lat")
    ranked = clat if clat is not None and clat.percentile else lat
    to_ns = part.ns_per_unit
    if not with_details:
        ranked = None
    return FioRate(
        iops=iops,
        bw_kib_s=parse_number(part.bw),
        bytes=moved,
        runtime_ms=parse_number(part.runtime),
        total_ios=parse_integer(part.total_ios),
        clat_mean_ns=_mean_ns(clat, to_ns),
        lat_mean_ns=_mean_ns(lat, to_ns),
        percentiles_ns=_percentiles_in_ns(ranked, to_ns) if ranked is not None else {},
    )


@lru_cache(maxsize=1024)
def _percentile_rank(key: str) -> str:
    """ "99.000000" → "99"; "" for what is none: "0.00" fills the unused places of the list."""
    value = parse_number(key[:40])
    return f"{value:g}" if value else ""


def _mean_ns(latency: FioLatency | None, to_ns: float) -> float | None:
    mean = parse_number(latency.mean) if latency is not None else None
    return mean * to_ns if mean else None


def find_contradictions(job: FioJob) -> list[Contradiction]:
    """Bandwidth × run time against the bytes, operations ÷ run time against the IOPS."""
    claims: list[Contradiction] = []
    for direction, rate in job.rates.items():
        subject = f"{job.name} {direction}"
        seconds = (rate.runtime_ms or 0.0) / 1000
        if seconds < 0.05:
            continue
        if rate.bytes is not None and rate.bw_kib_s is not None:
            claims += compare_claim(
                "fio.bandwidth", subject, rate.bw_kib_s * KIB, rate.bytes / seconds, "bytes moved ÷ run time",
                _RATE_SLACK, 1.5 * KIB, unit="B/s",
            )  # fmt: skip
        if rate.total_ios and rate.iops is not None:
            claims += compare_claim(
                "fio.iops", subject, rate.iops, rate.total_ios / seconds, "operations ÷ run time", _RATE_SLACK, 1.0,
                unit="IOPS",
            )  # fmt: skip
    return claims
