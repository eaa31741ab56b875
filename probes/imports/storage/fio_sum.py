"""The jobs of a fio document summed up one by one: totals by group, a place for each job name and direction."""

from collections.abc import Iterable

import msgspec

from probes.imports.model import Contradiction, Measure, compared
from probes.imports.numbers import KIB
from probes.imports.storage.fio_job import ALL_CLIENTS, FioJob, Rate, conditions, contradictions

MOST_JOBS = 1000  # kept whole
_MOST_PLACES = 1000
_MOST_CONTRADICTIONS = 100
_RANKS = ("50", "99", "99.9")


class SummedJob(msgspec.Struct):
    """One job name, group and direction; `rate` while it is one entry only."""

    entries: int = 0
    iops: float = 0.0
    kib_s: float = 0.0
    has_iops: bool = False
    has_bandwidth: bool = False
    seconds: float = 0.0
    rate: Rate | None = None
    conditions: dict[str, str] = {}


class Sums:
    def __init__(self) -> None:
        self.jobs: list[FioJob] = []
        self.count = 0
        self.left_out = 0  # places beyond the bound
        self.places: dict[tuple[str, int, str], SummedJob] = {}
        self.totals: dict[str, dict[str, dict[str, float]]] = {}
        self.contradictions: list[Contradiction] = []
        self.errors: dict[str, int] = {}
        self.all_clients: FioJob | None = None

    def add(self, job: FioJob, *, clients: bool = False) -> None:
        if clients and job.name == ALL_CLIENTS:
            self.all_clients = job
            return
        self.count += 1
        if len(self.jobs) < MOST_JOBS:
            self.jobs.append(job)
        if job.error and len(self.errors) < 100:
            self.errors[job.name] = job.error
        if len(self.contradictions) < _MOST_CONTRADICTIONS:
            self.contradictions += contradictions(job)
        group = self.totals.setdefault(str(job.group), {})
        for direction, rate in job.rates.items():
            total = group.setdefault(direction, {"iops": 0.0, "kib_s": 0.0})
            total["iops"] += rate.iops or 0.0
            total["kib_s"] += rate.bw_kib_s or 0.0
            self._place(job, direction, rate)

    def _place(self, job: FioJob, direction: str, rate: Rate) -> None:
        key = (job.name, job.group, direction)
        place = self.places.get(key)
        if place is None:
            if len(self.places) >= _MOST_PLACES:
                self.left_out += 1
                return
            place = self.places[key] = SummedJob()
        place.entries += 1
        place.rate = rate if place.entries == 1 else None
        for name, value in conditions(job).items():
            known = place.conditions.setdefault(name, value)
            if value not in known.split(", "):
                place.conditions[name] = f"{known}, {value}"
        place.seconds = max(place.seconds, (rate.runtime_ms or 0.0) / 1000)
        if rate.iops is not None:
            place.has_iops, place.iops = True, place.iops + rate.iops
        if rate.bw_kib_s is not None:
            place.has_bandwidth, place.kib_s = True, place.kib_s + rate.bw_kib_s

    @property
    def summed(self) -> bool:
        return any(place.entries > 1 for place in self.places.values())

    def measures(self, prefix: str = "") -> list[Measure]:
        """Entries of one name and group are summed; their percentiles cannot be and are left out."""
        groups: dict[tuple[str, str], int] = {}
        for name, _, direction in self.places:
            groups[name, direction] = groups.get((name, direction), 0) + 1
        made: list[Measure] = []
        for (name, group, direction), place in self.places.items():
            workload = f"{prefix}{name} {direction}"
            if groups[name, direction] > 1:
                workload += f" (group {group})"
            own: list[Measure] = []
            if place.has_iops:
                own.append(_measure(workload, "IOPS", place.iops, "IOPS", place.seconds))
            if place.has_bandwidth:
                own.append(_measure(workload, "bandwidth", place.kib_s * KIB, "B/s", place.seconds))
            if place.rate is not None:
                own += _latencies(workload, place.rate, place.seconds)
            made += [msgspec.structs.replace(m, conditions=place.conditions) for m in own]
        return made

    def client_sums(self) -> list[Contradiction]:
        """The entry "All clients" against the sum of the clients. Only IOPS: run times differ a little."""
        found: list[Contradiction] = []
        for direction, rate in (self.all_clients.rates if self.all_clients is not None else {}).items():
            gives = sum(group.get(direction, {}).get("iops", 0.0) for group in self.totals.values())
            if rate.iops is not None and gives:
                subject, rule = f"{ALL_CLIENTS} {direction}", "sum over the clients"
                found += compared("fio.all-clients", subject, rate.iops, gives, rule, 0.02, 1.0, unit="IOPS")
        return found


def summed(jobs: Iterable[FioJob], *, clients: bool = False) -> Sums:
    sums = Sums()
    for job in jobs:
        sums.add(job, clients=clients)
    return sums


def _measure(workload: str, metric: str, value: float, unit: str, seconds: float) -> Measure:
    return Measure(workload=workload, metric=metric, value=value, unit=unit, seconds=seconds)


def _latencies(workload: str, rate: Rate, seconds: float) -> list[Measure]:
    named: list[tuple[str, float | None]] = [("mean latency", rate.clat_mean_ns or rate.lat_mean_ns)]
    named += [(f"p{rank} latency", rate.percentiles_ns.get(rank)) for rank in _RANKS]
    return [
        Measure(
            workload=workload, metric=name, value=ns / 1e9, unit="s", better="less", seconds=seconds,
            judged=name == "mean latency",
        )
        for name, ns in named
        if ns is not None
    ]  # fmt: skip
