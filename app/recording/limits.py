"""How much of a recording is kept: a foreign one may name fifty thousand workloads. What is more is counted, and said.

Far above what any run of ours writes; below what costs a reader minutes or gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarios import events as ev

if TYPE_CHECKING:
    from app.recording.session import Session

LINE_LIMIT = 1 << 20  # bytes, line feed included
SIZE_LIMIT = 512 << 20  # bytes unpacked: 200,000 events are about 30 MB
RATIO_LIMIT = 100  # unpacked to packed; our own lines pack 8 to 20 times
RATIO_FROM = 4 << 20  # bytes unpacked, from which on the ratio counts
VALUES_LIMIT = 8_000_000  # commas and brackets, so about as many values: an empty list of two bytes takes 64


class Cap(NamedTuple):
    """At most so many different ones are kept in that place; `key` tells one that is there already, None: never."""

    name: str
    most: int
    place: Callable[[Session], Collection[Any]]
    key: Callable[[Any], object] | None = None


def pair(event: ev.Estimate | ev.Verdict) -> tuple[str, str, str, str]:
    return (event.workload, event.metric, event.baseline, event.variant)


def finding_key(event: ev.Found) -> str:
    return event.finding.key


CAPS: dict[type, Cap] = {
    ev.Offer: Cap("scenarios", 500, lambda s: s.offers),
    ev.FactRead: Cap("facts", 20_000, lambda s: s.facts, lambda e: e.label),
    ev.AbsentFact: Cap("absent facts", 5_000, lambda s: s.absent, lambda e: e.label),
    ev.Checked: Cap("checks", 2_000, lambda s: s.checks, lambda e: e.rule),
    ev.Step: Cap("steps", 2_000, lambda s: s.steps, lambda e: e.id),
    ev.ActionEvent: Cap("changes", 2_000, lambda s: s.actions, lambda e: e.id),
    ev.Block: Cap("workloads' blocks", 500, lambda s: s.blocks, lambda e: e.workload),
    ev.Train: Cap("workloads' trains", 500, lambda s: s.trains, lambda e: e.workload),
    ev.SliceLength: Cap("workloads' slices", 500, lambda s: s.slices, lambda e: e.workload),
    ev.SampleTaken: Cap("series of samples", 500, lambda s: s.samples, lambda e: e.series),
    ev.Inside: Cap("variants with samples inside their runs", 64, lambda s: s.inside, lambda e: e.variant),
    ev.Group: Cap("workloads' groups", 500, lambda s: s.groups, lambda e: e.workload),
    ev.Estimate: Cap("estimates", 1_000, lambda s: s.estimates, pair),
    ev.Verdict: Cap("verdicts", 1_000, lambda s: s.verdicts, pair),
    ev.SeriesVerdict: Cap("verdicts on series", 500, lambda s: s.series),
    ev.Guard: Cap("disturbances", 5_000, lambda s: s.guards),
    ev.Watched: Cap("looks of the guards", 20_000, lambda s: s.watched),
    ev.Found: Cap("findings", 1_000, lambda s: s.findings, finding_key),
    ev.Note: Cap("notes", 1_000, lambda s: s.notes),
}


def values_in(data: bytes) -> int:
    """About how many values JSON lines hold; more where texts hold commas."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")
