"""A memory limit is named where the group's counters tell it, and only there; on made-up counters."""

import random

import pytest

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.workload.findings import wall_finding
from hostdx.scenarios.workload.split import find_limit_cause, split_wall_time
from hostdx.scenarios.workload.variant_bench import (
    ALL_WAIT,
    BLOCKED,
    HITS,
    MEMORY,
    RECLAIMED,
    REFAULTED,
    SWAPPED_IN,
    SYSTEM,
    USER,
    WAITING,
    WALL,
)
from tests.every_case import every_case

FREE = {WALL: 0.6, USER: 0.4, SYSTEM: 0.1, WAITING: 0.0, BLOCKED: 0.02, MEMORY: 0.0, HITS: 0.0}
# as a command that touches 24 MiB under memory.max=20M in a guest: +2.05 s, of it +1.35 system CPU, +0.43 memory
BOUND = FREE | {
    WALL: 2.65,
    SYSTEM: 1.45,
    MEMORY: 0.43,
    BLOCKED: 0.2,
    HITS: 1200.0,
    RECLAIMED: 33e6,
    REFAULTED: 27e6,
    SWAPPED_IN: 27e6,
    ALL_WAIT: 0.3,
}


def make_blocks(a: dict[str, float], b: dict[str, float], noise: float = 0.02) -> list[ev.Block]:
    rng = random.Random(1)
    return [
        ev.Block(
            t=0.0,
            workload="command",
            variant=variant,
            group=group,
            index=0,
            seconds=values[WALL],
            values={name: value * (1 + rng.gauss(0, noise)) for name, value in values.items()},
        )
        for group in range(4)
        for variant, values in (("A", a), ("B", b), ("B", b), ("A", a))
    ]


def make_verdict(word: str) -> ev.RunVerdict:
    return ev.RunVerdict(t=0.0, workload="command", metric=WALL, baseline="A", variant="B", verdict=word)  # type: ignore[arg-type]


@pytest.mark.parametrize(("swapped", "side"), [(False, "B"), (True, "A")])
def test_reclaim_that_is_the_commands_own_system_cpu_is_the_limits(swapped: bool, side: str) -> None:
    blocks = make_blocks(BOUND, FREE) if swapped else make_blocks(FREE, BOUND)
    split, limit = split_wall_time(blocks, "A", "B"), find_limit_cause(blocks, "A", "B")
    assert split is not None and limit is not None and limit.named and limit.side == side
    assert max(split.parts[1:], key=lambda part: abs(part.difference_s)).name == SYSTEM  # what it used to say
    finding = wall_finding(make_verdict("faster" if swapped else "slower"), split, limit)
    assert finding.title.endswith(f" {side}")
    text = "\n".join(evidence.text for evidence in finding.evidence)
    assert "times a run" in text and "swapped in" in text and SYSTEM in text
    assert abs(limit.paid.difference_s) == pytest.approx(1.96, abs=0.1)


def test_without_psi_it_is_told_and_not_named() -> None:
    blocks = make_blocks(*({k: v for k, v in side.items() if k != MEMORY} for side in (FREE, BOUND)))
    limit = find_limit_cause(blocks, "A", "B")
    assert limit is not None and not limit.named


@every_case(
    ("a", "b"),
    [
        (FREE, BOUND | {HITS: 0.0}),
        (FREE | {HITS: 1000.0}, BOUND),  # both are at their limits
        ({k: v for k, v in FREE.items() if k != HITS}, BOUND),  # no control group of its own
    ],
)
def test_without_the_groups_word_nothing_is_said(a: dict[str, float], b: dict[str, float]) -> None:
    assert find_limit_cause(make_blocks(a, b), "A", "B") is None
