"""What a run says of a throttled disk: the cap, how it shows, who set it, and where it is raised."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from hostdx.probes.engine.measured import MeasuredBatch
from hostdx.probes.engine.summary import rate_in_load_unit
from hostdx.probes.engine.workloads import engine_load
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.drive.ebs import ebs_seconds_over_limits
from hostdx.probes.system.disk.drive.transport import is_virtual_disk
from hostdx.probes.system.running.cgroup import Cgroup, read_cgroup
from hostdx.probes.types import is_present
from hostdx.probes.units import format_duration, format_number, format_prefixed, format_rate, metric_quantity
from hostdx.scenarios.contract.events import RunVerdict
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.verdict.verdict import as_equal
from hostdx.scenarios.experiment.files.places import ComparedDirectory
from hostdx.scenarios.storage.results import DirectoryLevel
from hostdx.scenarios.storage.throttling.caps import (
    SAME,
    DiskLimit,
    Throttle,
    are_rates_near,
    find_cpu_pauses,
    find_throttles,
    limits_of_devices,
)
from hostdx.scenarios.storage.throttling.detection import STEP_S, BlockCompletions, DiskCap
from hostdx.scenarios.triage.knowledge.disks import cloud_disks
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("storage")

MIN_EXCEEDED_S = 0.1


def detect_throttles(
    host: Host,
    target: ComparedDirectory,
    series: Mapping[str, Sequence[BlockCompletions]],
    cpu_taken: Mapping[str, float],
) -> list[Throttle]:
    """The caps of the disk below a directory, with what the kernel knows of them."""
    return find_throttles(series, limits_below(host, target), virtual=is_virtual(target), cpu_taken=cpu_taken)


def cpu_pause_findings(
    series: Mapping[str, Sequence[BlockCompletions]],
    cpu_taken: Mapping[str, float],
    capped: Collection[str] = (),
) -> list[Finding]:
    """The loads whose pauses are this machine's own: what they reach is no figure of the disk."""
    paused = {name: cap for name, cap in find_cpu_pauses(series, cpu_taken).items() if name not in capped}
    if not paused:
        return []
    evidence = tuple(
        SAYS.evidence(
            "cpu-pauses",
            load=engine_load(name).title,
            pause=1e9 * cap.pause_s,
            period=1e9 * cap.period_s,
            withheld=cpu_taken[name],
        )
        for name, cap in paused.items()
    )
    loads = ", ".join(engine_load(name).title for name in paused)
    return [SAYS.finding("cpu-pauses", loads=loads, evidence=evidence)]


def is_virtual(target: ComparedDirectory) -> bool:
    """Return whether what lies under it is a hypervisor's or a cloud's disk: a USB or RAID link is even by itself."""
    return bool(target.devices) and all(is_virtual_disk(d.transport, d.model) for d in target.devices)


def limits_below(host: Host, target: ComparedDirectory) -> list[DiskLimit]:
    """Of the devices below this directory: those of our control group and above it, and a cloud's published caps."""
    devices = block_devices(host)
    devnos = [devices[name].devno for name in target.place.layers if name in devices]
    own = read_cgroup(host)
    published = [
        DiskLimit(unit, value, ("read", "write"), f"the published cap of {offer.title} ({offer.source})")
        for disk in ([target.single_device] if target.single_device else [])
        for offer in cloud_disks(host, disk)
        for unit, value in offer.caps_by_unit(disk).items()
    ]
    return [*(limits_of_devices(own.io, devnos) if isinstance(own, Cgroup) else ()), *published]


def lower_levels_to_caps(
    levels: Sequence[DirectoryLevel], disk_throttles: Sequence[Throttle]
) -> list[DirectoryLevel]:
    """The levels, not above the cap that a load ran into: what a burst gave beyond it does not last."""
    limited_levels = []
    for value in levels:
        load = engine_load(value.workload)
        for throttle in disk_throttles:
            cap = throttle.value * 1e6 / load.block_bytes if throttle.unit == "MB/s" else throttle.value
            cap = rate_in_load_unit(load, cap)
            if value.workload in throttle.loads and value.median > cap:
                share = value.link_share and value.link_share * cap / value.median
                value = msgspec.structs.replace(value, median=cap, ci95=None, link_share=share)
        limited_levels.append(value)
    return limited_levels


def throttle_findings(host: Host, target: ComparedDirectory, throttles: Sequence[Throttle]) -> list[Finding]:
    """One for all caps of the disk; none where it is not throttled."""
    if not throttles:
        return []
    return [
        SAYS.finding(
            "throttled",
            subject=target.leaf_names,
            caps=" and ".join(cap_words(each) for each in throttles),
            evidence=(
                *(e for each in throttles for e in _throttle_evidence(each)),
                *_delays_without_cap(host, target),
            ),
            remedy=(_raise_limit_remedy(target.leaf_names, throttles),),
        )
    ]


def cap_words(throttle: Throttle) -> str:
    """`200 MB/s`, `2 k IOPS`."""
    return str(metric_quantity(float(format_number(throttle.value)), throttle.unit))


def _throttle_evidence(throttle: Throttle) -> tuple[Evidence, ...]:
    loads = ", ".join(engine_load(name).title for name in throttle.loads)
    source = throttle.limit.source if throttle.limit else ""
    lines = [Evidence(f"{loads}: {cap_words(throttle)}; {_describe_form(throttle)}", source)]
    for name, cap in zip(throttle.loads, throttle.caps, strict=False):
        if cap.burst_operations:
            lines.append(_burst_evidence(name, cap, throttle.unit))
    if throttle.caps and not any(cap.burst_operations for cap in throttle.caps):
        lines.append(SAYS.evidence("no-burst", seconds=sum(cap.seconds for cap in throttle.caps)))
    return tuple(lines)


def _describe_form(throttle: Throttle) -> str:
    if not throttle.caps:
        return SAYS.text("fixed")
    paused = next((cap for cap in throttle.caps if cap.form == "pauses"), None)
    if paused is None:
        return SAYS.text("even")
    return SAYS.text("pauses", pause=1e9 * paused.pause_s, period=1e9 * paused.period_s)


def _burst_evidence(name: str, cap: DiskCap, unit: str) -> Evidence:
    size = engine_load(name).block_bytes
    if unit == "MB/s":
        beyond, fast = f"{format_prefixed(cap.burst_operations * size)}B", format_rate(cap.burst_rate * size)
    else:
        beyond, fast = (
            f"{format_prefixed(cap.burst_operations)}operations",
            f"{format_prefixed(cap.burst_rate)}IOPS",
        )
    return SAYS.evidence(
        "burst",
        load=engine_load(name).title,
        rate=fast,
        burst=cap.burst_s,
        beyond=beyond,
        refill=cap.refill_s,
    )


def _delays_without_cap(host: Host, target: ComparedDirectory) -> tuple[Evidence, ...]:
    """Return what else of the kernel holds I/O back on these devices, though it sets no fixed cap."""
    delayed = [
        SAYS.evidence("write-back", device=device.name, limit=1e3 * limit_us, path=device.path)
        for device in target.devices
        if is_present(limit_us := device.queue.wbt_lat_usec) and limit_us > 0
    ]
    own = read_cgroup(host)
    devnos = {device.devno for device in target.devices}
    targets = [
        SAYS.evidence("latency-target", target=1e3 * t.value, group=t.group, file=t.file)
        for t in (own.latency_targets if isinstance(own, Cgroup) else ())
        if t.devno in devnos
    ]
    return (*delayed, *targets)


def _raise_limit_remedy(leaf: str, disk_throttles: Sequence[Throttle]) -> Remedy:
    """The kernel's setting where it is one; else the place outside of this host where disks get their limits."""
    own = [each.limit for each in disk_throttles if each.limit is not None and each.limit.file]
    if own:
        return SAYS.remedy("raise-limit", files=tuple(dict.fromkeys(limit.file for limit in own)))
    return SAYS.remedy("limits-outside", subject=leaf)


def ebs_counters_of(host: Host, leaves: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return what EBS volumes count of themselves; the others are left out."""
    counters_by_leaf = {leaf: ebs_seconds_over_limits(host, leaf) for leaf in leaves}
    return {leaf: counters for leaf, counters in counters_by_leaf.items() if is_present(counters)}


def ebs_findings(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]
) -> list[Finding]:
    """Return how long the cloud itself says that it held these volumes back meanwhile."""
    findings = []
    for leaf in sorted(before.keys() & after.keys()):
        grown = {name: seconds - before[leaf].get(name, 0.0) for name, seconds in after[leaf].items()}
        exceeded = [f"{name} for {format_duration(s)}" for name, s in grown.items() if s >= MIN_EXCEEDED_S]
        if exceeded:
            findings.append(SAYS.finding("ebs-exceeded", subject=leaf, exceeded=", ".join(exceeded)))
    return findings


NEARLY_EQUAL = 0.25  # of the sides' rates: a cap that is shared out slice by slice scatters


def completions_by_load(
    variants: Sequence[str], counted: Mapping[str, Sequence[MeasuredBatch]], *, shared: bool
) -> dict[str, dict[str, list[BlockCompletions]]]:
    """By side and load, the trains that count; of all sides together where they share a device.

    A side of two disks pauses while the other one is served: its course is good for its rate only.
    """
    return {
        variant: {
            load: [
                _join_completions(train, range(len(variants)) if shared else [number])
                for train in trains
                if train.begins and len(train.sides) == len(variants)
            ]
            for load, trains in counted.items()
        }
        for number, variant in enumerate(variants)
    }


def recast_verdict(verdict: RunVerdict, caps: Mapping[str, Throttle]) -> RunVerdict:
    """`no material difference` with the reason where both sides stand at the same cap; a clear difference stays."""
    base, other = caps.get(verdict.baseline), caps.get(verdict.variant)
    if base is None or other is None or not (verdict.is_equal or verdict.is_undecided):
        return verdict
    if base.unit != other.unit or not are_rates_near(base.value, other.value, SAME):
        return verdict
    if verdict.ratio is None or not are_rates_near(verdict.ratio, 1.0, NEARLY_EQUAL):
        return verdict  # they had unlike shares of it: what lies under the cap is not known
    reason = f"both at the cap of {cap_words(base)}"
    figures = msgspec.structs.replace(
        verdict, explain=reason, smallest_effect=None, seconds_to_decide=None, ci95=None
    )
    return as_equal(figures, reason)


def _join_completions(train: MeasuredBatch, sides: Sequence[int]) -> BlockCompletions:
    """Return what these sides finished, by the clock; its seconds are those in which they were served."""
    own = [
        (round((begin - train.begins[0]) / STEP_S), steps)
        for begin, steps, side in zip(train.begins, train.completions, train.order, strict=False)
        if side in sides
    ]
    counts = [0] * max((first + len(steps) for first, steps in own), default=0)
    for first, steps in own:
        for at, count in enumerate(steps, first):
            counts[at] += count
    seconds = STEP_S * (len(counts) if len(sides) > 1 else sum(len(steps) for _, steps in own))
    return BlockCompletions(began_s=train.begins[0], seconds=seconds, completions=counts)
