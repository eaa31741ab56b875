"""What was foreign in a block: the host's counters less what was ours.

CPU: everything less our process family. Device I/O: what the leaf devices' counters moved, less what this variant's
operations usually cause there (a 4 KiB fdatasync moves 148 KiB on btrfs: that is ours, and a faster block of
ours is no disturbance).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from probes.bench.measured import Measured
from probes.system.pulse import Counters
from probes.system.throttle import ThrottleCounters
from scenarios.disturbance import Disturbance
from scenarios.guards.thresholds import (
    BLOCKS_BEFORE_JUDGING,
    LEAST_OPERATIONS_A_SECOND,
    WEATHER,
    Kind,
    threshold,
)


class Reading(msgspec.Struct, frozen=True):
    """In a gap: the host, our family's CPU seconds, and what holds the CPUs back."""

    host: Counters
    ours_cpu_s: float
    throttle: ThrottleCounters


class Surroundings(msgspec.Struct, frozen=True):
    """One block's. Shares 0..1 of all CPUs or of the time; None: cannot be told here."""

    seconds: float
    cpu: float | None = None
    full: float = 0.0  # how busy all CPUs were, with us
    steal: float | None = None
    device_bytes: int | None = None  # everybody's, on the devices that the block loads
    device_operations: int = 0
    operations: int = 0  # ours
    khz: int | None = None
    heat: int | None = None
    quota: float | None = None


def surroundings(
    before: Reading, after: Reading, measured: Measured | None, devices: Sequence[str]
) -> Surroundings:
    """Between two gaps. Without a measurement nothing of ours ran."""
    seconds = max(after.host.time_s - before.host.time_s, 1e-3)
    cpu = steal = None
    full = 0.0
    if before.host.cpu is not None and after.host.cpu is not None:
        capacity = after.host.cpu.total_s - before.host.cpu.total_s
        if capacity > 0:
            busy = after.host.cpu.busy_s - before.host.cpu.busy_s
            ours = after.ours_cpu_s - before.ours_cpu_s
            if measured is not None:
                ours = max(ours, measured.cpu_s + (measured.onset.cpu_s if measured.onset else 0.0))
            cpu = max(0.0, busy - ours) / capacity
            full = busy / capacity
            steal = max(0.0, after.host.cpu.steal_s - before.host.cpu.steal_s) / capacity
    moved = None
    requests = 0
    if measured is None or measured.device_bytes is not None:
        pairs = [(before.host.disks.get(d), after.host.disks.get(d)) for d in devices]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if known:
            moved = sum(max(0, b.bytes - a.bytes) for a, b in known)
            requests = sum(max(0, b.operations - a.operations) for a, b in known)
    own = (
        0 if measured is None else measured.operations + (measured.onset.operations if measured.onset else 0)
    )
    heat = _moved(before.throttle.thermal, after.throttle.thermal)
    held = _moved(before.throttle.quota_s, after.throttle.quota_s)
    return Surroundings(
        seconds=seconds,
        cpu=cpu,
        full=full,
        steal=steal,
        device_bytes=moved,
        device_operations=requests,
        operations=own,
        khz=after.throttle.khz,
        heat=None if heat is None else int(heat),
        quota=None if held is None else held / seconds,
    )


def _moved(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


class Weather:
    """How often blocks of a workload, of whichever variant, passed a threshold."""

    def __init__(self) -> None:
        self.judged = 0
        self.beyond = 0

    def count(self, beyond: bool) -> bool:
        """One more block; true where passing is so rare that its group is worth measuring again."""
        rare = self.beyond < max(1.0, WEATHER * self.judged)
        self.judged += 1
        self.beyond += beyond
        return beyond and rare


class Usual:
    """What is usual in the blocks of one variant, and what is beyond it. Disturbed blocks count as well."""

    def __init__(self, weather: Weather | None = None) -> None:
        self.blocks: list[Surroundings] = []
        self.beyond: dict[Kind, int] = {}  # blocks that passed a threshold, weather or not
        self.weather = weather or Weather()

    def judge(self, now: Surroundings) -> list[Disturbance]:
        """What disturbed this block; then the block belongs to what is known."""
        found: list[Disturbance] = []
        if len(self.blocks) >= BLOCKS_BEFORE_JUDGING:
            beyond = [(kind, one) for kind, excess, limit, one in self._excesses(now) if excess > limit]
            for kind, _ in beyond:
                self.beyond[kind] = self.beyond.get(kind, 0) + 1
            if self.weather.count(bool(beyond)):
                found = [one for _, one in beyond]
        if now.heat:
            found.append(Disturbance("heat"))
        self.blocks.append(now)
        return found

    def _excesses(self, now: Surroundings) -> list[tuple[Kind, float, float, Disturbance]]:
        """(kind, value beyond the median, limit, what it would be) of everything that can be told."""
        found: list[tuple[Kind, float, float, Disturbance]] = []
        usual_cpu = self._median("cpu")
        if now.cpu is not None and usual_cpu is not None:
            rule = threshold("cpu")
            excess = now.cpu - usual_cpu if now.full >= rule.floor else 0.0
            found.append(("cpu", excess, rule.limit, Disturbance("cpu", figure=now.cpu, usual=usual_cpu)))
        usual = self._median("steal")
        if now.steal is not None and usual is not None:
            one = Disturbance("steal", figure=now.steal, usual=usual)
            found.append(("steal", now.steal - usual, threshold("steal").limit, one))
        found.extend(self._device(now))
        usual = self._median("khz")
        if now.khz and usual:
            one = Disturbance("frequency", figure=1e3 * now.khz, usual=1e3 * usual, unit="Hz")
            found.append(("frequency", 1 - now.khz / usual, threshold("frequency").limit, one))
        usual = self._median("quota")
        if now.quota is not None and usual is not None:
            one = Disturbance("quota", figure=now.quota)
            found.append(("quota", now.quota - usual, threshold("quota").limit, one))
        return found

    def _device(self, now: Surroundings) -> list[tuple[Kind, float, float, Disturbance]]:
        known = [b for b in self.blocks if b.device_bytes is not None]
        if now.device_bytes is None or not known:
            return []
        rule = threshold("device")
        working = [b for b in known if b.operations > 0]
        worst = 0.0
        for name, floor in (("device_bytes", rule.floor), ("device_operations", LEAST_OPERATIONS_A_SECOND)):
            each = median(getattr(b, name) / b.operations for b in working) if working else 0.0
            foreign = (getattr(now, name) - each * now.operations) / now.seconds
            usual = median(getattr(b, name) / b.seconds for b in known)
            if foreign > floor:
                worst = max(worst, foreign / max(usual, floor))
        return [("device", worst, rule.limit, Disturbance("device", figure=worst))]

    def _median(self, name: str) -> float | None:
        values = [v for b in self.blocks if (v := getattr(b, name)) is not None]
        return median(values) if values else None
