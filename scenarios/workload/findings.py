"""What a decided difference says: how large it is, and in which parts of the wall time it lies."""

from __future__ import annotations

from hostdx.probes.units import format_number, format_size
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.experiment.wording import effect_words
from hostdx.scenarios.triage.rules.texts import finding_texts
from hostdx.scenarios.workload.difference import (
    WHY_UNKNOWN,
    difference_words,
    max_seconds,
    moved_words,
    part_words,
    wait_words,
)
from hostdx.scenarios.workload.parts import Split
from hostdx.scenarios.workload.results import AtLimit

SAYS = finding_texts("workload")


def wall_finding(verdict: ev.RunVerdict, time_split: Split, limit: AtLimit | None = None) -> Finding:
    """Of a verdict on the wall time that is slower or faster. `limit`: what was met at a memory limit."""
    cause = moved_words(time_split)
    if limit is not None and limit.named:
        cause = f"reclaim at the memory limit of {limit.side}"
    return SAYS.finding(
        "wall",
        variant=time_split.variant,
        effect=effect_words(verdict),
        baseline=time_split.baseline,
        cause=cause,
        evidence=[Evidence(text) for text in time_split_sentences(time_split, limit)],
    )


def undecided_finding(verdict: ev.RunVerdict, time_split: Split, limit: AtLimit | None = None) -> Finding:
    """Of a verdict on the wall time that names no direction: system CPU may be told apart where the whole is not."""
    return SAYS.finding(
        "where",
        severity="ok" if verdict.is_equal else "notice",
        variant=time_split.variant,
        baseline=time_split.baseline,
        verdict=verdict.verdict,
        cause=moved_words(time_split),
        evidence=[Evidence(text) for text in time_split_sentences(time_split, limit)],
    )


def failing_finding(variant: str, failed: int, runs: int, last_error: str) -> Finding:
    """Of a variant whose runs failed, warm-up included."""
    return SAYS.finding("failed", variant=variant, failed=failed, runs=runs, last=last_error)


def time_split_sentences(time_split: Split, limit: AtLimit | None = None) -> list[str]:
    """The whole difference, what a memory limit did, each part by its size, and what could not be told apart."""
    wall_part, *parts = time_split.parts
    lines = [
        f"wall time of a run: {time_split.baseline} {format_number(wall_part.baseline_s)} s, {time_split.variant} "
        f"{format_number(wall_part.variant_s)} s: {difference_words(wall_part)}, over {time_split.groups} groups"
    ]
    if limit is not None:
        lines += limit_sentences(limit)
    for part in sorted(filter(max_seconds, parts), key=lambda part: -abs(part.difference_s)):
        lines.append(f"of that {part_words(part.name)}: {difference_words(part)}")
    lines += [f"of the waits, {wait_words(wait)}: {difference_words(wait)}" for wait in time_split.waits]
    return lines + [WHY_UNKNOWN[name] for name in time_split.unknown if name in WHY_UNKNOWN]


def limit_sentences(limit: AtLimit) -> list[str]:
    """Return what the group counted at its limit, and what that was paid in."""
    amounts = (
        (limit.reclaimed_bytes, "taken away"),
        (limit.refaulted_bytes, "of it soon read again"),
        (limit.swapped_in_bytes, "swapped in"),
    )
    moved = ", ".join(f"{format_size(value)} {action}" for value, action in amounts if value)
    lines = [
        f"the control group of {limit.side} met memory.max or memory.high {format_number(limit.hits)} "
        "times a run, that of "
        f"{limit.other} {format_number(limit.other_hits)} times"
        + (f"; a run of {limit.side}: {moved}" if moved else "")
    ]
    if limit.all_wait_s:
        lines.append(
            f"for {format_number(limit.all_wait_s)} s a run all tasks of {limit.side} waited for memory"
        )
    lines.append(
        f"reclaim that a command does itself, and the faults after it, are its own system CPU and its own waits: "
        f"{limit.paid.name} together {difference_words(limit.paid)}"
    )
    return lines
