"""What the storage scenario concludes beside its verdicts: link limits, the class's usual range, the job's share."""

import shlex
from collections.abc import Sequence
from typing import Any

from hostdx.probes.engine.loops import loop_cost_ns
from hostdx.probes.engine.workloads import engine_load
from hostdx.probes.system.disk.block import BlockDevice
from hostdx.probes.types import is_present
from hostdx.probes.units import (
    format_percent,
    format_percent_interval,
    format_prefixed,
    latency_quantity,
    metric_quantity,
)
from hostdx.scenarios.contract.events import RunVerdict
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.experiment.files.places import ComparedDirectory
from hostdx.scenarios.experiment.statistics.stats import percentile_ns
from hostdx.scenarios.experiment.wording import effect_words, groups_words
from hostdx.scenarios.storage.results import DirectoryLevel
from hostdx.scenarios.triage.knowledge.disks import disk_class, link_share_used
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("storage")
# A stream that reaches this share of its link's payload rate is held by the link, not by the medium.
LINK_BOUND = 0.85
BYTES_PER_UNIT = {"MB/s": 1e6, "B/s": 1.0, "MiB/s": 2.0**20}


def build_level(
    target: ComparedDirectory, workload: str, metric: str, unit: str, median: float, ci95: tuple[float, float] | None,
    blocks: int, remarks: Sequence[str], latencies: Sequence[tuple[int, int]] = (),
) -> DirectoryLevel:  # fmt: skip
    """A directory's level with what it reaches of its link and what its class usually gives.

    `latencies`: pairs of upper bound in ns and count.
    """
    device = target.single_device
    share = None
    usual = None
    title = ""
    if device is not None:
        if unit in BYTES_PER_UNIT:
            share = link_share_used(device, median * BYTES_PER_UNIT[unit])
        known_class = disk_class(device)
        if known_class is not None:
            usual, title = known_class.ranges.get(workload), known_class.title
    return DirectoryLevel(
        workload=workload, variant=target.letter, metric=metric, unit=unit, blocks=blocks, median=median, ci95=ci95,
        link_share=share, usual=usual, usual_class=title if usual else "", remarks=tuple(remarks),
        engine_ns=loop_cost_ns() if engine_load(workload).kind in ("read", "write") else None,
        p50_ns=percentile_ns(latencies, 0.5), p99_ns=percentile_ns(latencies, 0.99),
    )  # fmt: skip


def link_findings(targets: Sequence[ComparedDirectory], levels: Sequence[DirectoryLevel]) -> list[Finding]:
    """Streams that stand at the limit of a link, and links that run below what they could."""
    findings: list[Finding] = []
    for target in targets:
        for device in target.devices:
            if is_present(device.link) and device.link.degraded:
                findings.append(degraded_link_finding(target, device, levels))
        at_limit = [v for v in levels if v.variant == target.letter and (v.link_share or 0) >= LINK_BOUND]
        if at_limit and target.devices and is_present(target.devices[0].link):
            best = max(at_limit, key=lambda v: v.link_share or 0)
            link = target.devices[0].link
            findings.append(
                SAYS.finding(
                    "link-bound",
                    subject=target.leaf_names,
                    percent=f"{100 * (best.link_share or 0):.0f}",
                    load=load_title(best),
                    gives=format_level(best),
                    link=link.now,
                    source=link.source,
                )
            )
    return findings


def degraded_link_finding(
    target: ComparedDirectory, device: BlockDevice, levels: Sequence[DirectoryLevel]
) -> Finding:
    link = device.link
    assert is_present(link)
    reached = [
        SAYS.evidence("of-link", load=load_title(v), percent=f"{100 * v.link_share:.0f}")
        for v in levels
        if v.variant == target.letter and v.link_share is not None
    ]
    fields: dict[str, Any] = {
        "now": link.now,
        "most": link.at_most,
        "source": link.source,
        "width_source": link.source.replace("link_bits_per_s", "link_width"),
    }
    return SAYS.finding(
        "link-measured",
        id=f"storage.{link.kind}-link",
        confidence="measured" if reached else "rule",
        subject=device.name,
        evidence=reached,
        remedy=(SAYS.remedy("sata-link" if link.kind == "sata" else "pcie-link", **fields),),
        **fields,
    )


def speed_findings(levels: Sequence[DirectoryLevel], targets: Sequence[ComparedDirectory]) -> list[Finding]:
    """Levels outside of what the class usually gives: a hint, never a verdict, and none where a CPU was the limit."""
    letters = {target.letter: target for target in targets}
    findings: list[Finding] = []
    for value in levels:
        if value.usual is None or value.remarks:
            continue
        low, high = value.usual
        most = value.ci95[1] if value.ci95 else value.median
        if most < low:
            target = letters[value.variant]
            findings.append(
                SAYS.finding(
                    "below-class",
                    subject=f"{target.leaf_names} {value.workload}",
                    disks=target.leaf_names,
                    load=load_title(value),
                    gives=format_level(value),
                    kind=value.usual_class,
                    low=f"{low:.0f}",
                    high=f"{high:.0f}",
                    unit=value.unit,
                    blocks=value.blocks,
                    directory=target.directory,
                )
            )
    return findings


def engine_cost_evidence(nanoseconds: int) -> Evidence:
    """Return what of each operation is not the disk's."""
    return SAYS.evidence("engine-cost", cost=latency_quantity(nanoseconds))


def control_moved_finding(verdict: RunVerdict) -> Finding:
    """The load that touches no disk differs too: whatever it was, it was not the disk alone."""
    return SAYS.finding(
        "control-moved",
        subject=engine_load(verdict.workload).title,
        effect=effect_words(verdict),
        evidence=(Evidence(groups_words(verdict)),) if verdict.groups else (),
    )


def load_title(value: DirectoryLevel) -> str:
    return engine_load(value.workload).title


def format_level(value: DirectoryLevel) -> str:
    return str(metric_quantity(value.median, value.unit))


def wait_finding(waited: float, interval: tuple[float, float] | None, job_name: str, samples: int) -> Finding:
    """Amdahl's limit: a job that waits the share w for a disk gains at most w/2 of its time from one twice as fast."""
    high = interval[1] if interval else waited
    spread = (
        f"95 % interval {format_percent_interval(*interval)} (gain then at most {format_percent(high / 2)}), "
        if interval
        else ""
    )
    return SAYS.finding(
        "job",
        severity="notice" if high < 0.10 else "warning",
        subject=job_name,
        waited=waited,
        gain=waited / 2,
        spread=spread,
        samples=samples,
    )


def disk_cost_finding(verdicts: Sequence[RunVerdict]) -> Finding | None:
    """The AlmaLinux 9 talk's lesson: what a slower disk costs depends on how long the job waits for it."""
    slower = [v for v in verdicts if not v.control and v.is_slower and v.ratio]
    if not slower:
        return None
    worst = min(slower, key=lambda v: v.ratio or 1.0)
    times = 1 / (worst.ratio or 1.0)
    return SAYS.finding(
        "share",
        load=engine_load(worst.workload).title,
        slower=worst.variant,
        faster=worst.baseline,
        gain=0.1 * (1 - 1 / times),
        effect=effect_words(worst),
        groups=groups_words(worst),
    )


def drift_findings(verdicts: Sequence[RunVerdict], directories: Sequence[str]) -> list[Finding]:
    """Sides that changed on their own while they were measured: a cache that fills, a directory that grows."""
    longer = " ".join(
        ["hostdx run storage", *(f"--dir {shlex.quote(d)}" for d in directories), "--budget 300"]
    )
    return [
        SAYS.finding(
            "drift",
            subject=f"{variant}: {engine_load(verdict.workload).title}",
            moves="falls" if last < first else "rises",
            first=format_prefixed(first).strip(),
            last=format_prefixed(last).strip(),
            unit=verdict.delta_unit,
            seconds=verdict.seconds,
            reason=verdict.reason or "",
            command=longer,
        )
        for verdict in verdicts
        for variant, (first, last) in verdict.drift.items()
    ]
