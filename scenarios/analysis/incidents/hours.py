"""What is usual at an hour of the day: one small summary an hour, kept for weeks, against which an incident is held."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from hostdx.probes.imports.sample_series import SampleSeries
from hostdx.scenarios.analysis.incidents.incidents import Incident, watched_metrics
from hostdx.scenarios.contract import ranges as of

HOUR_S = 3600
HIGH_SHARE = 0.9  # of an hour's samples lie at the value that stands for "how high it was"
MIN_HIGH_SHARE = 0.5  # of a watched metric's floor: an hour in which it was lower is kept without it
MIN_DAYS = 3  # of the same kind: fewer make nothing usual
USUAL_SHARE = 0.6  # of these days


class HourSummary(msgspec.Struct, frozen=True, kw_only=True, tag="hour"):
    """One hour of the host's clock. `high`: by subject and metric the 90th percentile of the samples.

    What is left out lay below half of the floor at which it is watched.
    """

    hour_s: of.Count  # of the epoch, its beginning
    samples: of.Count
    high: dict[str, dict[str, float]]


class UsualHour(msgspec.Struct, frozen=True):
    """On so many of `days` of the same kind an incident's first metric was as high at the incident's hour."""

    days: int
    high_days: int
    weekend: bool

    @property
    def is_usual(self) -> bool:
        return self.days >= MIN_DAYS and self.high_days >= USUAL_SHARE * self.days


def summarise_hour(hour_s: int, all_series: Iterable[SampleSeries], cpus: int | None) -> HourSummary:
    """`all_series`: the samples of that hour alone."""
    high: dict[str, dict[str, float]] = {}
    samples = 0
    for series in all_series:
        samples = max(samples, len(series.values))
        watched = next((entry for entry in watched_metrics() if entry.covers(series)), None)
        if watched is None or not series.values:
            continue
        ordered = sorted(series.values)
        value = ordered[min(len(ordered) - 1, int(HIGH_SHARE * len(ordered)))]
        floor = watched.floor * ((cpus or 1) if watched.per_cpu else 1)
        if value >= MIN_HIGH_SHARE * floor:
            high.setdefault(series.subject, {})[series.metric] = float(f"{value:.3g}")
    return HourSummary(hour_s=hour_s, samples=samples, high=high)


def find_usual_hour(incident: Incident, began_s: float, hours: Sequence[HourSummary]) -> UsualHour:
    """began_s: seconds of the epoch at the timeline's first sample. Working days are held against working days.

    As high: at least half of the way from the quiet level to the incident's.
    """
    symptom = incident.symptoms[0]
    unit = 100 if symptom.unit == "%" else 1
    half = (symptom.quiet + (symptom.level - symptom.quiet) / 2) / unit
    began = datetime.fromtimestamp(began_s + incident.began_s)
    ended = datetime.fromtimestamp(began_s + incident.ended_s)
    wanted = {(began + timedelta(hours=n)).hour for n in range(24) if began + timedelta(hours=n) <= ended}
    wanted |= {began.hour, ended.hour}
    own_days = {began.date(), ended.date()}
    by_day: dict[object, bool] = {}
    for summary in hours:
        at = datetime.fromtimestamp(summary.hour_s)
        if at.date() in own_days or at.hour not in wanted or _is_weekend(at) != _is_weekend(began):
            continue
        is_high = summary.high.get(symptom.subject, {}).get(symptom.metric, 0.0) >= half
        by_day[at.date()] = by_day.get(at.date(), False) or is_high
    return UsualHour(days=len(by_day), high_days=sum(by_day.values()), weekend=_is_weekend(began))


def _is_weekend(day: datetime) -> bool:
    return day.weekday() >= 5
