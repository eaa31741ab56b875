"""Trimming at a glance, for triage: the timer; each file system's way down, who trims it, what it would offer.

Reads only; virtual disks too, which no rule accuses.
"""

from collections.abc import Iterator, Sequence

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.diskstats import disk_counters
from hostdx.probes.system.disk.trim.discard import DiscardChain, DiscardLayer, discard_chains, sole_devices
from hostdx.probes.system.disk.trim.trim_jobs import explain_job_skip
from hostdx.probes.system.disk.trim.trim_timer import (
    TrimTimer,
    explain_timer_miss,
    explain_untrimmed,
    trim_timer,
)
from hostdx.probes.types import Absent, Fact, FactOrUnread, UnreadFact, is_present, make_fact

MAX_FILE_SYSTEMS = 8  # a host with hundreds of volumes has a list of its own


def glance(host: Host) -> Iterator[FactOrUnread]:
    """At most one `systemctl show`, one statvfs a file system."""
    chains = host.compute_once(discard_chains)
    if isinstance(chains, Absent):
        yield UnreadFact("trim", "timer", chains)
        return
    if not chains:
        return
    timer = host.compute_once(trim_timer)
    yield timer_fact(timer)
    for chain in chains[:MAX_FILE_SYSTEMS]:
        yield from chain_facts(host, timer, chain)
    yield from spare_space_facts(host, chains[:MAX_FILE_SYSTEMS])
    if len(chains) > MAX_FILE_SYSTEMS:
        yield Fact(
            "trim", "more", f"{len(chains) - MAX_FILE_SYSTEMS} more file systems", "/proc/self/mountinfo"
        )


def chain_facts(host: Host, timer: TrimTimer, chain: DiscardChain) -> Iterator[FactOrUnread]:
    """One file system."""
    name = f"trim:{chain.device}"
    yield Fact(
        name, "way", _discard_path_text(chain), "/proc/self/mountinfo, /sys/block/*/queue/discard_max_bytes"
    )
    if chain.lowest_without_discard or chain.read_only:
        return
    yield make_fact(name, "by", _who_trims_text(host, timer, chain), timer.source)
    if amounts := _free_and_written_text(host, chain):
        yield Fact(name, "amounts", amounts, "statvfs, /proc/diskstats")


def spare_space_facts(host: Host, chains: Sequence[DiscardChain]) -> Iterator[FactOrUnread]:
    """Yield the unpartitioned share of each disk that discards reach; file systems may share a disk."""
    reached = (chain for chain in chains if not (chain.lowest_without_discard or chain.read_only))
    for disk in dict.fromkeys(disk for chain in reached for disk in chain.leaves):
        if (spare := _unpartitioned_share(host, disk)) is not None:
            yield Fact(f"disk:{disk}", "unpartitioned", round(spare, 4), f"/sys/block/{disk}/*/size")


def timer_fact(timer: TrimTimer) -> FactOrUnread:
    if isinstance(timer.is_timer_on, Absent):
        return UnreadFact("trim", "timer", timer.is_timer_on)
    if not timer.exists:
        text = "none runs here"
    elif not timer.is_timer_on:
        text = "off"
    else:
        last = f", last {timer.last}" if is_present(timer.last) else ", no run on record"
        text = f"on, {timer.schedule}{last}" if is_present(timer.schedule) else f"on{last}"
    cron = f"; also {', '.join(timer.cron_files)}" if timer.cron_files else ""
    return Fact("trim", "timer", text + cron, timer.source)


def _discard_path_text(chain: DiscardChain) -> str:
    """`/data: xfs, mounted with discard; dm-0 (crypt) takes no discards`."""
    online = f"mounted with {chain.online}" if chain.online else "no online discard"
    mountpoints = ", ".join(chain.mountpoints[:2]) + (", ..." if len(chain.mountpoints) > 2 else "")
    head = f"{mountpoints}: {chain.mount.fstype}, {'read-only' if chain.read_only else online}"
    guilty = next((layer for layer in chain.layers if layer.swallows_discards), None)
    if guilty is not None:
        return f"{head}; {guilty.device} ({guilty.kind}) takes no discards"
    through = " → ".join(layer.device for layer in chain.layers)
    ends = [layer for layer in chain.layers if layer.device in chain.leaves]
    limits = ", ".join(filter(None, map(_discard_limits_text, ends[:1])))
    modes = ", ".join(f"{name} TRIM {mode.replace('_', ' ')}" for name, mode in chain.queued.items())
    return "; ".join(part for part in (head, through, limits, modes) if part)


def _discard_limits_text(layer: DiscardLayer) -> str:
    if not is_present(layer.max_bytes):
        return "whether it takes discards is not known"
    grain = layer.granularity_bytes
    grains = f" in grains of {grain} B" if is_present(grain) and grain else ""
    return f"discards of at most {units.format_size(layer.max_bytes)}{grains}"


def _who_trims_text(host: Host, timer: TrimTimer, chain: DiscardChain) -> str | Absent:
    why = explain_untrimmed(host, timer, chain.mountpoints)
    if isinstance(why, Absent):
        return why
    if why:
        return chain.online if chain.online else f"nobody: {why}"
    by = [job.where for job in timer.jobs if not explain_job_skip(host, job, chain.mountpoints)]
    if timer.is_timer_on is True and not explain_timer_miss(host, timer, chain.mountpoints):
        by.append("fstrim.timer")
    return ", ".join(dict.fromkeys(by))


def _free_and_written_text(host: Host, chain: DiscardChain) -> str:
    parts: list[str] = []
    counters = disk_counters(host)
    space = host.read_statvfs(chain.mount.mountpoint)
    if is_present(space):
        parts.append(f"a trim offers at most the free {units.format_size(space.f_bfree * space.f_frsize)}")
    known_counters = counters if is_present(counters) else {}
    own = [known_counters[name] for name in sole_devices(host, chain) if name in known_counters]
    if own:
        parts.append(f"written since boot {units.format_size(sum(c.write_bytes for c in own))}")
        if all(c.discard_bytes is not None for c in own):
            parts.append(f"asked to be discarded {units.format_size(sum(c.discard_bytes or 0 for c in own))}")
    return ", ".join(parts)


def _unpartitioned_share(host: Host, disk: str) -> float | None:
    """Share (0..1) of a disk that no partition takes: over-provisioning, if it was never written or trimmed once."""
    devices = block_devices(host)
    disk_bytes = devices[disk].size_bytes if disk in devices else 0
    parts = [d.size_bytes for d in devices.values() if d.parent == disk]
    if not parts or not is_present(disk_bytes) or not disk_bytes:
        return None
    return max(0.0, 1 - sum(p for p in parts if is_present(p)) / disk_bytes)
