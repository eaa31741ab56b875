"""What an iosched run found: which scheduler to use, what its first seconds hide, what a switch drags along. Pure."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.scheduler import SchedulerState
from hostdx.probes.system.disk.scheduler_origin import find_scheduler_origin
from hostdx.probes.types import is_present
from hostdx.probes.units import count_noun, format_duration, metric_quantity
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy, Severity
from hostdx.scenarios.experiment.wording import effect_words, estimate_seconds_to_decide, mark_if_control
from hostdx.scenarios.iosched.measurement.mixed import MIXES
from hostdx.scenarios.iosched.remedies import bfq_throughput_remedy, make_scheduler_remedy
from hostdx.scenarios.iosched.scheduler_setup import PairLoad
from hostdx.scenarios.iosched.target import ScheduledDisks
from hostdx.scenarios.triage.knowledge.schedulers import device_class_of
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("iosched")

# The first seconds after a switch are called misleading from this factor on, either way.
ONSET_MISLEADS = 2.0
# Writers at this share of the rate that they are held to were held by us and not by the disk.
HELD = 0.93


class OnsetComparison(msgspec.Struct, frozen=True):
    """The leading metric of one variant before and after the onset, block by block."""

    workload: str
    variant: str
    onsets: tuple[float, ...]
    steadies: tuple[float, ...]
    unit: str


def verdict_finding(
    host: Host, target: ScheduledDisks, variant: str, verdicts: Sequence[ev.RunVerdict]
) -> Finding:
    """One pair of schedulers over all its loads."""
    judged = [v for v in verdicts if not v.control]
    faster = [v for v in judged if v.is_faster]
    slower = [v for v in judged if v.is_slower]
    moved = [v for v in verdicts if v.control and v.is_different]
    open_ones = [v for v in judged if v.is_undecided]
    equal = [v for v in judged if v.is_equal]
    fields: dict[str, Any] = {
        "variant": variant,
        "current": target.current,
        "device": target.names_text,
        "better": _loads_text(faster),
        "worse": _loads_text(slower),
        "open": _loads_text(open_ones),
        "rest": f"; inconclusive for {_loads_text(open_ones)}" if open_ones else "",
        "same": f"no material difference for {_loads_text(equal)}; " if equal else "",
    }
    severity: Severity = "notice"
    if moved:
        title = "control-moved"
    elif faster:
        title = "better-and-worse" if slower else "better"
        severity = "notice" if slower else "warning"
    elif slower:
        title, severity = "worse" if open_ones else "keep", "ok"
    else:
        title, severity = ("undecided", "notice") if open_ones else ("", "ok")
    return SAYS.finding(
        "compared",
        severity=severity,
        subject=f"{target.names_text}:{variant}",
        title=SAYS.text(title, **fields) if title else "",
        evidence=[Evidence(_verdict_with_next_command(v)) for v in verdicts],
        remedy=_use_scheduler_remedies(host, target, variant) if faster and not moved else (),
        **fields,
    )


def _loads_text(verdicts: Sequence[ev.RunVerdict]) -> str:
    """Return what was loaded, in words: "eight random readers, four sequential readers"."""
    titles = {mix.id: mix.title for mix in MIXES}
    load_titles = (
        next((t for i, t in titles.items() if v.workload.startswith(i)), v.workload) for v in verdicts
    )
    return ", ".join(dict.fromkeys(load_titles))


def _verdict_with_next_command(verdict: ev.RunVerdict) -> str:
    title = mark_if_control(_loads_text([verdict]), control=verdict.control)
    text = f"{title}, {verdict.metric}: {effect_words(verdict)}, {count_noun(verdict.groups, 'group')}"
    seconds = estimate_seconds_to_decide(verdict)
    mix = next((m.id for m in MIXES if verdict.workload in (m.id, f"{m.id}-{verdict.variant}")), "")
    if not verdict.is_undecided or seconds is None or not mix:
        return text
    alone = f"--scheduler {verdict.variant} --load {mix} --budget {math.ceil(seconds / 10) * 10}"
    return f"{text}; to decide it, in about {format_duration(seconds)}: {alone}"


def _use_scheduler_remedies(host: Host, target: ScheduledDisks, variant: str) -> tuple[Remedy, ...]:
    remedies: list[Remedy] = []
    for leaf, state in zip(target.leaf_names, target.states, strict=True):
        device = next((d for d in target.devices if d.name == leaf), None)
        flag = device.rotational if device is not None and is_present(device.rotational) else None
        remedies.append(
            make_scheduler_remedy(
                host, leaf, variant, target.current, flag, find_scheduler_origin(host, state)
            )
        )
    if variant == "bfq":
        remedies.extend(bfq_throughput_remedy(leaf) for leaf in target.leaf_names)
    return tuple(remedies)


def onset_finding(device: str, phase: OnsetComparison) -> Finding | None:
    """Where the first seconds after a switch show something else than what follows."""
    if len(phase.onsets) < 2 or not all(phase.steadies):
        return None
    before, after = median(phase.onsets), median(phase.steadies)
    ratio = before / after
    if 1 / ONSET_MISLEADS < ratio < ONSET_MISLEADS:
        return None
    word = "more" if ratio > 1 else "less"
    factor = ratio if ratio > 1 else 1 / ratio
    return SAYS.finding(
        "onset",
        subject=f"{device}:{phase.variant}:{phase.workload}",
        variant=phase.variant,
        factor=f"{factor:.1f}",
        word=word,
        workload=phase.workload,
        before=f"{before:.0f}",
        after=f"{after:.0f}",
        unit=phase.unit,
    )


def writers_reached_bound_finding(
    device: str, job: PairLoad, written: Sequence[Sequence[float]]
) -> Finding | None:
    """Where the writers reached the rate that the write bound leaves them, under every scheduler.

    `written` is MB/s of all writers together, a block each, by scheduler. Then nobody had to wait for them.
    """
    at_most = job.write_rate * job.mix.writer_count / 1e6
    bound = metric_quantity(at_most, "MB/s")
    if not at_most or not all(written) or min(median(w) for w in written) < HELD * at_most:
        return None
    medians = [str(metric_quantity(median(w), "MB/s")) for w in written]
    return SAYS.finding(
        "writers-held",
        subject=f"{device}:{job.variant}:{job.mix.id}",
        load=job.mix.title,
        bound=str(bound),
        mix=job.mix.id,
        evidence=[SAYS.evidence("written", median=rate_text, bound=str(bound)) for rate_text in medians],
    )


def throttling_finding(
    states_by_scheduler: dict[str, tuple[SchedulerState, ...]], current: str
) -> Finding | None:
    """Return what the switches did to write-back throttling, which is compared along with the scheduler."""
    lines: list[Evidence] = []
    for number, state in enumerate(states_by_scheduler.get(current, ())):
        for scheduler, states in states_by_scheduler.items():
            other = states[number]
            if scheduler != current and other.wbt_lat_usec != state.wbt_lat_usec:
                if not (is_present(other.wbt_lat_usec) and is_present(state.wbt_lat_usec)):
                    continue
                lines.append(
                    SAYS.evidence(
                        "wbt-switch",
                        device=state.device,
                        now=state.wbt_lat_usec,
                        current=current,
                        other=other.wbt_lat_usec,
                        scheduler=scheduler,
                    )
                )
    return SAYS.finding("wbt-switch", evidence=lines) if lines else None


def device_class_finding(target: ScheduledDisks) -> Finding | None:
    """Return what this class of device suggests, for the report."""
    if not target.devices:
        return None
    kind = device_class_of(target.devices[0])
    return SAYS.finding(
        "class",
        subject=target.names_text,
        kind=kind.title,
        suggests=" or ".join(kind.suggests),
        why=kind.why,
        references=(kind.source,),
    )
