"""Call chains of many runs become one tree for a pair of variants, each node with its difference and interval.

Chains only divide: CPU time is scaled to the exact one of the run, waits to what is exactly known of them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

from msgspec.structs import asdict

from probes.bench.profile.call_profile import OFF, ON, RUNNABLE
from probes.bench.profile.symbols import Symbols
from probes.bench.run.supervised import Calls, JobRun, Locks
from scenarios.experiment.statistics.stats import student
from scenarios.where.results import Compared, Node, PathTree

MOST_NODES = 2000
LEAST = 0.002  # of all seconds of the larger side: smaller nodes are left out
JUDGED = 0.01  # smaller nodes are not judged
DEEPEST = 60
MOST_FACTOR = 3.0
KEPT = 400  # stacks of a run, the longest
MOST_RUNS = 60  # of a variant whose chains are kept: 10 MB
ROOTS = {ON: "on a CPU", RUNNABLE: "waiting for a CPU", OFF: "waiting"}
NOT_IN_KERNEL = "[kernel: not permitted to sample]"
# The way into the kernel and to the scheduler: on every path, and on none of interest.
PLUMBING = frozenset(
    {
        *("entry_SYSCALL_64_after_hwframe", "do_syscall_64", "x64_sys_call", "el0t_64_sync", "el0_svc"),
        *("el0t_64_sync_handler", "do_el0_svc", "invoke_syscall", "el0_svc_common", "schedule", "__schedule"),
        *("schedule_timeout", "schedule_preempt_disabled", "asm_sysvec_apic_timer_interrupt"),
        *("irqentry_exit_to_user_mode", "irqentry_exit"),
    }
)
FOR_CHILDREN = frozenset(("do_wait", "kernel_wait4"))

Path: TypeAlias = tuple[str, ...]
Paths: TypeAlias = Mapping[Path, float]  # seconds, by the functions from the first caller on


class RunCalls(NamedTuple):
    """What is kept of a run until all are over: names are looked up then."""

    calls: Calls
    cpu_s: float
    user_s: float
    away_s: float | None  # exactly: thread seconds not on a CPU
    locks: Locks | None = None


def kept(job: JobRun) -> RunCalls | None:
    if job.calls is None:
        return None
    longest = sorted(job.calls.stacks, key=lambda stack: -stack[2])[:KEPT]
    calls = Calls(
        kernel=job.calls.kernel,
        waits=job.calls.waits,
        lost=job.calls.lost,
        dropped_s=job.calls.dropped_s,
        files=job.calls.files,
        stacks=tuple(longest),
    )
    away_s = None if job.asleep_s is None else job.asleep_s + job.waited_s
    return RunCalls(calls, job.cpu_s, job.user_s, away_s, job.locks)


def paths(run: RunCalls, symbols: Symbols) -> dict[Path, float]:
    """Seconds by path. A wait for children of its own is left out: what they do meanwhile is in it already."""
    on: dict[Path, float] = {}
    away: dict[Path, float] = {}
    children_s = 0.0
    for kind, stack, seconds in run.calls.stacks:
        names = symbols.names(stack, run.calls.files)
        if kind == OFF and FOR_CHILDREN.intersection(names):
            children_s += seconds
            continue
        path = (ROOTS.get(kind, kind), *(name for name in names if name not in PLUMBING))[:DEEPEST]
        into = on if kind == ON else away
        into[path] = into.get(path, 0.0) + seconds
    found = _scaled(on, run.cpu_s if run.calls.kernel else run.user_s, bound=False)
    if not run.calls.kernel and run.cpu_s > run.user_s:
        found[ROOTS[ON], NOT_IN_KERNEL] = run.cpu_s - run.user_s
    exact = None if run.away_s is None else run.away_s - children_s
    return found | _scaled(away, exact)


def _scaled(found: dict[Path, float], total_s: float | None, *, bound: bool = True) -> dict[Path, float]:
    whole = math.fsum(found.values())
    if total_s is None or whole <= 0 or total_s <= 0:
        return found
    factor = total_s / whole
    if bound and not 1 / MOST_FACTOR <= factor <= MOST_FACTOR:
        return found
    return {path: seconds * factor for path, seconds in found.items()}


class GroupPaths(NamedTuple):
    """The runs of one group, of either side."""

    baseline: Sequence[Paths]
    variant: Sequence[Paths]


def compared(
    baseline: str, variant: str, groups: Sequence[GroupPaths], calls: Sequence[Calls], most: int = MOST_NODES
) -> PathTree | None:
    """None with fewer than 2 groups. `calls`: of all runs, for what is missing in them."""
    if len(groups) < 2:
        return None
    sides = [[_nodes(runs) for runs in side] for side in zip(*groups, strict=True)]
    means = [_mean(side) for side in sides]
    whole = max(math.fsum(s for path, s in mean.items() if len(path) == 1) for mean in means)
    everything = {path: max(mean.get(path, 0.0) for mean in means) for mean in means for path in mean}
    large = sorted(
        (path for path in everything if everything[path] >= LEAST * whole), key=lambda p: -everything[p]
    )
    # A caller is never smaller than what it calls: the largest are a tree. Sorted, callers come first.
    chosen = sorted(sorted(large, key=lambda p: (-everything[p], len(p)))[:most])
    judged = sum(everything[path] >= JUDGED * whole for path in chosen)
    numbers: dict[Path, int] = {}
    nodes: list[Node] = []
    for path in chosen:
        one, other = ([group.get(path, 0.0) for group in side] for side in sides)
        found = asdict(difference(one, other, judged))
        found["differs"] = found["differs"] and everything[path] >= JUDGED * whole
        numbers[path] = len(nodes)
        nodes.append(Node(**found, name=path[-1], up=numbers.get(path[:-1], -1)))
    return PathTree(
        baseline=baseline,
        variant=variant,
        groups=len(groups),
        kernel=all(one.kernel for one in calls),
        waits=all(one.waits for one in calls),
        lost=sum(one.lost for one in calls),
        nodes=tuple(nodes),
    )


def difference(one: Sequence[float], other: Sequence[float], judged: int) -> Compared:
    """Of the groups' means; `judged`: how many are, all together."""
    differences = [b - a for a, b in zip(one, other, strict=True)]
    spread, wide = student(differences, 0.05), student(differences, 0.05 / max(1, judged))
    return Compared(
        baseline_s=fmean(one),
        variant_s=fmean(other),
        difference_s=spread.estimate,
        ci95_s=(spread.low, spread.high),
        differs=not wide.low <= 0 <= wide.high,
    )


def _nodes(runs: Iterable[Paths]) -> dict[Path, float]:
    """Mean seconds of the runs, of every function with all that it calls."""
    found: dict[Path, float] = {}
    count = 0
    for run in runs:
        count += 1
        for path, seconds in run.items():
            for n in range(1, len(path) + 1):
                found[path[:n]] = found.get(path[:n], 0.0) + seconds
    return {path: seconds / count for path, seconds in found.items()}


def _mean(groups: Sequence[Paths]) -> dict[Path, float]:
    found: dict[Path, float] = {}
    for group in groups:
        for path, seconds in group.items():
            found[path] = found.get(path, 0.0) + seconds / len(groups)
    return found
