"""A load's latencies: pooled over its blocks, with so many percentiles as the operations allow."""

from __future__ import annotations

from pathlib import Path

from app.recordings.reader import load
from app.recordings.session import RunSession
from app.recordings.store import list_demos, resolve_recording
from app.recordings.values import is_counted
from app.report import json_document
from app.report.figures.latency import LatencySummary, describe_latency, latency_summaries, latency_table
from scenarios.contract import events as ev
from tests.every_case import every_case

KEPT = {"storage": 7, "iosched": 4, "null": 3, "fstrim": 2}  # demos whose engine keeps times: loads


def session(each: int, *, variants: str = "AB", blocks: int = 4, phase: ev.Phase = "steady") -> RunSession:
    """Of 100 operations 98 take up to 50 µs, one 80 µs, and one 3 ms."""
    told = RunSession()
    found = [(50_000, 98 * each), (80_000, each), (3_000_000, each)]
    for number in range(blocks):
        for variant in variants:
            told.apply(
                ev.Block(
                    t=number, workload="w", variant=variant, group=number, index=number, seconds=0.5, values={},
                    histogram=found, phase=phase,
                )
            )  # fmt: skip
    return told


@every_case(
    ("each", "blocks", "found"),
    [
        (0, 4, []),
        (1, 1, [(100, 50_000, None, None)]),
        (1, 4, [(400, 50_000, None, None)]),
        (1, 5, [(500, 50_000, 80_000, None)]),  # five blocks, none of which has as many
        (25, 2, [(5000, 50_000, 80_000, 3_000_000)]),
    ],
)
def test_a_percentile_needs_five_operations_beyond_it_over_all_blocks(
    each: int, blocks: int, found: list[tuple[int | None, ...]]
) -> None:
    told = session(each, variants="A", blocks=blocks)
    assert latency_summaries(told) == [LatencySummary("w", "A", *one) for one in found]  # type: ignore[arg-type]


def test_what_is_no_measurement_is_not_in_it() -> None:
    assert (
        latency_summaries(session(100, phase="warmup")) == []
        and latency_table(session(100, phase="onset")) is None
    )


def test_two_sides_share_a_row_and_more_have_one_each() -> None:
    two, three = latency_table(session(25)), latency_table(session(25, variants="ABC"))
    assert two is not None and three is not None
    assert two.header == ("load", *(f"{name}, A → B" for name in ("operations", "p50", "p99", "p99.9")))
    assert two.rows == (("w", "10 k → 10 k", "50 µs → 50 µs", "80 µs → 80 µs", "3 ms → 3 ms"),)
    assert [row[:3] for row in three.rows] == [("w", side, "10 k") for side in "ABC"]


def test_its_words_name_only_what_is_known() -> None:
    (one, _) = latency_summaries(session(3))
    assert describe_latency(one) == "p50 50 µs, p99 80 µs; 1.2 k operations"


@every_case("demo", list_demos())
def test_every_load_whose_times_were_kept_has_them_in_table_and_document(demo: str) -> None:
    told = load(resolve_recording(demo))
    kept = {
        (name, block.variant)
        for name, blocks in told.blocks.items()
        for block in blocks
        if block.histogram and is_counted(block)
    }
    document = json_document.make_document(told, None)["latency"]
    assert {(one["workload"], one["variant"]) for one in document} == kept  # type: ignore[union-attr,call-overload,index]
    assert len({name for name, _ in kept}) == KEPT.get(Path(demo.removeprefix("demo:")).name, 0)
    assert (latency_table(told) is not None) == bool(kept)
