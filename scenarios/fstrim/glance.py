"""Trimming at a glance, for triage: the timer; each file system's way down, who trims it, what it would offer.

Reads only; virtual disks too, which no rule accuses.
"""

from collections.abc import Iterator

from probes import units
from probes.host import Host
from probes.system.disk.block import block_devices
from probes.system.disk.diskstats import disk_counters
from probes.system.disk.trim.discard import DiscardChain, DiscardLayer, discard_chains, own_devices
from probes.system.disk.trim.trim_jobs import passed_over
from probes.system.disk.trim.trim_timer import TrimTimer, timer_would_miss, trim_timer, untrimmed_because
from probes.types import Absent, Entry, Fact, Unread, entry, present

MOST_FILE_SYSTEMS = 8  # a host with hundreds of volumes has a list of its own


def glance(host: Host) -> Iterator[Entry]:
    """At most one `systemctl show`, one statvfs a file system."""
    chains = host.once(discard_chains)
    if isinstance(chains, Absent):
        yield Unread("trim", "timer", chains)
        return
    if not chains:
        return
    timer = host.once(trim_timer)
    yield timer_entry(timer)
    for chain in chains[:MOST_FILE_SYSTEMS]:
        yield from of_chain(host, timer, chain)
    if len(chains) > MOST_FILE_SYSTEMS:
        yield Fact(
            "trim", "more", f"{len(chains) - MOST_FILE_SYSTEMS} more file systems", "/proc/self/mountinfo"
        )


def of_chain(host: Host, timer: TrimTimer, chain: DiscardChain) -> Iterator[Entry]:
    """One file system."""
    name = f"trim:{chain.device}"
    yield Fact(name, "way", _way(chain), "/proc/self/mountinfo, /sys/block/*/queue/discard_max_bytes")
    if chain.swallowed_by or chain.read_only:
        return
    yield entry(name, "by", _by(host, timer, chain), timer.source)
    if amounts := _amounts(host, chain):
        yield Fact(name, "amounts", amounts, "statvfs, /proc/diskstats")
    for disk in chain.leaves:
        if (spare := _unpartitioned(host, disk)) is not None:
            yield Fact(f"disk:{disk}", "unpartitioned", round(spare, 4), f"/sys/block/{disk}/*/size")


def timer_entry(timer: TrimTimer) -> Entry:
    if isinstance(timer.on, Absent):
        return Unread("trim", "timer", timer.on)
    if not timer.exists:
        text = "none runs here"
    elif not timer.on:
        text = "off"
    else:
        last = f", last {timer.last}" if present(timer.last) else ", no run on record"
        text = f"on, {timer.schedule}{last}" if present(timer.schedule) else f"on{last}"
    cron = f"; also {', '.join(timer.cron)}" if timer.cron else ""
    return Fact("trim", "timer", text + cron, timer.source)


def _way(chain: DiscardChain) -> str:
    """`/data: xfs, mounted with discard; dm-0 (crypt) takes no discards`."""
    online = f"mounted with {chain.online}" if chain.online else "no online discard"
    where = ", ".join(chain.mountpoints[:2]) + (", ..." if len(chain.mountpoints) > 2 else "")
    head = f"{where}: {chain.mount.fstype}, {'read-only' if chain.read_only else online}"
    guilty = next((layer for layer in chain.layers if layer.swallows), None)
    if guilty is not None:
        return f"{head}; {guilty.device} ({guilty.kind}) takes no discards"
    through = " → ".join(layer.device for layer in chain.layers)
    ends = [layer for layer in chain.layers if layer.device in chain.leaves]
    limits = ", ".join(filter(None, map(_limits, ends[:1])))
    modes = ", ".join(f"{name} TRIM {mode.replace('_', ' ')}" for name, mode in chain.queued.items())
    return "; ".join(part for part in (head, through, limits, modes) if part)


def _limits(layer: DiscardLayer) -> str:
    if not present(layer.max_bytes):
        return "whether it takes discards is not known"
    grain = layer.granularity_bytes
    grains = f" in grains of {grain} B" if present(grain) and grain else ""
    return f"discards of at most {units.size(layer.max_bytes)}{grains}"


def _by(host: Host, timer: TrimTimer, chain: DiscardChain) -> str | Absent:
    why = untrimmed_because(host, timer, chain.mountpoints)
    if isinstance(why, Absent):
        return why
    if why:
        return chain.online if chain.online else f"nobody: {why}"
    by = [job.where for job in timer.jobs if not passed_over(host, job, chain.mountpoints)]
    if timer.on is True and not timer_would_miss(host, timer, chain.mountpoints):
        by.append("fstrim.timer")
    return ", ".join(dict.fromkeys(by))


def _amounts(host: Host, chain: DiscardChain) -> str:
    parts: list[str] = []
    counters = disk_counters(host)
    space = host.statvfs(chain.mount.mountpoint)
    if present(space):
        parts.append(f"a trim offers at most the free {units.size(space.f_bfree * space.f_frsize)}")
    known = counters if present(counters) else {}
    own = [known[name] for name in own_devices(host, chain) if name in known]
    if own:
        parts.append(f"written since boot {units.size(sum(c.write_bytes for c in own))}")
        if all(c.discard_bytes is not None for c in own):
            parts.append(f"asked to be discarded {units.size(sum(c.discard_bytes or 0 for c in own))}")
    return ", ".join(parts)


def _unpartitioned(host: Host, disk: str) -> float | None:
    """Share (0..1) of a disk that no partition takes: over-provisioning, if it was never written or trimmed once."""
    devices = block_devices(host)
    whole = devices[disk].size_bytes if disk in devices else 0
    parts = [d.size_bytes for d in devices.values() if d.parent == disk]
    if not parts or not present(whole) or not whole:
        return None
    return max(0.0, 1 - sum(p for p in parts if present(p)) / whole)
