"""The parts of a difference in wall time: planted ones come out, unknown ones are not guessed."""

import math

import msgspec
import pytest

from hostdx.scenarios.analysis.profile.waits import WaitTotal
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.workload.difference import (
    REST,
    lines_by_call,
    lines_by_state,
    moved_and_alike_parts,
    wall_time_parts,
)
from hostdx.scenarios.workload.findings import time_split_sentences, undecided_finding
from hostdx.scenarios.workload.split import split_wall_time, wall_times_beside_verdicts
from hostdx.scenarios.workload.variant_bench import (
    BLOCKED,
    MEMORY,
    MINOR_FAULTS,
    MUTEX,
    OTHER_D,
    QUOTA,
    SYSTEM,
    USER,
    WAITING,
    WALL,
)
from tests.every_case import every_case


def block(variant: str, group: int, **values: float) -> ev.Block:
    names = {"wall": WALL, "user": USER, "system": SYSTEM, "waited": WAITING, "blocked": BLOCKED}
    names |= {"mutex": MUTEX, "quota": QUOTA, "faults": MINOR_FAULTS}
    return ev.Block(
        t=0.0,
        workload="command",
        variant=variant,
        group=group,
        index=0,
        seconds=values["wall"],
        values={names[key]: value for key, value in values.items()},
    )


def test_the_planted_part_is_named_with_its_interval() -> None:
    blocks = []
    for group, noise in enumerate((0.0, 0.1, -0.1, 0.05)):
        blocks += [block("A", group, wall=10 + noise, user=6.0, system=1.0, waited=0.5, blocked=1.0)] * 2
        blocks += [
            block("B", group, wall=14 + noise, user=6.0, system=1.0, waited=4.5 + noise, blocked=1.0)
        ] * 2
    time_split = split_wall_time(blocks, "A", "B")
    assert time_split is not None and time_split.groups == 4 and time_split.unknown == (MEMORY, OTHER_D)
    parts = {part.name: part for part in time_split.parts}
    assert parts[WALL].difference_s == pytest.approx(4.0)
    assert parts[WAITING].difference_s == pytest.approx(4.0, abs=0.1)
    assert parts[WAITING].ci95_s[0] < 4.0 < parts[WAITING].ci95_s[1] < 4.3
    assert parts[USER].difference_s == pytest.approx(0.0)
    assert sum(part.difference_s for part in time_split.parts[1:]) == pytest.approx(parts[WALL].difference_s)
    assert len(time_split_sentences(time_split)) == 8
    for word, severity in (("inconclusive", "notice"), ("no material difference", "ok")):
        verdict = ev.RunVerdict(
            t=1.0, workload="command", metric=WALL, baseline="A", variant="B", verdict=word
        )
        finding = undecided_finding(verdict, time_split)
        assert finding.severity == severity and len(finding.evidence) == 8, (
            "the parts are kept where the whole is open"
        )


def test_the_parts_sum_to_the_values_beside_the_verdict() -> None:
    """Measured on after the decision: the groups that came later are in no figure."""
    blocks = []
    for group, noise in enumerate((0.0, 1.5, -1.0, 0.5, 6.0, 7.0)):
        blocks += [block("A", group, wall=10 + noise, user=6.0, blocked=1.0 + noise)]
        blocks += [block("B", group, wall=5 + noise / 3, user=2.0, blocked=1.0)]
    verdict = ev.RunVerdict(
        t=0.0, workload="command", metric=WALL, baseline="A", variant="B", verdict="faster", ratio=1.9, groups=4,
        delta_ci95=(-6.0, -4.0),
    )  # fmt: skip
    values = wall_times_beside_verdicts(blocks, [verdict])[0]
    assert values is not None and values[0] / values[1] == pytest.approx(1.9)
    time_split = split_wall_time(blocks, "A", "B", None, verdict, values)
    assert time_split is not None and time_split.groups == 4
    assert (time_split.parts[0].baseline_s, time_split.parts[0].variant_s) == pytest.approx(values)
    assert time_split.parts[0].ci95_s == (-6.0, -4.0)
    assert math.fsum(part.baseline_s for part in time_split.parts[1:]) == pytest.approx(values[0])
    assert math.fsum(part.variant_s for part in time_split.parts[1:]) == pytest.approx(values[1])


def test_one_group_tells_nothing() -> None:
    assert split_wall_time([block("A", 0, wall=1.0), block("B", 0, wall=2.0)], "A", "B") is None


def make_waits(**seconds: float) -> tuple[WaitTotal, ...]:
    """In D on a directory lock, asleep for a socket."""
    return (
        WaitTotal("directory-lock", True, {"unlink": seconds["lock"]}, seconds["lock"], 0.0),
        WaitTotal("network", False, {"recvfrom": 1.0}, 9.0, seconds["socket"]),
    )


def test_waits_divide_the_exact_parts_and_the_first_line_names_the_largest() -> None:
    blocks, waits = [], {}
    for group, noise in enumerate((0.0, 0.1, -0.1, 0.05, 0.02)):
        for variant, lock in (("A", 0.0), ("B", 4.0)):
            run = block(variant, group, wall=10 + lock + noise, user=6.0, system=1.0, waited=0.0, blocked=0.0)
            run.values[OTHER_D] = lock
            blocks.append(run)
            waits[variant, run.values[WALL]] = make_waits(
                lock=lock / 3, socket=0.3
            )  # seen a third of the time
    time_split = split_wall_time(blocks, "A", "B", waits)
    assert time_split is not None
    by_name = {wait.name: wait for wait in time_split.waits}
    assert by_name["directory-lock"].difference_s == pytest.approx(4.0)
    assert by_name["directory-lock"].differs and by_name["directory-lock"].calls == ("unlink",)
    parts = {part.name: part for part in time_split.parts}
    assert by_name["network"].variant_s == pytest.approx(parts[REST].variant_s)
    largest, alike = moved_and_alike_parts(time_split)
    assert [part.name for part in largest] == ["directory-lock"]
    assert {part.name for part in alike} == {USER, SYSTEM}
    lines = math.fsum(part.difference_s for part in wall_time_parts(time_split))
    assert lines == pytest.approx(parts[WALL].difference_s), "each second stands in one line"


@every_case("least_s", [0.0, 0.5, 3.0])
def test_each_view_of_the_time_sums_to_the_wall_time(least_s: float) -> None:
    """By state and by call are two views of the same seconds: in one column they were 25 s of 14.5 s."""
    blocks, waits = [], {}
    for group, noise in enumerate((0.0, 0.1, -0.1, 0.05, 0.02)):
        for variant, lock in (("A", 0.2), ("B", 4.0)):
            run = block(variant, group, wall=10 + lock + noise, user=6.0, system=1.0, waited=0.1, blocked=0.3)
            run.values[OTHER_D] = lock
            blocks.append(run)
            waits[variant, run.values[WALL]] = make_waits(lock=lock / 3, socket=0.3)
    time_split = split_wall_time(blocks, "A", "B", waits)
    assert time_split is not None
    total = time_split.parts[0]
    for lines in (lines_by_state(time_split, least_s), lines_by_call(time_split, least_s)):
        assert min(min(line.baseline_s, line.variant_s) for line in lines) >= 0
        assert math.fsum(line.baseline_s for line in lines) == pytest.approx(total.baseline_s, rel=2e-3)
        assert math.fsum(line.variant_s for line in lines) == pytest.approx(total.variant_s, rel=2e-3)
    assert {line.name for line in lines_by_state(time_split)} != {
        line.name for line in lines_by_call(time_split)
    }


def test_two_threads_at_one_lock_wait_for_it_and_use_no_more() -> None:
    """A thread always runs, so nothing of the tree is ever asleep alone: the lock is a part of its own."""
    blocks = [block("A", g, wall=1.0, user=2.0, system=0.0, mutex=0.0) for g in range(4)]
    blocks += [block("B", g, wall=2.0 + g / 100, user=2.0, system=0.0, mutex=2.0) for g in range(4)]
    waits = {
        (b.variant, b.values[WALL]): (WaitTotal(MUTEX, False, {"futex": 2.0}, 2.0, 0.0),) for b in blocks
    }
    time_split = split_wall_time(blocks, "A", "B", waits)
    assert time_split is not None and MUTEX not in {wait.name for wait in time_split.waits}
    parts = {part.name: part for part in time_split.parts}
    assert parts[MUTEX].difference_s == pytest.approx(1.0, abs=0.05)
    assert parts[USER].difference_s == pytest.approx(0.0, abs=0.05)
    assert moved_and_alike_parts(time_split)[0][0].name == MUTEX


def test_as_many_cpu_seconds_with_less_at_once_are_not_the_cause() -> None:
    """The CPU's part of the wall time grows by more than the lock's, and its seconds are the same."""
    blocks = [block("A", g, wall=0.4 + g / 1000, user=0.8, system=0.0, mutex=0.0) for g in range(4)]
    blocks += [block("B", g, wall=0.8 + g / 500, user=0.8, system=0.0, mutex=0.1) for g in range(4)]
    time_split = split_wall_time(blocks, "A", "B")
    assert time_split is not None
    parts = {part.name: part for part in time_split.parts}
    assert parts[USER].unmoved and parts[USER].difference_s > 2 * parts[MUTEX].difference_s > 0
    assert moved_and_alike_parts(time_split)[0][0].name == MUTEX


@every_case(
    ("more", "is_named"),
    [
        (300_000, True),
        (10_000, False),  # 100 µs each: something else takes the system CPU
        (-300_000, False),  # fewer, and more system CPU
    ],
)
def test_page_faults_are_named_where_they_can_be_the_system_cpu(more: int, is_named: bool) -> None:
    blocks = [
        block(v, g, wall=3.0, user=1.0, system=1.0 + b + g / 1000, faults=400_000 + more * b)
        for b, v in enumerate("AB")
        for g in range(4)
    ]
    time_split = split_wall_time(blocks, "A", "B")
    assert time_split is not None and time_split.faults == (more if is_named else None)


def test_what_the_cpus_counters_say_is_told_with_intervals() -> None:
    """As many instructions, a fifth fewer a cycle, and slots lost to memory."""
    blocks = []
    for group in range(6):
        noise = 1 + 0.004 * math.sin(group)
        for variant, cycles, back in (("A", 1e9, 0.2), ("B", 1.25e9, 0.32)):
            run = block(variant, group, wall=cycles * noise / 1e9, user=cycles * noise / 1e9, system=0.0)
            counters = {"cycles": cycles * noise, "instructions": 2e9, "cache misses": 1e6 * noise}
            slots = {"retiring": 0.8 - back, "back-end bound": back * noise, "front-end bound": 0.2 * noise}
            blocks.append(msgspec.structs.replace(run, values={**run.values, **counters, **slots}))
    time_split = split_wall_time(blocks, "A", "B")
    assert time_split is not None
    rates_by_name = {rate.name: rate for rate in time_split.rates}
    assert set(rates_by_name) == {
        "instructions", "instructions per cycle", "last-level cache misses", "retiring", "back-end bound",
        "front-end bound",
    }  # fmt: skip
    assert rates_by_name["instructions per cycle"].baseline == pytest.approx(2.0, rel=0.01)
    assert rates_by_name["instructions per cycle"].difference == pytest.approx(-0.4, abs=0.01)
    assert rates_by_name["last-level cache misses"].baseline == pytest.approx(0.5, rel=0.01)
    assert rates_by_name["back-end bound"].difference == pytest.approx(0.12, abs=0.01)
    assert {name for name, rate in rates_by_name.items() if rate.differs} == {
        "instructions per cycle", "retiring", "back-end bound",
    }  # fmt: skip
    assert split_wall_time([b for b in blocks if b.group], "A", "B") is not None
    without = split_wall_time([block(v, g, wall=1.0, user=0.5) for v in "AB" for g in range(3)], "A", "B")
    assert without is not None and without.rates == ()


def test_a_rest_that_holds_the_waiting_for_a_cpu_is_not_all_of_the_waits() -> None:
    """A user's short processes: 0.3 s were seen asleep, 0.2 s more may have been a CPU's."""
    blocks, waits = [], {}
    for group, noise in enumerate((0.0, 0.01, -0.01, 0.005)):
        for variant, slept in (("A", 0.0), ("B", 0.3)):
            run = block(variant, group, wall=0.7 + slept + noise, user=0.4, system=0.1)
            run.values[OTHER_D] = 0.0
            blocks.append(run)
            waits[variant, run.values[WALL]] = (
                WaitTotal("sleep", False, {"nanosleep": slept}, slept, slept),
            )
    time_split = split_wall_time(blocks, "A", "B", waits)
    assert time_split is not None
    by_name = {wait.name: wait for wait in time_split.waits}
    assert by_name["sleep"].difference_s == pytest.approx(0.3)
    assert by_name["unseen"].variant_s == pytest.approx(0.2, abs=0.02) and not by_name["unseen"].differs
    assert moved_and_alike_parts(time_split)[0][0].name == "sleep"
