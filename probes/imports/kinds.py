"""Which kinds there are, recognised by what is in the file and never by its name.

The first that recognises the content parses it. What nothing recognises is refused in one line without its words.

Why a file is not imported. No content of it is quoted: its name may lead to what only root reads.

Which figures of a result cannot be judged: by the tool's own words, by the time they took, by their source.
"""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import msgspec

from hostdx.probes import units
from hostdx.probes.imports import iperf3
from hostdx.probes.imports.accounting import with_left_out_fields
from hostdx.probes.imports.cpu import hwloc, numactl, perf_stat
from hostdx.probes.imports.formats import RecognisedFormat, load_format_toml
from hostdx.probes.imports.hep import hep_suite, hepscore, prmon
from hostdx.probes.imports.line_format import load_line_format
from hostdx.probes.imports.model import (
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    make_facts,
)
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage import (
    darshan,
    darshan_log,
    elbencho,
    fio,
    fio_text,
    io500,
    io500_table,
    ior,
    mdtest,
)
from hostdx.probes.imports.sysstat import atop, iostat, pidstat, sar, sysstat_json, vmstat
from hostdx.probes.reading import other_package
from hostdx.probes.units import format_size

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


def add_validity_troubles(result: ImportResult) -> ImportResult:
    """The result with a trouble for each load that is invalid, too short or read from memory.

    Invalid figures and those of less than 50 ms of work are not judged, so that nothing compares them.
    """
    measures = tuple(map(_unjudge_if_invalid_or_short, result.measures))
    flagged = {
        "invalid": {m.workload: m.invalid for m in measures if m.invalid and not _is_too_short(m)},
        "too-short": {m.workload: _too_short_text(m) for m in measures if _is_too_short(m)},
        "from-memory": dict(_reads_from_memory_with_rates(measures)),
    }
    if _SAY_INVALID.intersection(trouble.id for trouble in result.troubles):
        del flagged["invalid"]
    troubles = [
        ImportTrouble(id=which, subject=load, said=why)
        for which, loads in flagged.items()
        for load, why in list(loads.items())[:_MAX_SUBJECTS]
    ]
    return msgspec.structs.replace(result, measures=measures, troubles=(*result.troubles, *troubles))


def _unjudge_if_invalid_or_short(measure: ImportedMeasure) -> ImportedMeasure:
    if not measure.judged or not (measure.invalid or _is_too_short(measure)):
        return measure
    return msgspec.structs.replace(measure, judged=False, invalid=measure.invalid or _too_short_text(measure))


def _is_too_short(measure: ImportedMeasure) -> bool:
    return 0 < measure.seconds < MIN_WORK_SECONDS


def _too_short_text(measure: ImportedMeasure) -> str:
    return f"{units.format_latency(measure.seconds * 1e9)} of work"


def _reads_from_memory_with_rates(measures: tuple[ImportedMeasure, ...]) -> Iterator[tuple[str, str]]:
    """A read of what the same run wrote: the two loads have the same name but for the word, and a bandwidth each."""
    rates = {m.workload: m.value for m in measures if m.metric == "bandwidth" and m.unit == "B/s"}
    for workload, rate in rates.items():
        wrote = rates.get(workload.replace("read", "write")) if "read" in workload else None
        if wrote and rate > MAX_READ_OVER_WRITE * wrote:
            yield (
                workload,
                f"{units.format_rate(rate)} read, {units.format_rate(wrote)} written: {rate / wrote:.0f} times",
            )


class UnimportableFile(msgspec.Struct, frozen=True):
    """A file that is recognised and not imported: `formats/other_tools.toml`."""

    pattern: str
    name: str = ""
    kind: Literal["not read", "state", "form", "other"] = "not read"
    why: str = ""
    instead: str = "`hostdx import --help` lists the kinds"

    def refusal_error(self, size: int) -> ImportRefusedError:
        match self.kind:
            case "state":
                hint = "`hostdx triage` reads the state of a live host"
                return ImportRefusedError(f"is {self.name}'s output: no result that hostdx compares", hint)
            case "form":
                return ImportRefusedError(f"is {self.name}'s output in a form that is not read", self.instead)
            case "other":
                why = self.why.format(
                    text=f"{format_size(size)} of text, and of no kind that can be imported"
                )
                return ImportRefusedError(why, self.instead)
        return ImportRefusedError(f"is {self.name}; not read", "`hostdx import --help` lists what is")


@lru_cache(maxsize=2)
def _unimportable_files(group: Literal["binary", "text"]) -> list[tuple[re.Pattern[bytes], UnimportableFile]]:
    files = load_format_toml("other_tools.toml", dict[str, list[UnimportableFile]])[group]
    return [(re.compile(file.pattern.encode(), re.MULTILINE), file) for file in files]


def refuse_unreadable(source: ImportSource) -> None:
    """Raises ImportRefusedError for what no kind can be: empty, packed, another program's binary."""
    if not source.head.strip() and not source.data.strip():  # of a large file no copy is made
        raise ImportRefusedError("is empty", "import the file that the tool wrote")
    if source.packer_names is not None:
        name, command = source.packer_names
        raise ImportRefusedError(f"is compressed ({name})", f"unpack it first: {command}")
    for pattern, file in _unimportable_files("binary"):
        if pattern.match(source.head):
            raise file.refusal_error(source.size)


def unrecognised_file_error(source: ImportSource) -> ImportRefusedError:
    if source.is_binary:
        return ImportRefusedError(
            "is binary and of no kind that can be imported", "`hostdx import --help` lists the kinds"
        )
    files = _unimportable_files("text")  # the last one is any text
    return next(file for pattern, file in files if pattern.search(source.head)).refusal_error(source.size)


class ImportKind(NamedTuple):
    id: str
    title: str
    is_recognised: Callable[[ImportSource], bool]
    parse: Callable[[ImportSource], ImportResult]


def _line_kind(name: str) -> ImportKind:
    """A line-oriented kind, whose format is data."""
    form = load_line_format(name)
    return ImportKind(form.kind, form.title, form.is_recognised, form.parse)


@cache
def _code_kinds() -> dict[str, RecognisedFormat]:
    return load_format_toml("kinds.toml", dict[str, RecognisedFormat])


def _code_kind(
    identifier: str,
    parse: Callable[[ImportSource], ImportResult],
    is_recognised: Callable[[ImportSource], bool] | None = None,
) -> ImportKind:
    """A kind that code reads; `is_recognised` where patterns alone do not tell it."""
    form = _code_kinds()[identifier]
    return ImportKind(identifier, form.title, is_recognised or form.is_recognised, parse)


KINDS: tuple[ImportKind, ...] = (
    _code_kind("atop", atop.parse_atop),  # a day is large, and shows on its first line what it is
    _code_kind("atop-json", atop.parse_atop_json),
    _code_kind("io500", io500.parse_io500, io500.is_io500_result),
    _code_kind("io500-table", io500_table.parse_io500_table, io500_table.is_io500_table),
    _code_kind("fio", fio.parse_fio),
    _code_kind("fio-terse", fio.parse_fio_terse),
    _code_kind("fio-text", fio_text.parse_fio_text),
    _code_kind("hep-suite", hep_suite.parse_hep_suite),
    _line_kind("hep-suite-text"),
    _code_kind("hepscore", hepscore.parse_hepscore),
    _code_kind("hep-workload", hepscore.parse_hep_workload),
    _code_kind("prmon-text", prmon.parse_prmon_text),
    _code_kind("prmon-json", prmon.parse_prmon_json),
    _code_kind("ior", ior.parse_ior),
    _code_kind("ior-json", ior.parse_ior_json),
    _code_kind("ior-csv", ior.parse_ior_csv),
    _code_kind("mdtest", mdtest.parse_mdtest),
    _code_kind("mdtest-csv", mdtest.parse_mdtest_ranks),
    _code_kind("darshan", darshan_log.parse_darshan_log, darshan_log.is_darshan_log),
    _code_kind("darshan-text", darshan.parse_darshan_text),
    _code_kind("sadf", sysstat_json.parse_sadf),
    _code_kind("iostat-text", iostat.parse_iostat, iostat.is_iostat_output),
    _code_kind("vmstat", vmstat.parse_vmstat, vmstat.is_vmstat_output),
    _code_kind("pidstat", pidstat.parse_pidstat, pidstat.is_pidstat_output),
    _code_kind("sar", sar.parse_sar, sar.is_sar_output),
    _code_kind("iperf3", iperf3.parse_iperf3),
    _line_kind("iperf3-text"),
    _line_kind("sysbench"),
    _line_kind("stream"),
    _line_kind("stress-ng"),
    _code_kind("perf-json", perf_stat.parse_perf_json),
    _code_kind("perf-text", perf_stat.parse_perf_text),
    _code_kind("perf-csv", perf_stat.parse_perf_csv, perf_stat.is_perf_csv),
    _line_kind("mlc"),
    _code_kind("numactl", numactl.parse_numactl),
    _code_kind("hwloc", hwloc.parse_hwloc),
    _code_kind("elbencho-table", elbencho.parse_elbencho_table),
    _code_kind("elbencho", elbencho.parse_elbencho),
    _code_kind("elbencho-csv", elbencho.parse_elbencho_csv),
    _code_kind("elbencho-live", elbencho.parse_elbencho_live),
    _line_kind("hpl"),
    _line_kind("hpcg"),
    _line_kind("osu"),
    _line_kind("perftest"),
    _line_kind("unixbench"),
    _line_kind("hepscore-log"),
    _line_kind("nccl"),
    _line_kind("rados-bench"),
)


IMPORTERS = "hostdx.importers"  # the entry point group of other packages: an ImportKind each


@cache
def all_kinds() -> tuple[ImportKind, ...]:
    """Return our kinds, then those of other packages; one that cannot be loaded is left out."""
    kinds = [*KINDS]
    for entry in other_package.entry_points_of(IMPORTERS):
        with suppress(Exception):  # another package's module raises what it likes
            kind = other_package.load_entry_point(entry)
            if isinstance(kind, ImportKind):
                kinds.append(kind)
    return tuple(kinds)


def find_kind(identifier: str) -> ImportKind | None:
    return next((kind for kind in all_kinds() if kind.id == identifier), None)


def recognise_kind(source: ImportSource) -> ImportKind | None:
    return next((kind for kind in all_kinds() if kind.is_recognised(source)), None)


def parse_import(source: ImportSource, kind: ImportKind | None = None) -> ImportResult:
    """The file as a result. Raises ImportRefusedError, and nothing else, whatever the bytes are."""
    refuse_unreadable(source)
    chosen = kind or recognise_kind(source)
    if chosen is None:
        raise unrecognised_file_error(source)
    try:
        result = with_left_out_fields(add_validity_troubles(chosen.parse(source)), chosen.id, source)
        version = make_facts((result.tool, result.version), subject="tool")
        return msgspec.structs.replace(result, facts=(*result.facts, *version))
    except ImportRefusedError:
        raise
    except (
        ArithmeticError,
        LookupError,
        MemoryError,
        RecursionError,
        StopIteration,
        TypeError,
        ValueError,
        csv.Error,
    ) as error:
        # a shape no version of the tool writes; the kind is named so that a mistake of ours can be reported
        raise ImportRefusedError(
            f"{chosen.title}: a part of it has an unexpected form ({type(error).__name__})",
            "check the file; if the tool did write it so, report it with the file",
        ) from error
