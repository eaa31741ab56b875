"""fio's terse output (`--minimal`), versions 3 and 4: semicolons, latencies in µs, KiB and KiB/s.

Field order: HOWTO, "Terse output". Versions 2 and 5 have other fields and are refused by name.
"""

import re

import msgspec

from hostdx.probes.imports.model import ImportRefusedError, ImportResult, make_troubles
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.fio import Fio, make_result
from hostdx.probes.imports.storage.fio_job import Direction, FioJob, FioLatency, JsonJob, make_job
from hostdx.probes.imports.storage.fio_sum import sum_jobs
from hostdx.probes.types import Json

_LINE = re.compile(rb"^(\d);(fio-[^;\n]{1,60});[^;\n]*;\d+;\d+;", re.MULTILINE)
_HEAD = 5  # version, fio version, job name, group, error
_PART = 41  # fields of a direction
_MIN_FIELDS = _HEAD + 2 * _PART


def parse(source: ImportSource) -> ImportResult:
    jobs: list[FioJob] = []
    version, broken = None, 0
    for line in source.read_lines():
        if not _LINE.match(line.encode("utf-8", "backslashreplace")):
            continue
        fields = line.split(";")
        if fields[0] not in ("3", "4"):
            raise ImportRefusedError(
                f"fio: terse version {fields[0]} is not read", "run fio with --output-format=json"
            )
        if len(fields) < _MIN_FIELDS:
            broken += 1
            continue
        version = fields[1]
        has_trim = fields[0] == "4" and len(fields) >= _MIN_FIELDS + _PART
        starts = range(_HEAD, _HEAD + _PART * (3 if has_trim else 2), _PART)
        parts = [_read_direction(fields[start : start + _PART]) for start in starts]
        entry = JsonJob(
            jobname=fields[2], groupid=fields[3], error=fields[4], read=parts[0], write=parts[1],
            trim=parts[2] if has_trim else None,
        )  # fmt: skip
        jobs.append(make_job(entry, {}))
    if not jobs:
        raise ImportRefusedError("fio: a terse line with too few fields", "run fio with --output-format=json")
    detail = Fio(version=version)
    result = make_result(
        "fio-terse", sum_jobs(jobs), detail, recomputed=("bandwidth from bytes and run time",)
    )
    troubles = (*result.troubles, *make_troubles(("fio.terse-broken", broken)))
    return msgspec.structs.replace(result, troubles=troubles)


def _read_direction(fields: list[str]) -> Direction:
    """As JSON of fio 2.x has it: latencies in µs, bytes in KiB."""
    percentile: dict[str, Json] = {}
    for field in fields[12:32]:
        rank, _, value = field.partition("%=")
        percentile[rank] = value
    clat, lat = (fields[at] if len(fields) > at else None for at in (10, 34))
    return Direction(
        io_bytes=fields[0], bw=fields[1], iops=fields[2], runtime=fields[3],
        clat=FioLatency(mean=clat, percentile=percentile), lat=FioLatency(mean=lat),
    )  # fmt: skip
