"""fio's normal text, 2.x and 3.x: what it prints without --output-format. Its options are told in part only.

`read: IOPS=59.5k, BW=232MiB/s (244MB/s)(13.6GiB/60001msec)`, or `read : io=…, bw=…KB/s, iops=…, runt=…msec`, where
KB are KiB. IOPS are printed in three or four digits; the operations and the run time beside them give all of them.
"""

import math
import re
from collections import Counter

import msgspec

from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.model import ImportRefusedError, ImportResult, ImportTrouble
from hostdx.probes.imports.numbers import GIB, KIB, MIB, is_claim_close
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.fio import FioOutput, fio_messages, make_result, sum_jobs
from hostdx.probes.imports.storage.fio_job import FioJob, FioRate, SyncLatency

_RESULT = re.compile(
    r"^(\S.{0,200}?): \(groupid=(\d{1,9}), jobs=(\d{1,9})\): err=\s*(\d{1,9}).*?: pid=(\d+):\s*(.*)$"
)
_PLANNED = re.compile(r"^(\S.{0,200}?): \(g=\d+\): rw=(\w+), bs=(.+?), ioengine=([\w-]+), iodepth=(\d{1,9})")
_RATE = re.compile(
    r"^\s+(?P<way>read|write|trim)\s*: IOPS=(?P<iops>[\d.]+)(?P<k>[kMG]?), BW=(?P<rate>[\d.]+)(?P<unit>[KMGT]?)i?B/s "
    r".*/(?P<ms>\d{1,12})msec\)"
)
_OLD_RATE = re.compile(
    r"^\s+(?P<way>read|write|trim)\s*: io=.*?, bw=(?P<rate>[\d.]+)(?P<unit>[KMGT]?)B/s, iops=(?P<iops>[\d.]+)"
    r"(?P<k>[kMG]?)\s*, runt=\s*(?P<ms>\d{1,12})msec"
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
_MAX_JOBS = 1000


class _PrintedDirection:
    """One direction of the job that is being read."""

    def __init__(self, iops: float, kib_s: float, runtime_ms: float) -> None:
        self.iops, self.kib_s, self.runtime_ms = iops, kib_s, runtime_ms
        self.mean_ns: dict[str, float] = {}  # of "clat" and "lat"
        self.percentiles: dict[str, float] = {}
        self.operations: int | None = None

    def rate(self) -> FioRate:
        """With all digits of the IOPS, where operations and run time agree with what is printed."""
        iops = self.iops
        if self.operations is not None and self.runtime_ms > 0:
            exact = self.operations / self.runtime_ms * 1000
            iops = exact if is_claim_close(exact, iops, 0.01, 1.0) else iops
        return FioRate(
            iops=iops, bw_kib_s=self.kib_s, runtime_ms=self.runtime_ms, total_ios=self.operations,
            clat_mean_ns=self.mean_ns.get("clat"), lat_mean_ns=self.mean_ns.get("lat"), percentiles_ns=self.percentiles,
        )  # fmt: skip


class _PrintedJob:
    """One job as it is printed."""

    def __init__(self, match: re.Match[str]) -> None:
        self.name, self.group, self.jobs, self.error = match[1], int(match[2]), int(match[3]), int(match[4])
        # the same again is what `--status-interval` prints on the way
        self.key = match[1], match[2], match[5]
        self.ended = match[6].strip()
        self.parts: dict[str, _PrintedDirection] = {}
        self.sync_ns: float | None = None
        self.syncs: int | None = None
        self.sync_percentiles: dict[str, float] = {}
        self._now: _PrintedDirection | None = None
        self._ranks: dict[str, float] | None = None  # where the percentiles that follow belong
        self._unit = 0.0

    def read_line(self, line: str) -> None:
        if match := _RATE.match(line) or _OLD_RATE.match(line):
            iops, kib_s = (
                float(match["iops"]) * _THOUSANDS[match["k"]],
                float(match["rate"]) * _KIB[match["unit"]],
            )
            self._now = self.parts[match["way"]] = _PrintedDirection(iops, kib_s, float(match["ms"]))
            self._ranks, self._unit = self._now.percentiles, 0.0
        elif (match := _ISSUED.match(line)) is not None:
            for direction, count in zip(("read", "write", "trim"), match.groups()[:3], strict=True):
                if direction in self.parts:
                    self.parts[direction].operations = int(count)
            self._now, self.syncs = None, int(match[4] or 0) or None
        elif match := _SYNC.match(line):
            self.sync_ns = float(match[2]) * (1000 if match[3] else 1) * _NS[match[1]]
            self._now, self._ranks = None, self.sync_percentiles
        else:
            self._read_latency_line(line)

    def _read_latency_line(self, line: str) -> None:
        if self._now is not None and (match := _LATENCY.match(line)):
            self._now.mean_ns[match[1]] = float(match[3]) * (1000 if match[4] else 1) * _NS[match[2]]
        elif match := _PERCENTILES.match(line):
            self._unit = _NS[match[1]]
        elif self._ranks is not None and self._unit and line.lstrip().startswith("|"):
            for rank, value in _RANK.findall(line):
                self._ranks[f"{float(rank):g}"] = float(value) * self._unit
        else:
            self._unit = 0.0


class _PrintedRun:
    """What one call of fio printed: what it planned, and its jobs by name, group and process."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.planned: dict[str, re.Match[str]] = {}
        self.jobs: dict[tuple[str, str, str], _PrintedJob] = {}

    def read_head(self, line: str, planned: re.Match[str] | None) -> None:
        if planned is not None:
            self.planned.setdefault(planned[1], planned)
        elif self.version is None and (match := _VERSION.match(line)):
            self.version = match[1]

    @property
    def seconds(self) -> float:
        parts = (part for printed in self.jobs.values() for part in printed.parts.values())
        return max((part.runtime_ms / 1000 for part in parts), default=0.0)

    def make_jobs(self) -> list[FioJob]:
        together = Counter[tuple[str, int]]()  # without group_reporting each of numjobs has a line of its own
        for printed in self.jobs.values():
            together[printed.name, printed.group] += printed.jobs
        return [
            _make_job(printed, self.planned.get(printed.name), together[printed.name, printed.group])
            for printed in self.jobs.values()
        ]


def parse_fio_text(source: ImportSource) -> ImportResult:
    runs = [_PrintedRun()]
    text: list[str] = []
    now: _PrintedJob | None = None
    for raw_line in source.read_lines():
        line = raw_line.rpartition("\r")[2]
        if match := _RESULT.match(line):
            if sum(len(run.jobs) for run in runs) >= _MAX_JOBS:
                break
            now = _PrintedJob(match)
            runs[-1].jobs[now.key] = now
        elif (match := _PLANNED.match(line)) or _VERSION.match(line):
            if runs[-1].jobs:  # fio began anew
                runs.append(_PrintedRun())
            now = None
            runs[-1].read_head(line, match)
        elif now is not None and line[:1].isspace():
            now.read_line(line)
        else:
            text.append(line[:300])
    runs = [run for run in runs if run.jobs]
    every = [sum_jobs(run.make_jobs()) for run in runs]
    if not any(job.rates for sums in every for job in sums.jobs):
        raise ImportRefusedError(
            "fio: its text has no line of IOPS", "the run did not end: import a finished one"
        )
    version = next((run.version for run in runs if run.version), None)
    output = FioOutput(version=version, messages=tuple(fio_messages("\n".join(text))), documents=len(runs))
    result = make_result(
        "fio-text", every[-1], output, runs=every, began=date_to_iso(next(iter(runs[0].jobs.values())).ended),
        seconds=math.fsum(run.seconds for run in runs) or None,
        recomputed=("IOPS from operations and run time",),
    )  # fmt: skip
    return msgspec.structs.replace(result, troubles=(*result.troubles, ImportTrouble(id="fio.text")))


def _make_job(printed: _PrintedJob, planned: re.Match[str] | None, numjobs: int) -> FioJob:
    job = FioJob(
        name=printed.name,
        group=printed.group,
        error=printed.error,
        numjobs=numjobs,
        rates={direction: part.rate() for direction, part in printed.parts.items()},
        sync=SyncLatency(
            count=printed.syncs, mean_ns=printed.sync_ns, percentiles_ns=printed.sync_percentiles
        )
        if printed.sync_ns
        else None,
        invalid=f"fio ended with error {printed.error}" if printed.error else "",
    )
    if planned is None:
        return job
    return msgspec.structs.replace(
        job, rw=planned[2], bs=_block_size_of_direction(planned[3], planned[2]),
        ioengine=planned[4], iodepth=int(planned[5]), options_known=True, options_whole=False,
    )  # fmt: skip


def _block_size_of_direction(text: str, pattern: str) -> str:
    """`(R) 4096B-4096B, (W) …, (T) …` or `4K-4K/4K-4K/4K-4K`: that of the job's direction, a range as one."""
    parts = [part.strip() for part in re.split(r"\([RWT]\)|/", text) if part.strip(" ,")]
    place = 1 if "write" in pattern and len(parts) > 1 else 2 if "trim" in pattern and len(parts) > 2 else 0
    low, _, high = parts[place].strip(" ,").partition("-") if parts else (text, "", "")
    return low if low == high or not high else f"{low}-{high}"
