"""Effects: what repeated boots allow, what a single run a side does not, and the error over all loads together."""

import random
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.io500_table import read_columns
from hostdx.scenarios.analysis.compare.comparison import match_pattern, score_effects
from hostdx.scenarios.analysis.compare.effects import (
    Effect,
    effects_between,
    is_different_in_these_runs,
    is_within_margin,
)
from hostdx.scenarios.analysis.compare.snapshot import summarise_import
from tests.fakes.streams.takes import boots, key, summary

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


def test_nothing_is_equal_by_single_runs() -> None:
    """The interval of blocks alone lies within the margin; the boots that nobody saw may lie outside."""
    a, b = (summary({"fsync-4k": 1000.0}, name=n, boot=n, within=1e-8) for n in "ab")
    (effect,) = effects_between([a], [b], margin=0.05)
    assert effect.verdict == "inconclusive"
    assert effect.smallest_effect is not None and effect.smallest_effect > 0.2
    assert is_within_margin(effect)
    slow = summary({"fsync-4k": 900.0}, name="c", boot="c", within=1e-8)
    assert not any(map(is_within_margin, effects_between([a], [slow], margin=0.05)))


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
    table = read_columns(ImportSource.read(CLAIX))
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
    scores = {e.title: e for e in score_effects([before], [after], margin=0.05)}
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
