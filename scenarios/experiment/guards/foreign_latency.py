"""The stop rule: a run ends by itself when its load makes others' I/O wait twice as long for 3 s.

Others wait longer as well when they themselves begin to work. So the load pauses first: if they still wait without it,
it was not ours, the group is measured again and what is usual for them is learnt anew; if not, the run is over.
"""

from collections.abc import Sequence

from hostdx.probes.engine.disk.foreign_latency import (
    FACTOR,
    LASTING_S,
    MIN_LONGER_S,
    Direction,
    ForeignWait,
    our_wait_s,
)
from hostdx.probes.engine.measured import Measured
from hostdx.probes.engine.workloads import EngineLoad, engine_load
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.model import Clock
from hostdx.scenarios.experiment.guards.thresholds import PAGE_BYTES, PAUSE_S, STILL_WAITING

# For a plan: what the rule does, in the figures that it goes by.
STOPS_ITSELF = (
    f"stops by itself if other processes' I/O becomes {FACTOR:g} times slower (and "
    f"{MIN_LONGER_S * 1000:g} ms slower a request) for {LASTING_S:g} s; Ctrl-C (on the screen: s) stops it within 2 s"
)


class ForeignLatencyGuard:
    """Only under the engine's own loads: of those it is known in which direction they move data.

    Other blocks on the devices (a scheduler's mix of readers and writers) begin the comparison anew.
    """

    def __init__(self, host: Host, leaves: Sequence[str]) -> None:
        self._host = host
        self._leaves = tuple(leaves)
        self._is_direction_known = True
        self._ratio = 0.0
        self._wait = ForeignWait(host, leaves)

    @property
    def pause_reason(self) -> str:
        """Return why the load must pause now; "" while all is well."""
        return self._wait.stopped

    def before_block(self) -> None:
        """In the gap before a block: nothing of ours has run since the last one."""
        if self._is_direction_known:
            self._wait.learn_usual_wait()
        else:
            self._forget_what_was_counted()

    def after_block(self, workload: str, measured: Measured) -> None:
        """In the gap after it."""
        load = _engine_load_or_none(workload)
        if measured.device_bytes is None and (load is None or load.kind == "cpu"):
            self._wait.learn_usual_wait()  # the block touched no device: what moved is others', and usual for them
        elif load is None or not measured.histogram:
            self._is_direction_known = False
        else:
            way: Direction = "read" if load.kind == "read" else "write"
            exact = way == "read" and load.block_bytes <= PAGE_BYTES
            our_operations = measured.operations if exact else None
            self._ratio = (
                self._wait.others_slowdown(measured.seconds, way, our_operations, our_wait_s(measured)) or 0.0
            )

    def mark_direction_unknown(self) -> None:
        """A block in which ours and others' I/O cannot be told apart (writers and readers at once)."""
        self._is_direction_known = False

    async def is_ours(self, clock: Clock) -> bool:
        """Pauses, and tells whether others wait less without our load. Where they fell silent it counts as ours."""
        await clock.sleep(PAUSE_S)
        without = self._wait.others_slowdown(PAUSE_S, None, None, 0.0)
        if without is None or without < STILL_WAITING * self._ratio:
            return True
        self._forget_what_was_counted()
        await clock.sleep(PAUSE_S)
        self._wait.learn_usual_wait()
        return False

    def _forget_what_was_counted(self) -> None:
        self._wait = ForeignWait(self._host, self._leaves)
        self._is_direction_known = True


def block_kind_of(workload: str) -> str:
    """ "read", "write", "metadata" or "cpu" of the engine's own loads; "" for what is none of them."""
    load = _engine_load_or_none(workload)
    return "" if load is None else load.kind


def _engine_load_or_none(workload: str) -> EngineLoad | None:
    try:
        return engine_load(workload)
    except KeyError:
        return None
