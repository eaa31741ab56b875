"""What a run of `contention` records: throughput against workers of each load, where it stops, and what waits there."""

import math
from typing import Annotated, ClassVar

import msgspec

from probes import units
from scenarios import ranges as of
from scenarios.results.document import (
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
from scenarios.results.result import Result
from scenarios.verdict.verdict import NOT_YET, Judged, Word

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


class Step(msgspec.Struct, Judged, frozen=True, kw_only=True):
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
    """Of the USL: `scenarios/contention/usl.py`. `peak`: workers at the highest throughput, by the fit."""

    contention: of.Rate
    contention_ci95: tuple[of.Rate, of.Rate]
    coherence: of.Rate | None
    coherence_ci95: tuple[of.Rate, of.Rate] | None
    peak: of.Rate | None

    @property
    def words(self) -> tuple[str, ...]:
        """Of contention and, where it is told apart, of coherence."""
        if self.coherence is None or self.coherence_ci95 is None:
            return (_at_most(self.contention, self.contention_ci95),)
        return _at_most(self.contention, self.contention_ci95), _at_most(self.coherence, self.coherence_ci95)


class Wait(msgspec.Struct, frozen=True, kw_only=True):
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


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """scales_to: the most workers up to which each step scales, None where the first one is open; stops_after: from
    here on the next step does not. side: empty where no file system takes part.
    """

    load: str
    title: str
    side: str
    serial: bool
    groups: of.Number
    levels: Annotated[tuple[WorkersLevel, ...], msgspec.Meta(min_length=1)]
    steps: tuple[Step, ...]
    scales_to: of.Number | None
    stops_after: of.Number | None
    usl: Scalability | None
    waits: tuple[Wait, ...]

    @property
    def name(self) -> str:
        return f"{self.title}, {self.side}" if self.side else self.title

    @property
    def judged(self) -> int:
        """The most workers that are."""
        return self.steps[-1].workers if self.steps else 1

    @property
    def gain(self) -> float:
        """Throughput at the most workers that are judged, as a multiple of one worker's."""
        return self.at(self.judged)

    def rate(self, workers: int) -> float:
        return next((one.rate for one in self.levels if one.workers == workers), math.nan)

    def at(self, workers: int) -> float:
        return self.multiple(self.rate(workers))

    def multiple(self, rate: float) -> float:
        """Of one worker's rate; no number where that is none."""
        return rate / self.levels[0].rate if self.levels[0].rate else math.nan

    @property
    def scales_until(self) -> str:
        """`to 4`, `to 4, then ?` where the next step is open, `only to 1`, `?` with none decided."""
        if self.stops_after is not None:
            return f"only to {self.stops_after}"
        if self.scales_to is None:
            return "?" if self.steps else "–"
        return f"to {self.scales_to}{', then ?' if self.judged > self.scales_to else ''}"

    @property
    def answer(self) -> str:
        if self.stops_after is not None:
            return f"does not scale beyond {units.counted(self.stops_after, 'worker')}"
        if self.scales_to is not None:
            rest = self.steps[-1].workers > self.scales_to
            return f"scales to {self.scales_to}{', inconclusive beyond' if rest else ''}"
        return self.steps[0].verdict if self.steps else NOT_YET


class Curves(Result, frozen=True, tag="contention.curves/1"):
    name: ClassVar[str] = "contention"
    value: tuple[Curve, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return (_steps(self.value), _details(self.value), *_charts(self.value))

    def on_top(self, now: float) -> ReportSection | None:
        if not self.value:
            return None
        levels = sorted({level.workers for curve in self.value for level in curve.levels})
        most = max(curve.judged for curve in self.value)
        header = ("load", "on", *(f"{workers} w" for workers in levels), "gain", "scales", "waits in")
        rows = tuple(
            (
                curve.title,
                curve.side,
                *(_rate_at(curve, workers) for workers in levels),
                f"x{curve.gain:.2g}" if curve.judged == most > 1 else "–",
                curve.scales_until,
                Mono(curve.waits[0].place) if curve.waits else "–",
            )
            for curve in sorted(self.value, key=_worst_first)
        )
        table = Table(header, rows, frozenset(range(2, 3 + len(levels)))).without_empty_columns()
        open_ones = any("?" in curve.scales_until for curve in self.value)
        notes = [f"gain: {most} w against 1 w"] if most > 1 else []
        notes += ["?: inconclusive"] if open_ones else []
        told = (paragraph_of("; ".join(notes)),) if notes else ()
        worst = tuple(sorted(self.value, key=_worst_first)[:CHARTED])
        charts = _charts(worst) if len(levels) > 1 else ()
        return ReportSection("operations/s by workers (w)", (table, *told, *charts))


def _rate_at(curve: Curve, workers: int) -> str:
    rate = curve.rate(workers)
    return units.prefixed(rate).strip() if math.isfinite(rate) else "–"


def _worst_first(curve: Curve) -> tuple[bool, bool, bool, float]:
    """What stops, then what is open, then what scales; of each what the kernel serialises by design comes last."""
    return curve.stops_after is None, curve.scales_to == curve.judged, curve.serial, curve.gain


def _between(ends: tuple[float, float] | None, form: str = ".2f") -> str:
    return "–" if ends is None else f"{ends[0]:{form}} to {ends[1]:{form}}"


def _at_most(value: float, ends: tuple[float, float]) -> str:
    """Below 0 it cannot be: an interval that begins there says how much noise may still hide."""
    return f"at most {ends[1]:.3g}" if ends[0] <= 0 else f"{value:.3g} ({_between(ends, '.3g')})"


def _steps(curves: tuple[Curve, ...]) -> Table:
    header = ("load", "workers", "gain", "interval", "CPU alone", "scales", "reason")
    rows: list[tuple[Cell, ...]] = [
        (
            curve.name,
            f"{step.before} → {step.workers}",
            f"x{step.gain:.2f}",
            _between(step.ci95),
            f"x{step.control:.2f}",
            "yes" if step.is_faster else "no" if step.is_slower else str(step.verdict),
            step.reason,
        )
        for curve in curves
        for step in curve.steps
    ]
    return Table(header, tuple(rows), frozenset({2, 3, 4})).without_empty_columns()


def _details(curves: tuple[Curve, ...]) -> Table:
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
                    units.prefixed(level.rate),
                    "–" if level.ci95 is None else " to ".join(map(units.prefixed, level.ci95)),
                    units.percent(level.queued),
                    units.percent(level.system_share),
                    f"{level.switches:.3g}",
                    *(units.percent(level.stalled[r]) if r in level.stalled else "–" for r in ("cpu", "io")),
                    *((*usl.words, "–")[:2] if last and usl else ("–", "–")),
                )
            )
    return Table(header, tuple(rows), frozenset(range(1, 11))).without_empty_columns()


def _fitted(curve: Curve) -> list[tuple[float, float]]:
    """The curve of the USL as a multiple of one worker's, up to the most workers that are judged."""
    if curve.usl is None:
        return []
    contention, coherence = curve.usl.contention, curve.usl.coherence or 0.0
    workers = [1 + n * (curve.judged - 1) / FITTED_POINTS for n in range(FITTED_POINTS + 1)]
    return [(n, n / (1 + contention * (n - 1) + coherence * n * (n - 1))) for n in workers]


def _level_of_cpus(curve: Curve) -> int:
    """Return the level below the highest, which has twice as many workers as there are CPUs; before any is judged."""
    return curve.levels[-2].workers if len(curve.levels) > 1 else 1


def _charts(curves: tuple[Curve, ...]) -> tuple[Part, ...]:
    """Each load's throughput as a multiple of one worker's: a line below the diagonal waits."""
    found: list[Part] = []
    for at in range(0, len(curves), CHARTED):
        shown = curves[at : at + CHARTED]
        series = tuple(
            ChartSeries(
                MARKS[n],
                tuple(
                    (float(level.workers), times)
                    for level in curve.levels
                    if math.isfinite(times := curve.multiple(level.rate))
                ),
                f"{MARKS[n]} {curve.name}",
            )
            for n, curve in enumerate(shown)
        )
        judged = float(max(max(curve.judged, _level_of_cpus(curve)) for curve in shown))
        if judged > 1:
            series = (ChartSeries(IDEAL, ((1.0, 1.0), (judged, judged)), f"{IDEAL} ideal"), *series)
        if fits := tuple(point for curve in shown for point in _fitted(curve)):
            series = (ChartSeries(FITTED, fits, f"{FITTED} fitted (USL)"), *series)
        points = [point for one in series for point in one.points]
        most = max((x for x, _ in points), default=1.0)
        high = max([2.0, *(y for _, y in points)])
        title = "throughput against one worker's (x1), by workers"
        found.append(Chart(title, series, Axis(0.0, most), Axis(0.0, high * 1.05), across="workers"))
    return tuple(found) or (paragraph_of("nothing was measured"),)
