"""What a decided difference says: how large it is, and in which parts of the wall time it lies."""

from __future__ import annotations

from probes.units import number, size
from scenarios import events as ev
from scenarios.experiment.wording import effect_words
from scenarios.finding import Evidence, Finding
from scenarios.rules.texts import texts
from scenarios.workload.arm import BLOCKED, MEMORY, OTHER_D, SYSTEM, USER, WAITING
from scenarios.workload.results import AtLimit, Part, Split
from scenarios.workload.split import REST

SAYS = texts("workload")

WORDS = {
    USER: "user CPU",
    SYSTEM: "system CPU",
    WAITING: "waiting for a CPU",
    BLOCKED: "waiting for block I/O",
    MEMORY: "swap and reclaim (memory pressure)",
    OTHER_D: "other waits that cannot be interrupted (state D; a file system's journal, for example)",
    REST: "the rest (asleep, and other waits)",
}
WHY_UNKNOWN = {
    WAITING: "waiting for a CPU is in the rest: its processes ended too quickly to be sampled",
    BLOCKED: "waiting for block I/O is in the other waits and the rest: it needs a control group of its own (root, "
    "cgroup2), or kernel.task_delayacct=1 before the command starts, and processes that live longer than "
    "the sampling interval",
    OTHER_D: "waits in state D are in the rest: there were too many processes at once to sample all of them",
    MEMORY: "swap and reclaim are in the other waits and the rest: the pressure (PSI) of a control group of its own "
    "shows them, which needs root, cgroup2 mounted writable and a kernel with PSI on",
}


def finding(verdict: ev.Verdict, found: Split, limit: AtLimit | None = None) -> Finding:
    """Of a verdict on the wall time that is slower or faster. `limit`: what was met at a memory limit."""
    whole, parts = found.parts[0], found.parts[1:]
    named = sorted(parts, key=lambda part: -part.difference_s * (1 if whole.difference_s > 0 else -1))[0]
    cause = WORDS[named.name]
    if limit is not None and limit.named:
        cause = f"reclaim at the memory limit of {limit.side}"
    return SAYS.finding(
        "wall",
        variant=found.variant,
        effect=effect_words(verdict),
        baseline=found.baseline,
        cause=cause,
        evidence=[Evidence(text) for text in sentences(found, limit)],
    )


def undecided(verdict: ev.Verdict, found: Split, limit: AtLimit | None = None) -> Finding:
    """Of a verdict on the wall time that names no direction: system CPU may be told apart where the whole is not."""
    return SAYS.finding(
        "where",
        severity="ok" if verdict.equal else "notice",
        variant=found.variant,
        baseline=found.baseline,
        verdict=verdict.verdict,
        evidence=[Evidence(text) for text in sentences(found, limit)],
    )


def failing(variant: str, failed: int, runs: int, last: str) -> Finding:
    """Of a variant whose runs failed, warm-up included."""
    return SAYS.finding("failed", variant=variant, failed=failed, runs=runs, last=last)


def sentences(found: Split, limit: AtLimit | None = None) -> list[str]:
    """The whole difference, what a memory limit did, each part by its size, and what could not be told apart."""
    whole, *parts = found.parts
    lines = [
        f"mean wall time of a run: {found.baseline} {number(whole.baseline_s)} s, {found.variant} "
        f"{number(whole.variant_s)} s: {_words(whole)}, over {found.groups} groups"
    ]
    if limit is not None:
        lines += limit_sentences(limit)
    for part in sorted(parts, key=lambda part: -abs(part.difference_s)):
        lines.append(f"of that {WORDS[part.name]}: {_words(part)}")
    return lines + [WHY_UNKNOWN[name] for name in found.unknown if name in WHY_UNKNOWN]


def limit_sentences(limit: AtLimit) -> list[str]:
    """What the group counted at its limit, and what that was paid in."""
    told = (
        (limit.reclaimed_bytes, "taken away"),
        (limit.refaulted_bytes, "of it soon read again"),
        (limit.swapped_in_bytes, "swapped in"),
    )
    moved = ", ".join(f"{size(value)} {what}" for value, what in told if value)
    lines = [
        f"the control group of {limit.side} met memory.max or memory.high {number(limit.hits)} times a run, that of "
        f"{limit.other} {number(limit.other_hits)} times"
        + (f"; a run of {limit.side}: {moved}" if moved else "")
    ]
    if limit.all_wait_s:
        lines.append(f"for {number(limit.all_wait_s)} s a run all tasks of {limit.side} waited for memory")
    lines.append(
        f"reclaim that a command does itself, and the faults after it, are its own system CPU and its own waits: "
        f"{limit.paid.name} together {_words(limit.paid)}"
    )
    return lines


def _words(part: Part) -> str:
    low, high = part.ci95_s
    return f"{_signed(part.difference_s)} s (95 % CI {_signed(low)} to {_signed(high)} s)"


def _signed(seconds: float) -> str:
    return f"{'−' if seconds < 0 else '+'}{number(abs(seconds))}"
