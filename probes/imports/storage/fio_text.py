"""fio's normal text, 2.x and 3.x: what it prints without --output-format. Its options are told in part only.

`read: IOPS=59.5k, BW=232MiB/s (244MB/s)(13.6GiB/60001msec)`, or `read : io=…, bw=…KB/s, iops=…, runt=…msec`, where
KB are KiB. IOPS are printed in three or four digits; the operations and the run time beside them give all of them.
"""

import re
from collections import Counter

import msgspec

from probes.imports.dates import iso
from probes.imports.model import Refused, Result, Trouble
from probes.imports.numbers import GIB, KIB, MIB, close
from probes.imports.source import Source
from probes.imports.storage.fio import Fio, facts_of, messages_in, troubles_of
from probes.imports.storage.fio_job import FioJob, Rate, SyncLatency
from probes.imports.storage.fio_sum import summed

_RESULT = re.compile(
    r"^(\S.{0,200}?): \(groupid=(\d{1,9}), jobs=(\d{1,9})\): err=\s*(\d{1,9}).*?: pid=\d+:\s*(.*)$"
)
_FOUND = re.compile(rb"^\S.{0,200}?: \(groupid=\d+, jobs=\d+\): err=", re.MULTILINE)
_PLANNED = re.compile(r"^(\S.{0,200}?): \(g=\d+\): rw=(\w+), bs=(.+?), ioengine=([\w-]+), iodepth=(\d{1,9})")
_RATE = re.compile(
    r"^\s+(read|write|trim)\s*: IOPS=([\d.]+)([kMG]?), BW=([\d.]+)([KMGT]?)i?B/s .*/(\d{1,12})msec\)"
)
_OLD_RATE = re.compile(
    r"^\s+(read|write|trim)\s*: io=.*?, bw=([\d.]+)([KMGT]?)B/s, iops=([\d.]+)([kMG]?)\s*, runt=\s*(\d{1,12})msec"
)
_LATENCY = re.compile(r"^\s+(clat|lat) \(([num]?sec)\s*\)?:.*?avg=\s*([\d.]+)(K?),")
_SYNC = re.compile(r"^\s+sync \(([num]?sec)\s*\)?:.*?avg=\s*([\d.]+)([kK]?),")
_PERCENTILES = re.compile(r"^\s+(?:clat|lat|sync) percentiles \(([num]?sec)\):")
_RANK = re.compile(r"([\d.]+)th=\[\s*(\d+)\]")
_ISSUED = re.compile(
    r"^\s+issued (?:rwts?|rwt)?\s*: total=(?:r=)?(\d+)[,/](?:w=)?(\d+)[,/](?:d=)?(\d+)(?:,(\d+))?"
)
_VERSION = re.compile(r"^fio-(\S{1,40})$")
_NS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6, "sec": 1e9}
_KIB = {"": 1 / KIB, "K": 1.0, "M": MIB / KIB, "G": GIB / KIB, "T": float(GIB)}
_THOUSANDS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_MOST_JOBS = 1000


class _Part:
    """One direction of the job that is being read."""

    def __init__(self, iops: float, kib_s: float, runtime_ms: float) -> None:
        self.iops, self.kib_s, self.runtime_ms = iops, kib_s, runtime_ms
        self.clat: float | None = None
        self.lat: float | None = None
        self.percentiles: dict[str, float] = {}
        self.operations: int | None = None

    def add_latency(self, kind: str, ns: float) -> None:
        if kind == "clat":
            self.clat = ns
        else:
            self.lat = ns

    def rate(self) -> Rate:
        """With all digits of the IOPS, where operations and run time agree with what is printed."""
        iops = self.iops
        if self.operations is not None and self.runtime_ms > 0:
            exact = self.operations / self.runtime_ms * 1000
            iops = exact if close(exact, iops, 0.01, 1.0) else iops
        return Rate(
            iops=iops, bw_kib_s=self.kib_s, runtime_ms=self.runtime_ms, total_ios=self.operations,
            clat_mean_ns=self.clat, lat_mean_ns=self.lat, percentiles_ns=self.percentiles,
        )  # fmt: skip


class _Read:
    """One job as it is printed."""

    def __init__(self, found: re.Match[str]) -> None:
        self.name, self.group, self.jobs, self.error = found[1], int(found[2]), int(found[3]), int(found[4])
        self.ended = found[5].strip()
        self.parts: dict[str, _Part] = {}
        self.sync_ns: float | None = None
        self.syncs: int | None = None
        self.sync_percentiles: dict[str, float] = {}
        self._now: _Part | None = None
        self._ranks: dict[str, float] | None = None  # where the percentiles that follow belong
        self._unit = 0.0

    def line(self, line: str) -> None:
        if found := _RATE.match(line):
            kib = float(found[4]) * _KIB[found[5]]
            self._begin(found[1], float(found[2]) * _THOUSANDS[found[3]], kib, int(found[6]))
        elif found := _OLD_RATE.match(line):
            kib = float(found[2]) * _KIB[found[3]]
            self._begin(found[1], float(found[4]) * _THOUSANDS[found[5]], kib, int(found[6]))
        elif (found := _ISSUED.match(line)) is not None:
            for direction, count in zip(("read", "write", "trim"), found.groups()[:3], strict=True):
                if direction in self.parts:
                    self.parts[direction].operations = int(count)
            self._now, self.syncs = None, int(found[4] or 0) or None
        elif found := _SYNC.match(line):
            self.sync_ns = float(found[2]) * (1000 if found[3] else 1) * _NS[found[1]]
            self._now, self._ranks = None, self.sync_percentiles
        else:
            self._detail(line)

    def _begin(self, direction: str, iops: float, kib_s: float, runtime_ms: int) -> None:
        self._now = self.parts[direction] = _Part(iops, kib_s, float(runtime_ms))
        self._ranks = self._now.percentiles
        self._unit = 0.0

    def _detail(self, line: str) -> None:
        if self._now is not None and (found := _LATENCY.match(line)):
            self._now.add_latency(found[1], float(found[3]) * (1000 if found[4] else 1) * _NS[found[2]])
        elif found := _PERCENTILES.match(line):
            self._unit = _NS[found[1]]
        elif self._ranks is not None and self._unit and line.lstrip().startswith("|"):
            for rank, value in _RANK.findall(line):
                self._ranks[f"{float(rank):g}"] = float(value) * self._unit
        else:
            self._unit = 0.0


def recognised(source: Source) -> bool:
    return _FOUND.search(source.data) is not None


def parse(source: Source) -> Result:
    planned: dict[str, re.Match[str]] = {}
    read: list[_Read] = []
    version = None
    text: list[str] = []
    for whole in source.lines():
        line = whole.rpartition("\r")[2]
        if found := _RESULT.match(line):
            if len(read) >= _MOST_JOBS:
                break
            read.append(_Read(found))
        elif found := _PLANNED.match(line):
            planned.setdefault(found[1], found)
        elif (found := _VERSION.match(line)) and version is None:
            version = found[1]
        elif read and line[:1].isspace():
            read[-1].line(line)
        else:
            text.append(line[:300])
    together = Counter[tuple[str, int]]()  # without group_reporting each of numjobs has a line of its own
    for one in read:
        together[one.name, one.group] += one.jobs
    jobs = [_job(one, planned.get(one.name), together[one.name, one.group]) for one in read]
    if not any(job.rates for job in jobs):
        raise Refused("fio: its text has no line of IOPS", "the run did not end: import a finished one")
    sums = summed(jobs)
    said = messages_in("\n".join(text))
    measures = sums.measures()
    doubts = troubles_of(sums, said, 1, 1, bool(measures))
    return Result(
        kind="fio-text", tool="fio", version=version, began=iso(read[0].ended), measures=tuple(measures),
        seconds=max((p.runtime_ms / 1000 for one in read for p in one.parts.values()), default=None),
        facts=tuple(facts_of(jobs)), contradictions=tuple(sums.contradictions),
        troubles=(*doubts, Trouble(id="fio.text")), recomputed=("IOPS from operations and run time",),
        detail=Fio(version=version, jobs=tuple(jobs), totals=sums.totals, messages=tuple(said)),
    )  # fmt: skip


def _job(one: _Read, planned: re.Match[str] | None, numjobs: int) -> FioJob:
    job = FioJob(
        name=one.name, group=one.group, error=one.error, numjobs=numjobs,
        rates={direction: part.rate() for direction, part in one.parts.items()},
        sync=SyncLatency(count=one.syncs, mean_ns=one.sync_ns, percentiles_ns=one.sync_percentiles)
        if one.sync_ns
        else None,
        invalid=f"fio ended with error {one.error}" if one.error else "",
    )  # fmt: skip
    if planned is None:
        return job
    return msgspec.structs.replace(
        job, rw=planned[2], bs=_block(planned[3], planned[2]), ioengine=planned[4], iodepth=int(planned[5]),
        options_known=True, options_whole=False,
    )  # fmt: skip


def _block(text: str, pattern: str) -> str:
    """`(R) 4096B-4096B, (W) …, (T) …` or `4K-4K/4K-4K/4K-4K`: that of the job's direction, a range as one."""
    parts = [part.strip() for part in re.split(r"\([RWT]\)|/", text) if part.strip(" ,")]
    place = 1 if "write" in pattern and len(parts) > 1 else 2 if "trim" in pattern and len(parts) > 2 else 0
    low, _, high = parts[place].strip(" ,").partition("-") if parts else (text, "", "")
    return low if low == high or not high else f"{low}-{high}"
