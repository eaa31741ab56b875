"""Which kinds there are, recognised by what is in the file and never by its name.

The first that recognises the content parses it. What nothing recognises is refused in one line without its words.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import msgspec

from probes.imports import iperf3, refuse
from probes.imports.accounting import add_left_out
from probes.imports.cluster import elbencho, nccl
from probes.imports.cpu import hwloc, numactl, perf_stat
from probes.imports.hep import hep_suite, hepscore, prmon
from probes.imports.line_format import load_line_format
from probes.imports.model import ImportRefusedError, ImportResult, make_noted
from probes.imports.source import ImportSource
from probes.imports.storage import (
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
from probes.imports.sysstat import atop, iostat, pidstat, sar, sysstat_json, vmstat
from probes.imports.validity import apply_validity
from probes.reading import other_package


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
    refuse.refuse_unreadable(source)
    chosen = kind or recognise_kind(source)
    if chosen is None:
        raise refuse.unknown_kind_error(source)
    try:
        result = add_left_out(apply_validity(chosen.parse(source)), chosen.id, source)
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
