"""fio's terse output (`--minimal`), versions 3 and 4: semicolons, latencies in µs, KiB and KiB/s.

Field order: HOWTO, "Terse output". Versions 2 and 5 have other fields and are refused by name.
"""

import re

from probes.imports.model import Refused, Result, Trouble
from probes.imports.numbers import KIB, integer, number
from probes.imports.source import Source
from probes.imports.storage.fio import Fio
from probes.imports.storage.fio_job import FioJob, Rate
from probes.imports.storage.fio_sum import summed

_LINE = re.compile(rb"^(\d);(fio-[^;\n]{1,60});[^;\n]*;\d+;\d+;", re.MULTILINE)
_HEAD = 5  # version, fio version, job name, group, error
_PART = 41  # fields of a direction
_LEAST = _HEAD + 2 * _PART


def recognised(source: Source) -> bool:
    return _LINE.search(source.head) is not None


def parse(source: Source) -> Result:
    jobs: list[FioJob] = []
    version, broken = None, 0
    for line in source.lines():
        if not _LINE.match(line.encode("utf-8", "backslashreplace")):
            continue
        fields = line.split(";")
        if fields[0] not in ("3", "4"):
            raise Refused(f"fio: terse version {fields[0]} is not read", "run fio with --output-format=json")
        if len(fields) < _LEAST:
            broken += 1
            continue
        version = fields[1]
        starts = {"read": _HEAD, "write": _HEAD + _PART}
        if fields[0] == "4" and len(fields) >= _LEAST + _PART:
            starts["trim"] = _HEAD + 2 * _PART
        rates = {d: r for d, s in starts.items() if (r := _rate(fields[s : s + _PART])) is not None}
        jobs.append(
            FioJob(
                name=fields[2][:200],
                group=integer(fields[3]) or 0,
                error=integer(fields[4]) or 0,
                rates=rates,
            )
        )
    if not jobs:
        raise Refused("fio: a terse line with too few fields", "run fio with --output-format=json")
    sums = summed(jobs)
    measures = sums.measures()
    troubles = [Trouble(id="fio.options-unknown")]
    troubles += [Trouble(id="fio.error", subject=j.name, said=str(j.error)) for j in jobs if j.error]
    if broken:
        troubles.append(Trouble(id="fio.terse-broken", said=str(broken)))
    if not measures:
        troubles.append(Trouble(id="fio.nothing", fatal=True))
    return Result(
        kind="fio-terse",
        tool="fio",
        version=(version or "").removeprefix("fio-") or None,
        measures=tuple(measures),
        contradictions=tuple(sums.contradictions),
        troubles=tuple(troubles),
        recomputed=("bandwidth from bytes and run time",),
        detail=Fio(version=version, jobs=tuple(jobs), totals=sums.totals),
    )


def _rate(fields: list[str]) -> Rate | None:
    moved, bandwidth, iops, runtime = (number(f) for f in fields[:4])
    if not moved and not iops:
        return None
    percentiles: dict[str, float] = {}
    for field in fields[12:32]:
        rank, _, value = field.partition("%=")
        if (r := number(rank)) and (us := number(value)) is not None:
            percentiles[f"{r:g}"] = us * 1000
    clat, lat = number(fields[10]), number(fields[34])
    return Rate(
        iops=iops,
        bw_kib_s=bandwidth,
        bytes=int(moved * KIB) if moved is not None else None,
        bytes_exact=False,
        runtime_ms=runtime,
        clat_mean_ns=clat * 1000 if clat else None,
        lat_mean_ns=lat * 1000 if lat else None,
        percentiles_ns=percentiles,
    )
