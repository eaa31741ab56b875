"""The rows of the tables: one row is one observation. Units and meanings stand in `tables.toml`.

`run_id` joins all tables; `workload`, `metric`, `baseline` and `variant` join slices, groups, effects and latencies.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class RunRow(NamedTuple):
    run_id: str
    file: str
    node: str
    kind: str
    host: str
    scenario: str
    version: str
    start: datetime | None
    seconds: float | None
    status: str
    reason: str
    seed: int | None
    boot_id: str
    command: str
    lines_left_out: int


class FactRow(NamedTuple):
    run_id: str
    subject: str
    name: str
    value: str | None
    number: float | None
    unit: str
    source: str
    absent: str


class SliceRow(NamedTuple):
    run_id: str
    workload: str
    variant: str
    batch: int
    group: int
    position: int
    form: str
    phase: str
    time: datetime | None
    seconds: float
    metric: str
    unit: str
    value: float
    disturbed: bool


class GroupRow(NamedTuple):
    run_id: str
    workload: str
    metric: str
    baseline: str
    variant: str
    group: int
    place: int | None
    order: str
    time: datetime | None
    log_ratio: float
    disturbed: bool
    counted: bool


class EffectRow(NamedTuple):
    run_id: str
    workload: str
    title: str
    metric: str
    unit: str
    better: str
    baseline: str
    variant: str
    verdict: str
    ratio: float | None
    ci95_low: float | None
    ci95_high: float | None
    smallest_effect: float | None
    alpha: float | None
    margin: float | None
    groups: int
    pairs: int
    look: int
    baseline_value: float | None
    variant_value: float | None
    slope: float | None
    slope_ci95_low: float | None
    slope_ci95_high: float | None
    measured_s: float | None
    control: bool
    reason: str


class LatencyRow(NamedTuple):
    run_id: str
    workload: str
    variant: str
    operations: int
    p50: int | None
    p99: int | None
    p999: int | None


class FindingRow(NamedTuple):
    run_id: str
    finding: str
    subject: str
    severity: str
    confidence: str
    title: str
    answers: bool
    line: int
    evidence: str
    source: str


class InterferenceRow(NamedTuple):
    run_id: str
    time: datetime | None
    workload: str
    group: int | None
    kind: str
    severity: str
    early: bool
    again: str
    culprit: str
    culprit_pid: int | None
    culprit_rate: float | None
    culprit_unit: str
    figure: float | None
    usual: float | None
    unit: str
    subject: str
    sentence: str


class TimeBreakdownRow(NamedTuple):
    run_id: str
    baseline: str
    variant: str
    groups: int
    kind: str
    part: str
    baseline_seconds: float
    variant_seconds: float
    difference: float
    difference_ci95_low: float
    difference_ci95_high: float
    differs: bool


Row = (
    RunRow
    | FactRow
    | SliceRow
    | GroupRow
    | EffectRow
    | LatencyRow
    | FindingRow
    | InterferenceRow
    | TimeBreakdownRow
)
TABLES: dict[str, type[Row]] = {
    "runs": RunRow,
    "facts": FactRow,
    "slices": SliceRow,
    "groups": GroupRow,
    "effects": EffectRow,
    "latencies": LatencyRow,
    "findings": FindingRow,
    "interference": InterferenceRow,
    "time_breakdown": TimeBreakdownRow,
}
TABLE_OF_ROW = {kind: name for name, kind in TABLES.items()}
