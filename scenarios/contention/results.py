"""What a run of `contention` records: throughput against workers of each load, where it stops, and what waits there."""

import math
from typing import Annotated, ClassVar

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import (
    Axis,
    Cell,
    Chart,
    ChartSeries,
    Mono,
    Part,
    ReportSection,
    Table,
    paragraph_of,
)
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.contract.verdict.verdict import NOT_YET, Judged, Word

MARKS = "ox+*#@%&"
IDEAL, FITTED, FITTED_POINTS = "/", ".", 12
CHARTED = 4  # loads in a chart: more marks are not told apart


class WorkersLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One load by so many workers: the geometric mean over groups with its 95 % interval, in operations/s.

    queued: share of the workers' time in which they waited for a CPU, which `rate` leaves out: it is for a CPU each,
    at most all. system_share: of the workers' CPU time; switches: voluntary ones an operation; stalled: share of the
    time in which some task of the host waited (PSI), by resource, empty where the kernel has none.
    """

    workers: of.Number
    rate: of.Rate
    ci95: tuple[of.Rate, of.Rate] | None
    queued: of.Share
    system_share: of.Share
    switches: of.Rate
    stalled: dict[str, of.Share] = {}


class ScalingStep(msgspec.Struct, Judged, frozen=True, kw_only=True):
    """From so many workers to more. gain: throughput's factor, with its interval at the run's level (`alpha`).

    verdict: `is_faster`: it gains what scaling asks for, a part of what the CPU alone gains there; `is_slower`: less.
    """

    before: of.Number
    workers: of.Number
    gain: of.Ratio
    ci95: tuple[of.Ratio, of.Ratio] | None
    control: of.Ratio  # what the CPU alone gains
    alpha: of.Probability
    verdict: Word
    reason: str = ""


class Scalability(msgspec.Struct, frozen=True, kw_only=True):
    """Of the USL: `scenarios/contention/judge.py`. `peak`: workers at the highest throughput, by the fit."""

    contention: of.Rate
    contention_ci95: tuple[of.Rate, of.Rate]
    coherence: of.Rate | None
    coherence_ci95: tuple[of.Rate, of.Rate] | None
    peak: of.Rate | None

    @property
    def coefficient_texts(self) -> tuple[str, ...]:
        """Of contention and, where it is told apart, of coherence."""
        if self.coherence is None or self.coherence_ci95 is None:
            return (_value_or_bound_text(self.contention, self.contention_ci95),)
        return _value_or_bound_text(self.contention, self.contention_ci95), _value_or_bound_text(
            self.coherence, self.coherence_ci95
        )


class WorkerWait(msgspec.Struct, frozen=True, kw_only=True):
    """Where the workers slept: the kernel's function (wchan) and the call. share: of the workers' time, sampled.

    stack: functions, innermost first, of the sleep seen most often; empty where it may not be read (not root).
    holder: of who had taken the lock before, where the kernel told (lock:contention_begin): then spinning counts too.
    """

    place: str
    call: str
    what: str
    share: of.Share
    stack: tuple[str, ...] = ()
    holder: tuple[str, ...] = ()


class ScalingCurve(msgspec.Struct, frozen=True, kw_only=True):
    """scales_to: the most workers up to which each step scales, None where the first one is open; stops_after: from
    here on the next step does not. side: empty where no file system takes part.
    """

    load: str
    title: str
    side: str
    serial: bool
    groups: of.Number
    levels: Annotated[tuple[WorkersLevel, ...], msgspec.Meta(min_length=1)]
    steps: tuple[ScalingStep, ...]
    scales_to: of.Number | None
    stops_after: of.Number | None
    usl: Scalability | None
    waits: tuple[WorkerWait, ...]

    @property
    def name(self) -> str:
        return f"{self.title}, {self.side}" if self.side else self.title

    @property
    def max_judged_workers(self) -> int:
        """The most workers that are."""
        return self.steps[-1].workers if self.steps else 1

    @property
    def total_gain(self) -> float:
        """Throughput at the most workers that are judged, as a multiple of one worker's."""
        return self.speedup_at(self.max_judged_workers)

    def rate(self, workers: int) -> float:
        return next((level.rate for level in self.levels if level.workers == workers), math.nan)

    def speedup_at(self, workers: int) -> float:
        return self.speedup_of(self.rate(workers))

    def speedup_of(self, rate: float) -> float:
        """Of one worker's rate; no number where that is none."""
        return rate / self.levels[0].rate if self.levels[0].rate else math.nan

    @property
    def scales_until_text(self) -> str:
        """`to 4`, `to 4, then ?` where the next step is open, `only to 1`, `?` with none decided."""
        if self.stops_after is not None:
            return f"only to {self.stops_after}"
        if self.scales_to is None:
            return "?" if self.steps else "–"
        return f"to {self.scales_to}{', then ?' if self.max_judged_workers > self.scales_to else ''}"

    @property
    def answer_text(self) -> str:
        if self.stops_after is not None:
            return f"does not scale beyond {units.count_noun(self.stops_after, 'worker')}"
        if self.scales_to is not None:
            rest = self.steps[-1].workers > self.scales_to
            return f"scales to {self.scales_to}{', inconclusive beyond' if rest else ''}"
        return self.steps[0].verdict if self.steps else NOT_YET


class ScalingCurves(Result, frozen=True, tag="contention.curves/1"):
    name: ClassVar[str] = "contention"
    value: tuple[ScalingCurve, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        return (_steps_table(self.value), _details_table(self.value), *_speedup_charts(self.value))

    def section_on_top(self, now: float) -> ReportSection | None:
        if not self.value:
            return None
        levels = sorted({level.workers for curve in self.value for level in curve.levels})
        most = max(curve.max_judged_workers for curve in self.value)
        header = ("load", "on", *(f"{n} w" for n in levels), f"gain at {most}", "scales", "waits in")
        rows = tuple(
            (
                curve.title,
                curve.side,
                *(_rate_text_at(curve, workers) for workers in levels),
                f"{curve.total_gain:.2g} ×" if curve.max_judged_workers == most > 1 else "–",
                curve.scales_until_text,
                Mono(curve.waits[0].place) if curve.waits else "–",
            )
            for curve in sorted(self.value, key=_worst_first_key)
        )
        numbers, spare = frozenset(range(2, 3 + len(levels))), frozenset({len(header) - 1, len(header) - 3})
        table = Table(header, rows, numbers, spare).without_empty_columns()
        open_ones = any("?" in curve.scales_until_text for curve in self.value)
        note_parts = (paragraph_of("?: inconclusive"),) if open_ones else ()
        worst = tuple(sorted(self.value, key=_worst_first_key)[:CHARTED])
        charts = _speedup_charts(worst) if len(levels) > 1 else ()
        return ReportSection("operations/s by workers (w)", (table, *note_parts, *charts))


def _rate_text_at(curve: ScalingCurve, workers: int) -> str:
    rate = curve.rate(workers)
    return units.format_prefixed(rate).strip() if math.isfinite(rate) else "–"


def _worst_first_key(curve: ScalingCurve) -> tuple[bool, bool, bool, float]:
    """Return what stops, then what is open, then what scales; of each what is serialised by design comes last."""
    return (
        curve.stops_after is None,
        curve.scales_to == curve.max_judged_workers,
        curve.serial,
        curve.total_gain,
    )


def _interval_text(ends: tuple[float, float] | None, form: str = ".2f") -> str:
    return "–" if ends is None else f"{ends[0]:{form}} to {ends[1]:{form}}"


def _value_or_bound_text(value: float, ends: tuple[float, float]) -> str:
    """Below 0 it cannot be: an interval that begins there says how much noise may still hide."""
    return f"at most {ends[1]:.3g}" if ends[0] <= 0 else f"{value:.3g} ({_interval_text(ends, '.3g')})"


def _steps_table(curves: tuple[ScalingCurve, ...]) -> Table:
    header = ("load", "workers", "gain", "interval", "CPU alone", "scales", "reason")
    rows: list[tuple[Cell, ...]] = [
        (
            curve.name,
            f"{step.before} → {step.workers}",
            f"{step.gain:.2f} ×",
            _interval_text(step.ci95),
            f"{step.control:.2f} ×",
            "yes" if step.is_faster else "no" if step.is_slower else str(step.verdict),
            step.reason,
        )
        for curve in curves
        for step in curve.steps
    ]
    return Table(header, tuple(rows), frozenset({2, 3, 4})).without_empty_columns()


def _details_table(curves: tuple[ScalingCurve, ...]) -> Table:
    header = ("load", "workers", "operations/s", "95 % CI", "no CPU", "system", "switches/op", "PSI cpu", "PSI io",
              "contention", "coherence")  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for curve in curves:
        for level in curve.levels:
            last, usl = level is curve.levels[-1], curve.usl
            rows.append(
                (
                    curve.name,
                    str(level.workers),
                    units.format_prefixed(level.rate),
                    "–" if level.ci95 is None else " to ".join(map(units.format_prefixed, level.ci95)),
                    units.format_percent(level.queued),
                    units.format_percent(level.system_share),
                    f"{level.switches:.3g}",
                    *(
                        units.format_percent(level.stalled[r]) if r in level.stalled else "–"
                        for r in ("cpu", "io")
                    ),
                    *((*usl.coefficient_texts, "–")[:2] if last and usl else ("–", "–")),
                )
            )
    return Table(header, tuple(rows), frozenset(range(1, 11))).without_empty_columns()


def _fitted_speedups(curve: ScalingCurve) -> list[tuple[float, float]]:
    """The curve of the USL as a multiple of one worker's, up to the most workers that are judged."""
    if curve.usl is None:
        return []
    contention, coherence = curve.usl.contention, curve.usl.coherence or 0.0
    workers = [1 + n * (curve.max_judged_workers - 1) / FITTED_POINTS for n in range(FITTED_POINTS + 1)]
    waits = [1 + contention * (n - 1) + coherence * n * (n - 1) for n in workers]
    # A recording may hold coefficients that no fit gives, below 0.
    return [(n, n / wait) for n, wait in zip(workers, waits, strict=True) if wait > 0]


def _workers_of_last_judged(curve: ScalingCurve) -> int:
    """Return the level below the highest, which has twice as many workers as there are CPUs; before any is judged."""
    return curve.levels[-2].workers if len(curve.levels) > 1 else 1


def _speedup_charts(curves: tuple[ScalingCurve, ...]) -> tuple[Part, ...]:
    """Each load's throughput as a multiple of one worker's: a line below the diagonal waits."""
    charts: list[Part] = []
    for at in range(0, len(curves), CHARTED):
        shown = curves[at : at + CHARTED]
        series = tuple(
            ChartSeries(
                MARKS[n],
                tuple(
                    (float(level.workers), times)
                    for level in curve.levels
                    if math.isfinite(times := curve.speedup_of(level.rate))
                ),
                f"{MARKS[n]} {curve.name}",
            )
            for n, curve in enumerate(shown)
        )
        judged = float(max(max(curve.max_judged_workers, _workers_of_last_judged(curve)) for curve in shown))
        if judged > 1:
            series = (ChartSeries(IDEAL, ((1.0, 1.0), (judged, judged)), f"{IDEAL} ideal"), *series)
        if fits := tuple(point for curve in shown for point in _fitted_speedups(curve)):
            series = (ChartSeries(FITTED, fits, f"{FITTED} fitted (USL)"), *series)
        points = [point for line in series for point in line.points]
        most = max((x for x, _ in points), default=1.0)
        high = max([2.0, *(y for _, y in points)])
        title = "throughput against one worker's (x1), by workers"
        charts.append(Chart(title, series, Axis(0.0, most), Axis(0.0, high * 1.05), across="workers"))
    return tuple(charts) or (paragraph_of("nothing was measured"),)
