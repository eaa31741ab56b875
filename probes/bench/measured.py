"""What one block of a measurement gives: the same for storage, CPU, network and the user's own command."""

from __future__ import annotations

import msgspec


class BenchRefused(Exception):
    """Cannot be measured here. One line: what, where, why, what next."""


class NotApplicable(Exception):
    """Measured, but not what it claims to measure (served by a cache, variant not active). One line."""


class Spent(NotApplicable):
    """The bytes that this run may write are used up: no further block, but what was measured until now holds."""


class Within(msgspec.Struct, frozen=True):
    """A value inside the block, `offset_s` after its start."""

    offset_s: float
    series: str
    value: float
    unit: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One block. `values` maps metric names to the block's value; `histogram` is [upper bound ns, count] pairs.

    `cpu_s` is our own CPU time; `device_bytes` what the leaf devices' counters moved. Where the block has an
    onset, `onset` holds it apart and `values` speaks only of what follows.
    """

    seconds: float
    values: dict[str, float]
    operations: int = 0
    bytes: int = 0
    device_bytes: int | None = None
    cpu_s: float = 0.0
    p50_ns: int | None = None
    p99_ns: int | None = None
    histogram: list[tuple[int, int]] = []
    within: list[Within] = []
    onset: Measured | None = None
    remark: str = ""  # "engine-bound: 83 % of a core a worker"
