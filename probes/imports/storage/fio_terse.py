"""fio's terse output (`--minimal`), versions 3 and 4: semicolons, latencies in µs, KiB and KiB/s.

Field order: HOWTO, "Terse output". Versions 2 and 5 have other fields and are refused by name.
"""

import re

from hostdx.probes.imports.model import ImportRefusedError, ImportResult, ImportTrouble
from hostdx.probes.imports.numbers import KIB, parse_integer, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.fio import Fio
from hostdx.probes.imports.storage.fio_job import FioJob, FioRate
from hostdx.probes.imports.storage.fio_sum import sum_jobs

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
        starts = {"read": _HEAD, "write": _HEAD + _PART}
        if fields[0] == "4" and len(fields) >= _MIN_FIELDS + _PART:
            starts["trim"] = _HEAD + 2 * _PART
        rates = {d: r for d, s in starts.items() if (r := _read_rate(fields[s : s + _PART])) is not None}
        jobs.append(
            FioJob(
                name=fields[2][:200],
                group=parse_integer(fields[3]) or 0,
                error=parse_integer(fields[4]) or 0,
                rates=rates,
            )
        )
    if not jobs:
        raise ImportRefusedError("fio: a terse line with too few fields", "run fio with --output-format=json")
    sums = sum_jobs(jobs)
    measures = sums.make_measures()
    troubles = [ImportTrouble(id="fio.options-unknown")]
    troubles += [ImportTrouble(id="fio.error", subject=j.name, said=str(j.error)) for j in jobs if j.error]
    if broken:
        troubles.append(ImportTrouble(id="fio.terse-broken", said=str(broken)))
    if not measures:
        troubles.append(ImportTrouble(id="fio.nothing", fatal=True))
    return ImportResult(
        kind="fio-terse",
        tool="fio",
        version=(version or "").removeprefix("fio-") or None,
        measures=tuple(measures),
        contradictions=tuple(sums.contradictions),
        troubles=tuple(troubles),
        recomputed=("bandwidth from bytes and run time",),
        detail=Fio(version=version, jobs=tuple(jobs), totals=sums.totals),
    )


def _read_rate(fields: list[str]) -> FioRate | None:
    moved, bandwidth, iops, runtime = (parse_number(f) for f in fields[:4])
    if not moved and not iops:
        return None
    percentiles: dict[str, float] = {}
    for field in fields[12:32]:
        rank, _, value = field.partition("%=")
        if (r := parse_number(rank)) and (us := parse_number(value)) is not None:
            percentiles[f"{r:g}"] = us * 1000
    clat, lat = parse_number(fields[10]), parse_number(fields[34])
    return FioRate(
        iops=iops,
        bw_kib_s=bandwidth,
        bytes=int(moved * KIB) if moved is not None else None,
        are_bytes_exact=False,
        runtime_ms=runtime,
        clat_mean_ns=clat * 1000 if clat else None,
        lat_mean_ns=lat * 1000 if lat else None,
        percentiles_ns=percentiles,
    )
