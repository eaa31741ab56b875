"""Comparison of recordings: conditions, effects, spread and outliers."""

import math
import random
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.io500_table import read_column_results
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.comparison import (
    _TELLS,
    compare_recordings,
    effects_on_scores,
    kernel_faults_by_side,
    match_pattern,
)
from hostdx.scenarios.analysis.compare.conditions import unlike_loads
from hostdx.scenarios.analysis.compare.effects import (
    Effect,
    effects_between,
    is_different_in_these_runs,
    is_within_margin,
)
from hostdx.scenarios.analysis.compare.odd import ComparedRun, find_outliers
from hostdx.scenarios.analysis.compare.run_summary import FactKey, FigureKey, RunSummary, summarise_run
from hostdx.scenarios.analysis.compare.snapshot import summarise_import
from hostdx.scenarios.analysis.compare.spread import (
    MAX_BORROWED_FREEDOM,
    ObservedVariance,
    digamma,
    moderate_variances,
    trigamma,
)
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.kernel.rules import NEEDS
from tests.every_case import every_case
from tests.fakes.streams.takes import boots, key, summary
from tests.probes.imports import originals as texts
from tests.scenarios.oracle import special

LOADS = (
    [f"syscall-{n}" for n in range(20)] + [f"cpu-{n}" for n in range(10)] + [f"fsync-{n}" for n in range(6)]
)


def _effect_on(effects: list[Effect], load: str) -> Effect:
    return next(e for e in effects if e.key == key(load))


def test_three_boots_a_side_show_a_tenth() -> None:
    rng = random.Random(5)
    between = effects_between(
        boots(rng, LOADS, 3, "a", deviation=0.01),
        boots(rng, LOADS, 3, "b", deviation=0.01, syscall_3=0.88),
        margin=0.05,
    )
    assert [e.key.workload for e in between if e.is_different] == ["syscall-3"]
    effect = _effect_on(between, "syscall-3")
    assert effect.verdict == "slower" and effect.basis == "boots" and not effect.lower_bound
    assert effect.ci95 is not None and effect.ci95[0] < 0.88 < effect.ci95[1] < 1
    assert sum(e.verdict == "no material difference" for e in between) > 25


def test_what_one_boot_a_side_shows_differs_here() -> None:
    """Undecided for want of boots alone: the interval excludes no change, and lies beyond the margin."""
    a, slow, near = (
        summary({"fsync-4k": rate}, name=n, boot=n, within=1e-8)
        for n, rate in (("a", 1000.0), ("b", 900.0), ("c", 990.0))
    )
    (effect,) = effects_between([a], [slow], margin=0.05)
    assert effect.is_undecided and effect.unrepeated == "boot" and is_different_in_these_runs(effect)
    (effect,) = effects_between([a], [near], margin=0.05)
    assert is_within_margin(effect) and not is_different_in_these_runs(effect)
    rerun = summary({"fsync-4k": 900.0}, name="d", boot="a", within=1e-8)
    (effect,) = effects_between([a], [rerun], margin=0.05)
    assert effect.is_undecided and effect.unrepeated == "run" and is_different_in_these_runs(effect)
    wide = summary({"fsync-4k": 900.0}, name="e", boot="e", within=1.0)
    (effect,) = effects_between([a], [wide], margin=0.05)
    assert effect.is_undecided and not is_different_in_these_runs(effect)
    sides = [
        [summary({"syscall": rate * (1 + n / 5)}, name=f"{n}{rate}", boot=f"{n}{rate}") for n in range(3)]
        for rate in (1000.0, 900.0)
    ]
    (effect,) = effects_between(*sides, margin=0.05)
    assert effect.is_undecided and effect.unrepeated is None and not is_different_in_these_runs(effect)


@pytest.mark.parametrize(("times", "is_called"), [(0.5, False), (0.05, True), (2.0, False), (20.0, True)])
def test_what_other_programs_took_is_no_difference_between_two_runs(times: float, is_called: bool) -> None:
    """Who used three quarters of the CPUs all the time can make one of two runs four times as slow."""
    runs = [summary({"syscall": 1000.0 * factor}, name=str(factor), within=1e-8) for factor in (1.0, times)]
    busy = [msgspec.structs.replace(run, others_cpu=0.75) for run in runs]
    for sides, expected in ((runs, True), (busy, is_called), ([runs[0], busy[1]], is_called)):
        (effect,) = effects_between(sides[:1], sides[1:], margin=0.05)
        assert (effect.is_different or is_different_in_these_runs(effect)) is expected
    pairs = [
        [msgspec.structs.replace(run, name=f"{run.name}{n}", boot=f"{run.name}{n}") for n in range(4)]
        for run in busy
    ]
    (effect,) = effects_between(*pairs, margin=0.05)
    assert effect.is_different and not effect.others_cpu


def test_several_runs_of_one_boot_a_side_do_not_know_how_boots_differ() -> None:
    a = [summary({"syscall": 1000.0 + n}, name=f"a{n}", boot="n1/1") for n in range(4)]
    b = [summary({"syscall": 930.0 + n}, name=f"b{n}", boot="n1/2") for n in range(4)]
    (effect,) = effects_between(a, b, margin=0.05)
    assert effect.basis == "runs" and effect.lower_bound and effect.verdict == "inconclusive"
    same_boot = [summary({"syscall": 930.0 + n}, name=f"b{n}", boot="n1/1") for n in range(4)]
    (effect,) = effects_between(a, same_boot, margin=0.05)
    assert effect.basis == "runs" and not effect.lower_bound and effect.verdict == "slower"


def test_single_runs_lie_twice_as_far_apart_as_their_blocks_tell() -> None:
    """A third slower, and eight stretches a run that scatter by 14 %: their own interval, twice as wide, holds 1."""
    a, b = (summary({"syscall": rate}, name=str(rate), within=0.0025) for rate in (1000.0, 780.0))
    (effect,) = effects_between([a], [b], margin=0.05)
    assert effect.basis == "blocks" and effect.ci95 is not None and effect.ci95[1] < 1
    assert effect.verdict == "inconclusive"


CLAIX = Path(__file__).parents[3] / "data" / "io500-claix.tsv"


def test_the_io500_talk_says_what_the_talk_says() -> None:
    table = read_column_results(ImportSource.read(CLAIX))
    before = summarise_import(table["claix18_centos_isc20"], "centos")
    after = summarise_import(table["claix18_rocky_isc20"], "rocky")
    between = effects_between([before], [after], margin=0.05)
    ratios = {e.key.workload: round(e.ratio, 2) for e in between if e.is_different}
    assert ratios == {
        "ior-hard-read": 0.24,
        "find": 0.38,
        "ior-hard-write": 1.48,
        "mdtest-hard-stat": 3.42,
        "mdtest-hard-write": 3.1,
    }
    assert {e.basis for e in between} == {"values"} and {e.runs for e in between} == {(1, 1)}
    scores = {e.title: e for e in effects_on_scores([before], [after], margin=0.05)}
    assert set(scores) == {"IO500 bandwidth (GiB/s)", "IO500 metadata (kIOPS)", "IO500 score"}
    bandwidth = scores["IO500 bandwidth (GiB/s)"]
    assert bandwidth.a == pytest.approx(1.2795, abs=1e-3)  # (2.019 * 1.731 * 1.410 * 0.544) ** 0.25


def test_only_the_way_into_the_kernel_is_a_known_pattern() -> None:
    a = summary({"cpu-1": 1000.0, "syscall": 1000.0, "pipe": 1000.0}, name="a")
    b = summary({"cpu-1": 1000.0, "syscall": 400.0, "pipe": 500.0}, name="b")
    pattern = match_pattern(effects_between([a], [b], margin=0.05))
    assert pattern is not None and "mitigations" in pattern.components
    everything = summary({"cpu-1": 500.0, "syscall": 400.0, "pipe": 500.0}, name="b")
    assert match_pattern(effects_between([a], [everything], margin=0.05)) is None


def read(text: str, name: str) -> RunSummary:
    return summarise_import(kinds.parse_import(ImportSource(name, text.encode())), name)


def fio(name: str, iops: float = 10_000, **options: object) -> RunSummary:
    """As `fio 3.x` writes one job on a disk."""
    job = {"rw": "randread", "bs": "4k", "iodepth": "16", "size": "1g", "ioengine": "libaio"} | options
    return read(texts.fio(texts.fio_job(iops=iops, **{"job options": job})), name)


@every_case(
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
    result = kinds.parse_import(ImportSource("f", text.encode()))
    measure = next(m for m in result.measures if (m.workload, m.metric) == ("ior write", "bandwidth"))
    assert (measure.value, measure.of, len(measure.runs)) == (16 * 2**20, "max", 2)
    assert not result.contradictions
    assert summarise_import(result, "f").figures[FigureKey("ior write", "bandwidth")].value == measure.value


RETBLEED, HUGE = "mitigation__retbleed", "memory__transparent_huge_pages"


def _fault_ids(release: str, **facts: Json) -> list[str]:
    values: dict[FactKey, Json] = {("kernel", "release"): release}
    values |= {tuple(k.split("__")): v for k, v in facts.items()}  # type: ignore[misc]
    return [f.id for f in kernel_faults_by_side([summary({"a": 1.0}, facts=values)], [summary({"a": 1.0})])]


@every_case(
    ("release", "fault", "met", "unmet"),
    [
        ("5.19.1", "ibrs-entry", {RETBLEED: "Mitigation: IBRS"}, {RETBLEED: "Not affected"}),
        ("6.8.0", "thp-alignment", {HUGE: "always"}, {HUGE: "madvise"}),
        ("5.15.0", "amd-dummy-wait", {"cpu__vendor": "AMD", "cpu__threads": 64}, {"cpu__vendor": "Intel"}),
        ("5.15.0", "xfs-log-lock", {"directory__file_system": "xfs", "cpu__threads": 64}, {"cpu__threads": 4}),
        ("6.9.0", "sata-link-power", {"disk:sda__transport": "sata"}, {"disk:vda__transport": "virtio"}),
        ("5.10.0", "bfq-unpatched", {"disk:sda__scheduler": "bfq"}, {"disk:sda__scheduler": "mq-deadline"}),
    ],
)  # fmt: skip
def test_a_recorded_fact_rules_out_what_cannot_matter(
    release: str, fault: str, met: dict[str, Json], unmet: dict[str, Json]
) -> None:
    assert fault in _fault_ids(release, **met)
    assert fault in _fault_ids(release)  # nothing recorded rules nothing out
    assert fault not in _fault_ids(release, **unmet)


def test_the_needs_are_those_of_the_running_kernels_rules() -> None:
    assert set(_TELLS) <= set(NEEDS)


RATE = Metric("IOPS", "IOPS")


def make_member(name: str, values: Mapping[str, float], metric: Metric = RATE, **facts: str) -> ComparedRun:
    keys = {load: FigureKey(load, metric.name) for load in values}
    sign = 1 if metric.better == "more" else -1
    logs = {keys[load]: sign * math.log(value) for load, value in values.items()}
    return ComparedRun(
        name, logs, dict.fromkeys(keys.values(), metric), {("kernel", n): v for n, v in facts.items()}
    )


def draw_runs(rng: random.Random, runs: int, loads: int, deviation: float) -> list[dict[str, float]]:
    return [
        {f"load-{n}": 1000.0 * math.exp(rng.gauss(0, deviation)) for n in range(loads)} for _ in range(runs)
    ]


def test_a_run_that_is_slow_in_every_load_is_named_in_every_load() -> None:
    values = draw_runs(random.Random(5), 7, 12, 0.05)
    values[6] = {load: value / 3 for load, value in values[6].items()}
    outliers = find_outliers([make_member(f"run{n}", v) for n, v in enumerate(values)])
    assert len(outliers.found) == 12 and {
        outlier.run for load in outliers.found for outlier in load.apart
    } == {"run6"}


def test_what_else_is_different_about_the_odd_run_is_told() -> None:
    members = [
        make_member(
            f"run{n}",
            {"x": 300.0 if n == 3 else 1000.0 + n},
            release="3.10" if n == 3 else "5.14",
            machine="x86",
        )
        for n in range(7)
    ]
    [fact] = find_outliers(members).facts["run3"]
    assert (fact.subject, fact.name, fact.value, fact.others) == ("kernel", "release", "3.10", ("5.14",))


def test_a_thousand_runs_are_looked_at_in_seconds() -> None:
    values = draw_runs(random.Random(1), 1000, 3, 0.1)
    values[10]["load-0"] *= 0.2
    outliers = find_outliers([make_member(f"run{n}", v) for n, v in enumerate(values)])
    assert [(load.key.workload, outlier.run) for load in outliers.found for outlier in load.apart] == [
        ("load-0", "run10")
    ]


BEGAN = ev.Began(
    t=0.0,
    schema=ev.SCHEMA,
    version="0.1.0",
    scenario="kernel",
    command=[],
    host="n1",
    wall="2026-11-20T10:00:00Z",
    seed=1,
    pid=1,
    pid_start=1,
    boot_id="b1",
)


def _make_block(
    group: int, workload: str = "syscall", variant: str = "one", phase: ev.Phase = "steady", **values: float
) -> ev.Block:
    return ev.Block(
        t=float(group),
        workload=workload,
        variant=variant,
        group=group,
        index=group,
        seconds=0.04,
        phase=phase,
        values={name.replace("_", "/"): value for name, value in values.items()},
    )


def _group(index: int, *disturbed: Disturbance) -> ev.Group:
    return ev.Group(t=float(index), workload="syscall", index=index, order="A", disturbed=disturbed)


def test_no_run_event_is_no_recording() -> None:
    with pytest.raises(ValueError, match="does not begin"):
        summarise_run([_make_block(0, calls_s=1.0)], "a")


def test_a_side_without_recordings_is_refused() -> None:
    with pytest.raises(ValueError, match="each side"):
        compare_recordings([], [])


@every_case("x", [0.1, 0.5, 1.0, 2.5, 7.9, 8.0, 40.0])
def test_the_special_functions_are_scipys(x: float) -> None:
    assert digamma(x) == pytest.approx(special.digamma(x), abs=1e-9)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-7)


def _draw_spread(
    rng: random.Random, true: float, freedom: int, within: float | None = None
) -> ObservedVariance:
    return ObservedVariance(
        true * math.fsum(rng.gauss(0, 1) ** 2 for _ in range(freedom)) / freedom, freedom, within
    )


def test_equal_spreads_are_worth_many_runs() -> None:
    rng = random.Random(3)
    spreads = [_draw_spread(rng, 4e-4, 2) for _ in range(40)]
    variances = moderate_variances(spreads)
    assert all(v.freedom > 2 + MAX_BORROWED_FREEDOM / 4 for v in variances)
    # the calm ones are drawn up, none is drawn down: a wild run is no reason to believe in an effect
    assert all(v.value > 1e-4 and v.value >= o.value for v, o in zip(variances, spreads, strict=True))


def test_never_less_than_the_blocks_say() -> None:
    assert moderate_variances([ObservedVariance(1e-9, 3, 1e-4)])[0].value == pytest.approx(1e-4)


def test_runs_that_agree_to_the_last_digit_still_vary() -> None:
    variances = moderate_variances([ObservedVariance(0.0, 1, None), ObservedVariance(4e-4, 1, None)])
    assert variances[0].value == pytest.approx(1e-4)
