"""Incidents of a file of samples: from when to when, which resource, how much, what else showed it, and who.

Stretches of a series that stand out from its own quiet level.
"""

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Literal, TypeAlias

import msgspec

from hostdx.probes.imports.model import ImportResult
from hostdx.probes.imports.sample_series import (
    ALL_PROCESSES,
    PROCESS_PREFIX,
    SampleSeries,
    SampleTimes,
    thin_series,
)
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.knowledge_file import read_toml_tables
from hostdx.scenarios.experiment.statistics.distributions import t_quantile

SPREADS = 6.0  # of the quiet values, that a value must lie above their level
MAX_SHARE = 0.45  # of the samples: what stands out longer than that is usual here; the median holds to a half
MIN_SAMPLES = 20  # a quiet level of fewer is none
MIN_DURATION_S = 180.0
MIN_DURATION_SHARE = 0.02  # of the file, where that is shorter
_MAD_TO_SIGMA = 1.4826


class Excursion(msgspec.Struct, frozen=True, kw_only=True):
    """From the first to the last sample above the limit, as places in the series. `level`: their median."""

    first: int
    last: int
    level: float
    peak: float
    quiet: float


def find_excursions(
    at_s: Sequence[float], values: Sequence[float], *, floor: float, rise: float
) -> list[Excursion]:
    """Return the stretches in order of time.

    The quiet level is the median, its spread 1.48 × the median absolute deviation. A stretch begins and ends where the
    values pass half of the way from the quiet level to the stretch's own median. It lasts three minutes, or 2 % of a
    shorter file, and two samples; one sample is enough where it stands for so long. Shorter gaps do not end a stretch.
    """
    if len(values) < MIN_SAMPLES:
        return []
    quiet = median(values)
    spread = _MAD_TO_SIGMA * median([abs(value - quiet) for value in values])
    limit = max(floor, quiet + rise, quiet + SPREADS * spread)
    places = [place for place, value in enumerate(values) if value >= limit]
    if not places or len(places) > MAX_SHARE * len(values):
        return []
    interval_s = median(after - before for before, after in pairwise(at_s))
    min_duration_s = min(MIN_DURATION_S, MIN_DURATION_SHARE * (at_s[-1] - at_s[0]))
    excursions: list[Excursion] = []
    for first, last in _join_near_places(places, at_s, max(2 * interval_s, min_duration_s / 3)):
        level = median(values[first : last + 1])
        half = quiet + (level - quiet) / 2
        while first > 0 and values[first - 1] >= half:
            first -= 1
        while last < len(values) - 1 and values[last + 1] >= half:
            last += 1
        if excursions and first <= excursions[-1].last:
            continue
        lasted_s = at_s[last] - at_s[first] + interval_s
        is_long = last > first or interval_s >= min_duration_s
        if is_long and lasted_s >= min_duration_s and level >= limit:
            part = values[first : last + 1]
            excursions.append(
                Excursion(first=first, last=last, level=median(part), peak=max(part), quiet=quiet)
            )
    return excursions


def _join_near_places(places: Sequence[int], at_s: Sequence[float], gap_s: float) -> list[tuple[int, int]]:
    """Return (first, last) of the runs of places; a gap in time up to `gap_s` belongs to the run."""
    runs = [[places[0], places[0]]]
    for place in places[1:]:
        if at_s[place] - at_s[runs[-1][1]] <= gap_s:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return [(first, last) for first, last in runs]


Cause: TypeAlias = Literal[
    "memory",
    "hypervisor",
    "heat",
    "stuck",
    "file-server",
    "network",
    "disk",
    "waiting",
    "kernel",
    "cpu",
    "job",
]
_DISK, _DISK_RATES = "disk:", ("read rate", "write rate")
MIN_DISK_SHARE = 0.25  # of the bytes that a process moved, on the disks that were slow
MAX_INCIDENTS = 50
MAX_SYMPTOMS = 12
WEAK_DURATION_S, WEAK_DURATION_SHARE = (
    600.0,
    0.1,
)  # of an incident of weak symptoms alone; the share is of the file
MIN_BUSY_DISK = 0.3  # of the time: if no disk of the file was as busy, it was no disk that tasks waited for
MAX_ROWS, MAX_ROW_POINTS = 8, 240
MIN_CULPRIT_SHARE = 0.5  # of what all processes did more than when it was quiet
MIN_CULPRIT_LOW = 0.25  # the interval of that share begins there at least
MIN_CULPRIT_SAMPLES = 4
WAITS = "major faults"  # of whoever waits for pages, which another process may have taken from it
_OF_CPUS = ("CPU share", "system share")
# By cause the metrics that take the resource, each with the least rise of all processes that explains anything.
_TAKING: dict[Cause, dict[str, float]] = {
    "disk": {"read rate": 1e6, "write rate": 1e6, "I/O rate": 1e6},
    "memory": {WAITS: 100.0, "read rate": 1e6},
    "kernel": {"system share": 0.25, "CPU share": 0.25},
    "cpu": {"CPU share": 0.25},
}


class WhileMetricAtLeast(msgspec.Struct, frozen=True):
    metric: str
    floor: float


class WatchedMetric(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """An entry of `watched.toml`, which says what each field means."""

    cause: Cause
    subject: str
    metrics: tuple[str, ...]
    floor: float
    rise: float
    per_cpu: bool = False
    share: bool = False
    weak: bool = False
    only_while: WhileMetricAtLeast | None = None

    def is_about(self, subject: str) -> bool:
        return subject.startswith(self.subject) if self.subject.endswith(":") else subject == self.subject

    def covers(self, series: SampleSeries) -> bool:
        return self.is_about(series.subject) and series.metric in self.metrics


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """One metric during the incident and outside. `subject` as in `disk:sda`, values in `unit`; a share is in "%"."""

    subject: str
    metric: str
    unit: str
    level: of.Value
    peak: of.Value
    quiet: of.Value
    began_s: of.Seconds
    ended_s: of.Seconds


class Culprit(msgspec.Struct, frozen=True, kw_only=True):
    """A process to which this share of the rise of all processes is due, in this metric.

    `ci95`: the share's interval over the samples of the incident; None with fewer than MIN_CULPRIT_SAMPLES.
    """

    name: str
    metric: str
    share: of.Share
    ci95: tuple[of.Share, of.Share] | None = None


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A process to which most of the rise of all processes is due, and why it is not named: the disks that were slow
    moved less than a quarter of its bytes, or its share's interval begins below MIN_CULPRIT_LOW.
    """

    name: str
    metric: str
    share: of.Share
    reason: Literal["other-disks", "uncertain"]


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """`began_s` and `ended_s` count from the file's first sample. The first symptom names the incident.

    `suspect`: of an incident without a culprit.
    """

    cause: Cause
    began_s: of.Seconds
    ended_s: of.Seconds
    symptoms: Annotated[tuple[Symptom, ...], msgspec.Meta(min_length=1)]
    culprit: Culprit | None = None
    suspect: Suspect | None = None


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """A metric to be drawn: at most MAX_ROW_POINTS (time, value), each the mean of a stretch."""

    subject: str
    metric: str
    unit: str
    points: Annotated[tuple[tuple[of.Seconds, of.Value], ...], msgspec.Meta(min_length=1)]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What a file's samples say over their time: `incidents` with the worst first, none where all is quiet.

    `seconds` is from the first sample to the last, in `times.unit`; `names_processes`: the file has some.
    """

    times: SampleTimes
    seconds: of.Seconds
    samples: of.Count
    names_processes: bool = False
    incidents: tuple[Incident, ...] = ()
    rows: tuple[TimelineRow, ...] = ()


@lru_cache(maxsize=1)
def watched_metrics() -> tuple[WatchedMetric, ...]:
    """Raises ValueError where the table is wrong."""
    entries = read_toml_tables(Path(__file__).with_name("watched.toml"))["metric"]
    return tuple(msgspec.convert(entries, list[WatchedMetric]))


def judge_samples(result: ImportResult) -> Timeline | None:
    """Return what the samples of a file say over time; None where there are too few to know a quiet level."""
    cpus = next((f.value for f in result.facts if (f.subject, f.name) == ("cpu", "threads")), None)
    threads = cpus if isinstance(cpus, int) and cpus > 0 else None
    return (
        find_incidents_in_series(result.series, result.times, threads) if result.times is not None else None
    )


def find_incidents_in_series(
    all_series: Sequence[SampleSeries], times: SampleTimes, cpus: int | None
) -> Timeline | None:
    """`cpus`: how many the host has; without it what is measured by the CPU is not judged."""
    longest = max(all_series, key=lambda series: len(series.values), default=None)
    if longest is None or len(longest.values) < MIN_SAMPLES:
        return None
    watched = [*all_series, *_busy_share_series(all_series)]
    ranked = sorted(_ranked_symptoms(watched, cpus), key=lambda entry: (entry[1].began_s, entry[0]))
    seconds = longest.at_s[-1] - longest.at_s[0]
    weak_s = min(WEAK_DURATION_S, WEAK_DURATION_SHARE * seconds)
    incidents = [
        _make_incident(g, all_series) for g in _overlapping_symptom_groups(ranked) if _is_incident(g, weak_s)
    ]
    incidents.sort(key=lambda incident: (incident.cause == "cpu", -_duration_times_rise(incident)))
    return Timeline(
        times=times,
        seconds=seconds,
        samples=len(longest.values),
        names_processes=any(series.subject == ALL_PROCESSES for series in all_series),
        incidents=tuple(incidents[:MAX_INCIDENTS]),
        rows=tuple(_shown_rows(incidents, watched)),
    )


def _shown_rows(incidents: Sequence[Incident], all_series: Sequence[SampleSeries]) -> Iterator[TimelineRow]:
    """Yield what the incidents showed in, the worst first; without incidents what is watched and moves."""
    by_name = {(series.subject, series.metric): series for series in all_series}
    shown = [(symptom.subject, symptom.metric) for incident in incidents for symptom in incident.symptoms]
    watched = [
        (series.subject, series.metric)
        for entry in watched_metrics()
        for series in filter(entry.covers, all_series)
        if max(series.values, default=0.0) > 0
    ]
    for name in list(dict.fromkeys(shown or reversed(watched)))[:MAX_ROWS]:
        series = by_name[name]
        is_share = any(entry.share and entry.covers(series) for entry in watched_metrics())
        factor, unit = (100, "%") if is_share else (1, series.unit)
        points = tuple((at_s, value * factor) for at_s, value in thin_series(series, MAX_ROW_POINTS))
        yield TimelineRow(subject=series.subject, metric=series.metric, unit=unit, points=points)


def _busy_share_series(all_series: Sequence[SampleSeries]) -> Iterator[SampleSeries]:
    """Yield the share of CPU time that was neither idle nor waiting for I/O."""
    shares = {series.metric: series for series in all_series if series.subject == "CPU"}
    idle, iowait = shares.get("idle share"), shares.get("iowait share")
    if idle is not None and (iowait is None or len(iowait.values) == len(idle.values)):
        waiting = iowait.values if iowait is not None else array("d", [0.0]) * len(idle.values)
        busy = array("d", (1 - i - w for i, w in zip(idle.values, waiting, strict=True)))
        yield SampleSeries(subject="CPU", metric="busy share", unit="", at_s=idle.at_s, values=busy)


def _ranked_symptoms(
    all_series: Sequence[SampleSeries], cpus: int | None
) -> Iterator[tuple[int, Symptom, Cause]]:
    """Yield each with its rank: the entry of the table that found it."""
    by_name = {(series.subject, series.metric): series for series in all_series}
    for rank, watched in enumerate(watched_metrics()):
        if watched.per_cpu and cpus is None:
            continue
        scale = cpus if watched.per_cpu and cpus is not None else 1
        for series in filter(watched.covers, all_series):
            gate = watched.only_while
            gate_series = by_name.get((series.subject, gate.metric)) if gate is not None else None
            for excursion in find_excursions(
                series.at_s, series.values, floor=watched.floor * scale, rise=watched.rise * scale
            ):
                if gate is None or _is_metric_high_enough(gate_series, gate, series, excursion):
                    yield rank, _make_symptom(series, excursion, is_share=watched.share), watched.cause


def _is_metric_high_enough(
    other: SampleSeries | None, gate: WhileMetricAtLeast, series: SampleSeries, excursion: Excursion
) -> bool:
    """True where the other metric is not in the file, or as high as the gate asks during the excursion."""
    if other is None or len(other.values) != len(series.values):
        return other is None
    part = other.values[excursion.first : excursion.last + 1]
    return sum(part) / len(part) >= gate.floor


def _make_symptom(series: SampleSeries, excursion: Excursion, *, is_share: bool) -> Symptom:
    """A sample stands for the time since the one before, so that the excursion began there."""
    began_s = series.at_s[max(0, excursion.first - 1)]
    factor = 100 if is_share else 1
    return Symptom(
        subject=series.subject, metric=series.metric, unit="%" if is_share else series.unit,
        level=excursion.level * factor, peak=excursion.peak * factor, quiet=excursion.quiet * factor,
        began_s=began_s, ended_s=max(began_s, series.at_s[excursion.last]),
    )  # fmt: skip


def _overlapping_symptom_groups(
    symptoms: Sequence[tuple[int, Symptom, Cause]],
) -> list[list[tuple[int, Symptom, Cause]]]:
    """Return groups of symptoms: one joins a group if half of the shorter of both lies in common.

    A weak symptom links no two groups of others: a busy host's run queue is long during every incident.
    """
    watched = watched_metrics()
    groups: list[list[tuple[int, Symptom, Cause]]] = []
    for entry in sorted(symptoms, key=lambda symptom: watched[symptom[0]].weak):
        others = ([o for o in group if not watched[o[0]].weak] or group for group in groups)
        places = (
            n
            for n, members in enumerate(others)
            if any(_do_symptoms_overlap(entry[1], o[1]) for o in members)
        )
        group = next((groups[place] for place in places), None)
        if group is None:
            groups.append([entry])
        else:
            group.append(entry)
    return groups


def _is_incident(group: Sequence[tuple[int, Symptom, Cause]], weak_s: float) -> bool:
    """True where a symptom is none of a busy host, or lasts."""
    entries = watched_metrics()
    return any(not entries[rank].weak or s.ended_s - s.began_s >= weak_s for rank, s, _ in group)


def _do_symptoms_overlap(symptom: Symptom, other: Symptom) -> bool:
    common_s = min(symptom.ended_s, other.ended_s) - max(symptom.began_s, other.began_s)
    shorter_s = min(symptom.ended_s - symptom.began_s, other.ended_s - other.began_s)
    return common_s > 0 and common_s >= shorter_s / 2


def _make_incident(group: Sequence[tuple[int, Symptom, Cause]], series: Sequence[SampleSeries]) -> Incident:
    ordered = sorted(group, key=lambda entry: (entry[0], -_rise_above_quiet(entry[1])))
    leading = ordered[0]
    own = [symptom for _, symptom, cause in ordered if cause == leading[2]]
    began_s, ended_s = min(s.began_s for s in own), max(s.ended_s for s in own)
    cause = leading[2]
    disks = frozenset(s.subject for s in own if s.subject.startswith(_DISK))
    if cause == "disk" and not disks:
        busy = [
            fmean(inside)
            for s in series
            if (s.subject.startswith(_DISK) and s.metric == "utilisation")
            and (inside := _values_within(s, began_s, ended_s))
        ]
        cause = "waiting" if busy and max(busy) < MIN_BUSY_DISK else cause
    found = find_culprit_process(series, _TAKING.get(cause, {}), began_s, ended_s, disks=disks)
    return Incident(
        cause=cause, began_s=began_s, ended_s=ended_s,
        symptoms=tuple(_longest_of_each_metric(symptom for _, symptom, _ in ordered))[:MAX_SYMPTOMS],
        culprit=found if isinstance(found, Culprit) else None,
        suspect=found if isinstance(found, Suspect) else None,
    )  # fmt: skip


def _values_within(series: SampleSeries, began_s: float, ended_s: float) -> list[float]:
    return [v for t, v in zip(series.at_s, series.values, strict=True) if began_s < t <= ended_s]


def _longest_of_each_metric(symptoms: Iterable[Symptom]) -> Iterator[Symptom]:
    """A metric that rose several times is shown once."""
    by_metric: dict[tuple[str, str], Symptom] = {}
    for symptom in symptoms:
        name = (symptom.subject, symptom.metric)
        before = by_metric.get(name)
        if before is None or symptom.ended_s - symptom.began_s > before.ended_s - before.began_s:
            by_metric[name] = symptom
    yield from by_metric.values()


def _rise_above_quiet(symptom: Symptom) -> float:
    return symptom.level - symptom.quiet


def _duration_times_rise(incident: Incident) -> float:
    """How much worse than another: the time that it lasted, by how far it rose."""
    first = incident.symptoms[0]
    rise = min(10.0, first.level / first.quiet) if first.quiet > 0 else 10.0
    return (incident.ended_s - incident.began_s) * rise


def find_culprit_process(
    all_series: Sequence[SampleSeries],
    min_rises: Mapping[str, float],
    began_s: float,
    ended_s: float,
    *,
    disks: Collection[str] = (),
) -> Culprit | Suspect | None:
    """Return the process to which most of what all processes did more than outside is due, and not less than half; the
    one that is suspected where there is none.

    `min_rises`: the metrics in question, each with the least rise of all processes together. `disks`: if they moved
    less than a quarter of a process's bytes, it used others.
    """
    moved = [
        _values_within(s, began_s, ended_s)
        for s in all_series
        if s.subject in disks and s.metric in _DISK_RATES
    ]
    most = sum(map(fmean, filter(None, moved))) / MIN_DISK_SHARE if any(moved) else math.inf
    candidates: list[Culprit | Suspect] = []
    totals = {series.metric: series for series in all_series if series.subject == ALL_PROCESSES}
    for metric, min_rise in min_rises.items():
        all_rises = _rises_above_rest(totals[metric], began_s, ended_s) if metric in totals else []
        by_name = {
            series.subject.removeprefix(PROCESS_PREFIX): rises
            for series in all_series
            if series.metric == metric and series.subject.startswith(PROCESS_PREFIX)
            if len(rises := _rises_above_rest(series, began_s, ended_s)) == len(all_rises)
        }
        if metric in _OF_CPUS:
            # where all CPUs were busy before, others gave way: what those took who took more. A disk that fails moves
            # less for all: there nobody took what the others lost.
            takers = [rises for rises in by_name.values() if sum(rises) > 0]
            takers_rises = [math.fsum(values) for values in zip(*takers, strict=True)]
            all_rises = max(all_rises, takers_rises, key=sum)
        weights = _burst_weights(all_rises)
        all_rises = _multiply_pairwise(all_rises, weights)
        if not all_rises or fmean(all_rises) < min_rise:
            continue
        for name, own_rises in by_name.items():
            rises = _multiply_pairwise(own_rises, weights)
            share = min(1.0, sum(rises) / sum(all_rises))
            if share < MIN_CULPRIT_SHARE:
                continue
            ci95 = _share_interval(rises, all_rises) if len(rises) >= MIN_CULPRIT_SAMPLES else None
            if fmean(rises) > most:
                candidates.append(Suspect(name=name, metric=metric, share=share, reason="other-disks"))
            elif ci95 is not None and ci95[0] < MIN_CULPRIT_LOW:
                candidates.append(Suspect(name=name, metric=metric, share=share, reason="uncertain"))
            else:
                candidates.append(Culprit(name=name, metric=metric, share=share, ci95=ci95))
    return max(candidates, key=lambda found: (isinstance(found, Culprit), found.share), default=None)


def _rises_above_rest(series: SampleSeries, began_s: float, ended_s: float) -> list[float]:
    """Return how much each sample of the incident lies above the mean of all others; empty without both."""
    inside = _values_within(series, began_s, ended_s)
    outside = [v for t, v in zip(series.at_s, series.values, strict=True) if not began_s < t <= ended_s]
    quiet = sum(outside) / len(outside) if outside else 0.0
    return [value - quiet for value in inside] if outside else []


def _burst_weights(all_rises: Sequence[float]) -> list[float]:
    """Return what a sample counts: one burst, of whomever, decides as much as two usual samples at most."""
    most = 2 * median(all_rises) if all_rises else 0.0
    return [most / rise if 0 < most < rise else 1.0 for rise in all_rises]


def _multiply_pairwise(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    return [value * weight for value, weight in zip(values, weights, strict=True)]


def _share_interval(rises: Sequence[float], all_rises: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of one process's share: the slope of its rises on those of all, through the origin.

    Neighbouring samples are alike; the interval is widened by what their errors have in common.
    """
    total = sum(all_rises)
    slope = sum(rises) / total
    errors = [own - slope * rise for own, rise in zip(rises, all_rises, strict=True)]
    squares = sum(error * error for error in errors)
    alike = sum(a * b for a, b in pairwise(errors)) / squares if squares > 0 else 0.0
    alike = min(0.9, max(0.0, alike))
    samples = len(errors)
    deviation = math.sqrt(squares * samples / (samples - 1) * (1 + alike) / (1 - alike)) / total
    half = t_quantile(0.975, samples - 1) * deviation
    return max(0.0, min(1.0, slope - half)), min(1.0, max(0.0, slope + half))
