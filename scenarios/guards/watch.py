"""The guards: what else the host did while a block ran, whose it was, and when a run must stop."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec.structs import replace

from probes import units
from probes.bench.measured import Measured
from probes.system.disk.backing import disks_beneath
from probes.system.disk.mounts import mount_of, mounts_now
from probes.system.disk.network_bytes import nfs_bytes
from probes.system.processor.throttle import ThrottleReader
from probes.system.pulse import pulse, read_counters
from probes.system.running.processes import cpu_seconds, family_of, io_bytes
from probes.types import Absent
from scenarios import events as ev
from scenarios.disturbance import Culprit, Disturbance, most_named
from scenarios.guards.foreign_latency import Bystanders, kind_of
from scenarios.guards.interference import Excess, Reading, beyond, surroundings, worth_repeating
from scenarios.guards.thresholds import (
    PLACES_EVERY_S,
    REPEATED_BLOCKS,
    REPEATED_TRAINS,
    SETTLE_S,
    Kind,
    threshold,
)
from scenarios.guards.top_processes import Culprits
from scenarios.model import Run
from scenarios.surroundings import Surroundings


class Watch:
    """`settle` before the first block, `begin` and `end` around every block.

    `stopped` says why the run must not go on; nobody measures any more once it is set.
    """

    def __init__(
        self,
        run: Run,
        devices: Sequence[str] = (),
        *,
        by_variant: Mapping[str, Sequence[str]] | None = None,
        directories: Sequence[str] = (),
    ) -> None:
        self.run = run
        self.stopped = ""
        self.loud = False  # beside the last one others did more than a limit allows, suddenly or not
        self._devices = disks_beneath(run.host, devices)
        self._by_variant = {v: disks_beneath(run.host, ds) for v, ds in (by_variant or {}).items()}
        self._throttle = ThrottleReader(run.host)
        self._seen: list[Surroundings] = []  # the looks while nothing of ours ran, and every train and block
        self._found: dict[str, list[list[Excess]]] = {}  # by workload, of each train or block
        self._repeated: Counter[str] = Counter()
        self._lasting: set[Kind] = set()  # what disturbed the last one
        given = {"": devices, **(by_variant or {})}
        self._loops = {v: frozenset(one for one in ds if one.startswith("loop")) for v, ds in given.items()}
        self._culprits = Culprits(run, self._all_devices(), frozenset().union(*self._loops.values()))
        self._named: list[Culprit] = []
        self._before: Reading | None = None
        self._settled = False
        self._gap_s = self._gap_waited_s = 0.0
        self._last: Reading | None = None
        self._bystanders = Bystanders(run.host, self._all_devices()) if self._all_devices() else None
        self._places_at = run.clock.now()
        self._places = {d: _file_system(run, d) for d in directories}
        self._made = self._reading()

    async def settle(self) -> None:
        """Once a run, before the first block: what others do while nothing of ours runs. Said, not judged."""
        if self._settled:
            return
        self._settled = True
        self._check_places()
        if (
            self._bystanders is not None
        ):  # how long others waited beside our own preparation is not usual for them
            self._bystanders = Bystanders(self.run.host, self._all_devices())
        self._culprits.in_gap()
        before = self._reading()
        if (
            before.host.time_s - self._made.host.time_s > SETTLE_S
        ):  # what was prepared: its own bytes are known
            self._seen.append(surroundings(self._made, before, None, self._all_devices(), exact=True))
        await self.run.clock.sleep(SETTLE_S)
        after = self._reading()
        others = self._culprits.after()
        now = surroundings(before, after, None, self._all_devices(), exact=True, others=others)
        self._seen.append(now)
        loud = _loud(before, after, now, self._all_devices())
        named = self._culprits.names([one.kind for one in loud], now.cpu or 0.0)
        for one in loud:
            found = replace(one, culprit=named.get(one.kind))
            self.run.emit(ev.Guard(t=self.run.time(), kind=one.kind, disturbance=found, early=True))

    def begin(self) -> None:
        """In the gap before a block."""
        self._culprits.in_gap()
        self._before = self._reading()
        if self._bystanders is not None:
            self._bystanders.before()
        if self._last is not None:
            gap = pulse(self._last.host, self._before.host)
            if gap.psi_io is not None:
                self._gap_s += gap.seconds
                self._gap_waited_s += gap.psi_io * gap.seconds

    def end(self, workload: str, variant: str, measured: Measured) -> Disturbance | None:
        """In the gap after it: what disturbed it so that it is measured again; what is not worth that is told."""
        before, self._before = self._before, None
        self._last = after = self._reading()
        if self._bystanders is not None:
            self._bystanders.after(workload, measured)
        if self.run.clock.now() - self._places_at >= PLACES_EVERY_S:
            self._check_places()
        if before is None:
            return None
        devices = tuple(dict.fromkeys(self._by_variant.get(variant, self._devices)))
        kind = kind_of(workload)
        if measured.device_bytes is None and kind != "metadata":
            devices = ()  # what others do to a disk disturbs nobody who does not use it
        seen = partial(
            surroundings,
            before,
            after,
            measured,
            devices,
            load=f"{workload} {variant}",
            exact=kind == "read",
            uneven=kind == "metadata",
            loops=self._loops.get(variant, self._loops[""]) - {*devices},
        )
        others = self._culprits.after()
        now = seen(others=others)
        found = beyond(self._seen, now)
        if others is None and any(one.kind in ("cpu", "device") for one in found):  # nobody is accused unseen
            now = seen(others=self._culprits.after(suspected=True))
            found = beyond(self._seen, now)
        self.loud = bool(found)
        self._seen.append(now)
        judged = self._found.setdefault(workload, [])
        judged.append(found)
        named = self._culprits.names([one.kind for one in found], now.cpu or 0.0)
        self._named += named.values()
        told = tuple(replace(one.disturbance, culprit=named.get(one.kind)) for one in found)
        self.run.emit(
            ev.Watched(t=self.run.time(), workload=workload, surroundings=now, devices=devices, told=told)
        )
        lasting, self._lasting = self._lasting, {one.kind for one in found}
        most = REPEATED_BLOCKS if variant else REPEATED_TRAINS
        if worth_repeating(found, self._repeated[workload], len(judged), most):
            self._repeated[workload] += 1
            return next(d for one, d in zip(found, told, strict=True) if one.sudden)
        for one in told:
            if one.kind not in lasting:
                self.run.emit(ev.Guard(t=self.run.time(), kind=one.kind, disturbance=one, workload=workload))
        return None

    async def spare(self) -> Disturbance | None:
        """After each block: where others wait too long, pauses and finds out whether it is our doing.

        If it is, the run is stopped; if not, the group is disturbed.
        """
        if self.stopped or self._bystanders is None or not self._bystanders.suspicion:
            return None
        text = self._bystanders.suspicion
        if await self._bystanders.is_ours(self.run.clock):
            self._stop("bystanders", text)
            return None
        return Disturbance("bystanders", self._name("device"))

    def blame(self, workload: str) -> str:
        """For a run that could not decide: what others did in a tenth of its blocks or more; "" if nothing."""
        found = self._found.get(workload, [])
        blocks = len(found)
        counts = Counter(one.kind for each in found for one in each)
        if not counts or max(counts.values()) * 10 < blocks:
            return ""
        kind = max(counts, key=lambda k: counts[k])
        what: dict[str, str] = {
            "cpu": "CPU use of others",
            "steal": "the hypervisor",
            "device": "others' I/O on the measured disk",
            "memory": "waiting for memory",
            "queue": "tasks of others",
        }
        text = f"{what.get(kind, kind)} disturbed {counts[kind]} of {blocks} blocks"
        if self._named:
            text += f" (most often {most_named(self._named)})"
        if self._gap_s > 1 and self._gap_waited_s > 0.1 * self._gap_s:
            waited = f"{self._gap_waited_s / self._gap_s * 100:.0f} %"
            text += f"; between the blocks tasks waited for I/O {waited} of the time"
        return text

    def cpu_withheld(self, workload: str) -> float:
        """Share of the CPU time under this load that the hypervisor or our group's CPU quota took; 0 where not told."""
        own = [one for one in self._seen if one.load.split(" ")[0] == workload]
        seconds = sum(one.seconds for one in own)
        held = sum(max(one.steal or 0.0, one.quota or 0.0) * one.seconds for one in own)
        return held / seconds if seconds else 0.0

    def _all_devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._devices, *(d for ds in self._by_variant.values() for d in ds))))

    def _reading(self) -> Reading:
        host = self.run.host
        family = family_of(host) if host.live else {}
        moved = [io_bytes(host, pid) or (0, 0) for pid in family] if self._all_devices() else []
        return Reading(
            read_counters(host, self.run.clock.now()),
            cpu_seconds(family),
            self._throttle.read(),
            (sum(read for read, _ in moved), sum(written for _, written in moved)),
            nfs_bytes(host) if self._all_devices() else 0,
        )

    def _name(self, kind: str, cpu_share: float = 0.0) -> Culprit | None:
        """The process behind it, by what each used since the gap before the block."""
        return self._culprits.name(kind, cpu_share)

    def _check_places(self) -> None:
        self._places_at = self.run.clock.now()
        least = threshold("space")
        for directory, kind in self._places.items():
            if _file_system(self.run, directory) != kind:
                self._stop("filesystem", f"another file system is mounted at {directory} now: it was {kind}")
            space = self.run.host.statvfs(directory)
            if isinstance(space, Absent) or not space.f_blocks:
                continue
            free = space.f_bavail * space.f_frsize
            if free < max(least.floor, least.limit * space.f_blocks * space.f_frsize):
                self._stop(
                    "space", f"the file system of {directory} is nearly full ({units.size(free)} free)"
                )

    def _stop(self, kind: str, text: str) -> None:
        if not self.stopped:
            self.stopped = text
            self.run.emit(ev.Guard(t=self.run.time(), kind=kind, text=f"stopped: {text}", severity="warning"))


def watch_for(
    run: Run,
    devices: Sequence[str] = (),
    *,
    by_variant: Mapping[str, Sequence[str]] | None = None,
    directories: Sequence[str] = (),
) -> Watch:
    """One watch for a whole run.

    devices      leaf devices that the blocks load; `by_variant` where each variant has its own.
    directories  whose free space and file system type must stay as they are.
    """
    return Watch(run, devices, by_variant=by_variant, directories=directories)


def told(
    found: Disturbance, run: Run, workload: str, group: int, again: Literal["group", "train"] = "group"
) -> None:
    """Emits what disturbed, and what is measured again because of it."""
    run.emit(
        ev.Guard(
            t=run.time(), kind=found.kind, disturbance=found, again=again, workload=workload, group=group
        )
    )


def _loud(before: Reading, after: Reading, now: Surroundings, devices: Sequence[str]) -> list[Disturbance]:
    """What a person should know before anything is measured: others are at work already."""
    rates = pulse(before.host, after.host)
    found: list[Disturbance] = []
    if now.cpu is not None and now.cpu > threshold("cpu").limit:
        found.append(Disturbance("cpu", figure=now.cpu))
    if now.steal is not None and now.steal > threshold("steal").limit:
        found.append(Disturbance("steal", figure=now.steal))
    for device in devices:
        _, _, busy = rates.devices.get(device, (0.0, 0.0, 0.0))
        if busy > threshold("device").limit:
            found.append(Disturbance("device", figure=busy, subject=device))
    if rates.psi_io is not None and rates.psi_io > threshold("device").limit:
        found.append(Disturbance("pressure", figure=rates.psi_io))
    return found


def _file_system(run: Run, directory: str) -> str:
    mount = mount_of(mounts_now(run.host), directory)
    return "" if isinstance(mount, Absent) else f"{mount.fstype} on {mount.devno}"
