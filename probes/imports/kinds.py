"""Which kinds there are, recognised by what is in the file and never by its name.

The first that recognises the content parses it. What nothing recognises is refused in one line without its words.

Why a file is not imported. No content of it is quoted: its name may lead to what only root reads.

Which figures of a result cannot be judged: by the tool's own words, by the time they took, by their source.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import msgspec

from hostdx.probes import units
from hostdx.probes.imports import iperf3
from hostdx.probes.imports.accounting import with_left_out_fields
from hostdx.probes.imports.cluster import elbencho, nccl
from hostdx.probes.imports.cpu import hwloc, numactl, perf_stat
from hostdx.probes.imports.formats import load_format
from hostdx.probes.imports.hep import hep_suite, hepscore, prmon
from hostdx.probes.imports.line_format import load_line_format
from hostdx.probes.imports.model import (
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    make_noted,
)
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage import (
    darshan,
    darshan_log,
    fio,
    fio_terse,
    fio_text,
    io500,
    io500_table,
    ior,
    ior_json,
    mdtest,
    mdtest_ranks,
)
from hostdx.probes.imports.sysstat import atop, atop_json, iostat, pidstat, sar, sysstat_json, vmstat
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


def apply_validity(result: ImportResult) -> ImportResult:
    """The result with a trouble for each load that is invalid, too short or read from memory.

    Invalid figures and those of less than 50 ms of work are not judged, so that nothing compares them.
    """
    measures = tuple(map(_unjudge_if_invalid_or_short, result.measures))
    troubles = list(result.troubles)
    trouble_ids = {trouble.id for trouble in troubles}
    for which, flagged in (("invalid", _invalid_loads(measures)), ("too-short", _short_loads(measures)),
                                ("from-memory", _pairs_read_from_memory(measures))):  # fmt: skip
        new = dict(flagged) if which != "invalid" or not trouble_ids & _SAY_INVALID else {}
        troubles += [ImportTrouble(id=which, subject=s, said=t) for s, t in list(new.items())[:_MAX_SUBJECTS]]
    return msgspec.structs.replace(result, measures=measures, troubles=tuple(troubles))


def _unjudge_if_invalid_or_short(measure: ImportedMeasure) -> ImportedMeasure:
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


def _pairs_read_from_memory(measures: tuple[ImportedMeasure, ...]) -> Iterator[tuple[str, str]]:
    """A read of what the same run wrote: the two loads have the same name but for the word, and a bandwidth each."""
    rates = {m.workload: m.value for m in measures if m.metric == "bandwidth" and m.unit == "B/s"}
    for workload, rate in rates.items():
        wrote = rates.get(workload.replace("read", "write")) if "read" in workload else None
        if wrote and rate > MAX_READ_OVER_WRITE * wrote:
            yield (
                workload,
                f"{units.format_rate(rate)} read, {units.format_rate(wrote)} written: {rate / wrote:.0f} times",
            )


_NAMED: tuple[tuple[bytes, str, str], ...] = (
    (
        b"\x00\x05\x16\x07",
        "is an AppleDouble file that macOS left beside the result",
        "import the file without ._",
    ),
    (b"darshan log", "is a Darshan file", "import the log itself"),
    (b"SQLite format 3", "is a database", "export the result as JSON or text"),
    (b"\x89HDF", "is an HDF5 file", "export the result as JSON or text"),
    (b"\xef\xbe\xed\xfe", "is a raw file of atop", "convert it: atop -r FILE -P ALL > result.txt"),
    (b"\x7fELF", "is a program", "import its output"),
    (b"%PDF", "is a PDF", "import the text or JSON it was made from"),
)
_HINTS = ((b"No NUMA available on this system", "the host has one memory node: there is nothing to import"),)
_FIO_TEXT = re.compile(rb"^\S.{0,200}: \(g(?:roupid)?=\d+", re.MULTILINE)
_JSON = re.compile(rb"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\d\]-])")
_SYSSTAT_BINARY = (b"\x96\xd5", b"\xd5\x96")


class OtherTool(msgspec.Struct, frozen=True):
    """A tool that is recognised and not imported: `formats/other_tools.toml`."""

    name: str
    pattern: str
    kind: Literal["not read", "state", "form"] = "not read"
    instead: str = ""

    @property
    def refusal_error(self) -> ImportRefusedError:
        match self.kind:
            case "state":
                hint = "`hostdx triage` reads the state of a live host"
                return ImportRefusedError(f"is {self.name}'s output: no result that hostdx compares", hint)
            case "form":
                return ImportRefusedError(f"is {self.name}'s output in a form that is not read", self.instead)
        return ImportRefusedError(f"is {self.name}; not read", "`hostdx import --help` lists what is")


@lru_cache(maxsize=1)
def _other_tools() -> list[tuple[re.Pattern[bytes], OtherTool]]:
    tools = load_format("other_tools.toml", dict[str, list[OtherTool]])["tool"]
    return [(re.compile(tool.pattern.encode(), re.MULTILINE), tool) for tool in tools]


def refuse_unreadable(source: ImportSource) -> None:
    """Raises ImportRefusedError for what no kind can be: empty, packed, another program's binary."""
    if not source.head.strip() and not source.data.strip():  # of a large file no copy is made
        raise ImportRefusedError("is empty", "import the file that the tool wrote")
    if source.packer_names is not None:
        name, command = source.packer_names
        raise ImportRefusedError(f"is compressed ({name})", f"unpack it first: {command}")
    for magic, why, hint in _NAMED:
        if source.data.startswith(magic):
            raise ImportRefusedError(why, hint)
    if source.data[:2] in _SYSSTAT_BINARY:
        raise ImportRefusedError("is a binary sysstat file", "convert it: sadf -j FILE -- -A > result.json")


def unknown_kind_error(source: ImportSource) -> ImportRefusedError:
    if source.is_binary:
        return ImportRefusedError(
            "is binary and of no kind that can be imported", "`hostdx import --help` lists the kinds"
        )
    for pattern, tool in _other_tools():
        if pattern.search(source.head):
            return tool.refusal_error
    if source.head.lstrip().startswith((b"fio: ", b"fio-")) or _FIO_TEXT.search(source.head):
        return ImportRefusedError(
            "holds no fio result, but text that fio prints", "run fio with --output-format=json"
        )
    if source.contains_all(b"[ior-easy]", b"[mdtest-easy]"):
        return ImportRefusedError(
            "is the configuration of an IO500 run, not its result", "import result_summary.txt"
        )
    for words, hint in _HINTS:
        if words in source.head:
            return ImportRefusedError(
                f"is {format_size(source.size)} of text, and of no kind that can be imported", hint
            )
    if _JSON.match(source.head):
        return ImportRefusedError(
            "is JSON of no kind that can be imported", "`hostdx import --help` lists the kinds"
        )
    return ImportRefusedError(
        f"is {format_size(source.size)} of text, and of no kind that can be imported",
        "`hostdx import --help` lists the kinds",
    )


class ImportKind(NamedTuple):
    id: str
    title: str
    is_recognised: Callable[[ImportSource], bool]
    parse: Callable[[ImportSource], ImportResult]


def _line_kind(name: str) -> ImportKind:
    """A line-oriented kind, whose format is data."""
    form = load_line_format(name)
    return ImportKind(form.kind, form.title, form.is_recognised, form.parse)


KINDS: tuple[ImportKind, ...] = (
    ImportKind("io500", "IO500 result_summary.txt, result.txt or stdout", io500.is_recognised, io500.parse),
    ImportKind("io500-table", "table of IO500 results", io500_table.is_recognised, io500_table.parse),
    ImportKind("fio", "fio JSON or json+", fio.is_recognised, fio.parse),
    ImportKind("fio-terse", "fio terse output", fio_terse.is_recognised, fio_terse.parse),
    ImportKind("fio-text", "fio's normal output", fio_text.is_recognised, fio_text.parse),
    ImportKind("hep-suite", "HEP benchmark suite document", hep_suite.is_recognised, hep_suite.parse),
    _line_kind("hep-suite-text"),
    ImportKind("hepscore", "hep-score result", hepscore.is_recognised, hepscore.parse),
    ImportKind(
        "hep-workload", "hep-workload summary", hepscore.is_workload_recognised, hepscore.parse_workload
    ),
    ImportKind("prmon-text", "prmon time series", prmon.is_text_recognised, prmon.parse_text),
    ImportKind("prmon-json", "prmon summary", prmon.is_json_recognised, prmon.parse_json),
    ImportKind("ior", "IOR output", ior.is_recognised, ior.parse),
    ImportKind("ior-json", "IOR JSON summary", ior_json.is_recognised, ior_json.parse),
    ImportKind("ior-csv", "IOR CSV summary", ior_json.is_csv_recognised, ior_json.parse_csv),
    ImportKind("mdtest", "mdtest output", mdtest.is_recognised, mdtest.parse),
    ImportKind("mdtest-csv", "mdtest rank details", mdtest_ranks.is_recognised, mdtest_ranks.parse),
    ImportKind("darshan", "Darshan log", darshan_log.is_recognised, darshan_log.parse),
    ImportKind("darshan-text", "darshan-parser output", darshan.is_recognised, darshan.parse),
    ImportKind("sadf", "sadf, iostat or mpstat JSON", sysstat_json.is_recognised, sysstat_json.parse),
    ImportKind("iostat-text", "iostat output", iostat.is_recognised, iostat.parse),
    ImportKind("vmstat", "vmstat output", vmstat.is_recognised, vmstat.parse),
    ImportKind("pidstat", "pidstat output", pidstat.is_recognised, pidstat.parse),
    ImportKind("atop", "atop -P output", atop.is_recognised, atop.parse),
    ImportKind("atop-json", "atop -J output", atop_json.is_recognised, atop_json.parse),
    ImportKind("sar", "sar or mpstat output", sar.is_recognised, sar.parse),
    ImportKind("iperf3", "iperf3 JSON", iperf3.is_recognised, iperf3.parse),
    _line_kind("sysbench"),
    _line_kind("stream"),
    _line_kind("stress-ng"),
    ImportKind("perf-json", "perf stat -j", perf_stat.is_json_recognised, perf_stat.parse_json),
    ImportKind("perf-text", "perf stat output", perf_stat.is_text_recognised, perf_stat.parse_text),
    ImportKind("perf-csv", "perf stat -x", perf_stat.is_csv_recognised, perf_stat.parse_csv),
    _line_kind("mlc"),
    ImportKind("numactl", "numactl -H", numactl.is_recognised, numactl.parse),
    ImportKind("hwloc", "lstopo XML", hwloc.is_recognised, hwloc.parse),
    ImportKind(
        "elbencho-table", "elbencho's table of results", elbencho.is_table_recognised, elbencho.parse_table
    ),
    ImportKind("elbencho", "elbencho JSON", elbencho.is_recognised, elbencho.parse),
    ImportKind("elbencho-csv", "elbencho CSV", elbencho.is_csv_recognised, elbencho.parse_csv),
    ImportKind("elbencho-live", "elbencho live CSV", elbencho.is_live_recognised, elbencho.parse_live),
    _line_kind("hpl"),
    _line_kind("hpcg"),
    _line_kind("osu"),
    _line_kind("perftest"),
    _line_kind("unixbench"),
    _line_kind("hepscore-log"),
    ImportKind("nccl", "nccl-tests output", nccl.is_recognised, nccl.parse),
)


IMPORTERS = "hostdx.importers"  # the entry point group of other packages: an ImportKind each


@cache
def all_kinds() -> tuple[ImportKind, ...]:
    """Return our kinds, then those of other packages; one that cannot be loaded is left out."""
    kinds = [*KINDS]
    for entry in other_package.entry_points_of(IMPORTERS):
        with suppress(Exception):  # another package's module raises what it likes
            kind = other_package.load_entry(entry)
            if isinstance(kind, ImportKind):
                kinds.append(kind)
    return tuple(kinds)


def find_kind(identifier: str) -> ImportKind | None:
    return next((kind for kind in all_kinds() if kind.id == identifier), None)


def recognise_kind(source: ImportSource) -> ImportKind | None:
    return next((kind for kind in all_kinds() if kind.is_recognised(source)), None)


def parse(source: ImportSource, kind: ImportKind | None = None) -> ImportResult:
    """The file as a result. Raises ImportRefusedError, and nothing else, whatever the bytes are."""
    refuse_unreadable(source)
    chosen = kind or recognise_kind(source)
    if chosen is None:
        raise unknown_kind_error(source)
    try:
        result = with_left_out_fields(apply_validity(chosen.parse(source)), chosen.id, source)
        version = make_noted((result.tool, result.version), subject="tool")
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
    ) as error:
        # a shape no version of the tool writes; the kind is named so that a mistake of ours can be reported
        raise ImportRefusedError(
            f"{chosen.title}: a part of it has an unexpected form ({type(error).__name__})",
            "check the file; if the tool did write it so, report it with the file",
        ) from error
