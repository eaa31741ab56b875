"""Where the time went: the difference in wall time between two variants, part by part, each with its interval; and
whether a memory limit is the cause: what a run's group counted at its limit, beside these parts.

Reclaim that a command does itself is its own system CPU, and so are the faults that bring back what was taken: the
largest part is then system CPU, which is no cause. The group's memory.events, memory.stat and PSI tell whose it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

from msgspec.structs import asdict, replace

from hostdx.probes.engine.command import perf_events, topdown
from hostdx.probes.profile.symbols import FrameNames
from hostdx.scenarios.analysis.profile.call_paths import (
    MAX_NODES,
    GroupPaths,
    RunCalls,
    compare_call_paths,
    compare_seconds,
    seconds_by_path,
)
from hostdx.scenarios.analysis.profile.locks import lock_table, waits_by_lock
from hostdx.scenarios.analysis.profile.results import LockTable, PathTree
from hostdx.scenarios.analysis.profile.waits import UNSEEN, WaitTotal, longest_calls
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.experiment.levels import fit_variant_levels, values_of_pair
from hostdx.scenarios.experiment.statistics.stats import student_interval
from hostdx.scenarios.workload.difference import REST
from hostdx.scenarios.workload.parts import BlockedOn, CounterRate, Split, TimePart
from hostdx.scenarios.workload.results import AtLimit
from hostdx.scenarios.workload.variant_bench import (
    ALL_WAIT,
    BLOCKED,
    HITS,
    LOOKS,
    MEMORY,
    MINOR_FAULTS,
    MUTEX,
    OTHER_D,
    OWN_RECLAIM,
    QUOTA,
    RECLAIMED,
    REFAULTED,
    SWAPPED_IN,
    SYSTEM,
    USER,
    WAITING,
    WALL,
    CommandVariantBench,
)

Waits: TypeAlias = Mapping[tuple[str, float], Sequence[WaitTotal]]
PARTS = (USER, SYSTEM, WAITING, QUOTA, MUTEX, BLOCKED, MEMORY, OTHER_D)
INSTRUCTIONS, PER_CYCLE = "instructions", "instructions per cycle"
CACHE, BRANCH = "last-level cache misses", "branch misses"
RATES = {INSTRUCTIONS: "", PER_CYCLE: "", CACHE: "per 1000 instructions", BRANCH: "per 1000 instructions"}
RATES |= dict.fromkeys(topdown.SHARES, "of the slots")
MIN_REST_S = 1e-9  # the clock's own step: less is what the division leaves of nothing
PAID_IN = (SYSTEM, BLOCKED, MEMORY, OTHER_D)  # what a limit is paid in
ELSEWHERE = (USER, WAITING, QUOTA, MUTEX, REST)
FAR_LESS = 0.1  # the other side meets a limit at most so often
FAULT_S = 1e-5  # of system CPU a page fault takes at most (0.3 to 4 µs; more in virtual machines that get a page anew)
MIN_WAIT_SHARE = 0.002  # of the wall time of a run
MAX_WAITS = 12
STALLED = 0.1  # of the difference is stalls for memory at least: else it was met, and cheap (old page cache dropped)


def counter_rates(values: Mapping[str, float]) -> dict[str, float]:
    """One run's, by the names in RATES; empty where the CPU's counters are missing."""
    run_rates = {name: values[name] for name in topdown.SHARES if name in values}
    cycles, instructions = values.get(perf_events.CYCLES), values.get(perf_events.INSTRUCTIONS)
    if instructions:
        run_rates[INSTRUCTIONS] = instructions
        if cycles:
            run_rates[PER_CYCLE] = instructions / cycles
        for name, event in ((CACHE, perf_events.CACHE_MISSES), (BRANCH, perf_events.BRANCH_MISSES)):
            if event in values:
                run_rates[name] = 1000 * values[event] / instructions
    return run_rates


def divide_wall_time(values: Mapping[str, float], known_parts: Sequence[str]) -> dict[str, float]:
    """One run's wall time in its parts. They are sums over threads: where several work or wait at once, and the sums
    are more than the wall time, each second of it is divided in the proportion of the sums, and nothing is left over.
    Reclaim of its own is system CPU by the kernel's account (it seldom sleeps): where it is known it counts once.
    """
    wall = values[WALL]
    parts = {name: values[name] for name in known_parts}
    if SYSTEM in parts and MEMORY in parts:
        parts[SYSTEM] = max(0.0, parts[SYSTEM] - values.get(OWN_RECLAIM, 0.0))
    total = math.fsum(parts.values())
    scale = wall / total if total > wall else 1.0
    parts = {name: value * scale for name, value in parts.items()}
    rest = wall - math.fsum(parts.values())
    sums = {_key_over_threads(name): values[name] for name in (USER, SYSTEM) if name in parts}
    return {WALL: wall, **parts, REST: rest if rest > MIN_REST_S else 0.0, **sums}


def _key_over_threads(name: str) -> str:
    """Of a part, over all threads."""
    return f"sum {name}"


def divide_waits(parts: Mapping[str, float], waits: Sequence[WaitTotal]) -> dict[str, float]:
    """One run's waits in seconds of its wall time, by their keys; they divide what is known of its parts, no more."""
    totals = {
        True: math.fsum(parts.get(name, 0.0) for name in (BLOCKED, OTHER_D)),
        False: parts[REST],
    }
    wait_seconds: dict[str, float] = {}
    for hard, total in totals.items():
        weights = {
            w.cause_id: w.thread_s if hard else w.alone_s
            for w in waits
            if w.hard == hard and w.cause_id != MUTEX
        }
        weight_sum = math.fsum(weights.values())
        if not hard and WAITING not in parts:  # the rest holds what waited for a CPU: not theirs to divide
            wait_seconds[_wait_key(UNSEEN, hard)] = max(0.0, total - weight_sum)
            total = min(total, weight_sum)
        for wait_name, weight in weights.items():
            if weight > 0:
                wait_seconds[_wait_key(wait_name, hard)] = total * weight / weight_sum
    return wait_seconds


def _wait_key(wait_name: str, uninterruptible: bool) -> str:
    return f"{'D' if uninterruptible else 'S'} {wait_name}"


def _scale_seconds_only(run: Mapping[str, float], factor: float) -> dict[str, float]:
    """Its seconds; counts and rates stay."""
    counts = (MINOR_FAULTS, *RATES)
    return {name: value if name in counts else value * factor for name, value in run.items()}


class PartsOfGroups(NamedTuple):
    """Groups that count, with every run of either side divided; `known_parts` parts are in all of them.

    `wait_seconds`: by a wait's key, its calls with thread seconds of all runs; empty where a run's waits are not known.
    """

    known_parts: list[str]
    parts_by_side: list[dict[str, list[dict[str, float]]]]
    wait_seconds: dict[str, dict[str, float]]

    @property
    def line_count(self) -> int:
        """Intervals that stand beside each other."""
        rates = sum(name in RATES for name in next(iter(self.parts_by_side[0].values()))[0])
        return len(self.known_parts) + 1 + len(self.wait_seconds) + rates

    def sum_parts(self, baseline: str, variant: str, *names: str) -> TimePart:
        """These parts together."""
        first, other = (
            [
                fmean([math.fsum(run.get(name, 0.0) for name in names) for run in sides[side]])
                for sides in self.parts_by_side
            ]
            for side in (baseline, variant)
        )
        fields = asdict(compare_seconds(first, other, 1))
        fields["differs"] = self._differ_beyond_least(first, other, names[0] if names[0] in RATES else WALL)
        unmoved = False
        if names in ((USER,), (SYSTEM,)):
            moved_s = self.sum_parts(baseline, variant, _key_over_threads(names[0])).difference_s
            unmoved = abs(moved_s) < 0.5 * abs(fields["difference_s"])
        return TimePart(**fields, name=", ".join(names), unmoved=unmoved)

    def _differ_beyond_least(self, first: Sequence[float], other: Sequence[float], of: str = WALL) -> bool:
        """Beside LEAST_WAIT of a run: what is smaller is no ratio."""
        all_values = [run[of] for sides in self.parts_by_side for runs in sides.values() for run in runs]
        least = MIN_WAIT_SHARE * max(all_values, default=1.0) or 1.0
        ratios = [math.log((b + least) / (a + least)) for a, b in zip(first, other, strict=True)]
        wide = student_interval(ratios, 0.05 / self.line_count)
        return not wide.low <= 0 <= wide.high

    def use_first(self, count: int, values: tuple[float, float] | None) -> PartsOfGroups:
        """So many groups, with the seconds of each side scaled by one factor to its wall time in `values`.

        Means of a few runs are not the values beside a verdict (see `experiment.levels`): they differ by a percent.
        """
        used = self.parts_by_side[: max(2, count)]
        if values is None:
            return self._replace(parts_by_side=used)
        factors = {
            side: value / fmean(fmean(run[WALL] for run in sides[side]) for sides in used)
            for side, value in zip(used[0], values, strict=True)
        }
        runs = [
            {
                side: [_scale_seconds_only(run, factors[side]) for run in side_runs]
                for side, side_runs in sides.items()
            }
            for sides in used
        ]
        return self._replace(parts_by_side=runs)

    def compare_rates(self, baseline: str, variant: str) -> tuple[CounterRate, ...]:
        """Those that every run has."""
        runs = [run for sides in self.parts_by_side for runs in sides.values() for run in runs]
        rate_rows = []
        for name, unit in RATES.items():
            if all(name in run for run in runs):
                part = asdict(self.sum_parts(baseline, variant, name))
                rate_rows.append(
                    CounterRate(
                        **{key.removesuffix("_s"): value for key, value in part.items() if key != "unmoved"}, unit=unit
                    )
                )  # fmt: skip
        return tuple(rate_rows)

    def compare_waits(self, baseline: str, variant: str) -> tuple[BlockedOn, ...]:
        """The largest difference first; small ones on both sides are left out."""
        blocked_on = []
        for key, calls in self.wait_seconds.items():
            part = self.sum_parts(baseline, variant, key)
            fields = asdict(part) | {"name": key[2:]}
            blocked_on.append(BlockedOn(**fields, calls=longest_calls(calls), hard=key.startswith("D")))
        wall_part = self.sum_parts(baseline, variant, WALL)
        least = MIN_WAIT_SHARE * max(wall_part.baseline_s, wall_part.variant_s)
        shown = [wait for wait in blocked_on if max(wait.baseline_s, wait.variant_s) >= least]
        return tuple(sorted(shown, key=lambda wait: -abs(wait.difference_s))[:MAX_WAITS])


def counted_runs(blocks: Sequence[ev.Block], baseline: str, variant: str) -> list[ev.Block]:
    """The runs of the two that count and were measured."""
    return [
        b for b in blocks if b.variant in (baseline, variant) and b.phase == "steady" and WALL in b.values
    ]


def divided_groups_of(
    blocks: Sequence[ev.Block], baseline: str, variant: str, waits: Waits | None = None
) -> PartsOfGroups | None:
    """None with fewer than 2. A part that is missing in one run is not known."""
    waits = waits or {}
    both = counted_runs(blocks, baseline, variant)
    known_parts = [name for name in PARTS if all(name in b.values for b in both)]
    has_waits = all((b.variant, b.values[WALL]) in waits for b in both)
    groups: dict[int, dict[str, list[dict[str, float]]]] = {}
    calls: dict[str, dict[str, float]] = {}
    for block in both:
        sides = groups.setdefault(block.group, {baseline: [], variant: []})
        run = divide_wall_time(block.values, known_parts)
        own = waits[block.variant, block.values[WALL]] if has_waits else ()
        counts = counter_rates(block.values)
        counts |= {name: block.values[name] for name in (MINOR_FAULTS,) if name in block.values}
        sides[block.variant].append({**run, **divide_waits(run, own), **counts})
        for wait in own if has_waits else ():
            if wait.cause_id == MUTEX:  # it is a part of its own
                continue
            sums = calls.setdefault(_wait_key(wait.cause_id, wait.hard), {})
            for name, seconds in wait.calls.items():
                sums[name] = sums.get(name, 0.0) + seconds
    if has_waits and WAITING not in known_parts:
        calls[_wait_key(UNSEEN, False)] = {}
    full_groups = [sides for sides in groups.values() if all(sides.values())]
    return PartsOfGroups(known_parts, full_groups, calls) if len(full_groups) >= 2 else None


def wall_times_beside_verdicts(
    blocks: Sequence[ev.Block], verdicts: Sequence[ev.RunVerdict]
) -> list[tuple[float, float] | None]:
    """Return the wall times of baseline and variant beside each of these verdicts, as every view shows them."""
    means: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    effects = {(v.baseline, v.variant): -math.log(v.ratio) for v in verdicts if v.ratio}
    for verdict in verdicts:
        groups = divided_groups_of(blocks, verdict.baseline, verdict.variant)
        pair = (verdict.baseline, verdict.variant)
        used = groups.parts_by_side[: verdict.groups] if groups is not None else []
        left, right = ([fmean(run[WALL] for run in sides[name]) for sides in used] for name in pair)
        means[pair] = (left, right)
    values = fit_variant_levels(means, effects)
    return [values_of_pair(values, verdict, -1) for verdict in verdicts]


def split_wall_time(
    blocks: Sequence[ev.Block],
    baseline: str,
    variant: str,
    waits: Waits | None = None,
    verdict: ev.RunVerdict | None = None,
    values: tuple[float, float] | None = None,
) -> Split | None:
    """Over the groups that count; None with fewer than 2. `waits` of each run, by its variant and wall time.

    verdict: that on the wall time; then the split is over its groups. values: what stands beside it, in seconds; then
    the parts of either side sum to them.
    """
    groups = divided_groups_of(blocks, baseline, variant, waits)
    if groups is None:
        return None
    if verdict is not None:
        groups = groups.use_first(verdict.groups, values)
    wall_part, *parts = (
        groups.sum_parts(baseline, variant, name) for name in (WALL, *groups.known_parts, REST)
    )
    if verdict is not None and verdict.delta_ci95 is not None:
        wall_part = replace(wall_part, ci95_s=verdict.delta_ci95)
    return Split(
        baseline=baseline,
        variant=variant,
        groups=len(groups.parts_by_side),
        parts=(wall_part, *parts),
        unknown=tuple(name for name in PARTS if name not in (*groups.known_parts, QUOTA, MUTEX)),
        waits=groups.compare_waits(baseline, variant),
        faults=_page_fault_difference(groups, baseline, variant),
        rates=groups.compare_rates(baseline, variant),
        looks=fmean(looks) if (looks := [b.values[LOOKS] for b in blocks if LOOKS in b.values]) else None,
    )


def _page_fault_difference(groups: PartsOfGroups, baseline: str, variant: str) -> float | None:
    """More (or fewer) page faults a run where they are as many as the difference in system CPU takes; else None."""
    if SYSTEM not in groups.known_parts:
        return None
    faults, system = (groups.sum_parts(baseline, variant, name) for name in (MINOR_FAULTS, SYSTEM))
    enough = faults.difference_s * FAULT_S / system.difference_s >= 1 if system.difference_s else False
    return faults.difference_s if faults.differs and system.differs and enough else None


class ProfiledGroups(NamedTuple):
    """`groups` in which every run of the two has call chains, of either side."""

    pair: tuple[str, str]
    groups: list[tuple[list[RunCalls], list[RunCalls]]]

    @property
    def all_runs(self) -> list[RunCalls]:
        return [run for sides in self.groups for side in sides for run in side]

    def build_tree(self, symbols: FrameNames, pairs: int) -> PathTree | None:
        """None with fewer than 2 groups."""
        groups = [
            GroupPaths(*([seconds_by_path(run, symbols) for run in side] for side in sides))
            for sides in self.groups
        ]
        return compare_call_paths(
            *self.pair, groups, [run.calls for run in self.all_runs], MAX_NODES // max(1, pairs)
        )

    def build_lock_table(self, symbols: FrameNames) -> LockTable | None:
        """None with fewer than 2 groups, or where a run has none."""
        if any(run.locks is None for run in self.all_runs):
            return None
        first, other = (
            [[waits_by_lock(run.locks, symbols) for run in sides[n] if run.locks] for sides in self.groups]
            for n in (0, 1)
        )
        lost = sum(run.locks.lost for run in self.all_runs if run.locks)
        return lock_table(*self.pair, list(zip(first, other, strict=True)), lost)


def collect_profiles(
    blocks: Sequence[ev.Block], benches: Sequence[CommandVariantBench], pair: tuple[str, str]
) -> ProfiledGroups:
    runs: dict[int, dict[str, list[RunCalls | None]]] = {}
    chains = {bench.variant: bench.chains for bench in benches}
    for block in counted_runs(blocks, *pair):
        sides = runs.setdefault(block.group, {name: [] for name in pair})
        sides[block.variant].append(chains[block.variant].get(block.values[WALL]))
    baseline, variant = pair
    full_groups = [
        ([run for run in sides[baseline] if run], [run for run in sides[variant] if run])
        for sides in runs.values()
        if all(sides[name] and None not in sides[name] for name in pair)
    ]
    return ProfiledGroups(pair, full_groups)


def find_limit_cause(blocks: Sequence[ev.Block], baseline: str, variant: str) -> AtLimit | None:
    """None where the slower side did not meet a limit in every run, or the other one met one nearly as often."""
    groups = divided_groups_of(blocks, baseline, variant)
    if groups is None:
        return None
    wall_part = groups.sum_parts(baseline, variant, WALL)
    slow, fast = (variant, baseline) if wall_part.difference_s > 0 else (baseline, variant)
    runs = {
        side: [b.values for b in counted_runs(blocks, baseline, variant) if b.variant == side]
        for side in (slow, fast)
    }
    if not all(HITS in run for side in runs.values() for run in side):
        return None
    hits, other_hits = (math.fsum(run[HITS] for run in runs[side]) / len(runs[side]) for side in (slow, fast))
    if not all(run[HITS] > 0 for run in runs[slow]) or other_hits > FAR_LESS * hits:
        return None

    def mean(name: str) -> float | None:
        values = [run[name] for run in runs[slow] if name in run]
        return math.fsum(values) / len(values) if len(values) == len(runs[slow]) else None

    paid = groups.sum_parts(baseline, variant, *(name for name in PAID_IN if name in groups.known_parts))
    stalled = groups.sum_parts(baseline, variant, MEMORY) if MEMORY in groups.known_parts else None
    sign = math.copysign(1.0, wall_part.difference_s)
    elsewhere = [
        groups.sum_parts(baseline, variant, n) for n in ELSEWHERE if n in groups.known_parts or n == REST
    ]
    is_cause = (
        stalled is not None
        and is_interval_of_sign(stalled, sign)
        and is_interval_of_sign(paid, sign)
        and sign * stalled.difference_s >= STALLED * abs(wall_part.difference_s)
        and 2 * sign * paid.difference_s > abs(wall_part.difference_s)
        and all(sign * paid.difference_s > sign * part.difference_s for part in elsewhere)
    )
    return AtLimit(
        side=slow,
        other=fast,
        hits=hits,
        other_hits=other_hits,
        reclaimed_bytes=mean(RECLAIMED),
        refaulted_bytes=mean(REFAULTED),
        swapped_in_bytes=mean(SWAPPED_IN),
        all_wait_s=mean(ALL_WAIT),
        paid=paid,
        named=is_cause,
    )


def is_interval_of_sign(part: TimePart, sign: float) -> bool:
    """The whole interval lies on that side of 0."""
    return min(sign * end for end in part.ci95_s) > 0
