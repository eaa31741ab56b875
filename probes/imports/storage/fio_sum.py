"""The jobs of a fio document summed up one by one: totals by group, a place for each job name and direction."""

from collections.abc import Iterable, Mapping

import msgspec

from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    SharedFields,
    compare_claim,
    make_measures,
)
from hostdx.probes.imports.numbers import KIB
from hostdx.probes.imports.storage.fio_job import (
    ALL_CLIENTS,
    FioJob,
    FioRate,
    SyncLatency,
    find_contradictions,
    job_conditions,
)

MAX_JOBS = 1000  # kept whole
_MAX_PLACES = 1000
_MAX_CONTRADICTIONS = 100
_RANKS = ("50", "99", "99.9")


class SummedJob(msgspec.Struct):
    """One job name, group and direction; `rate` while it is one entry only."""

    entries: int = 0
    iops: float | None = None
    kib_s: float | None = None
    seconds: float = 0.0
    rate: FioRate | None = None
    sync: SyncLatency | None = None
    conditions: dict[str, str] = {}
    invalid: str = ""


class FioSums:
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
        if len(self.jobs) < MAX_JOBS:
            self.jobs.append(job)
        if job.error and len(self.errors) < 100:
            self.errors[job.name] = job.error
        if len(self.contradictions) < _MAX_CONTRADICTIONS:
            self.contradictions += find_contradictions(job)
        group = self.totals.setdefault(str(job.group), {})
        for direction, rate in job.rates.items():
            total = group.setdefault(direction, {"iops": 0.0, "kib_s": 0.0})
            total["iops"] += rate.iops or 0.0
            total["kib_s"] += rate.bw_kib_s or 0.0
            self._add_place(job, direction, rate)

    def _add_place(self, job: FioJob, direction: str, rate: FioRate) -> None:
        key = (job.name, job.group, direction)
        place = self.places.get(key)
        if place is None:
            if len(self.places) >= _MAX_PLACES:
                self.left_out += 1
                return
            place = self.places[key] = SummedJob()
        place.entries += 1
        place.rate = rate if place.entries == 1 else None
        place.sync = job.sync if place.entries == 1 else _add_syncs(place.sync, job.sync)
        place.invalid = place.invalid or job.invalid
        for name, value in job_conditions(job).items():
            earlier = place.conditions.setdefault(name, value)
            if value not in earlier.split(", "):
                place.conditions[name] = f"{earlier}, {value}"
        place.seconds = max(place.seconds, (rate.runtime_ms or 0.0) / 1000)
        if rate.iops is not None:
            place.iops = (place.iops or 0.0) + rate.iops
        if rate.bw_kib_s is not None:
            place.kib_s = (place.kib_s or 0.0) + rate.bw_kib_s

    @property
    def has_summed_jobs(self) -> bool:
        return any(place.entries > 1 for place in self.places.values())

    def make_measures(self, prefix: str = "") -> list[ImportedMeasure]:
        """Entries of one name and group are summed; their percentiles cannot be and are left out."""
        groups: dict[tuple[str, str], int] = {}
        for name, _, direction in self.places:
            groups[name, direction] = groups.get((name, direction), 0) + 1
        measures: list[ImportedMeasure] = []
        for (name, group, direction), place in self.places.items():
            workload = f"{prefix}{name} {direction}"
            if groups[name, direction] > 1:
                workload += f" (group {group})"
            shared: SharedFields = {
                "seconds": place.seconds,
                "conditions": place.conditions,
                "invalid": place.invalid,
            }
            bandwidth = place.kib_s * KIB if place.kib_s is not None else None
            measures += make_measures(
                workload, ("IOPS", place.iops, "IOPS"), ("bandwidth", bandwidth, "B/s"), **shared
            )
            # a sync belongs to what was written, where anything was
            waits = place.sync if direction != "read" or (name, group, "write") not in self.places else None
            if waits is not None:
                measures += _latency_measures(
                    workload, "sync latency", waits.mean_ns, waits.percentiles_ns, shared
                )
                measures += make_measures(
                    workload, ("syncs", waits.count or None, ""), judged=False, **shared
                )
            if (rate := place.rate) is not None:
                # where the job syncs, the caller waits for the sync: that of its operations is not the one to judge
                direct = place.conditions.get("direct") == "1"
                synced = "latency without the sync" if direct else "page-cache copy"
                title, judged = (synced, False) if waits is not None else ("latency", True)
                mean = rate.clat_mean_ns or rate.lat_mean_ns
                measures += _latency_measures(
                    workload, title, mean, rate.percentiles_ns, shared, judged=judged
                )
        return measures

    def check_client_sums(self) -> list[Contradiction]:
        """The entry "All clients" against the sum of the clients. Only IOPS: run times differ a little."""
        client_contradictions: list[Contradiction] = []
        for direction, rate in (self.all_clients.rates if self.all_clients is not None else {}).items():
            gives = sum(group.get(direction, {}).get("iops", 0.0) for group in self.totals.values())
            if rate.iops is not None and gives:
                subject, rule = f"{ALL_CLIENTS} {direction}", "sum over the clients"
                client_contradictions += compare_claim(
                    "fio.all-clients", subject, rate.iops, gives, rule, 0.02, 1.0, unit="IOPS"
                )
        return client_contradictions


def sum_jobs(jobs: Iterable[FioJob], *, clients: bool = False) -> FioSums:
    sums = FioSums()
    for job in jobs:
        sums.add(job, clients=clients)
    return sums


def _latency_measures(
    workload: str,
    title: str,
    mean_ns: float | None,
    ranks_ns: Mapping[str, float],
    shared: SharedFields,
    *,
    judged: bool = True,
) -> list[ImportedMeasure]:
    """The mean, and beside it the percentiles, which are never judged."""
    mean = (f"mean {title}", mean_ns and mean_ns / 1e9, "s")
    ranks = ((f"p{rank} {title}", ranks_ns[rank] / 1e9, "s") for rank in _RANKS if rank in ranks_ns)
    return [
        *make_measures(workload, mean, better="less", judged=judged, **shared),
        *make_measures(workload, *ranks, better="less", judged=False, **shared),
    ]


def _add_syncs(first: SyncLatency | None, more: SyncLatency | None) -> SyncLatency | None:
    """Their mean, weighted by the counts; the percentiles of two jobs have no common one."""
    if first is None or more is None or first.mean_ns is None or more.mean_ns is None:
        return first or more
    counts = (first.count or 0, more.count or 0)
    if not sum(counts):
        return None
    mean = (first.mean_ns * counts[0] + more.mean_ns * counts[1]) / sum(counts)
    return SyncLatency(count=sum(counts), mean_ns=mean)
