"""Results of several calls in one file, as `>>` and `--append` leave them: none is summed with another's."""

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError, join_repetitions_or_number_runs, make_measures
from hostdx.probes.imports.source import ImportSource
from tests.every_case import every_case
from tests.probes.imports import originals, other_forms
from tests.probes.imports.test_fio import FIO_OLD_TEXT, FIO_TEXT

# vmstat prints its header again within a call; a log of Darshan is one run's
NO_CALLS = {"vmstat", "darshan-text"}
FILES = {
    **{name: text for name, text in originals.ALL.items() if name not in NO_CALLS},
    **other_forms.FORMS,
    "fio-text": FIO_TEXT,
    "fio-old-text": FIO_OLD_TEXT,
}


def measured_values(text: str) -> set[float]:
    return {measure.value for measure in kinds.parse(ImportSource("f", text.encode())).measures}


@every_case("name", FILES)
def test_the_same_result_twice_has_no_value_that_one_has_not(name: str) -> None:
    text = FILES[name].rstrip("\n") + "\n"
    try:
        twice = measured_values(text + text)
    except ImportRefusedError:
        return  # one JSON document a file
    single_values = measured_values(text)
    assert [value for value in twice if not any(value == pytest.approx(lone) for lone in single_values)] == []


@every_case(
    ("calls", "measures"),
    [
        ([(5.0, "1"), (7.0, "1"), (6.0, "1")], [("job", 6.0, (5.0, 7.0, 6.0))]),
        ([(5.0, "1"), (7.0, "1")], [("run 1: job", 5.0, ()), ("run 2: job", 7.0, ())]),
        (
            [(5.0, "1"), (1.0, "8"), (7.0, "1"), (6.0, "1")],
            [("run 1: job", 6.0, (5.0, 7.0, 6.0)), ("run 2: job", 1.0, ())],
        ),
        ([(5.0, "1")], [("job", 5.0, ())]),
    ],
)
def test_from_three_on_calls_of_one_load_are_its_runs(
    calls: list[tuple[float, str]], measures: list[tuple[str, float, tuple[float, ...]]]
) -> None:
    every = [
        make_measures("job", ("IOPS", value, "IOPS"), conditions={"queue depth": depth})
        for value, depth in calls
    ]
    assert [(m.workload, m.value, m.runs) for m in join_repetitions_or_number_runs(every)] == measures


def test_calls_of_perf_are_runs_and_its_intervals_are_summed() -> None:
    first = "1.0,10,,cycles,1,100\n2.0,30,,cycles,1,100\n"
    second = "1.0,7,,cycles,1,100\n2.0,8,,cycles,1,100\n"
    result = kinds.parse(ImportSource("f", (first + second).encode()), kinds.find_kind("perf-csv"))
    assert [(m.workload, m.value) for m in result.measures] == [
        ("run 1: perf stat", 40.0),
        ("run 2: perf stat", 15.0),
    ]


def test_events_of_each_cpu_are_of_one_run() -> None:
    lines = "".join(
        f'{{"cpu":"{cpu}","counter-value":"5.0","unit":"","event":"cycles","pcnt-running":100.0}}\n'
        for cpu in range(4)
    )
    result = kinds.parse(ImportSource("f", lines.encode()), kinds.find_kind("perf-json"))
    assert [(m.workload, m.value) for m in result.measures] == [("perf stat", 20.0)]


def test_the_means_since_boot_of_a_later_iostat_are_no_sample() -> None:
    single = kinds.parse(ImportSource("f", originals.IOSTAT.encode()))
    double = kinds.parse(ImportSource("f", (originals.IOSTAT * 2).encode()))
    assert double.measures == single.measures
