"""What the block devices do while tasks wait: do they complete anything, and who holds what is not completed?"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from probes.host import Host
from probes.system.disk.block import under
from probes.system.disk.diskstats import DiskCounters
from probes.system.disk.scheduler import bracketed, hardware_queues, inflight
from probes.types import Absent, present

# The kernel counts a device's completions in /proc/diskstats; a disk that spins up or recovers a sector can be
# quiet for some seconds, so this is the least that is called stuck.
QUIET_S = 3.0


class DeviceState(msgspec.Struct, frozen=True, kw_only=True):
    """`driver_holds`: requests that the driver has (Absent: not readable); `quiet_s`: since the last completion.

    On blk-mq `inflight` counts only what has a driver tag (block/blk-mq.c, blk_mq_check_inflight). What waits
    above an idle driver is held by the scheduler, by a limit of a control group, or by a layer (multipath without
    a path): only a request has a tag of the scheduler, so `scheduler_holds` tells them apart where it is readable.
    `multipath`: a device of dm-multipath; `state`: what the SCSI layer says of the device ("running").
    """

    name: str
    quiet_s: float
    driver_holds: int | Absent
    scheduler: str | Absent
    hw_queues: int | Absent
    suspended: bool = False
    scheduler_holds: int | Absent = Absent("not read")
    offered: tuple[str, ...] = ()
    multipath: bool = False
    state: str = ""

    @property
    def idle(self) -> bool:
        """The driver holds nothing now."""
        return present(self.driver_holds) and self.driver_holds == 0

    @property
    def holds_and_completes_nothing(self) -> bool:
        return self.quiet_s >= QUIET_S and present(self.driver_holds) and self.driver_holds > 0


class Devices:
    """Follows the completions of every device from sample to sample."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, float]] = {}
        self.quiet_s: dict[str, float] = {}
        self.held: dict[str, int] = {}

    def add(self, counters: Mapping[str, DiskCounters], now_s: float) -> None:
        for name, now in counters.items():
            done = now.operations + (now.discards or 0) + (now.flushes or 0)
            known = self._last.get(name)
            if known is None or known[0] != done:
                self._last[name] = known = (done, now_s)
            self.quiet_s[name] = now_s - known[1]
            self.held[name] = now.in_flight

    def state(self, host: Host, name: str) -> DeviceState:
        held = inflight(host, name)
        holds = held if isinstance(held, Absent) else sum(held)
        text = host.text(f"/sys/block/{name}/queue/scheduler")
        quiet_s = self.quiet_s.get(name, 0.0)
        uuid = host.text(f"/sys/block/{name}/dm/uuid")
        scsi = host.word(f"/sys/block/{name}/device/state")
        return DeviceState(
            name=name,
            quiet_s=quiet_s,
            driver_holds=holds,
            scheduler=bracketed(text)[0] if present(text) else text,
            hw_queues=hardware_queues(host, name),
            suspended=suspended(host, name),
            scheduler_holds=scheduler_holds(host, name)
            if holds == 0 and quiet_s >= QUIET_S
            else Absent("read of a silent device only"),
            offered=bracketed(text)[1] if present(text) else (),
            multipath=present(uuid) and uuid.startswith("mpath-"),
            state=scsi if present(scsi) else "",
        )

    def stuck(self, host: Host) -> tuple[DeviceState, ...]:
        """Devices at the bottom that hold requests and complete none."""
        names = [n for n, held in self.held.items() if held > 0 and self.quiet_s.get(n, 0.0) >= QUIET_S]
        states = [self.state(host, n) for n in names if not under(host, n)]
        return tuple(s for s in states if s.holds_and_completes_nothing)


def suspended(host: Host, name: str) -> bool:
    """True for a device-mapper device that is suspended, and for an array that holds back a range of writes.

    `dmsetup suspend` or a snapshot being taken; Documentation/admin-guide/md.rst, suspend_lo and suspend_hi.
    """
    if host.text(f"/sys/block/{name}/dm/suspended") == "1":
        return True
    low, high = (host.integer(f"/sys/block/{name}/md/suspend_{end}") for end in ("lo", "hi"))
    return present(low) and present(high) and high > low


def scheduler_holds(host: Host, name: str) -> int | Absent:
    """Requests with a tag of the scheduler (block/blk-mq-debugfs.c, sched_tags; lib/sbitmap.c, busy=).

    Needs root and debugfs. The file is read behind the queue's lock, which a switch under way may hold.
    """
    held: list[int] = []
    for path in host.glob(f"/sys/kernel/debug/block/{name}/hctx*/sched_tags"):
        text = host.text(path, may_hang=True)
        if isinstance(text, Absent):
            return text
        held.append(sum(int(n) for n in re.findall(r"^busy=([0-9]{1,19})$", text, re.MULTILINE)))
    return sum(held) if held else Absent("debugfs shows no tags of a scheduler", kind="missing")
