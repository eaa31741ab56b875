"""What a run says of a throttled disk: the cap, how it shows, who set it, and where it is raised."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from probes.bench.engine.summary import in_unit
from probes.bench.workloads import load_of
from probes.host import Host
from probes.system.disk.block import block_devices
from probes.system.disk.drive.ebs import ebs_counters
from probes.system.disk.drive.transport import virtual
from probes.system.running.cgroup import Cgroup, cgroup
from probes.types import present
from probes.units import amount, duration, number, prefixed, rate
from scenarios.files.places import ComparedDirectory
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.knowledge.disks import cloud_disks
from scenarios.rules.texts import texts
from scenarios.storage.results import DirectoryLevel
from scenarios.storage.throttling.caps import Limit, Throttle, limits_of, paused_by_cpu, throttles
from scenarios.storage.throttling.detection import BlockCompletions, Cap

SAYS = texts("storage")

LEAST_EXCEEDED_S = 0.1


def throttles_of(
    host: Host,
    one: ComparedDirectory,
    courses: Mapping[str, Sequence[BlockCompletions]],
    withheld: Mapping[str, float],
) -> list[Throttle]:
    """The caps of the disk below a directory, with what the kernel knows of them."""
    return throttles(courses, limits_below(host, one), virtual=is_virtual(one), withheld=withheld)


def cpu_pauses(
    courses: Mapping[str, Sequence[BlockCompletions]],
    withheld: Mapping[str, float],
    capped: Collection[str] = (),
) -> list[Finding]:
    """The loads whose pauses are this machine's own: what they reach is no figure of the disk."""
    paused = {name: cap for name, cap in paused_by_cpu(courses, withheld).items() if name not in capped}
    if not paused:
        return []
    evidence = tuple(
        SAYS.evidence(
            "cpu-pauses",
            load=load_of(name).title,
            pause=1e9 * cap.pause_s,
            period=1e9 * cap.period_s,
            withheld=withheld[name],
        )
        for name, cap in paused.items()
    )
    loads = ", ".join(load_of(name).title for name in paused)
    return [SAYS.finding("cpu-pauses", loads=loads, evidence=evidence)]


def is_virtual(one: ComparedDirectory) -> bool:
    """Whether what lies under it is a hypervisor's or a cloud's disk: a USB or RAID link is even by itself."""
    return bool(one.devices) and all(virtual(d.transport, d.model) for d in one.devices)


def limits_below(host: Host, one: ComparedDirectory) -> list[Limit]:
    """Of the devices below this directory: those of our control group and above it, and a cloud's published caps."""
    devices = block_devices(host)
    devnos = [devices[name].devno for name in one.place.layers if name in devices]
    own = cgroup(host)
    published = [
        Limit(unit, value, ("read", "write"), f"the published cap of {offer.title} ({offer.source})")
        for disk in ([one.single_device] if one.single_device else [])
        for offer in cloud_disks(host, disk)
        for unit, value in offer.unit_caps(disk).items()
    ]
    return [*(limits_of(own.io, devnos) if isinstance(own, Cgroup) else ()), *published]


def sustained(levels: Sequence[DirectoryLevel], found: Sequence[Throttle]) -> list[DirectoryLevel]:
    """The levels, not above the cap that a load ran into: what a burst gave beyond it does not last."""
    kept = []
    for value in levels:
        load = load_of(value.workload)
        for one in found:
            cap = one.value * 1e6 / load.block_bytes if one.unit == "MB/s" else one.value
            cap = in_unit(load, cap)
            if value.workload in one.loads and value.median > cap:
                share = value.link_share and value.link_share * cap / value.median
                value = msgspec.structs.replace(value, median=cap, ci95=None, link_share=share)
        kept.append(value)
    return kept


def throttle_findings(host: Host, one: ComparedDirectory, found: Sequence[Throttle]) -> list[Finding]:
    """One for all caps of the disk; none where it is not throttled."""
    if not found:
        return []
    return [
        SAYS.finding(
            "throttled",
            subject=one.leaf_names,
            caps=" and ".join(cap_words(each) for each in found),
            evidence=(*(e for each in found for e in _evidence(each)), *_others(host, one)),
            remedy=(_remedy(one.leaf_names, found),),
        )
    ]


def cap_words(one: Throttle) -> str:
    """`200 MB/s`, `2 k IOPS`."""
    return str(amount(float(number(one.value)), one.unit))


def _evidence(one: Throttle) -> tuple[Evidence, ...]:
    loads = ", ".join(load_of(name).title for name in one.loads)
    source = one.limit.where if one.limit else ""
    seen = [Evidence(f"{loads}: {cap_words(one)}; {_form(one)}", source)]
    for name, cap in zip(one.loads, one.caps, strict=False):
        if cap.burst_operations:
            seen.append(_burst(name, cap, one.unit))
    if one.caps and not any(cap.burst_operations for cap in one.caps):
        seen.append(SAYS.evidence("no-burst", seconds=sum(cap.seconds for cap in one.caps)))
    return tuple(seen)


def _form(one: Throttle) -> str:
    if not one.caps:
        return SAYS.text("fixed")
    paused = next((cap for cap in one.caps if cap.form == "pauses"), None)
    if paused is None:
        return SAYS.text("even")
    return SAYS.text("pauses", pause=1e9 * paused.pause_s, period=1e9 * paused.period_s)


def _burst(name: str, cap: Cap, unit: str) -> Evidence:
    size = load_of(name).block_bytes
    if unit == "MB/s":
        beyond, fast = f"{prefixed(cap.burst_operations * size)}B", rate(cap.burst_rate * size)
    else:
        beyond, fast = f"{prefixed(cap.burst_operations)}operations", f"{prefixed(cap.burst_rate)}IOPS"
    return SAYS.evidence(
        "burst", load=load_of(name).title, rate=fast, burst=cap.burst_s, beyond=beyond, refill=cap.refill_s
    )


def _others(host: Host, one: ComparedDirectory) -> tuple[Evidence, ...]:
    """What else of the kernel holds I/O back on these devices, though it sets no fixed cap."""
    delayed = [
        SAYS.evidence("write-back", device=device.name, limit=1e3 * limit_us, path=device.path)
        for device in one.devices
        if present(limit_us := device.queue.wbt_lat_usec) and limit_us > 0
    ]
    own = cgroup(host)
    devnos = {device.devno for device in one.devices}
    targets = [
        SAYS.evidence("latency-target", target=1e3 * t.value, group=t.group, file=t.file)
        for t in (own.latency_targets if isinstance(own, Cgroup) else ())
        if t.devno in devnos
    ]
    return (*delayed, *targets)


def _remedy(leaf: str, found: Sequence[Throttle]) -> Remedy:
    """The kernel's setting where it is one; else the place outside of this host where disks get their limits."""
    own = [each.limit for each in found if each.limit is not None and each.limit.file]
    if own:
        return SAYS.remedy("raise-limit", files=tuple(dict.fromkeys(one.file for one in own)))
    return SAYS.remedy("limits-outside", subject=leaf)


def ebs_of(host: Host, leaves: Sequence[str]) -> dict[str, dict[str, float]]:
    """What EBS volumes count of themselves; the others are left out."""
    told = {leaf: ebs_counters(host, leaf) for leaf in leaves}
    return {leaf: counters for leaf, counters in told.items() if present(counters)}


def ebs_findings(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]
) -> list[Finding]:
    """How long the cloud itself says that it held these volumes back meanwhile."""
    found = []
    for leaf in sorted(before.keys() & after.keys()):
        grown = {what: seconds - before[leaf].get(what, 0.0) for what, seconds in after[leaf].items()}
        exceeded = [f"{what} for {duration(s)}" for what, s in grown.items() if s >= LEAST_EXCEEDED_S]
        if exceeded:
            found.append(SAYS.finding("ebs-exceeded", subject=leaf, exceeded=", ".join(exceeded)))
    return found
