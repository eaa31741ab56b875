"""Call chains of many runs become one tree for a pair of variants, each node with its difference and interval.

Chains only divide: CPU time is scaled to the exact one of the run, waits to what is exactly known of them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

from msgspec.structs import asdict, replace

from hostdx.probes.engine.command.supervised import CallChains, JobRun, KernelLockWaits
from hostdx.probes.profile.call_profile import OFF, ON, RUNNABLE
from hostdx.probes.profile.symbols import FrameNames
from hostdx.scenarios.analysis.profile.results import CallNode, ComparedSeconds, PathTree
from hostdx.scenarios.experiment.statistics.stats import student_interval

MAX_NODES = 2000
MIN_NODE_SHARE = 0.002  # of all seconds of the larger side: smaller nodes are left out
MIN_JUDGED_SHARE = 0.01  # smaller nodes are not judged
DEEPEST = 60
MAX_SCALE_FACTOR = 3.0
MAX_STACKS = 400  # stacks of a run, the longest
MAX_RUNS = 60  # of a variant whose chains are kept: 10 MB
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

    calls: CallChains
    cpu_s: float
    user_s: float
    away_s: float | None  # exactly: thread seconds not on a CPU
    locks: KernelLockWaits | None = None


def run_calls_of(job: JobRun) -> RunCalls | None:
    if job.calls is None:
        return None
    longest = sorted(job.calls.stacks, key=lambda stack: -stack[2])[:MAX_STACKS]
    calls = replace(job.calls, stacks=tuple(longest))
    away_s = None if job.asleep_s is None else job.asleep_s + job.waited_s
    return RunCalls(calls, job.cpu_s, job.user_s, away_s, job.locks)


def seconds_by_path(run: RunCalls, symbols: FrameNames) -> dict[Path, float]:
    """Seconds by path. A wait for children of its own is left out: what they do meanwhile is in it already."""
    on: dict[Path, float] = {}
    away: dict[Path, float] = {}
    children_s = 0.0
    for kind, stack, seconds in run.calls.stacks:
        names = symbols.frame_names(stack, run.calls.files)
        if kind == OFF and FOR_CHILDREN.intersection(names):
            children_s += seconds
            continue
        path = (ROOTS.get(kind, kind), *(name for name in names if name not in PLUMBING))[:DEEPEST]
        into = on if kind == ON else away
        into[path] = into.get(path, 0.0) + seconds
    scaled_paths = _scale_paths(on, run.cpu_s if run.calls.kernel else run.user_s, bound=False)
    if not run.calls.kernel and run.cpu_s > run.user_s:
        scaled_paths[ROOTS[ON], NOT_IN_KERNEL] = run.cpu_s - run.user_s
    exact = None if run.away_s is None else run.away_s - children_s
    return scaled_paths | _scale_paths(away, exact)


def _scale_paths(paths: dict[Path, float], total_s: float | None, *, bound: bool = True) -> dict[Path, float]:
    total = math.fsum(paths.values())
    if total_s is None or total <= 0 or total_s <= 0:
        return paths
    factor = total_s / total
    if bound and not 1 / MAX_SCALE_FACTOR <= factor <= MAX_SCALE_FACTOR:
        return paths
    return {path: seconds * factor for path, seconds in paths.items()}


class GroupPaths(NamedTuple):
    """The runs of one group, of either side."""

    baseline: Sequence[Paths]
    variant: Sequence[Paths]


def compare_call_paths(
    baseline: str,
    variant: str,
    groups: Sequence[GroupPaths],
    calls: Sequence[CallChains],
    max_nodes: int = MAX_NODES,
) -> PathTree | None:
    """None with fewer than 2 groups. `calls`: of all runs, for what is missing in them."""
    if len(groups) < 2:
        return None
    sides = [[_mean_inclusive_seconds(runs) for runs in side] for side in zip(*groups, strict=True)]
    means = [_mean_by_path(side) for side in sides]
    total_s = max(math.fsum(s for path, s in mean.items() if len(path) == 1) for mean in means)
    everything = {path: max(mean.get(path, 0.0) for mean in means) for mean in means for path in mean}
    large = sorted(
        (path for path in everything if everything[path] >= MIN_NODE_SHARE * total_s),
        key=lambda p: -everything[p],
    )
    # A caller is never smaller than what it calls: the largest are a tree. Sorted, callers come first.
    chosen = sorted(sorted(large, key=lambda p: (-everything[p], len(p)))[:max_nodes])
    judged = sum(everything[path] >= MIN_JUDGED_SHARE * total_s for path in chosen)
    numbers: dict[Path, int] = {}
    nodes: list[CallNode] = []
    for path in chosen:
        baseline_s, variant_s = ([group.get(path, 0.0) for group in side] for side in sides)
        fields = asdict(compare_seconds(baseline_s, variant_s, judged))
        fields["differs"] = fields["differs"] and everything[path] >= MIN_JUDGED_SHARE * total_s
        numbers[path] = len(nodes)
        nodes.append(CallNode(**fields, name=path[-1], up=numbers.get(path[:-1], -1)))
    return PathTree(
        baseline=baseline,
        variant=variant,
        groups=len(groups),
        kernel=all(baseline_s.kernel for baseline_s in calls),
        waits=all(baseline_s.waits for baseline_s in calls),
        lost=sum(baseline_s.lost for baseline_s in calls),
        nodes=tuple(nodes),
    )


def compare_seconds(baseline: Sequence[float], variant: Sequence[float], family: int) -> ComparedSeconds:
    """Of the groups' means; `family`: how many are judged together."""
    differences = [b - a for a, b in zip(baseline, variant, strict=True)]
    spread, wide = student_interval(differences, 0.05), student_interval(differences, 0.05 / max(1, family))
    return ComparedSeconds(
        baseline_s=fmean(baseline),
        variant_s=fmean(variant),
        difference_s=spread.estimate,
        ci95_s=(spread.low, spread.high),
        differs=not wide.low <= 0 <= wide.high,
    )


def _mean_inclusive_seconds(runs: Iterable[Paths]) -> dict[Path, float]:
    """Mean seconds of the runs, of every function with all that it calls."""
    seconds_by_path: dict[Path, float] = {}
    count = 0
    for run in runs:
        count += 1
        for path, seconds in run.items():
            for n in range(1, len(path) + 1):
                seconds_by_path[path[:n]] = seconds_by_path.get(path[:n], 0.0) + seconds
    return {path: seconds / count for path, seconds in seconds_by_path.items()}


def _mean_by_path(groups: Sequence[Paths]) -> dict[Path, float]:
    means: dict[Path, float] = {}
    for group in groups:
        for path, seconds in group.items():
            means[path] = means.get(path, 0.0) + seconds / len(groups)
    return means
