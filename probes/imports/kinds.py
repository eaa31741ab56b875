"""Which kinds there are, recognised by what is in the file and never by its name.

The first that recognises the content parses it. What nothing recognises is refused in one line without its words.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from probes.imports import iperf3, refuse
from probes.imports.accounting import add_left_out
from probes.imports.cluster import elbencho, nccl
from probes.imports.cpu import hwloc, numactl, perf_stat
from probes.imports.hep import hep_suite, hepscore, prmon
from probes.imports.line_format import load_line_format
from probes.imports.model import Refused, Result, noted
from probes.imports.source import Source
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
from probes.imports.sysstat import iostat, pidstat, sar, sysstat_json, vmstat
from probes.imports.validity import apply_validity


class Kind(NamedTuple):
    id: str
    title: str
    recognised: Callable[[Source], bool]
    parse: Callable[[Source], Result]


def _of_lines(name: str) -> Kind:
    """A line-oriented kind, whose format is data."""
    form = load_line_format(name)
    return Kind(form.kind, form.title, form.recognised, form.parse)


KINDS: tuple[Kind, ...] = (
    Kind("io500", "IO500 result_summary.txt, result.txt or stdout", io500.recognised, io500.parse),
    Kind("io500-table", "table of IO500 results", io500_table.recognised, io500_table.parse),
    Kind("fio", "fio JSON or json+", fio.recognised, fio.parse),
    Kind("fio-terse", "fio terse output", fio_terse.recognised, fio_terse.parse),
    Kind("fio-text", "fio's normal output", fio_text.recognised, fio_text.parse),
    Kind("hep-suite", "HEP benchmark suite document", hep_suite.recognised, hep_suite.parse),
    _of_lines("hep-suite-text"),
    Kind("hepscore", "hep-score result", hepscore.recognised, hepscore.parse),
    Kind("hep-workload", "hep-workload summary", hepscore.workload_recognised, hepscore.parse_workload),
    Kind("prmon-text", "prmon time series", prmon.text_recognised, prmon.parse_text),
    Kind("prmon-json", "prmon summary", prmon.json_recognised, prmon.parse_json),
    Kind("ior", "IOR output", ior.recognised, ior.parse),
    Kind("ior-json", "IOR JSON summary", ior_json.recognised, ior_json.parse),
    Kind("ior-csv", "IOR CSV summary", ior_json.csv_recognised, ior_json.parse_csv),
    Kind("mdtest", "mdtest output", mdtest.recognised, mdtest.parse),
    Kind("mdtest-csv", "mdtest rank details", mdtest_ranks.recognised, mdtest_ranks.parse),
    Kind("darshan", "Darshan log", darshan_log.recognised, darshan_log.parse),
    Kind("darshan-text", "darshan-parser output", darshan.recognised, darshan.parse),
    Kind("sadf", "sadf, iostat or mpstat JSON", sysstat_json.recognised, sysstat_json.parse),
    Kind("iostat-text", "iostat output", iostat.recognised, iostat.parse),
    Kind("vmstat", "vmstat output", vmstat.recognised, vmstat.parse),
    Kind("pidstat", "pidstat output", pidstat.recognised, pidstat.parse),
    Kind("sar", "sar or mpstat output", sar.recognised, sar.parse),
    Kind("iperf3", "iperf3 JSON", iperf3.recognised, iperf3.parse),
    _of_lines("sysbench"),
    _of_lines("stream"),
    _of_lines("stress-ng"),
    Kind("perf-json", "perf stat -j", perf_stat.json_recognised, perf_stat.parse_json),
    Kind("perf-text", "perf stat output", perf_stat.text_recognised, perf_stat.parse_text),
    Kind("perf-csv", "perf stat -x", perf_stat.csv_recognised, perf_stat.parse_csv),
    _of_lines("mlc"),
    Kind("numactl", "numactl -H", numactl.recognised, numactl.parse),
    Kind("hwloc", "lstopo XML", hwloc.recognised, hwloc.parse),
    Kind("elbencho-table", "elbencho's table of results", elbencho.table_recognised, elbencho.parse_table),
    Kind("elbencho", "elbencho JSON", elbencho.recognised, elbencho.parse),
    Kind("elbencho-csv", "elbencho CSV", elbencho.csv_recognised, elbencho.parse_csv),
    Kind("elbencho-live", "elbencho live CSV", elbencho.live_recognised, elbencho.parse_live),
    _of_lines("hpl"),
    _of_lines("hpcg"),
    _of_lines("osu"),
    _of_lines("perftest"),
    _of_lines("unixbench"),
    _of_lines("hepscore-log"),
    Kind("nccl", "nccl-tests output", nccl.recognised, nccl.parse),
)


def named(identifier: str) -> Kind | None:
    return next((kind for kind in KINDS if kind.id == identifier), None)


def recognise(source: Source) -> Kind | None:
    return next((kind for kind in KINDS if kind.recognised(source)), None)


def parse(source: Source, kind: Kind | None = None) -> Result:
    """The file as a result. Raises Refused, and nothing else, whatever the bytes are."""
    refuse.unreadable(source)
    chosen = kind or recognise(source)
    if chosen is None:
        raise refuse.unknown(source)
    try:
        result = add_left_out(apply_validity(chosen.parse(source)), chosen.id, source)
        version = noted((result.tool, result.version), subject="tool")
        return msgspec.structs.replace(result, facts=(*result.facts, *version))
    except Refused:
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
        raise Refused(
            f"{chosen.title}: a part of it has an unexpected form ({type(error).__name__})",
            "check the file; if the tool did write it so, report it with the file",
        ) from error
