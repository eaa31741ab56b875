"""Like with like: a load is compared only under the same conditions, a copied result counts once."""

import msgspec
import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.analysis.compare.conditions import unlike_loads
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, RunSummary
from hostdx.scenarios.analysis.compare.snapshot import summarise_import
from hostdx.scenarios.contract.plan import Metric
from tests.every_case import every_case
from tests.probes.imports import originals as texts


def read(text: str, name: str) -> RunSummary:
    return summarise_import(kinds.parse(ImportSource(name, text.encode())), name)


def fio(name: str, iops: float = 10_000, **options: object) -> RunSummary:
    """As `fio 3.x` writes one job on a disk."""
    job = {"rw": "randread", "bs": "4k", "iodepth": "16", "size": "1g", "ioengine": "libaio"} | options
    return read(texts.fio(texts.fio_job(iops=iops, **{"job options": job})), name)


@pytest.mark.parametrize(
    ("options", "condition", "values"),
    [
        ({"iodepth": "128"}, "iodepth", ("16", "128")),
        ({"bs": "64k"}, "block size", ("4 KiB", "64 KiB")),
        ({"rw": "randwrite"}, "pattern", ("randread", "randwrite")),
        ({"numjobs": "8"}, "jobs", ("1", "8")),
        ({"ioengine": "io_uring"}, "engine", ("libaio", "io_uring")),
        ({"direct": "1"}, "direct", ("0", "1")),
        ({"size": "8g"}, "size", ("1 GiB", "8 GiB")),
        ({"runtime": "1m"}, "runtime", ("not given", "60 s")),
    ],
)
def test_fio_loads_that_differ_in_one_condition_are_not_compared(
    options: dict[str, object], condition: str, values: tuple[str, str]
) -> None:
    recordings = compare_recordings([fio("a")], [fio("b", **options)])
    assert not recordings.effects and not recordings.groups
    [unlike] = recordings.unlike
    assert unlike.differing == {condition: ((values[0],), (values[1],))}
    assert {key.metric for key in unlike.keys} == {"IOPS", "bandwidth", "mean latency"}
    assert len(compare_recordings([fio("a")], [fio("b", **options)], anyway=True).effects) == 3


def test_one_condition_spelled_in_two_ways_is_one() -> None:
    assert not unlike_loads(
        [fio("a", bs="4k", runtime="60", size="1g", iodepth="08")],
        [fio("b", bs="4096B", runtime="1m", size="1024m", iodepth="8")],
    )


def test_io500_and_hepscore_have_their_versions_and_copies() -> None:
    other = texts.IO500.replace("io500-sc22", "io500-isc25")
    assert {
        n for load in unlike_loads([read(texts.IO500, "a")], [read(other, "b")]) for n in load.differing
    } == {"version"}
    fewer = texts.hepscore().replace('"copies": 4', '"copies": 2')
    loads = unlike_loads([read(texts.hepscore(), "a")], [read(fewer, "b")])
    assert loads[0].differing["a-bmk copies"] == (("4 × 2 threads",), ("2 × 2 threads",))


def test_the_same_figures_are_one_result() -> None:
    recordings = compare_recordings([fio("a"), fio("copy"), fio("c", iops=11_000)], [fio("d", iops=9_000)])
    assert (recordings.a.runs, recordings.a.names, recordings.a.twins) == (2, ("a", "c"), (("copy", "a"),))


@every_case(("of", "figure"), [("mean", 4.0), ("median", 3.0), ("max", 7.0)])
def test_the_figure_of_repetitions_is_the_tools_own(of: str, figure: float) -> None:
    assert msgspec.convert({"name": "m", "unit": "", "of": of}, Metric).combine_blocks([2, 3, 7]) == figure


def test_ior_has_one_figure_in_import_and_comparison() -> None:
    lines = [line for line in texts.IOR.splitlines() if line.startswith("write ")]
    slower = lines[0].replace("16.00      16.00", "12.00      12.00").replace(" 2.00 ", " 2.67 ")
    text = texts.IOR.replace(lines[0], f"{slower}\n{lines[0]}")
    result = kinds.parse(ImportSource("f", text.encode()))
    measure = next(m for m in result.measures if (m.workload, m.metric) == ("ior write", "bandwidth"))
    assert (measure.value, measure.of, len(measure.runs)) == (16 * 2**20, "max", 2)
    assert not result.contradictions
    assert summarise_import(result, "f").figures[FigureKey("ior write", "bandwidth")].value == measure.value
