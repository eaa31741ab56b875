"""fio: JSON and json+ of 2.x and 3.x, alone or inside other text, one document or several; and its terse output.

The jobs of a document are summed up one by one: totals by group, a place for each job name and direction.

Terse (`--minimal`) of versions 3 and 4: semicolons, latencies in µs, KiB and KiB/s; field order: HOWTO, "Terse output".
Versions 2 and 5 have other fields and are refused by name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.dates import epoch_to_iso
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    Noted,
    SharedFields,
    compare_claim,
    join_repetitions_or_number_runs,
    make_measures,
    make_troubles,
)
from hostdx.probes.imports.numbers import KIB, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage import fio_job
from hostdx.probes.imports.storage.fio_job import (
    ALL_CLIENTS,
    FioDirection,
    FioJob,
    FioJsonJob,
    FioLatency,
    FioRate,
    SyncLatency,
    find_contradictions,
    job_conditions,
    make_job,
)
from hostdx.probes.types import Json

MAX_JOBS = 1000  # kept whole
_MAX_PLACES = 1000
_MAX_CONTRADICTIONS = 100
_RANKS = ("50", "99", "99.9")


class SummedFioJob(msgspec.Struct):
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
        self.places: dict[tuple[str, int, str], SummedFioJob] = {}
        self.iops_by_direction: dict[str, float] = {}
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
        for direction, rate in job.rates.items():
            self.iops_by_direction[direction] = self.iops_by_direction.get(direction, 0.0) + (
                rate.iops or 0.0
            )
            self._add_to_place(job, direction, rate)

    def _add_to_place(self, job: FioJob, direction: str, rate: FioRate) -> None:
        key = (job.name, job.group, direction)
        place = self.places.get(key)
        if place is None:
            if len(self.places) >= _MAX_PLACES:
                self.left_out += 1
                return
            place = self.places[key] = SummedFioJob()
        place.entries += 1
        place.rate = rate if place.entries == 1 else None
        place.sync = job.sync if place.entries == 1 else _merge_syncs(place.sync, job.sync)
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

    def make_measures(self) -> list[ImportedMeasure]:
        """Entries of one name and group are summed; their percentiles cannot be and are left out."""
        groups: dict[tuple[str, str], int] = {}
        for name, _, direction in self.places:
            groups[name, direction] = groups.get((name, direction), 0) + 1
        measures: list[ImportedMeasure] = []
        for (name, group, direction), place in self.places.items():
            workload = f"{name} {direction}"
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
            gives = self.iops_by_direction.get(direction, 0.0)
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


def _merge_syncs(first: SyncLatency | None, more: SyncLatency | None) -> SyncLatency | None:
    """Their mean, weighted by the counts; the percentiles of two jobs have no common one."""
    if first is None or more is None or first.mean_ns is None or more.mean_ns is None:
        return first or more
    counts = (first.count or 0, more.count or 0)
    if not sum(counts):
        return None
    mean = (first.mean_ns * counts[0] + more.mean_ns * counts[1]) / sum(counts)
    return SyncLatency(count=sum(counts), mean_ns=mean)


_MESSAGE = re.compile(r"^(?:fio|error|fio-[\d.]+): |^fio: ")
_SIGNAL = re.compile(r"terminating on signal (\d+)")
_TEXT_AROUND = 1 << 20  # bytes of text before and after the JSON that are looked through for messages
_MAX_MESSAGES = 20
_MAX_RUNS = 1000


class FioOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the jobs. `messages` are fio's own; `documents`: how many the file has, interim ones too."""

    version: str | None = None
    messages: tuple[str, ...] = ()
    documents: int = 1


def parse_fio(source: ImportSource) -> ImportResult:
    documents, messages = _documents_and_messages(source)
    runs = _last_of_each_run(documents)
    if not runs:
        raise ImportRefusedError(
            'fio: no JSON document with "jobs" in it', "run fio with --output-format=json"
        )
    try:
        every = [_sum_document(run) for run in runs[:_MAX_RUNS]]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ImportRefusedError(
            f"fio: a job is damaged: {' '.join(str(error).split())[:160]}", "export it again"
        ) from None
    document, sums = runs[-1], every[-1]
    version = str(document.version) if document.version is not None else None
    return make_result(
        "fio",
        sums,
        FioOutput(version=version, messages=tuple(messages), documents=len(documents)),
        runs=every,
        host=_only_host_name(sums.jobs),
        began=epoch_to_iso(_first_job_start_s(document) or parse_number(document.timestamp)),
        seconds=max((j.elapsed_s or 0.0 for j in sums.jobs), default=0.0) or None,
        recomputed=("bandwidth from bytes and run time", "IOPS from operations and run time"),
    )


def make_result(
    kind: str,
    sums: FioSums,
    output: FioOutput,
    *,
    recomputed: tuple[str, ...],
    runs: Sequence[FioSums] = (),
    host: str | None = None,
    began: str | None = None,
    seconds: float | None = None,
) -> ImportResult:
    """Return what all forms of fio's output have in common. `sums`: of the last run, `runs`: of all, where there are
    several.
    """
    every = runs or [sums]
    contradictions = [c for s in every for c in (*s.contradictions, *s.check_client_sums())]
    measures = join_repetitions_or_number_runs([run.make_measures() for run in every])
    return ImportResult(
        kind=kind, tool="fio", version=(output.version or "").removeprefix("fio-")[:80] or None, host=host,
        began=began, seconds=seconds, measures=tuple(measures), facts=tuple(_facts_of_jobs(sums.jobs)),
        contradictions=tuple({(c.id, c.subject, str(c.claimed)): c for c in contradictions}.values())[:100],
        troubles=tuple(_list_troubles(sums, output, len(every), bool(measures))), recomputed=recomputed,
    )  # fmt: skip


def _sum_document(document: fio_job.FioDocument) -> FioSums:
    common = document.options or {}
    jobs = (make_job(e, common, with_details=n < MAX_JOBS) for n, e in enumerate(document.decode_jobs()))
    return sum_jobs(jobs, clients=document.client_stats is not None)


def _documents_and_messages(source: ImportSource) -> tuple[list[fio_job.FioDocument], list[str]]:
    """The documents that are fio's, and the messages of fio in the text around them."""
    fio_documents: list[fio_job.FioDocument] = []
    text = bytearray()
    position = 0
    try:
        for start, end, value in json_text.iterate_documents(source.data, fio_job.FioDocument, "fio"):
            text += source.data[position : min(start, position + _TEXT_AROUND)]
            position = end
            if value.version is not None and value.raw_jobs:
                fio_documents.append(value)
    except ImportRefusedError:
        if not fio_documents:
            raise
        messages = fio_messages(text.decode("utf-8", "backslashreplace"))
        return fio_documents, [*messages, "the last JSON document is incomplete"]
    text += source.data[position : position + _TEXT_AROUND]
    return fio_documents, fio_messages(text.decode("utf-8", "backslashreplace"))


def fio_messages(text: str) -> list[str]:
    lines = (piece.strip() for line in text.split("\n") for piece in line.split("\r"))
    return [line[:300] for line in lines if _MESSAGE.match(line)][:_MAX_MESSAGES]


def _last_of_each_run(documents: list[fio_job.FioDocument]) -> list[fio_job.FioDocument]:
    """Without what `--status-interval` printed on the way: of one run's documents the last stands."""
    runs: list[fio_job.FioDocument] = []
    for document in documents:
        if runs and _is_continuation(runs[-1], document):
            runs[-1] = document
        else:
            runs.append(document)
    return runs


def _is_continuation(earlier: fio_job.FioDocument, later: fio_job.FioDocument) -> bool:
    before, after = earlier.decode_heads(), later.decode_heads()
    if [str(e.jobname) for e in before] != [str(e.jobname) for e in after]:
        return False
    began = [_first_job_start_s(d) for d in (earlier, later)]
    if began[0] is not None and began[1] is not None:
        return abs(began[0] - began[1]) <= 3
    pairs = zip(before, after, strict=True)
    return all((parse_number(a.elapsed) or 0) <= (parse_number(b.elapsed) or 0) for a, b in pairs)


def _first_job_start_s(document: fio_job.FioDocument) -> float | None:
    """Epoch seconds at which the first job began."""
    stamp = parse_number(document.timestamp)
    elapsed = max((parse_number(e.elapsed) or 0.0 for e in document.decode_heads()), default=0.0)
    return stamp - elapsed if stamp is not None and elapsed else None


def _facts_of_jobs(jobs: list[FioJob]) -> list[Noted]:
    facts: dict[tuple[str, str], Noted] = {}
    for entry in jobs[:200]:
        for name in ("rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "size", "runtime", "place"):
            value = getattr(entry, name)
            if value is not None:
                facts[entry.name, name] = Noted(name=name, value=value, subject=f"job:{entry.name}")
    return list(facts.values())


def _list_troubles(sums: FioSums, output: FioOutput, runs: int, measured: bool) -> list[ImportTrouble]:
    jobs, messages = sums.jobs, output.messages
    troubles = [ImportTrouble(id="fio.message", said=line) for line in messages if not _SIGNAL.search(line)]
    troubles += [ImportTrouble(id="fio.interrupted", said=line) for line in messages if _SIGNAL.search(line)]
    troubles += [
        ImportTrouble(id="fio.error", subject=n, said=str(e)) for n, e in sorted(sums.errors.items())
    ]
    if not measured:
        troubles.append(ImportTrouble(id="fio.nothing", fatal=True))
    if any(not j.options_known for j in jobs):
        troubles.append(ImportTrouble(id="fio.options-unknown"))
    else:
        for name, value in (("iodepth", "1"), ("rw", "read")):
            if any(getattr(j, name) is None for j in jobs):
                troubles.append(ImportTrouble(id="fio.option-assumed", subject=name, said=value))
    troubles += make_troubles(
        ("fio.status-documents", max(0, output.documents - runs)),
        ("fio.left-out", sums.left_out),
        ("fio.summed", sums.has_summed_jobs),
    )
    for entry in jobs:
        for direction, rate in entry.rates.items():
            p99, mean = rate.percentiles_ns.get("99"), rate.clat_mean_ns
            if p99 is not None and mean is not None and 0 < p99 < mean:
                troubles.append(ImportTrouble(id="fio.p99-below-mean", subject=f"{entry.name} {direction}"))
    return troubles[:100]


def _only_host_name(jobs: list[FioJob]) -> str | None:
    hosts = {j.hostname for j in jobs if j.hostname}
    return next(iter(hosts)) if len(hosts) == 1 else None


_TERSE_LINE = re.compile(rb"^(\d);(fio-[^;\n]{1,60});[^;\n]*;\d+;\d+;", re.MULTILINE)
_TERSE_HEAD = 5  # version, fio version, job name, group, error
_TERSE_PART = 41  # fields of a direction
_MIN_TERSE_FIELDS = _TERSE_HEAD + 2 * _TERSE_PART


def parse_fio_terse(source: ImportSource) -> ImportResult:
    jobs: list[FioJob] = []
    version, broken = None, 0
    for line in source.read_lines():
        if not _TERSE_LINE.match(line.encode("utf-8", "backslashreplace")):
            continue
        fields = line.split(";")
        if fields[0] not in ("3", "4"):
            raise ImportRefusedError(
                f"fio: terse version {fields[0]} is not read", "run fio with --output-format=json"
            )
        if len(fields) < _MIN_TERSE_FIELDS:
            broken += 1
            continue
        version = fields[1]
        has_trim = fields[0] == "4" and len(fields) >= _MIN_TERSE_FIELDS + _TERSE_PART
        starts = range(_TERSE_HEAD, _TERSE_HEAD + _TERSE_PART * (3 if has_trim else 2), _TERSE_PART)
        parts = [_direction_of_terse(fields[start : start + _TERSE_PART]) for start in starts]
        entry = FioJsonJob(
            jobname=fields[2], groupid=fields[3], error=fields[4], read=parts[0], write=parts[1],
            trim=parts[2] if has_trim else None,
        )  # fmt: skip
        jobs.append(make_job(entry, {}))
    if not jobs:
        raise ImportRefusedError("fio: a terse line with too few fields", "run fio with --output-format=json")
    recomputed = ("bandwidth from bytes and run time",)
    result = make_result("fio-terse", sum_jobs(jobs), FioOutput(version=version), recomputed=recomputed)
    own_ids = {"fio.summed": "fio.terse-summed"}
    troubles = [msgspec.structs.replace(each, id=own_ids.get(each.id, each.id)) for each in result.troubles]
    troubles += make_troubles(("fio.terse-broken", broken))
    return msgspec.structs.replace(result, troubles=tuple(troubles))


def _direction_of_terse(fields: list[str]) -> FioDirection:
    """As JSON of fio 2.x has it: latencies in µs, bytes in KiB."""
    percentile: dict[str, Json] = {}
    for field in fields[12:32]:
        rank, _, value = field.partition("%=")
        percentile[rank] = value
    clat, lat = (fields[at] if len(fields) > at else None for at in (10, 34))
    return FioDirection(
        io_bytes=fields[0], bw=fields[1], iops=fields[2], runtime=fields[3],
        clat=FioLatency(mean=clat, percentile=percentile), lat=FioLatency(mean=lat),
    )  # fmt: skip
