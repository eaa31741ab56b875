"""The device whose scheduler would be switched: the leaves under a directory, and why it must not be touched."""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.backing import served_by_memory_reason
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.scheduler import SchedulerState, read_scheduler_state
from hostdx.probes.system.disk.topology import DirectoryPlacement
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.experiment.guards.system_disks import system_uses_by_leaf


class ScheduledDisks(msgspec.Struct, frozen=True, kw_only=True):
    """`states` and `devices` in the order of `place.leaves`; all leaves run `current` and offer `offered`."""

    directory: str
    place: DirectoryPlacement
    devices: tuple[BlockDevice, ...]
    states: tuple[SchedulerState, ...]
    current: str
    offered: tuple[str, ...]

    @property
    def leaf_names(self) -> tuple[str, ...]:
        return self.place.leaves

    @property
    def names_text(self) -> str:
        return ", ".join(self.leaf_names)


def find_scheduled_disks(host: Host, directory: str, place: DirectoryPlacement) -> ScheduledDisks | Absent:
    """Absent with one line where there is nothing to switch."""
    if not place.leaves:
        reason = place.device.reason if isinstance(place.device, Absent) else "no device lies below"
        return Absent(f"{directory}: {reason}")
    known_devices = block_devices(host)
    states: list[SchedulerState] = []
    for leaf in place.leaves:
        state = read_scheduler_state(host, leaf)
        if isinstance(state, Absent):
            return Absent(f"{directory} lies on {leaf}, which has no scheduler: {state.reason}")
        states.append(state)
    active = {s.active for s in states if is_present(s.active)}
    if len(active) != 1 or any(isinstance(s.active, Absent) for s in states):
        both = ", ".join(f"{s.device}: {s.active if is_present(s.active) else 'unknown'}" for s in states)
        return Absent(f"the disks below {directory} run different schedulers ({both})")
    offered = tuple(s for s in states[0].offered if all(s in other.offered for other in states[1:]))
    return ScheduledDisks(
        directory=directory,
        place=place,
        devices=tuple(known_devices[leaf] for leaf in place.leaves if leaf in known_devices),
        states=tuple(states),
        current=active.pop(),
        offered=offered,
    )


def find_switch_refusal(host: Host, disks: ScheduledDisks, *, system_disk: bool, has_root: bool) -> str:
    """Return why its scheduler is not switched, in one line; empty where it may be."""
    if not host.live:
        return "a captured host has no scheduler to switch"
    if not has_root:
        return f"switching the scheduler of {disks.names_text} needs root: run it with sudo"
    if why := served_by_memory_reason(host, disks.leaf_names):
        return f"{disks.directory}: not applicable, {why}"
    if len(disks.offered) < 2:
        only = ", ".join(disks.offered) or "nothing"
        return (
            f"{disks.names_text} offers only {only}: load others (modprobe bfq; modprobe kyber-iosched) first"
        )
    system = system_uses_by_leaf(host)
    carries = next((f"{leaf} carries {system[leaf]}" for leaf in disks.leaf_names if leaf in system), "")
    if carries and not system_disk:
        return f"{carries}: if switching its scheduler hung, the whole system would hang; add --system-disk to allow it"
    for state in disks.states:
        if state.is_wbt_set_by_hand:
            return (
                f"write-back throttling of {state.device} was set by hand ({state.wbt_lat_usec} us), and a "
                "switch of the "
                f"scheduler changes its effect: let the kernel set it (echo -1 > /sys/block/{state.device}/queue/"
                "wbt_lat_usec), then compare"
            )
    return ""
