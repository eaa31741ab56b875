"""A fio job as it is imported, and what its own numbers say of each other."""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from probes import units
from probes.imports.formats import load_format
from probes.imports.model import Contradiction, compared
from probes.imports.numbers import KIB, integer, number, size
from probes.imports.storage import fio_json


class FioSettings(msgspec.Struct, frozen=True):
    """`neutral`: options that change no load, by name or by its beginning. `zero_is_off`: 0 is as much as no option."""

    neutral: frozenset[str]
    neutral_beginnings: tuple[str, ...]
    zero_is_off: frozenset[str]
    alias: dict[str, str]


@lru_cache(maxsize=1)
def load_fio_settings() -> FioSettings:
    return load_format("fio_options.toml", FioSettings)


DIRECTIONS = ("read", "write", "trim", "mixed")
_RATE_SLACK = 0.01  # relative: fio rounds run times to a millisecond
ALL_CLIENTS = "All clients"  # the sum over the clients, printed as an entry of its own


class Rate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One direction of one job. Bandwidth as printed in KiB/s; latencies in ns; None: not in the file."""

    iops: float | None = None
    bw_kib_s: float | None = None
    bytes: int | None = None
    bytes_exact: bool = True
    runtime_ms: float | None = None
    total_ios: int | None = None
    clat_mean_ns: float | None = None
    lat_mean_ns: float | None = None
    percentiles_ns: dict[str, float] = {}  # "50", "99", "99.9": as in the file, without its zeros
    bins: int = 0


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
    rates: dict[str, Rate] = {}
    sync: SyncLatency | None = None
    other_options: dict[str, str] = {}  # those that change the load, besides the ones above
    invalid: str = ""  # why fio itself calls the job's figures invalid


def job(entry: fio_json.JsonJob, common: Mapping[str, object], *, whole: bool = True) -> FioJob:
    """`whole`: with its percentiles and options; else only what is summed up."""
    own = entry.options or {}
    options = {**common, **own} if whole else {}

    def option(*names: str) -> str | None:
        return next((str(options[n])[:80] for n in names if n in options), None)

    rates = {d: r for d in DIRECTIONS if (r := _rate(getattr(entry, d), whole)) is not None}
    if len(rates) > 1:
        rates.pop("mixed", None)  # unified_rw_reporting=both: the sum of the others
    return FioJob(
        name=str(entry.jobname)[:200],
        group=integer(entry.groupid) or 0,
        error=integer(entry.error) or 0,
        rw=option("rw", "readwrite"),
        bs=option("bssplit", "bsrange", "blocksize_range", "bs", "blocksize"),
        iodepth=integer(option("iodepth")),
        numjobs=integer(option("numjobs")),
        ioengine=option("ioengine"),
        direct=option("direct"),
        size=option("size", "filesize"),
        runtime=option("runtime", "timeout"),
        mix=_mix(option("rwmixread"), option("rwmixwrite")),
        place=option("filename", "directory"),
        options_known=bool(options),
        elapsed_s=number(entry.elapsed),
        hostname=str(entry.hostname)[:200] if entry.hostname else None,
        rates=rates,
        sync=_sync(entry.sync),
        other_options=_other_options(options),
        invalid=_invalid(entry),
    )


def _other_options(options: Mapping[str, object]) -> dict[str, str]:
    """Every option that is not neutral, under fio's main name, one value spelled one way."""
    settings = load_fio_settings()
    others: dict[str, str] = {}
    for given, value in sorted(options.items()):
        name = settings.alias.get(given, given)[:60]
        text = str(value).strip()[:80] or "1"  # an option without a value is switched on
        is_neutral = name in settings.neutral or name.startswith(settings.neutral_beginnings)
        if is_neutral or (name in settings.zero_is_off and text in ("0", "none", "false")):
            continue
        others[name] = _spell(text)
    return others


def _spell(text: str) -> str:
    """`4096` and `4k` alike; a word as it is."""
    value = size(text)
    return str(value) if value is not None else text.lower()


def _invalid(entry: fio_json.JsonJob) -> str:
    steady = entry.steadystate
    if steady is not None and steady.attained in (0, False):
        return f"steady state not attained: {str(steady.criterion)[:40]} reached, {str(steady.ss)[:40]} asked for"
    return f"fio ended with error {integer(entry.error)}" if integer(entry.error) else ""


def _sync(syncs: fio_json.Syncs | None) -> SyncLatency | None:
    latency = (syncs.lat_ns or syncs.lat) if syncs is not None else None
    if syncs is None or latency is None:
        return None
    count = integer(syncs.total_ios) or integer(latency.N)
    to_ns = 1.0 if syncs.lat_ns is not None else 1000.0
    mean = _mean(latency, to_ns)
    if not count or mean is None:
        return None
    return SyncLatency(count=count, mean_ns=mean, percentiles_ns=_percentiles(latency, to_ns))


def _percentiles(latency: fio_json.Latency, to_ns: float) -> dict[str, float]:
    percentiles: dict[str, float] = {}
    for key, value in latency.percentile.items():
        rank, ns = _rank(key), number(value)
        if rank and ns is not None and len(percentiles) < 40:
            percentiles[rank] = ns * to_ns
    return percentiles


def _mix(reads: str | None, writes: str | None) -> str | None:
    """Per cent of reads. Of both fio takes the later one (HOWTO, rwmixwrite); here it is that of writes."""
    share = integer(writes)
    return str(100 - share) if share is not None and 0 <= share <= 100 else reads


def conditions(job: FioJob) -> dict[str, str]:
    """What the job did, spelled one way: "4 KiB" for 4k and 4096B, fio's own default for what its options leave out.

    Empty where the file has no options at all.
    """
    syncs = {"syncs": "yes"} if job.sync is not None else {}  # where no option tells it
    if not job.options_known:
        return syncs
    pattern = job.rw or "read"
    if pattern in ("rw", "readwrite", "randrw") and job.options_whole:
        pattern = f"{pattern.replace('readwrite', 'rw')} {job.mix or '50'} % read"
    named = {
        "pattern": pattern,
        "block size": _sized(job.bs or "4k"),
        "iodepth": str(job.iodepth or 1),
        "jobs": str(job.numjobs or 1),
        "engine": job.ioengine or "default",
    }
    if not job.options_whole:
        return named | syncs
    return (
        named
        | job.other_options
        | {
            "direct": "1" if job.direct in ("1", "true") else "0",
            "size": _sized(job.size) if job.size else "not given",
            "runtime": _timed(job.runtime) if job.runtime else "not given",
        }
    )


def _sized(text: str) -> str:
    """Of one size; a range, or sizes by direction, as it is written."""
    value = size(text)
    return units.size(value) if value is not None else text.lower()


_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "ms": 1e-3}


def _timed(text: str) -> str:
    found = re.fullmatch(r"(\d{1,9})([a-z]{0,3})", text.strip().lower())
    factor = _SECONDS.get(found[2]) if found else None
    return f"{int(found[1]) * factor:g} s" if found and factor is not None else text


def _rate(part: fio_json.Direction | None, whole: bool) -> Rate | None:
    """None where this direction moved nothing."""
    if part is None:
        return None
    iops, moved = number(part.iops), part.bytes
    if not iops and not moved:
        return None
    clat, lat = part.latency_ns("clat"), part.latency_ns("lat")
    ranked = clat if clat is not None and clat.percentile else lat
    to_ns = part.to_ns
    if not whole:
        ranked = None
    percentiles = _percentiles(ranked, to_ns) if ranked is not None else {}
    bins = ranked.bins if ranked is not None else msgspec.Raw(b"")
    return Rate(
        iops=iops,
        bw_kib_s=number(part.bw),
        bytes=moved,
        bytes_exact=part.bytes_exact,
        runtime_ms=number(part.runtime),
        total_ios=integer(part.total_ios),
        clat_mean_ns=_mean(clat, to_ns),
        lat_mean_ns=_mean(lat, to_ns),
        percentiles_ns=percentiles,
        bins=bytes(bins).count(b":"),
    )


@lru_cache(maxsize=1024)
def _rank(key: str) -> str:
    """ "99.000000" → "99"; "" for what is none: "0.00" fills the unused places of the list."""
    value = number(key[:40])
    return f"{value:g}" if value else ""


def _mean(latency: fio_json.Latency | None, to_ns: float) -> float | None:
    mean = number(latency.mean) if latency is not None else None
    return mean * to_ns if mean else None


def contradictions(job: FioJob) -> list[Contradiction]:
    """Bandwidth × run time against the bytes, operations ÷ run time against the IOPS."""
    found: list[Contradiction] = []
    for direction, rate in job.rates.items():
        subject = f"{job.name} {direction}"
        seconds = (rate.runtime_ms or 0.0) / 1000
        if seconds < 0.05:
            continue
        if rate.bytes is not None and rate.bw_kib_s is not None:
            found += compared(
                "fio.bandwidth", subject, rate.bw_kib_s * KIB, rate.bytes / seconds, "bytes moved ÷ run time",
                _RATE_SLACK, 1.5 * KIB, unit="B/s",
            )  # fmt: skip
        if rate.total_ios and rate.iops is not None:
            found += compared(
                "fio.iops", subject, rate.iops, rate.total_ios / seconds, "operations ÷ run time", _RATE_SLACK, 1.0,
                unit="IOPS",
            )  # fmt: skip
    return found
