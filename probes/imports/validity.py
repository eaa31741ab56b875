"""Which figures of a result cannot be judged: by the tool's own words, by the time they took, by their source."""

from collections.abc import Iterator

import msgspec

from probes import units
from probes.imports.model import ImportedMeasure, ImportResult, ImportTrouble

MIN_WORK_SECONDS = 0.05
MAX_READ_OVER_WRITE = 20  # no disk and no file server reads so many times faster than it writes
_MAX_SUBJECTS = 40
# Troubles by which an importer has said already that figures are invalid.
_SAY_INVALID = frozenset(
    [
        "io500.phase-invalid",
        "fio.error",
        "iperf3.error",
        "hpl.failed",
        "hpcg.invalid",
        "nccl.wrong",
        "hepscore.status",
        "hepscore.workload-log",
        "hepscore.not-measured",
        "stream.not-validated",
    ]
)


def apply_validity(result: ImportResult) -> ImportResult:
    """The result with a trouble for each load that is invalid, too short or read from memory.

    Invalid figures and those of less than 50 ms of work are not judged, so that nothing compares them.
    """
    measures = tuple(map(_mark_unjudged, result.measures))
    troubles = list(result.troubles)
    trouble_ids = {trouble.id for trouble in troubles}
    for identifier, flagged in (("invalid", _invalid_loads(measures)), ("too-short", _short_loads(measures)),
                                ("from-memory", _memory_reads(measures))):  # fmt: skip
        new = dict(flagged) if identifier != "invalid" or not trouble_ids & _SAY_INVALID else {}
        troubles += [
            ImportTrouble(id=identifier, subject=s, said=t) for s, t in list(new.items())[:_MAX_SUBJECTS]
        ]
    return msgspec.structs.replace(result, measures=measures, troubles=tuple(troubles))


def _mark_unjudged(measure: ImportedMeasure) -> ImportedMeasure:
    if not measure.judged or not (measure.invalid or _is_short(measure)):
        return measure
    return msgspec.structs.replace(measure, judged=False, invalid=measure.invalid or _short_words(measure))


def _is_short(measure: ImportedMeasure) -> bool:
    return 0 < measure.seconds < MIN_WORK_SECONDS


def _short_words(measure: ImportedMeasure) -> str:
    return f"{units.format_latency(measure.seconds * 1e9)} of work"


def _invalid_loads(measures: tuple[ImportedMeasure, ...]) -> Iterator[tuple[str, str]]:
    return ((m.workload, m.invalid) for m in measures if m.invalid and not _is_short(m))


def _short_loads(measures: tuple[ImportedMeasure, ...]) -> Iterator[tuple[str, str]]:
    return ((m.workload, _short_words(m)) for m in measures if _is_short(m))


def _memory_reads(measures: tuple[ImportedMeasure, ...]) -> Iterator[tuple[str, str]]:
    """A read of what the same run wrote: the two loads have the same name but for the word, and a bandwidth each."""
    rates = {m.workload: m.value for m in measures if m.metric == "bandwidth" and m.unit == "B/s"}
    for workload, rate in rates.items():
        wrote = rates.get(workload.replace("read", "write")) if "read" in workload else None
        if wrote and rate > MAX_READ_OVER_WRITE * wrote:
            yield (
                workload,
                f"{units.format_rate(rate)} read, {units.format_rate(wrote)} written: {rate / wrote:.0f} times",
            )
