"""What can be read about trimming one file system: the whole chain from the mount option to the drive."""

from collections.abc import Iterator

from probes.host import Host
from probes.system.disk.block import block_devices
from probes.system.disk.diskstats import disk_counters
from probes.system.disk.trim.discard import DiscardChain
from probes.system.disk.trim.trim_timer import TrimTimer, untrimmed_because
from probes.types import Absent, Entry, Fact, Unread, entry, present
from scenarios.fstrim.trim_setup import TrimSetup


def facts(host: Host, layout: TrimSetup, timer: TrimTimer) -> Iterator[Entry]:
    """Facts, or the reason why there is none."""
    chain = layout.chain
    if chain is None:
        return
    yield Fact("trim", "mount", f"{chain.mount.fstype} on {chain.device}", "/proc/self/mountinfo")
    yield Fact("trim", "online", chain.online or "no", "/proc/self/mountinfo")
    for layer in chain.layers:
        yield from _layer(layer.device, layer.kind, layer.max_bytes, layer.granularity_bytes)
    for name, mode in chain.queued.items():
        yield Fact(f"disk:{name}", "queued TRIM", mode, "/sys/class/ata_device/dev*/trim")
    yield entry("trim", "timer", timer.enabled, timer.source)
    yield entry("trim", "timer.active", timer.active, timer.source)
    yield entry("trim", "timer.schedule", timer.schedule, "fstrim.timer")
    yield entry("trim", "timer.last", timer.last, timer.source)
    if timer.cron:
        yield Fact("trim", "cron", ", ".join(timer.cron), "/etc/cron*")
    why = untrimmed_because(host, timer, chain.mountpoints or (chain.mount.mountpoint,))
    if present(why) and why:
        yield Fact("trim", "left_out", why, timer.source)
    yield from _amounts(host, layout, chain)


def _layer(name: str, kind: str, most: int | Absent, grain: int | Absent) -> Iterator[Entry]:
    source = f"/sys/block/{name}/queue/discard_max_bytes"
    if isinstance(most, Absent):
        yield Unread(f"disk:{name}", "discards", most)
    elif most == 0:
        yield Fact(f"disk:{name}", "discards", f"{kind}: takes no discards", source)
    else:
        grains = f", in grains of {grain} B" if present(grain) and grain else ""
        yield Fact(f"disk:{name}", "discards", f"{kind}: discards of at most {most} B{grains}", source)


def _amounts(host: Host, layout: TrimSetup, chain: DiscardChain) -> Iterator[Entry]:
    free = layout.free_bytes()
    if free is not None:
        yield Fact("trim", "free", free, f"statvfs {chain.mount.mountpoint}", "B")
    counters = disk_counters(host)
    if isinstance(counters, Absent):
        yield Unread("trim", "written_since_boot", counters)
    else:
        for name in chain.leaves:
            if name not in counters:
                continue
            own = counters[name]
            yield Fact(f"disk:{name}", "written_since_boot", own.write_bytes, "/proc/diskstats", "B")
            if own.discard_bytes is None:
                why = Absent("this kernel does not count discards", "unsupported", "/proc/diskstats")
                yield Unread(f"disk:{name}", "discarded_since_boot", why)
            else:
                yield Fact(f"disk:{name}", "discarded_since_boot", own.discard_bytes, "/proc/diskstats", "B")
    if chain.mount.fstype == "ext4":
        path = f"/sys/fs/ext4/{chain.device}/lifetime_write_kbytes"
        yield entry("trim", "ext4.lifetime_written", _kib(host.integer(path)), path, "B")
    for name in chain.leaves:
        spare = unpartitioned(host, name)
        if spare is not None:
            yield Fact(f"disk:{name}", "unpartitioned", round(spare, 4), f"/sys/block/{name}/*/size")


def unpartitioned(host: Host, disk: str) -> float | None:
    """Share (0..1) of a disk that no partition takes: over-provisioning, if it was never written or trimmed once."""
    devices = block_devices(host)
    whole = devices[disk].size_bytes if disk in devices else 0
    parts = [d.size_bytes for d in devices.values() if d.parent == disk]
    if not parts or not present(whole) or not whole:
        return None
    return max(0.0, 1 - sum(p for p in parts if present(p)) / whole)


def _kib(value: int | Absent) -> int | Absent:
    return value << 10 if present(value) else value
