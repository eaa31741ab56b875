"""Looks of the incident book as series, and what only looks know: user, control group, who waited in the kernel."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from hostdx.probes.imports.sample_series import ALL_PROCESSES, PROCESS_PREFIX, SampleSeries, SampleTimes
from hostdx.probes.system.running.host_looks import BlockedTasksLook, HostLook, ProcessUse
from hostdx.scenarios.analysis.incidents.incidents import (
    Incident,
    Timeline,
    find_incidents_in_series,
    watched_metrics,
)

_USES = (("CPU share", ""), ("I/O rate", "B/s"), ("major faults", "1/s"))
_UNITS = dict(_USES) | {"latency": "s", "Lustre request time": "s"}
MAX_COMMANDS = 60


def is_alarm(look: HostLook) -> bool:
    """True where a watched metric is at its floor or above: then it is worth looking closely."""
    for watched in watched_metrics():
        floor = watched.floor * (look.cpus or 1 if watched.per_cpu else 1)
        for subject, values in look.values.items():
            if watched.is_about(subject) and any(
                values.get(metric, 0.0) >= floor for metric in watched.metrics
            ):
                return True
    return False


def judge_looks(looks: Sequence[HostLook]) -> Timeline | None:
    """Return the timeline of looks in order of time; None where there are too few."""
    if not looks:
        return None
    first = datetime.fromtimestamp(looks[0].wall_s).astimezone()
    times = SampleTimes(
        first=first.replace(tzinfo=None).isoformat(timespec="seconds"), zone=first.tzname() or ""
    )
    return find_incidents_in_series(list(look_series(looks)), times, looks[-1].cpus or None)


def look_series(looks: Sequence[HostLook]) -> Iterator[SampleSeries]:
    """Yield a series for each metric: a look that leaves it out is one of zero."""
    at_s = array("d", (look.wall_s - looks[0].wall_s for look in looks))
    values: defaultdict[tuple[str, str], array[float]] = defaultdict(
        lambda: array("d", bytes(8 * len(looks)))
    )
    commands: Counter[str] = Counter()
    for number, look in enumerate(looks):
        for subject, metrics in look.values.items():
            for metric, value in metrics.items():
                values[subject, metric][number] = value
        for (metric, _), total in zip(_USES, look.total, strict=False):
            values[ALL_PROCESSES, metric][number] = total
        commands.update({use.name for use in look.processes})
        for use in look.processes:
            for metric, value in zip((name for name, _ in _USES), cpus_io_and_faults(use), strict=True):
                values[f"{PROCESS_PREFIX}{use.name}", metric][number] += value
    frequent_processes = {f"{PROCESS_PREFIX}{name}" for name, _ in commands.most_common(MAX_COMMANDS)}
    for (subject, metric), own in values.items():
        if not subject.startswith(PROCESS_PREFIX) or subject in frequent_processes:
            unit = _UNITS.get(metric, "B/s" if metric.endswith(" rate") else "")
            yield SampleSeries(subject=subject, metric=metric, unit=unit, at_s=at_s, values=own)


def cpus_io_and_faults(use: ProcessUse) -> tuple[float, float, float]:
    return use.cpus, use.io_rate, use.major_faults


def culprit_use(looks: Sequence[HostLook], incident: Incident) -> tuple[ProcessUse, float] | None:
    """Return, of the processes of the culprit's name, what the user whose processes did most during the incident did in
    its busiest look, and this user's share of what all of that name did.
    """
    if incident.culprit is None:
        return None
    place = [metric for metric, _ in _USES].index(incident.culprit.metric)
    inside = looks_within(looks, incident)
    uses = [use for look in inside for use in look.processes if use.name == incident.culprit.name]
    by_user: defaultdict[str, float] = defaultdict(float)
    for use in uses:
        by_user[use.user] += cpus_io_and_faults(use)[place]
    total = sum(by_user.values())
    if total <= 0:
        return None
    user = max(by_user, key=lambda name: (name != "", by_user[name]))
    own = [use for use in uses if use.user == user]
    return max(own, key=lambda use: cpus_io_and_faults(use)[place]), by_user[user] / total


def looks_within(looks: Sequence[HostLook], incident: Incident) -> list[HostLook]:
    first_s = looks[0].wall_s
    return [look for look in looks if incident.began_s < look.wall_s - first_s <= incident.ended_s]


def count_close_looks_and_waits(
    looks: Sequence[HostLook], close_looks: Sequence[BlockedTasksLook], incident: Incident
) -> tuple[int, list[tuple[str, str, int]]]:
    """Return how many close looks the incident has, and (command, innermost function, in how many it waited)."""
    first_s = looks[0].wall_s
    inside = [look for look in close_looks if incident.began_s <= look.wall_s - first_s <= incident.ended_s]
    waits: Counter[tuple[str, str]] = Counter()
    for look in inside:
        waits.update({(name, functions[0] if functions else "") for name, _, functions in look.waiting})
    return len(inside), [(name, function, count) for (name, function), count in waits.most_common(5)]
