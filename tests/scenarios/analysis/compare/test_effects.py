"""Effects: what repeated boots allow, what a single run a side does not, and the error over all loads together."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from probes.imports.source import ImportSource
from probes.imports.storage.io500_table import read_columns
from probes.types import Json
from scenarios.analysis.compare.effects import Effect, effects_between, is_within_margin
from scenarios.analysis.compare.groups import group_means, match_pattern, score_means
from scenarios.analysis.compare.snapshot import summarise_import
from tests.every_case import every_case
from tests.fakes.streams.takes import boots, key, take

LOADS = (
    [f"syscall-{n}" for n in range(20)] + [f"cpu-{n}" for n in range(10)] + [f"fsync-{n}" for n in range(6)]
)


def _of(found: list[Effect], load: str) -> Effect:
    return next(e for e in found if e.key == key(load))


def test_the_same_thing_twice_is_not_told_apart() -> None:
    rng = random.Random(11)
    called = 0
    for _ in range(60):
        found = effects_between(
            boots(rng, LOADS, 3, "a", deviation=0.02),
            boots(rng, LOADS, 3, "b", deviation=0.02),
            margin=0.05,
        )
        called += any(e.is_different for e in found)
    assert called <= 6  # 5 % of 60 are expected at most; more than 6 come by chance in 3 of 100 such tests


def test_three_boots_a_side_show_a_tenth() -> None:
    rng = random.Random(5)
    found = effects_between(
        boots(rng, LOADS, 3, "a", deviation=0.01),
        boots(rng, LOADS, 3, "b", deviation=0.01, syscall_3=0.88),
        margin=0.05,
    )
    assert [e.key.workload for e in found if e.is_different] == ["syscall-3"]
    effect = _of(found, "syscall-3")
    assert effect.verdict == "slower" and effect.basis == "boots" and not effect.lower_bound
    assert effect.ci95 is not None and effect.ci95[0] < 0.88 < effect.ci95[1] < 1
    assert sum(e.verdict == "no material difference" for e in found) > 25


def test_one_run_a_side_must_exceed_what_two_runs_differ_by() -> None:
    a = take({"syscall": 1000.0, "pipe": 1000.0}, name="a", within=1e-6)
    b = take({"syscall": 900.0, "pipe": 500.0}, name="b", boot="n1/2", within=1e-6)
    found = effects_between([a], [b], margin=0.05)
    small, large = _of(found, "syscall"), _of(found, "pipe")
    assert small.basis == "blocks" and small.lower_bound and small.allowance == 0.05
    assert small.ci95 is not None and small.ci95[1] < 1  # what the blocks alone would call a difference
    assert small.verdict == "inconclusive"
    assert large.verdict == "slower"


def test_a_disk_in_a_guest_is_shared_with_guests_that_nobody_sees() -> None:
    """A third as fast a minute later was measured with nothing changed; the CPU repeats there as elsewhere."""
    loads = {"read-1m": 3000.0, "cpu-integer": 3000.0}
    slow = {load: value / 3 for load, value in loads.items()}
    for hypervisor, words in (("none", ("slower", "slower")), ("kvm", ("inconclusive", "slower"))):
        facts: dict[tuple[str, str], Json] = {("virtualisation", "hypervisor"): hypervisor}
        a = take(loads, name="a", within=1e-6, facts=facts)
        b = take(slow, name="b", within=1e-6, facts=facts)
        found = effects_between([a], [b], margin=0.05)
        assert (_of(found, "read-1m").verdict, _of(found, "cpu-integer").verdict) == words


def test_nothing_is_equal_by_single_runs() -> None:
    """The interval of blocks alone lies within the margin; the boots that nobody saw may lie outside."""
    a, b = (take({"fsync-4k": 1000.0}, name=n, boot=n, within=1e-8) for n in "ab")
    (effect,) = effects_between([a], [b], margin=0.05)
    assert effect.verdict == "inconclusive"
    assert effect.smallest_effect is not None and effect.smallest_effect > 0.2
    assert is_within_margin(effect)
    slow = take({"fsync-4k": 900.0}, name="c", boot="c", within=1e-8)
    assert not any(map(is_within_margin, effects_between([a], [slow], margin=0.05)))


def test_several_runs_of_one_boot_a_side_do_not_know_how_boots_differ() -> None:
    a = [take({"syscall": 1000.0 + n}, name=f"a{n}", boot="n1/1") for n in range(4)]
    b = [take({"syscall": 930.0 + n}, name=f"b{n}", boot="n1/2") for n in range(4)]
    (effect,) = effects_between(a, b, margin=0.05)
    assert effect.basis == "runs" and effect.lower_bound and effect.verdict == "inconclusive"
    same_boot = [take({"syscall": 930.0 + n}, name=f"b{n}", boot="n1/1") for n in range(4)]
    (effect,) = effects_between(a, same_boot, margin=0.05)
    assert effect.basis == "runs" and not effect.lower_bound and effect.verdict == "slower"


@every_case(
    ("rate", "margin", "word"),
    [
        (985.0, 0.05, "no material difference"),  # sure, yet within the margin
        (985.0, 0.01, "slower"),
        (1015.0, 0.05, "no material difference"),
        (1015.0, 0.01, "faster"),
        (953.0, 0.05, "inconclusive"),  # on the margin
    ],
)
def test_a_sure_difference_must_be_beyond_the_margin_too(rate: float, margin: float, word: str) -> None:
    a, b = ([take({"syscall": r + n}, name=f"{r}-{n}") for n in range(4)] for r in (1000.0, rate))
    (effect,) = effects_between(a, b, margin=margin)
    assert effect.basis == "runs" and not effect.lower_bound
    assert effect.ci95 is not None and not effect.ci95[0] < 1 < effect.ci95[1]
    assert effect.verdict == word


def test_single_runs_lie_twice_as_far_apart_as_their_blocks_tell() -> None:
    """A third slower, and eight stretches a run that scatter by 14 %: their own interval, twice as wide, holds 1."""
    a, b = (take({"syscall": rate}, name=str(rate), within=0.0025) for rate in (1000.0, 780.0))
    (effect,) = effects_between([a], [b], margin=0.05)
    assert effect.basis == "blocks" and effect.ci95 is not None and effect.ci95[1] < 1
    assert effect.verdict == "inconclusive"


def test_runs_of_one_boot_count_as_one_where_boots_are_compared() -> None:
    rng = random.Random(2)
    a = boots(rng, LOADS, 3, "a", deviation=0.02)
    b = [take(dict.fromkeys(LOADS, 950.0), name=f"b{n}", boot="n1/b") for n in range(6)]
    found = effects_between(a, b, margin=0.05)
    assert {e.basis for e in found} == {"one side"} and {e.runs for e in found} == {(3, 6)}
    assert not any(e.is_different for e in found)


def test_single_values_have_no_interval() -> None:
    (effect,) = effects_between(
        [take({"ior-hard-read": 1.41}, name="a")], [take({"ior-hard-read": 0.341}, name="b")], margin=0.05
    )
    assert effect.basis == "values" and effect.ci95 is None and effect.verdict == "slower"
    assert effect.ratio == pytest.approx(0.2418, abs=1e-3)


def test_a_load_of_one_side_only_is_no_effect() -> None:
    assert effects_between([take({"pipe": 1.0})], [take({"fork": 1.0})], margin=0.05) == []


CLAIX = Path(__file__).parents[3] / "data" / "io500-claix.tsv"


def test_the_io500_talk_says_what_the_talk_says() -> None:
    table = read_columns(ImportSource.read(CLAIX))
    before = summarise_import(table["claix18_centos_isc20"], "centos")
    after = summarise_import(table["claix18_rocky_isc20"], "rocky")
    found = effects_between([before], [after], margin=0.05)
    changed = {e.key.workload: round(e.ratio, 2) for e in found if e.is_different}
    assert changed == {
        "ior-hard-read": 0.24,
        "find": 0.38,
        "ior-hard-write": 1.48,
        "mdtest-hard-stat": 3.42,
        "mdtest-hard-write": 3.1,
    }
    assert {e.basis for e in found} == {"values"} and {e.runs for e in found} == {(1, 1)}
    scores = {e.title: e for e in score_means([before], [after], margin=0.05)}
    assert set(scores) == {"IO500 bandwidth (GiB/s)", "IO500 metadata (kIOPS)", "IO500 score"}
    bandwidth = scores["IO500 bandwidth (GiB/s)"]
    assert bandwidth.a == pytest.approx(1.2795, abs=1e-3)  # (2.019 * 1.731 * 1.410 * 0.544) ** 0.25


def test_group_means_are_geometric() -> None:
    a, b = take({"cpu-1": 100.0, "cpu-2": 10.0}, name="a"), take({"cpu-1": 200.0, "cpu-2": 5.0}, name="b")
    (mean,) = group_means([a], [b], margin=0.05)
    assert mean.title == "CPU" and mean.ratio == pytest.approx(1.0)


def test_only_the_way_into_the_kernel_is_a_known_pattern() -> None:
    a = take({"cpu-1": 1000.0, "syscall": 1000.0, "pipe": 1000.0}, name="a")
    b = take({"cpu-1": 1000.0, "syscall": 400.0, "pipe": 500.0}, name="b")
    pattern = match_pattern(effects_between([a], [b], margin=0.05))
    assert pattern is not None and "mitigations" in pattern.components
    everything = take({"cpu-1": 500.0, "syscall": 400.0, "pipe": 500.0}, name="b")
    assert match_pattern(effects_between([a], [everything], margin=0.05)) is None
