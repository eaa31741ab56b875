"""The device whose scheduler would be switched: the leaves under a directory, and why it must not be touched."""

from collections.abc import Iterator

import msgspec

from probes.host import Host
from probes.system.disk.backing import served_by_memory
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.scheduler import Scheduling, scheduling
from probes.system.disk.topology import Placement, Topology, placement, source_device, topology
from probes.types import Absent, present

# What a host cannot live without: the leaves below these are switched only with --system-disk.
SYSTEM_PLACES = ("/", "/boot", "/boot/efi", "/usr", "/var", "/var/log/journal")


class ScheduledDisks(msgspec.Struct, frozen=True, kw_only=True):
    """`states` and `devices` in the order of `place.leaves`; all leaves run `current` and offer `offered`."""

    directory: str
    place: Placement
    devices: tuple[BlockDevice, ...]
    states: tuple[Scheduling, ...]
    current: str
    offered: tuple[str, ...]

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.place.leaves

    @property
    def names(self) -> str:
        return ", ".join(self.leaves)


def target(host: Host, directory: str, place: Placement) -> ScheduledDisks | Absent:
    """Absent with one line where there is nothing to switch."""
    if not place.leaves:
        reason = place.device.reason if isinstance(place.device, Absent) else "no device lies below"
        return Absent(f"{directory}: {reason}")
    known = block_devices(host)
    states: list[Scheduling] = []
    for leaf in place.leaves:
        state = scheduling(host, leaf)
        if isinstance(state, Absent):
            return Absent(f"{directory} lies on {leaf}, which has no scheduler: {state.reason}")
        states.append(state)
    active = {s.active for s in states if present(s.active)}
    if len(active) != 1 or any(isinstance(s.active, Absent) for s in states):
        both = ", ".join(f"{s.device}: {s.active if present(s.active) else 'unknown'}" for s in states)
        return Absent(f"the disks below {directory} run different schedulers ({both})")
    offered = tuple(s for s in states[0].offered if all(s in other.offered for other in states[1:]))
    return ScheduledDisks(
        directory=directory,
        place=place,
        devices=tuple(known[leaf] for leaf in place.leaves if leaf in known),
        states=tuple(states),
        current=active.pop(),
        offered=offered,
    )


def system_leaves(host: Host) -> dict[str, str]:
    """Leaf name -> what of the system it carries: "/", "swap", ..."""
    found: dict[str, str] = {}
    disks = topology(host)
    for leaf, what in (*_of_places(disks), *_of_swap(host, disks)):
        found.setdefault(leaf, what)
    return found


def _of_places(disks: Topology) -> Iterator[tuple[str, str]]:
    for directory in SYSTEM_PLACES:
        mount = disks.mount_of(directory)
        if isinstance(mount, Absent) or isinstance(tops := disks.under(mount), Absent):
            continue
        for leaf in disks.leaves(tops):
            yield leaf, mount.mountpoint


def _of_swap(host: Host, disks: Topology) -> Iterator[tuple[str, str]]:
    text = host.text("/proc/swaps")
    for line in text.splitlines()[1:] if present(text) else ():
        words = line.split()
        if len(words) < 2:
            continue
        if words[1] == "file":
            place = placement(host, words[0].rsplit("/", 1)[0] or "/")
            below: tuple[str, ...] = place.leaves if present(place) else ()
        else:
            name = source_device(host, words[0])
            below = disks.leaves((name,)) if present(name) else ()
        for leaf in below:
            yield leaf, "swap"


def refusal(host: Host, found: ScheduledDisks, *, system_disk: bool, has_root: bool) -> str:
    """Why its scheduler is not switched, in one line; empty where it may be."""
    if not host.live:
        return "a captured host has no scheduler to switch"
    if not has_root:
        return f"switching the scheduler of {found.names} needs root: run it with sudo"
    if why := served_by_memory(host, found.leaves):
        return f"{found.directory}: not applicable, {why}"
    if len(found.offered) < 2:
        only = ", ".join(found.offered) or "nothing"
        return f"{found.names} offers only {only}: load others (modprobe bfq; modprobe kyber-iosched) first"
    system = system_leaves(host)
    carries = next((f"{leaf} carries {system[leaf]}" for leaf in found.leaves if leaf in system), "")
    if carries and not system_disk:
        return f"{carries}: if switching its scheduler hung, the whole system would hang; add --system-disk to allow it"
    for state in found.states:
        if state.wbt_by_hand:
            return (
                f"write-back throttling of {state.device} was set by hand ({state.wbt_lat_usec} us), and a "
                "switch of the "
                f"scheduler changes its effect: let the kernel set it (echo -1 > /sys/block/{state.device}/queue/"
                "wbt_lat_usec), then compare"
            )
    return ""
