"""The guards: what else the host did while a block ran."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from probes.bench.measured import Measured
from scenarios import events as ev
from scenarios.model import Run


class Disturbance(msgspec.Struct, frozen=True):
    """Something foreign in a block. `culprit` names the process or device where it could be found out."""

    kind: str
    text: str
    culprit: str = ""

    def event(self, t: float, workload: str, group: int) -> ev.Guard:
        return ev.Guard(
            t=t, kind=self.kind, text=self.text, culprit=self.culprit, workload=workload, group=group
        )


class Watch:
    """`begin` and `end` around every block; `stopped` says why the run must not go on."""

    def __init__(self, run: Run, devices: Sequence[str] = ()) -> None:
        self.run = run
        self.devices = tuple(devices)
        self.stopped = ""

    async def settle(self) -> None:
        """Before the first block."""

    def begin(self) -> None:
        """In the gap before a block."""

    def end(self, workload: str, variant: str, measured: Measured) -> Disturbance | None:
        """In the gap after it: what disturbed, beyond this run's own median; None if nothing did."""
        return None


def watch_for(run: Run, devices: Sequence[str] = ()) -> Watch:
    return Watch(run, devices)
