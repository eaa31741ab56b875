"""The guards: what else the host did while a block ran, whose it was, and when a run must stop."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from msgspec.structs import replace

from hostdx.probes import units
from hostdx.probes.engine.measured import Measured
from hostdx.probes.system.disk.backing import disks_beneath
from hostdx.probes.system.disk.mounts import find_mount, nfs_bytes_since_mount, read_mounts_now
from hostdx.probes.system.processor.throttle import ThrottleReader
from hostdx.probes.system.pulse import compute_host_rates, read_host_counters
from hostdx.probes.system.running.processes import cpu_seconds, process_io_bytes, process_with_descendants
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit, most_frequent_culprit
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.surroundings import MeasuredSurroundings
from hostdx.scenarios.experiment.guards.foreign_latency import ForeignLatencyGuard, block_kind_of
from hostdx.scenarios.experiment.guards.interference import (
    HostReading,
    InterferenceExcess,
    compute_surroundings,
    is_worth_repeating,
    list_excesses,
)
from hostdx.scenarios.experiment.guards.thresholds import (
    PLACES_EVERY_S,
    REPEATED_BLOCKS,
    REPEATED_TRAINS,
    SETTLE_S,
    Kind,
    guard_threshold,
)
from hostdx.scenarios.experiment.guards.top_processes import CulpritSearch


class InterferenceWatch:
    """`look_before_first_block` before the first block, `begin_block` and `end_block` around every block.

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
        self._history: list[
            MeasuredSurroundings
        ] = []  # the looks while nothing of ours ran, and every train and block
        self._excesses_by_load: dict[
            str, list[list[InterferenceExcess]]
        ] = {}  # by workload, of each train or block
        self._repeated: Counter[str] = Counter()
        self._lasting: set[Kind] = set()  # what disturbed the last one
        devices_by_variant = {"": devices, **(by_variant or {})}
        self._loops = {
            v: frozenset(device for device in ds if device.startswith("loop"))
            for v, ds in devices_by_variant.items()
        }
        self._culprits = CulpritSearch(run, self._all_devices(), frozenset().union(*self._loops.values()))
        self._named_culprits: list[InterferenceCulprit] = []
        self._before: HostReading | None = None
        self._settled = False
        self._gap_s = self._gap_waited_s = 0.0
        self._last: HostReading | None = None
        self._bystanders = ForeignLatencyGuard(run.host, self._all_devices()) if self._all_devices() else None
        self._places_at = run.clock.now()
        self._places = {d: _type_and_device_of(run, d) for d in directories}
        self._first_reading = self._take_reading()

    async def look_before_first_block(self) -> None:
        """Once a run, before the first block: what others do while nothing of ours runs. Said, not judged."""
        if self._settled:
            return
        self._settled = True
        self._stop_if_full_or_remounted()
        # how long others waited beside our own preparation is not usual for them
        if self._bystanders is not None:
            self._bystanders = ForeignLatencyGuard(self.run.host, self._all_devices())
        self._culprits.look_in_gap()
        before = self._take_reading()
        # what was prepared: its own bytes are known
        if before.host.time_s - self._first_reading.host.time_s > SETTLE_S:
            self._history.append(
                compute_surroundings(self._first_reading, before, None, self._all_devices(), exact=True)
            )
        await self.run.clock.sleep(SETTLE_S)
        after = self._take_reading()
        others = self._culprits.use_after_block()
        now = compute_surroundings(before, after, None, self._all_devices(), exact=True, others=others)
        self._history.append(now)
        loud = _host_disturbances(before, after, now, self._all_devices())
        culprits = self._culprits.culprits_by_kind([disturbance.kind for disturbance in loud], now.cpu or 0.0)
        for disturbance in loud:
            with_culprit = replace(disturbance, culprit=culprits.get(disturbance.kind))
            self.run.emit(
                ev.Guard(t=self.run.elapsed_s(), kind=disturbance.kind, disturbance=with_culprit, early=True)
            )

    def begin_block(self) -> None:
        """In the gap before a block."""
        self._culprits.look_in_gap()
        self._before = self._take_reading()
        if self._bystanders is not None:
            self._bystanders.before_block()
        if self._last is not None:
            gap = compute_host_rates(self._last.host, self._before.host)
            if gap.psi_io is not None:
                self._gap_s += gap.seconds
                self._gap_waited_s += gap.psi_io * gap.seconds

    def end_block(self, workload: str, variant: str, measured: Measured) -> Disturbance | None:
        """In the gap after it: what disturbed it so that it is measured again; what is not worth that is told."""
        before, self._before = self._before, None
        self._last = after = self._take_reading()
        if self._bystanders is not None:
            self._bystanders.after_block(workload, measured)
        if self.run.clock.now() - self._places_at >= PLACES_EVERY_S:
            self._stop_if_full_or_remounted()
        if before is None:
            return None
        devices = tuple(dict.fromkeys(self._by_variant.get(variant, self._devices)))
        kind = block_kind_of(workload)
        if measured.device_bytes is None and kind != "metadata":
            devices = ()  # what others do to a disk disturbs nobody who does not use it
        surroundings_for = partial(
            compute_surroundings,
            before,
            after,
            measured,
            devices,
            load=f"{workload} {variant}",
            exact=kind == "read",
            uneven=kind == "metadata",
            loops=self._loops.get(variant, self._loops[""]) - {*devices},
        )
        others = self._culprits.use_after_block()
        now = surroundings_for(others=others)
        excesses = list_excesses(self._history, now)
        # nobody is accused unseen
        if others is None and any(excess.kind in ("cpu", "device") for excess in excesses):
            now = surroundings_for(others=self._culprits.use_after_block(suspected=True))
            excesses = list_excesses(self._history, now)
        self.loud = bool(excesses)
        self._history.append(now)
        judged = self._excesses_by_load.setdefault(workload, [])
        judged.append(excesses)
        culprits = self._culprits.culprits_by_kind([excess.kind for excess in excesses], now.cpu or 0.0)
        self._named_culprits += culprits.values()
        disturbances = tuple(
            replace(excess.disturbance, culprit=culprits.get(excess.kind)) for excess in excesses
        )
        self.run.emit(
            ev.Watched(
                t=self.run.elapsed_s(),
                workload=workload,
                surroundings=now,
                devices=devices,
                told=disturbances,
            )
        )
        lasting, self._lasting = self._lasting, {excess.kind for excess in excesses}
        most = REPEATED_BLOCKS if variant else REPEATED_TRAINS
        if is_worth_repeating(excesses, self._repeated[workload], len(judged), most):
            self._repeated[workload] += 1
            return next(d for excess, d in zip(excesses, disturbances, strict=True) if excess.sudden)
        for excess in disturbances:
            if excess.kind not in lasting:
                self.run.emit(
                    ev.Guard(t=self.run.elapsed_s(), kind=excess.kind, disturbance=excess, workload=workload)
                )
        return None

    async def pause_to_spare_others(self) -> Disturbance | None:
        """After each block: where others wait too long, pauses and finds out whether it is our doing.

        If it is, the run is stopped; if not, the group is disturbed.
        """
        if self.stopped or self._bystanders is None or not self._bystanders.pause_reason:
            return None
        text = self._bystanders.pause_reason
        if await self._bystanders.is_ours(self.run.clock):
            self._stop_measuring("bystanders", text)
            return None
        return Disturbance("bystanders", self._culprits.culprit_of_kind("device"))

    def blame_text(self, workload: str) -> str:
        """For a run that could not decide: what others did in a tenth of its blocks or more; "" if nothing."""
        excesses_by_block = self._excesses_by_load.get(workload, [])
        blocks = len(excesses_by_block)
        counts = Counter(excess.kind for each in excesses_by_block for excess in each)
        if not counts or max(counts.values()) * 10 < blocks:
            return ""
        kind = max(counts, key=lambda k: counts[k])
        cause_names: dict[str, str] = {
            "cpu": "CPU use of other programs",
            "steal": "the hypervisor",
            "device": "I/O of other programs on the measured disk",
            "memory": "waiting for memory",
            "queue": "tasks of other programs",
        }
        text = f"{cause_names.get(kind, kind)} disturbed {counts[kind]} of {blocks} measurements"
        if self._named_culprits:
            text += f" (most often {most_frequent_culprit(self._named_culprits)})"
        if self._gap_s > 1 and self._gap_waited_s > 0.1 * self._gap_s:
            waited = f"{self._gap_waited_s / self._gap_s * 100:.0f} %"
            text += f"; between the measurements tasks waited for I/O {waited} of the time"
        return text

    def cpu_taken_share(self, workload: str) -> float:
        """Share of the CPU time under this load that the hypervisor or our group's CPU quota took; 0 where not told."""
        own = [interval for interval in self._history if interval.load.split(" ")[0] == workload]
        seconds = sum(interval.seconds for interval in own)
        held = sum(max(interval.steal or 0.0, interval.quota or 0.0) * interval.seconds for interval in own)
        return held / seconds if seconds else 0.0

    def _all_devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._devices, *(d for ds in self._by_variant.values() for d in ds))))

    def _take_reading(self) -> HostReading:
        host = self.run.host
        family = process_with_descendants(host) if host.live else {}
        moved = [process_io_bytes(host, pid) or (0, 0) for pid in family] if self._all_devices() else []
        return HostReading(
            read_host_counters(host, self.run.clock.now()),
            cpu_seconds(family),
            self._throttle.read(),
            (sum(read for read, _ in moved), sum(written for _, written in moved)),
            nfs_bytes_since_mount(host) if self._all_devices() else 0,
        )

    def _stop_if_full_or_remounted(self) -> None:
        self._places_at = self.run.clock.now()
        least = guard_threshold("space")
        for directory, kind in self._places.items():
            if _type_and_device_of(self.run, directory) != kind:
                self._stop_measuring(
                    "filesystem", f"another file system is mounted at {directory} now: it was {kind}"
                )
            space = self.run.host.read_statvfs(directory)
            if isinstance(space, Absent) or not space.f_blocks:
                continue
            free = space.f_bavail * space.f_frsize
            if free < max(least.floor, least.limit * space.f_blocks * space.f_frsize):
                self._stop_measuring(
                    "space", f"the file system of {directory} is nearly full ({units.format_size(free)} free)"
                )

    def _stop_measuring(self, kind: str, text: str) -> None:
        if not self.stopped:
            self.stopped = text
            self.run.emit(
                ev.Guard(t=self.run.elapsed_s(), kind=kind, text=f"stopped: {text}", severity="warning")
            )


def watch_for(
    run: Run,
    devices: Sequence[str] = (),
    *,
    by_variant: Mapping[str, Sequence[str]] | None = None,
    directories: Sequence[str] = (),
) -> InterferenceWatch:
    """One watch for a whole run.

    devices      leaf devices that the blocks load; `by_variant` where each variant has its own.
    directories  whose free space and file system type must stay as they are.
    """
    return InterferenceWatch(run, devices, by_variant=by_variant, directories=directories)


def emit_disturbance(
    disturbance: Disturbance, run: Run, workload: str, group: int, again: Literal["group", "train"] = "group"
) -> None:
    """Emits what disturbed, and what is measured again because of it."""
    run.emit(
        ev.Guard(
            t=run.elapsed_s(),
            kind=disturbance.kind,
            disturbance=disturbance,
            again=again,
            workload=workload,
            group=group,
        )
    )


def _host_disturbances(
    before: HostReading, after: HostReading, now: MeasuredSurroundings, devices: Sequence[str]
) -> list[Disturbance]:
    """Return what a person should know before anything is measured: others are at work already."""
    rates = compute_host_rates(before.host, after.host)
    disturbances: list[Disturbance] = []
    if now.cpu is not None and now.cpu > guard_threshold("cpu").limit:
        disturbances.append(Disturbance("cpu", figure=now.cpu))
    if now.steal is not None and now.steal > guard_threshold("steal").limit:
        disturbances.append(Disturbance("steal", figure=now.steal))
    for device in devices:
        _, _, busy = rates.devices.get(device, (0.0, 0.0, 0.0))
        if busy > guard_threshold("device").limit:
            disturbances.append(Disturbance("device", figure=busy, subject=device))
    if rates.psi_io is not None and rates.psi_io > guard_threshold("device").limit:
        disturbances.append(Disturbance("pressure", figure=rates.psi_io))
    return disturbances


def _type_and_device_of(run: Run, directory: str) -> str:
    mount = find_mount(read_mounts_now(run.host), directory)
    return "" if isinstance(mount, Absent) else f"{mount.fstype} on {mount.devno}"
