"""fio: JSON and json+ of 2.x and 3.x, alone or inside other text, one document or several."""

import re

import msgspec

from probes.imports import json_text
from probes.imports.dates import epoch
from probes.imports.model import Measure, Noted, Refused, Result, Trouble
from probes.imports.numbers import integer, number
from probes.imports.source import Source
from probes.imports.storage import fio_json
from probes.imports.storage.fio_job import FioJob, job
from probes.imports.storage.fio_sum import MOST_JOBS, Sums, summed

_KEY = b'"fio version"'
_MESSAGE = re.compile(r"^(?:fio|error|fio-[\d.]+): |^fio: ")
_SIGNAL = re.compile(r"terminating on signal (\d+)")
_TEXT_AROUND = 1 << 20  # bytes of text before and after the JSON that are looked through for messages
_MOST_MESSAGES = 20
_MOST_RUNS = 1000


class Fio(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`jobs` without "All clients"; `totals` by group and direction: IOPS and KiB/s summed over its jobs."""

    version: str | None = None
    timestamp: int | None = None
    client_server: bool = False
    jobs: tuple[FioJob, ...] = ()
    totals: dict[str, dict[str, dict[str, float]]] = {}
    messages: tuple[str, ...] = ()
    documents: int = 1
    interrupted: bool = False


def recognised(source: Source) -> bool:
    return _KEY in source.data


def parse(source: Source) -> Result:
    documents, messages = _documents(source)
    runs = _runs(documents)
    if not runs:
        raise Refused('fio: no JSON document with "jobs" in it', "run fio with --output-format=json")
    try:
        every = [_summed(run) for run in runs[:_MOST_RUNS]]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(
            f"fio: a job is damaged: {' '.join(str(error).split())[:160]}", "export it again"
        ) from None
    document, sums = runs[-1], every[-1]
    found = [c for one in every for c in (*one.contradictions, *one.client_sums())]
    measures: list[Measure] = []
    for index, one in enumerate(every):
        measures += one.measures(f"run {index + 1}: " if len(every) > 1 else "")
    version = str(document.version) if document.version is not None else None
    detail = Fio(
        version=version,
        timestamp=integer(document.timestamp),
        client_server=document.client_stats is not None,
        jobs=tuple(sums.jobs),
        totals=sums.totals,
        messages=tuple(messages),
        documents=len(documents),
        interrupted=any(_SIGNAL.search(m) for m in messages),
    )
    return Result(
        kind="fio",
        tool="fio",
        version=version.removeprefix("fio-")[:80] if version else None,
        host=_host(sums.jobs),
        began=epoch(_start(document) or number(document.timestamp)),
        seconds=max((j.elapsed_s or 0.0 for j in sums.jobs), default=0.0) or None,
        measures=tuple(measures),
        facts=tuple(facts_of(sums.jobs)),
        contradictions=tuple({(c.id, c.subject, str(c.claimed)): c for c in found}.values())[:100],
        troubles=tuple(troubles_of(sums, messages, len(documents), len(runs), bool(measures))),
        recomputed=("bandwidth from bytes and run time", "IOPS from operations and run time"),
        detail=detail,
    )


def _summed(document: fio_json.Document) -> Sums:
    common = document.options or {}
    jobs = (job(e, common, whole=n < MOST_JOBS) for n, e in enumerate(document.entries()))
    return summed(jobs, clients=document.client_stats is not None)


def _documents(source: Source) -> tuple[list[fio_json.Document], list[str]]:
    """The documents that are fio's, and the messages of fio in the text around them."""
    found: list[fio_json.Document] = []
    text = bytearray()
    position = 0
    try:
        for start, end, value in json_text.documents(source.data, fio_json.Document, "fio"):
            text += source.data[position : min(start, position + _TEXT_AROUND)]
            position = end
            if value.version is not None and value.raw:
                found.append(value)
    except Refused:
        if not found:
            raise
        messages = messages_in(text.decode("utf-8", "backslashreplace"))
        return found, [*messages, "the last JSON document is incomplete"]
    text += source.data[position : position + _TEXT_AROUND]
    return found, messages_in(text.decode("utf-8", "backslashreplace"))


def messages_in(text: str) -> list[str]:
    lines = (piece.strip() for line in text.split("\n") for piece in line.split("\r"))
    return [line[:300] for line in lines if _MESSAGE.match(line)][:_MOST_MESSAGES]


def _runs(documents: list[fio_json.Document]) -> list[fio_json.Document]:
    """Without what `--status-interval` printed on the way: of one run's documents the last stands."""
    runs: list[fio_json.Document] = []
    for document in documents:
        if runs and _continues(runs[-1], document):
            runs[-1] = document
        else:
            runs.append(document)
    return runs


def _continues(earlier: fio_json.Document, later: fio_json.Document) -> bool:
    before, after = earlier.heads(), later.heads()
    if [str(e.jobname) for e in before] != [str(e.jobname) for e in after]:
        return False
    began = [_start(d) for d in (earlier, later)]
    if began[0] is not None and began[1] is not None:
        return abs(began[0] - began[1]) <= 3
    pairs = zip(before, after, strict=True)
    return all((number(a.elapsed) or 0) <= (number(b.elapsed) or 0) for a, b in pairs)


def _start(document: fio_json.Document) -> float | None:
    """Epoch seconds at which the first job began."""
    stamp = number(document.timestamp)
    elapsed = max((number(e.elapsed) or 0.0 for e in document.heads()), default=0.0)
    return stamp - elapsed if stamp is not None and elapsed else None


def facts_of(jobs: list[FioJob]) -> list[Noted]:
    made: dict[tuple[str, str], Noted] = {}
    for one in jobs[:200]:
        for name in ("rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "size", "runtime", "place"):
            value = getattr(one, name)
            if value is not None:
                made[one.name, name] = Noted(name=name, value=value, subject=f"job:{one.name}")
    return list(made.values())


def troubles_of(sums: Sums, messages: list[str], documents: int, runs: int, measured: bool) -> list[Trouble]:
    jobs = sums.jobs
    found = [Trouble(id="fio.message", said=line) for line in messages if not _SIGNAL.search(line)]
    found += [Trouble(id="fio.interrupted", said=line) for line in messages if _SIGNAL.search(line)]
    found += [Trouble(id="fio.error", subject=n, said=str(e)) for n, e in sorted(sums.errors.items())]
    if not measured:
        found.append(Trouble(id="fio.nothing", fatal=True))
    if any(not j.options_known for j in jobs):
        found.append(Trouble(id="fio.options-unknown"))
    else:
        for name, value in (("iodepth", "1"), ("rw", "read")):
            if any(getattr(j, name) is None for j in jobs):
                found.append(Trouble(id="fio.option-assumed", subject=name, said=value))
    if documents > runs:
        found.append(Trouble(id="fio.status-documents", said=str(documents - runs)))
    if sums.left_out:
        found.append(Trouble(id="fio.left-out", said=str(sums.left_out)))
    if sums.summed:
        found.append(Trouble(id="fio.summed"))
    for one in jobs:
        for direction, rate in one.rates.items():
            p99, mean = rate.percentiles_ns.get("99"), rate.clat_mean_ns
            if p99 is not None and mean is not None and 0 < p99 < mean:
                found.append(Trouble(id="fio.p99-below-mean", subject=f"{one.name} {direction}"))
    return found[:100]


def _host(jobs: list[FioJob]) -> str | None:
    hosts = {j.hostname for j in jobs if j.hostname}
    return next(iter(hosts)) if len(hosts) == 1 else None
