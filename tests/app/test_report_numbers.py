"""The report's tables of numbers, from events that are given."""

from __future__ import annotations

import pytest

from app.document import Table
from app.report_method import method
from app.report_numbers import latency, numbers
from app.session import Session
from scenarios import events as ev
from scenarios.boundary import level, looks
from scenarios.thresholds import THRESHOLDS


def session(operations: int) -> Session:
    """Two groups of two blocks; of 100 operations 98 take up to 50 µs, one 80 µs, and one 3 ms."""
    told = Session()
    each = operations // 100
    for number in range(4):
        told.apply(
            ev.Block(
                t=1.0 + number, workload="reads", variant="A", group=number // 2, index=number, seconds=0.5,
                values={"IOPS": 1000.0}, operations=operations,
                histogram=[(50_000, 98 * each), (80_000, each), (3_000_000, each)],
            )
        )  # fmt: skip
        told.apply(ev.Group(t=1.0 + number, workload="reads", index=number // 2, order="AA"))
    told.apply(
        ev.Verdict(
            t=9.0, workload="reads", metric="IOPS", baseline="A", variant="B", verdict="slower", ratio=0.5,
            ci95=(0.4, 0.6), groups=6, look=1, alpha=0.05 / 7,
        )
    )  # fmt: skip
    return told


def reached(told: Session) -> Table:
    return next(part for part in numbers(told) if isinstance(part, Table) and "least … most" in part.header)


def test_p99_is_over_all_operations_and_shown_from_a_thousand_a_group_on() -> None:
    table = reached(session(500))
    assert table.rows[0][table.header.index("p99")] == "80 µs"
    assert "p99" not in reached(session(400)).header


@pytest.mark.parametrize(
    ("nanoseconds", "said"), [(820, "820 ns"), (52_345, "52.3 µs"), (1.3e6, "1.3 ms"), (2.1e9, "2.1 s")]
)
def test_latencies_in_the_unit_that_fits(nanoseconds: float, said: str) -> None:
    assert latency(nanoseconds) == said


def test_how_it_was_measured_names_every_guard_with_its_threshold_and_the_looks_levels() -> None:
    parts = method(session(500), "x.jsonl")
    guards = next(part for part in parts if isinstance(part, Table) and part.header[0] == "guard")
    assert [row[0] for row in guards.rows] == [rule.kind for rule in THRESHOLDS]
    assert guards.rows[0][1] == "25 % of all CPUs, where the CPUs were 90 % busy"
    text = " ".join(str(part) for part in parts)
    assert "0.71 % of such runs" in text
    last = 100 * level(30, looks(30), 0.05 / 7)
    assert f"{last:.2g} %" in text
