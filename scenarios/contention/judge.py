"""From points to curves: gains from step to step, their words, the fit, what the workers waited for.

The unit is the group: each has every load by every number of workers twice, up and down. A step from M to N workers is
held against what the CPU alone gains there in the same group, so that CPU time that others take, SMT and clock rates
are no contention.

The Universal Scalability Law: X(N) = X1 N / (1 + s (N - 1) + k N (N - 1)), fitted to throughput against workers.

s is contention (the part that is serial: s alone is Amdahl's law), k coherence (what each worker costs each other one:
above 0 throughput has a peak and falls after it). Gunther, "Guerrilla Capacity Planning", Springer 2007, chapter 4.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from random import Random
from statistics import fmean, stdev
from typing import NamedTuple

import msgspec

from hostdx.probes.profile.symbols import FrameNames
from hostdx.probes.profile.syscall_names import syscall_name, system_call_names
from hostdx.scenarios.analysis.profile.locks import most_waited_path, waits_by_lock
from hostdx.scenarios.analysis.profile.waits import wait_kind_of, words_for_wait
from hostdx.scenarios.contention.measurement.bench import ScalingPoint
from hostdx.scenarios.contention.plan import CONTROL, MIN_GROUPS, ContentionLoad
from hostdx.scenarios.contention.results import (
    Scalability,
    ScalingCurve,
    ScalingStep,
    WorkersLevel,
    WorkerWait,
)
from hostdx.scenarios.contract.verdict.order import contradiction_words, word_held_to_order
from hostdx.scenarios.contract.verdict.verdict import (
    OPEN,
    UNFIT,
    EffectEstimate,
    OrderEffect,
    UndecidedReason,
    Word,
    margin_edge,
    rule_on_effect,
)
from hostdx.scenarios.experiment.order import order_effect
from hostdx.scenarios.experiment.statistics.distributions import normal_quantile, t_quantile
from hostdx.scenarios.experiment.statistics.least_squares import dot_product, invert_matrix
from hostdx.scenarios.experiment.wording import mark_if_control

RESAMPLED = 400
MIN_COUNTS_FOR_COHERENCE = 3  # worker counts: with two of them s and k cannot be told apart
_RANGE = 0.025


class UslParameters(NamedTuple):
    """`coherence` is None where too few worker counts tell it; then `contention` holds both."""

    single: float  # X1, operations/s
    contention: float
    coherence: float | None

    @property
    def peak_workers(self) -> float | None:
        """Workers at the highest throughput; None where it only flattens."""
        if not self.coherence:
            return None
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherence)


class FittedUsl(NamedTuple):
    """With 95 % intervals over groups: a bootstrap's percentiles, as much wider as few groups ask for. Neither can be
    below 0: each is fitted as if it could, so that an interval that begins at 0 ends where noise would still hide it.
    """

    best: UslParameters
    contention_ci95: tuple[float, float]
    coherence_ci95: tuple[float, float] | None


def fit_usl(rates: Sequence[tuple[int, float]], free: int = 0) -> UslParameters:
    """(workers, operations/s), two counts or more. By least squares of N/X = a + b (N - 1) + c N (N - 1), relative to
    N/X, with none of a, b, c below 0: so every error counts as a share of its point. `free`: 1 or 2, b or c may be.
    """
    rows = [_usl_equation_row(n, x) for n, x in rates]
    columns = 3 if len({n for n, _ in rates}) >= MIN_COUNTS_FOR_COHERENCE else 2
    best: tuple[float, tuple[float, ...]] | None = None
    for size in range(columns):
        for more in combinations(range(1, columns), size):
            free_columns = (0, *more)
            solved = _solve_normal_equations([[row[k] for k in free_columns] for row in rows])
            if (free and free not in free_columns) or solved is None:
                continue
            if any(value < 0 for k, value in zip(free_columns, solved, strict=True) if k != free):
                continue
            coefficients = tuple(
                solved[free_columns.index(k)] if k in free_columns else 0.0 for k in range(3)
            )
            squared_error = sum(
                (sum(w * r for w, r in zip(coefficients, row, strict=True)) - 1) ** 2 for row in rows
            )
            if best is None or squared_error < best[0]:
                best = squared_error, coefficients
    assert best is not None, "a alone always fits: rates are above 0"
    a, b, c = best[1]
    return UslParameters(1 / a, b / a, c / a if columns == 3 else None)


def _usl_equation_row(workers: int, rate: float) -> tuple[float, float, float]:
    unit = rate / workers
    return unit, unit * (workers - 1), unit * workers * (workers - 1)


def _solve_normal_equations(rows: Sequence[Sequence[float]]) -> list[float] | None:
    """The normal equations for a right side of ones; None where they are singular."""
    columns = list(zip(*rows, strict=True))
    scale = [math.hypot(*column) or 1.0 for column in columns]
    scaled = [[x / s for x in column] for column, s in zip(columns, scale, strict=True)]
    inverse = invert_matrix([[dot_product(a, b) for b in scaled] for a in scaled])
    if inverse is None:
        return None
    moments = [math.fsum(column) for column in scaled]
    return [dot_product(row, moments) / s for row, s in zip(inverse, scale, strict=True)]


def fit_with_intervals(groups: Sequence[Sequence[tuple[int, float]]], rng: Random) -> FittedUsl | None:
    """groups: of each the (workers, operations/s); None with fewer than two groups or worker counts."""
    if len(groups) < 2 or len({n for group in groups for n, _ in group}) < 2:
        return None
    best = fit_usl(_mean_rate_by_workers(groups))
    drawn = [_mean_rate_by_workers([rng.choice(groups) for _ in groups]) for _ in range(RESAMPLED)]
    # Percentiles of n groups are those of a normal distribution of variance (n - 1)/n: with six they cover 80 %.
    wider = t_quantile(1 - _RANGE, len(groups) - 1) / normal_quantile(1 - _RANGE)
    wider *= math.sqrt(len(groups) / (len(groups) - 1))
    contention, *rest = (
        _stretched_percentiles(
            [_last_fitted_coefficient(rates, free) for rates in drawn],
            _last_fitted_coefficient(_mean_rate_by_workers(groups), free),
            wider,
        )
        for free in ((1,) if best.coherence is None else (1, 2))
    )
    return FittedUsl(best, contention, rest[0] if rest else None)


def _last_fitted_coefficient(rates: Sequence[tuple[int, float]], free_count: int) -> float:
    model = fit_usl(rates, free_count)
    return model.contention if free_count == 1 else model.coherence or 0.0


def _mean_rate_by_workers(groups: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Geometric, of each worker count."""
    logs: dict[int, list[float]] = {}
    for group in groups:
        for workers, rate in group:
            logs.setdefault(workers, []).append(math.log(rate))
    return [(workers, math.exp(sum(own) / len(own))) for workers, own in sorted(logs.items())]


def _stretched_percentiles(resampled: Sequence[float], best: float, wider: float) -> tuple[float, float]:
    ranked = sorted(resampled)
    last = len(ranked) - 1
    low, high = ranked[round(_RANGE * last)], ranked[round((1 - _RANGE) * last)]
    return max(0.0, best - wider * max(0.0, best - low)), max(0.0, best) + wider * max(0.0, high - best)


ALPHA = 0.05
# Twice the workers must do half as much again (of what the CPU alone does), or the step does not scale.
ASKED = 0.5
MIN_WAIT_SHARE = 0.02  # of the workers' time, to be named
MAX_WAITS = 3
_STARTING = ("anon_pipe_read", "pipe_read", "pipe_wait")  # a worker that waits for the common start

Key = tuple[str, int]  # load and side


class MeasuredPoints(NamedTuple):
    """points: of each group, in the order of groups; each (up, down)."""

    points: Mapping[Key, Mapping[int, Sequence[Sequence[ScalingPoint]]]]

    def log_rates(self, key: Key, workers: int) -> list[float]:
        return [fmean(pair) for pair in self.logs_by_order(key, workers)]

    def logs_by_order(self, key: Key, workers: int) -> list[list[float]]:
        """Of each group the way up, where fewer workers came before, and the way down."""
        return [[math.log(max(p.rate, 1e-9)) for p in group] for group in self.points[key][workers]]


def judge_curves(
    measured: MeasuredPoints,
    loads: Sequence[tuple[ContentionLoad, int]],
    sides: Sequence[str],
    judged: int,
    margin: float,
    rng: Random,
) -> tuple[ScalingCurve, ...]:
    """judged: the most workers that have a CPU each."""
    counts = sorted(measured.points[CONTROL, 0])
    pairs = list(pairwise(counts))
    alpha = ALPHA / max(1, len(pairs) * (len(loads) - 1))
    judged_curves = []
    for curve, (load, side) in zip(curves_so_far(measured, loads, sides), loads, strict=True):
        key = (load.id, side)
        steps = [_judge_step(measured, key, *pair, margin, alpha) for pair in pairs if pair[1] <= judged]
        # More workers than CPUs cannot do more; that they do less than the CPU alone, waking each other, is a lock's.
        over = [_judge_step(measured, key, *p, margin, alpha, over=True) for p in pairs if p[1] > judged]
        steps += [step for step in over if step.is_slower and load.id != CONTROL]
        up_to, after = _last_scaling_and_first_flat(steps)
        usl = _fit_usl_or_none(measured, key, [n for n in counts if n <= judged], rng)
        judged_curves.append(
            msgspec.structs.replace(curve, steps=tuple(steps), scales_to=up_to, stops_after=after, usl=usl)
        )
    return tuple(judged_curves)


def curves_so_far(
    measured: MeasuredPoints, loads: Sequence[tuple[ContentionLoad, int]], sides: Sequence[str]
) -> tuple[ScalingCurve, ...]:
    """Nothing is judged before the end."""
    counts = sorted(measured.points[CONTROL, 0])
    return tuple(
        ScalingCurve(
            load=load.id, title=mark_if_control(load.title, control=load.id == CONTROL), serial=load.serial,
            side=sides[side] if load.files else "",
            groups=len(measured.points[load.id, side][counts[0]]),
            levels=tuple(_workers_level(measured, (load.id, side), n) for n in counts),
            steps=(), scales_to=None, stops_after=None, usl=None,
            waits=_longest_waits(measured.points[load.id, side], counts[1:]),
        )
        for load, side in loads
    )  # fmt: skip


def _mean_with_interval(logs: Sequence[float], alpha: float) -> tuple[float, tuple[float, float]]:
    """With Student's interval; of a single value it is without end."""
    middle = fmean(logs)
    if len(logs) < 2:
        return middle, (-math.inf, math.inf)
    half = t_quantile(1 - alpha / 2, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return middle, (middle - half, middle + half)


def _ratios_of_log_ends(ends: tuple[float, float]) -> tuple[float, float] | None:
    return (math.exp(ends[0]), math.exp(ends[1])) if all(abs(end) < 700 for end in ends) else None


def _log_gains(measured: MeasuredPoints, key: Key, before: int, workers: int) -> list[float]:
    low, high = measured.log_rates(key, before), measured.log_rates(key, workers)
    return [b - a for a, b in zip(low, high, strict=True)]


def _judge_step(
    measured: MeasuredPoints,
    key: Key,
    before: int,
    workers: int,
    margin: float,
    alpha: float,
    *,
    over: bool = False,
) -> ScalingStep:
    """over: more workers than CPUs, so that the CPU alone gains nothing there."""
    gains = _log_gains(measured, key, before, workers)
    control = _log_gains(measured, (CONTROL, 0), before, workers)
    more = workers / before
    asked = math.log((1 + ASKED * (more - 1)) / more)  # of what is there to be gained
    own = key[0] == CONTROL
    there = [math.log(more)] * len(gains) if own else control
    effect, (low, high) = _mean_with_interval(
        [g - c - asked for g, c in zip(gains, there, strict=True)], alpha
    )
    ruling = rule_on_effect(
        EffectEstimate(effect, low, high, margin_edge(margin), units=len(gains), least=MIN_GROUPS)
    )
    word, reason = ruling.word, ""
    if word.is_equal or word.is_undecided:
        word = OPEN
        reason = (
            "too few groups" if ruling.why is UndecidedReason.TOO_FEW else "the interval holds both answers"
        )
    if (
        not own
        and not over
        and word.is_decided
        and (why := _cpus_do_not_allow_reason(control, more, asked, word))
    ):
        word, reason = UNFIT, why
    order = _step_order_effect(
        measured, key, before, workers, 0.0 if not own else math.log(more), asked, margin
    )
    if order is not None and word.is_decided and word_held_to_order(word, order, margin) != word:
        word, reason = OPEN, contradiction_words(order)
    gain, ends = _mean_with_interval(gains, alpha)
    return ScalingStep(
        before=before,
        workers=workers,
        gain=math.exp(gain),
        ci95=_ratios_of_log_ends(ends),
        control=math.exp(fmean(control)),
        alpha=alpha,
        verdict=word,
        reason=reason,
    )


def _step_order_effect(
    measured: MeasuredPoints, key: Key, before: int, workers: int, own: float, asked: float, margin: float
) -> OrderEffect | None:
    """The step's effect on the way up and on the way down; None where a group has not both.

    own: what the CPU alone has to gain, where it is the CPU alone; else what it gained in the same points is taken.
    """
    low, high = measured.logs_by_order(key, before), measured.logs_by_order(key, workers)
    base = [
        [b - a for a, b in zip(*pair, strict=True)]
        for pair in zip(*(measured.logs_by_order((CONTROL, 0), n) for n in (before, workers)), strict=True)
    ]
    effects: list[float] = []
    firsts: list[bool] = []
    for low_pair, other, control in zip(low, high, base, strict=True):
        if not len(low_pair) == len(other) == len(control) == 2:
            return None
        for is_up, a, b, c in zip((True, False), low_pair, other, control, strict=True):
            effects.append(b - a - (own or c) - asked)
            firsts.append(is_up)
    return order_effect(effects, firsts, margin)


def _cpus_do_not_allow_reason(control: Sequence[float], more: float, asked: float, word: Word) -> str:
    """Return why the CPUs themselves do not allow this word; empty where they do."""
    _, (low, _) = _mean_with_interval(control, ALPHA)
    if low <= 0:
        return "the CPU alone gains nothing there: others take the CPUs, or a quota does"
    if word.is_faster and fmean(control) < math.log(more) + asked:
        return "the CPU alone does not scale there: others take the CPUs, or two threads share a core"
    return ""


def _last_scaling_and_first_flat(steps: Iterable[ScalingStep]) -> tuple[int | None, int | None]:
    """Scales up to, does not scale after."""
    up_to: int | None = None
    open_step = False
    for step in steps:
        if step.is_slower:
            return (None if open_step else step.before), step.before
        if step.is_faster and not open_step:
            up_to = step.workers
        elif not step.is_faster:
            open_step = True
    return up_to, None


def _workers_level(measured: MeasuredPoints, key: Key, workers: int) -> WorkersLevel:
    middle, ends = _mean_with_interval(measured.log_rates(key, workers), ALPHA)
    points = [point for group in measured.points[key][workers] for point in group]
    busy = sum(p.user_s + p.system_s for p in points)
    resources = {name for p in points for name in p.stalled}
    return WorkersLevel(
        workers=workers,
        rate=math.exp(middle),
        ci95=_ratios_of_log_ends(ends),
        system_share=sum(p.system_s for p in points) / busy if busy else 0.0,
        queued=fmean(p.queued for p in points),
        switches=sum(p.switches for p in points) / max(1, sum(p.operations for p in points)),
        stalled={name: fmean(p.stalled.get(name, 0.0) for p in points) for name in sorted(resources)},
    )


def _fit_usl_or_none(
    measured: MeasuredPoints, key: Key, counts: Sequence[int], rng: Random
) -> Scalability | None:
    by_count = [[(n, math.exp(x)) for x in measured.log_rates(key, n)] for n in counts]
    fit = fit_with_intervals(list(zip(*by_count, strict=True)), rng)
    if fit is None:
        return None
    best = fit.best
    return Scalability(
        contention=best.contention, contention_ci95=fit.contention_ci95, coherence=best.coherence,
        coherence_ci95=fit.coherence_ci95, peak=best.peak_workers,
    )  # fmt: skip


def with_lock_waits(
    curve: ScalingCurve, point: ScalingPoint, workers: int, symbols: FrameNames
) -> ScalingCurve:
    """Return the waits with those that the kernel counted by itself in one more point, instead of sampled ones."""
    if point.locks is None:
        return curve
    total_seconds = workers * point.seconds
    lock_waits = [
        WorkerWait(
            place=place, call="", what=kind, share=min(1.0, math.fsum(wait.seconds for wait in waits) / total_seconds),
            stack=most_waited_path(waits, holder=False), holder=most_waited_path(waits, holder=True),
        )
        for (kind, place), waits in waits_by_lock(point.locks, symbols).items()
    ]  # fmt: skip
    large = [wait for wait in lock_waits if wait.share >= MIN_WAIT_SHARE]
    places = {wait.place for wait in large}
    waits = sorted((*large, *(w for w in curve.waits if w.place not in places)), key=lambda wait: -wait.share)
    return msgspec.structs.replace(curve, waits=tuple(waits[:MAX_WAITS]))


def _longest_waits(
    levels: Mapping[int, Sequence[Sequence[ScalingPoint]]], counts: Sequence[int]
) -> tuple[WorkerWait, ...]:
    """Of all points with more than one worker, the longest first."""
    call_names = system_call_names()
    points = [(n, p) for n in counts for group in levels[n] for p in group]
    slept: dict[tuple[str, str, str], dict[tuple[str, ...], float]] = {}  # by stack
    total = 0.0
    for n, point in points:
        total += n * point.seconds * (1 - point.queued)
        for wait in point.waits:
            if wait.place and wait.place not in _STARTING:
                key = (wait.place, syscall_name(wait.call, call_names), wait.state)
                by_stack = slept.setdefault(key, {})
                by_stack[wait.stack] = by_stack.get(wait.stack, 0.0) + wait.thread_s
    waits = [
        WorkerWait(
            place=place, call=call, what=words_for_wait(wait_kind_of(state, call, place)),
            share=min(1.0, sum(by_stack.values()) / total), stack=max(by_stack, key=by_stack.__getitem__),
        )
        for (place, call, state), by_stack in slept.items()
        if total
    ]  # fmt: skip
    large = [wait for wait in waits if wait.share >= MIN_WAIT_SHARE]
    return tuple(sorted(large, key=lambda wait: -wait.share)[:MAX_WAITS])
