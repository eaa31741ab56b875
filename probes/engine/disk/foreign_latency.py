"""Do others suffer from our load? How long their requests take on our devices, against when we are silent.

A request of theirs is told from ours by its direction: while we read, every write is theirs (and the reverse). In our
own direction theirs are what is left after ours, and only where they are a fifth of all or more and ours are counted
one to one (4 KiB reads): below that, the error in ours would be larger than what is left.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import DiskCounters, disk_counters
from hostdx.probes.types import Absent

Direction: TypeAlias = Literal["read", "write"]

FACTOR = 2.0  # design, the built-in storage engine: twice as long ...
LASTING_S = 3.0  # ... for 3 s
# Twice a tenth of a millisecond is noise to whoever waits; below this it is no suffering.
MIN_LONGER_S = 0.001
MIN_BASELINE_REQUESTS = 20  # requests of others while we were silent, before anything can be compared
MIN_REQUESTS = 3  # of others in a block
MIN_FOREIGN_SHARE = 0.2  # of all requests in our own direction


class _RequestWait(msgspec.Struct):
    requests: int = 0
    seconds: float = 0.0

    @property
    def each_s(self) -> float:
        return self.seconds / self.requests if self.requests else 0.0


class ForeignWait:
    """One for the devices that a block loads. `learn_usual_wait` in the gap before a block, `sample` after it.

    `stopped` says why the run must not go on, once others have waited twice as long over 3 s of blocks in a row.
    """

    def __init__(self, host: Host, leaves: Sequence[str]) -> None:
        self.host = host
        self.leaves = tuple(leaves)
        self.stopped = ""
        self._baseline: dict[Direction, _RequestWait] = {"read": _RequestWait(), "write": _RequestWait()}
        self._lasting_s = 0.0
        self._last = self._read_counters()

    def learn_usual_wait(self) -> None:
        """Nothing of ours has run since the last call: all that moved is others', and what is usual for them."""
        moved = self._wait_since_last_call()
        for direction, waited in moved.items():
            usual = self._baseline[direction]
            usual.requests += waited.requests
            usual.seconds += waited.seconds

    def others_slowdown(
        self, seconds: float, direction: Direction | None, our_requests: int | None, our_wait_s: float
    ) -> float | None:
        """After a block of `seconds`: how many times longer others waited than usually; None where it cannot be told.

        direction     ours; None where the block moves data in neither (CPU). Metadata loads write.
        our_requests  requests on the device, where they are known exactly; None otherwise.
        our_wait_s    the sum of our latencies.
        """
        worst: float | None = None
        longer = False
        for way, waited in self._wait_since_last_call().items():
            wait = waited if way != direction else _foreign_wait(waited, our_requests, our_wait_s)
            usual = self._baseline[way]
            if wait is None or wait.requests < MIN_REQUESTS or usual.requests < MIN_BASELINE_REQUESTS:
                continue
            ratio = wait.each_s / max(usual.each_s, 1e-6)
            worst = ratio if worst is None else max(worst, ratio)
            longer |= ratio >= FACTOR and wait.each_s - usual.each_s >= MIN_LONGER_S
        self._lasting_s = self._lasting_s + seconds if longer else 0.0
        if longer and self._lasting_s >= LASTING_S and not self.stopped:
            self.stopped = (
                f"this test made other programs' I/O on {', '.join(self.leaves)} {worst:.1f} times slower for "
                f"{self._lasting_s:.0f} s; repeat it at a quieter time"
            )
        return worst

    def _read_counters(self) -> dict[str, DiskCounters]:
        counters = disk_counters(self.host) if self.leaves else {}
        return {} if isinstance(counters, Absent) else counters

    def _wait_since_last_call(self) -> dict[Direction, _RequestWait]:
        now, before = self._read_counters(), self._last
        self._last = now
        pairs = [(before[leaf], now[leaf]) for leaf in self.leaves if leaf in before and leaf in now]
        return {
            "read": _RequestWait(
                max(0, sum(b.reads - a.reads for a, b in pairs)),
                max(0.0, sum(b.read_wait_s - a.read_wait_s for a, b in pairs)),
            ),
            "write": _RequestWait(
                max(0, sum(b.writes - a.writes for a, b in pairs)),
                max(0.0, sum(b.write_wait_s - a.write_wait_s for a, b in pairs)),
            ),
        }


def our_wait_s(measured: Measured) -> float:
    """The sum of a block's latencies, from its histogram (each at most 3 % too long)."""
    return sum(bound * count for bound, count in measured.histogram) / 1e9


def _foreign_wait(waited: _RequestWait, our_requests: int | None, our_wait: float) -> _RequestWait | None:
    if our_requests is None:
        return None
    foreign_requests = waited.requests - our_requests
    if foreign_requests < MIN_FOREIGN_SHARE * waited.requests:
        return None
    return _RequestWait(foreign_requests, max(0.0, waited.seconds - our_wait))
