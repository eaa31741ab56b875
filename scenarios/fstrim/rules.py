"""Read-only rules about trimming: does this SSD ever hear what was deleted, and who swallows it on the way?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import msgspec

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.diskstats import disk_counters
from probes.system.disk.trim.discard import DiscardChain, discard_chains
from probes.system.disk.trim.trim_jobs import asked_not_to
from probes.system.disk.trim.trim_timer import trim_timer, untrimmed_because
from probes.types import Absent, present
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.fstrim.remedies import remedies
from scenarios.rule import Inapplicable, Rule, Unreadable

# Written since boot against the size of the device: from here on the drive's spare area has been through its cells.
WRITTEN_SPEAKS = 0.5
_LAYER_REMEDIES: dict[str, Remedy] = {
    "crypt": Remedy(
        title="This is dm-crypt's default and usually intended: decide whether others may learn which "
        "blocks are free",
        commands=("cryptsetup status NAME",),
        warning="Passing discards on weakens the encryption: free space, its pattern and the file system's type show "
        "(cryptsetup(8), --allow-discards). Leave it as it is unless you need discards.",
    ),
    "md": Remedy(
        title="md RAID 4/5/6 drops discards unless it is set that its members return zeros afterwards",
        commands=("cat /sys/module/raid456/parameters/devices_handle_discard_safely",),
        verify=("lsblk -D",),
        warning="raid456.devices_handle_discard_safely=Y on members that do not return zeros corrupts parity.",
    ),
}


def chains(host: Host) -> tuple[DiscardChain, ...]:
    found = host.once(discard_chains)
    if isinstance(found, Absent):
        raise Unreadable(f"mounted file systems: {found.reason}")
    if not found:
        raise Inapplicable("no mounted file system that can trim")
    return found


def flash(host: Host, chain: DiscardChain) -> list[BlockDevice]:
    """The leaves that are known to be flash. A virtual disk does not say, and is not accused."""
    devices = host.once(block_devices)
    return [devices[n] for n in chain.leaves if n in devices and devices[n].rotational is False]


def untrimmed(host: Host) -> Iterator[Finding]:
    """An SSD whose stack takes discards, and that nobody ever trims."""
    timer = host.once(trim_timer)
    spoke = False
    unknown = ""
    for chain in chains(host):
        if not flash(host, chain) or chain.swallowed_by or chain.online or chain.read_only:
            continue
        why = untrimmed_because(host, timer, chain.mountpoints)
        if isinstance(why, Absent):
            raise Unreadable(f"whether fstrim.timer runs: {why.reason}")
        if not why:
            continue
        if not chain.known:
            silent = next((x.max_bytes for x in chain.layers if isinstance(x.max_bytes, Absent)), None)
            unknown = f"whether {chain.device} takes discards" + (f": {silent.reason}" if silent else "")
            continue
        spoke = True
        asked = asked_not_to(host, chain.mountpoints)
        written = written_share(host, chain)
        mountpoint = chain.mount.mountpoint
        yield Finding(
            id="fstrim.never",
            severity="warning" if (written or 0) >= WRITTEN_SPEAKS and not asked else "notice",
            confidence="hint" if asked else "rule",
            subject=mountpoint,
            alike="by choice" if asked else ", ".join(chain.leaves),
            title=f"{mountpoint} is not trimmed, as /etc/fstab says"
            if asked
            else f"{', '.join(chain.leaves)} is never told what was deleted on {mountpoint}",
            evidence=(
                Evidence(f"{why}: this was set on purpose" if asked else why, timer.source),
                *written_evidence(written),
            ),
            remedy=() if asked else remedies(host, timer, chain.mountpoints),
            references=("fstrim(8)",),
            prove="fstrim",
            prove_options=("--dir", mountpoint),
        )
    if unknown:
        raise Unreadable(unknown)
    if not spoke and not any(flash(host, chain) for chain in chains(host)):
        raise Inapplicable("no file system is on a disk that is known to be flash")


def written_share(host: Host, chain: DiscardChain) -> float | None:
    """Bytes written since boot, in sizes of the leaves."""
    counters = disk_counters(host)
    devices = host.once(block_devices)
    if isinstance(counters, Absent) or not all(n in counters and n in devices for n in chain.leaves):
        return None
    sizes = [devices[n].size_bytes for n in chain.leaves]
    total = sum(s for s in sizes if present(s))
    return sum(counters[n].write_bytes for n in chain.leaves) / total if total else None


def written_evidence(share: float | None) -> tuple[Evidence, ...]:
    if share is None:
        return ()
    return (Evidence(f"written since boot: {share:.2f} times the size of the disk", "/proc/diskstats"),)


def swallowed(host: Host) -> Iterator[Finding]:
    """A layer between the file system and a flash disk takes no discards."""
    devices = host.once(block_devices)
    unknown: dict[str, str] = {}
    on_flash = False
    for chain in chains(host):
        guilty = chain.swallowed_by
        below = flash(host, chain)
        on_flash = on_flash or bool(below)
        if below and not guilty and not chain.known:
            silent = next(layer.max_bytes for layer in chain.layers if isinstance(layer.max_bytes, Absent))
            unknown[chain.mount.mountpoint] = silent.reason
        if not guilty or not below:
            continue
        layer = next(layer for layer in chain.layers if layer.device == guilty)
        if layer.device in chain.leaves or layer.kind == "partition":
            reason = "the drive (or a RAID controller or USB bridge before it) takes no discards"
        else:
            reason = f"the layer {guilty} ({layer.kind}) takes no discards"
        label = devices[guilty].label if guilty in devices else ""
        disk = (devices[guilty].parent if guilty in devices else "") or guilty  # a partition has no queue
        remedy = _LAYER_REMEDIES.get(layer.kind)
        if remedy is not None and label:
            commands = tuple(c.replace("NAME", label) for c in remedy.commands)
            undo = tuple(c.replace("NAME", label) for c in remedy.undo)
            remedy = msgspec.structs.replace(remedy, commands=commands, undo=undo)
        yield Finding(
            id="fstrim.swallowed",
            severity="notice",
            subject=chain.mount.mountpoint,
            alike=", ".join(d.name for d in below),
            title=f"no TRIM from {chain.mount.mountpoint} reaches {', '.join(d.name for d in below)}",
            evidence=(Evidence(reason, f"/sys/block/{disk}/queue/discard_max_bytes"),),
            remedy=(remedy,) if remedy else (),
            references=("Documentation/ABI/stable/sysfs-block",),
        )
    if unknown:
        raise Unreadable(
            f"which discards are taken under {', '.join(unknown)}: {next(iter(unknown.values()))}"
        )
    if not on_flash:
        raise Inapplicable("no file system is on a disk that is known to be flash")


def online_unqueued(host: Host) -> Iterator[Finding]:
    """Online discard on a SATA SSD whose TRIM is not queued: every big unlink stalls the reads."""
    found = [c for c in chains(host) if c.queued]
    if not found:
        raise Inapplicable("no SATA disk whose TRIM mode the kernel reports")
    for chain in found:
        slow = {n: mode for n, mode in chain.queued.items() if "unqueued" in mode}
        if not slow or chain.online not in ("discard", "discard=sync"):
            continue
        mountpoint = chain.mount.mountpoint
        yield Finding(
            id="fstrim.online-unqueued",
            severity="warning",
            subject=mountpoint,
            alike=", ".join(slow),
            title=f"{mountpoint} discards online on {', '.join(slow)}, whose TRIM is not queued: unlinks stall reads",
            evidence=(
                *tuple(
                    Evidence(f"{n}: {mode}", "/sys/class/ata_device/dev*/trim") for n, mode in slow.items()
                ),
                Evidence(f"mounted with {chain.online}", "/proc/self/mountinfo"),
            ),
            remedy=(
                *remedies(host, host.once(trim_timer), chain.mountpoints),
                Remedy(
                    title="Then mount without online discard",
                    commands=(f"mount -o remount,nodiscard {shlex.quote(mountpoint)}",),
                    persistent=(f"/etc/fstab: remove discard from the options of {mountpoint}",),
                    verify=(f"findmnt -no OPTIONS {shlex.quote(mountpoint)}",),
                    undo=(f"mount -o remount,discard {shlex.quote(mountpoint)}",),
                ),
            ),
            references=("Documentation/ABI/testing/sysfs-ata",),
        )


RULES: tuple[Rule, ...] = (
    Rule("fstrim.never", "fstrim", "SSDs that are never trimmed", untrimmed),
    Rule("fstrim.swallowed", "fstrim", "layers that drop discards", swallowed),
    Rule("fstrim.online-unqueued", "fstrim", "online discard without queued TRIM", online_unqueued),
)
