"""What a single disk is good for, beside which classes it stands, whether it is throttled, and the one next command."""

import math
from collections.abc import Sequence
from statistics import fmean

import msgspec

from hostdx.probes.engine.workloads import engine_load
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.drive.transport import is_virtual_disk
from hostdx.probes.units import format_duration, format_latency, format_number, join_names, metric_quantity
from hostdx.scenarios.contract.finding import SEVERITIES, Evidence, Finding, Remedy
from hostdx.scenarios.experiment.files.places import ComparedDirectory
from hostdx.scenarios.storage.findings import engine_cost_evidence
from hostdx.scenarios.storage.results import DirectoryLevel
from hostdx.scenarios.triage.knowledge.disks import (
    DiskUse,
    cloud_disks,
    cloud_disks_of_size,
    disk_class,
    disk_classes,
    disk_uses,
)
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("storage")
KNOWLEDGE = "scenarios/triage/knowledge/storage.toml"
NEAREST = 2
FLASH_READ_NS = 1_000_000  # a head moves for longer
CAPPED = {
    "randread-4k-qd16": "IOPS",
    "read-1m-qd8": "MB/s",
    "write-1m-qd8": "MB/s",
}  # loads that reach a volume's cap


def first_answer(
    host: Host,
    target: ComparedDirectory,
    levels: Sequence[DirectoryLevel],
    other_findings: Sequence[Finding],
    watched_s: float,
    *,
    single: bool,
) -> list[Finding]:
    """Of one directory; nothing where nothing was measured. `other_findings`: what the run and the rules say of it
    besides.

    `watched_s`: seconds of load in which a throttle was looked for. `single`: no other directory is compared with it.
    """
    own = [value for value in levels if value.variant == target.letter]
    if not own:
        return []
    jobs = [
        (kind, value, rate_disk_for_use(kind, value))
        for kind in disk_uses()
        for value in own
        if value.workload == kind.load
    ]
    nearest = rank_classes(host, target, own)[:NEAREST]
    throttle = next((each for each in other_findings if each.id == "storage.throttled"), None)
    wrong = sorted(
        (each for each in other_findings if each.severity != "ok"),
        key=lambda each: (SEVERITIES.index(each.severity), each is not throttle),
    )
    suspicious = any(each is not throttle for each in wrong)  # a finding of its own says which
    judged = any(value.usual is not None for value in own)
    fine = judged and not other_findings and all(word == "good" for _, _, word in jobs)
    uses = [
        f"{word} for {join_names([kind.short for kind, _, mine in jobs if mine == word], 6)}"
        for word in ("good", "fair", "poor")
        if any(mine == word for _, _, mine in jobs)
    ]
    held = [throttle.title] if throttle else []
    near = [f"reads and streams nearest to those of: {nearest[0][0]}"] if nearest else []
    answer = SAYS.finding(
        "levels",
        severity="ok" if fine else "notice",
        subject=target.directory,
        answers=single,
        disks=target.leaf_names,
        uses="; ".join([*held, *uses, *near]) or "measured",
        evidence=(
            *(Evidence(_job_words(*job), KNOWLEDGE) for job in jobs),
            *(engine_cost_evidence(value.engine_ns) for value in own[:1] if value.engine_ns is not None),
            *([Evidence(_speed_class_words(host, target, nearest), KNOWLEDGE)] if nearest else []),
            *([Evidence(_throttle_words(throttle, watched_s))] if throttle or watched_s else []),
            *([] if suspicious else [SAYS.evidence("no-suspicion", disks=target.leaf_names)]),
        ),
        remedy=(_first_single_line_remedy(wrong),),
    )
    return [answer]


def rate_disk_for_use(kind: DiskUse, value: DirectoryLevel) -> str:
    """good, fair or poor for this use."""
    slow = kind.most_ms and value.p99_ns is not None and value.p99_ns > 1e6 * kind.most_ms
    if value.median >= kind.good:
        return "fair" if slow else "good"
    return "poor" if value.median <= kind.poor else "fair"


def rank_classes(
    host: Host, target: ComparedDirectory, levels: Sequence[DirectoryLevel]
) -> list[tuple[str, float]]:
    """Return what this disk can be by its reads and streams, the nearest first, with its distance: what the cloud
    sells, else classes and caps. Nobody publishes what its synced writes take.

    The distance is the mean over the loads of |ln(measured / the range's edge or the cap)|; 0 lies within the ranges.
    """
    reached = {value.workload: value.median for value in levels if value.median > 0}
    sides = [(each.title, each.ranges) for each in disk_classes()]
    if disk := target.single_device:
        sold = cloud_disks(host, disk)
        sides = [] if sold else sides
        for offer in sold or cloud_disks_of_size(disk):
            caps = offer.caps_by_unit(disk)
            words = " and ".join(
                str(metric_quantity(float(format_number(caps[unit])), unit)) for unit in ("IOPS", "MB/s")
            )
            title = offer.title if sold else f"a volume capped at {words}"
            sides.append((title, {name: (caps[unit], caps[unit]) for name, unit in CAPPED.items()}))
    distances = {}
    for title, ranges in sides:
        load_distances = [_log_distance(reached[name], *ranges[name]) for name in ranges if name in reached]
        if load_distances:
            distances[title] = fmean(load_distances)
    return sorted(distances.items(), key=lambda side: side[1])


def suspicion_findings(
    host: Host, target: ComparedDirectory, levels: Sequence[DirectoryLevel]
) -> list[Finding]:
    """Return what cannot be as it claims to be: flushes faster than the medium, a rotating disk read like flash."""
    own = {value.workload: value for value in levels if value.variant == target.letter}
    device = target.single_device
    if device is None:
        return []
    findings = []
    known_class, sync, read = disk_class(device), own.get("fsync-4k-qd1"), own.get("randread-4k-qd1")
    if (
        known_class is not None
        and sync is not None
        and sync.p50_ns
        and sync.p50_ns < 1e3 * known_class.fastest_sync_us
    ):
        least = 1e3 * known_class.fastest_sync_us
        findings.append(
            SAYS.finding(
                "flush-too-fast", subject=device.name, half=sync.p50_ns, kind=known_class.title, least=least
            )
        )
    path = f"{device.path}/queue/rotational"  # of a virtual disk too: the kernel goes by it
    if read is not None and read.p50_ns and read.p50_ns < FLASH_READ_NS and host.read_integer(path) == 1:
        findings.append(SAYS.finding("not-rotating", subject=device.name, half=read.p50_ns, path=path))
    return findings


def _log_distance(value: float, low: float, high: float) -> float:
    if low <= value <= high or min(low, high) <= 0:
        return 0.0
    return abs(math.log(value / (low if value < low else high)))


def _job_words(kind: DiskUse, value: DirectoryLevel, word: str) -> str:
    latency = ""
    if value.p50_ns is not None and value.p99_ns is not None:
        latency = (
            f"; under load half of them take at most {format_latency(value.p50_ns)}, and 99 % at most "
            f"{format_latency(value.p99_ns)}"
        )
    within = f", and 99 % within {kind.most_ms:g} ms" if kind.most_ms else ""
    edges = (
        f"good: {metric_quantity(kind.good, value.unit)} or more{within}; "
        f"poor: {metric_quantity(kind.poor, value.unit)} or less"
    )
    reached = f"{metric_quantity(value.median, value.unit)} ({engine_load(value.workload).title})"
    remark = f"; {value.remarks[0]}" if value.remarks else ""
    return f"{kind.words}: {word}, {reached}{latency}; {edges}{remark}"


def _speed_class_words(host: Host, target: ComparedDirectory, nearest: Sequence[tuple[str, float]]) -> str:
    words = " and ".join(
        title if not distance else f"{title} (off by a factor of {math.exp(distance):.2g})"
        for title, distance in nearest
    )
    disk, itself = target.single_device, f"the class of {target.leaf_names} is not known"
    if disk and (known_class := disk_class(disk)):
        itself = f"{disk.name} is a {known_class.title}"
    elif disk and is_virtual_disk(disk.transport, disk.model):
        sold = "by what its cloud publishes" if cloud_disks(host, disk) else "offer unknown"
        itself = f"{disk.name} is a virtual disk, {sold}"
    return f"reads and streams nearest to those of: {words}; {itself}"


def _throttle_words(throttle: Finding | None, watched_s: float) -> str:
    if throttle is not None:
        return throttle.title
    return (
        f"no throttle recognised in the {format_duration(watched_s)} measured; a burst that lasts "
        "longer would not show"
    )


def _first_single_line_remedy(wrong: Sequence[Finding]) -> Remedy:
    """One command of one line: the worst finding's, or how long a job really waits."""
    for each in wrong:
        for remedy in each.remedy:
            for command in remedy.commands:
                if "\n" not in command:
                    return msgspec.structs.replace(remedy, commands=(command,))
    return SAYS.remedy("how-long-it-waits")
