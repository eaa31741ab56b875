"""What was seen of a job: cores against what it asked for, its waits and those of others, where it should run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from probes import units
from probes.host import Host
from probes.system.allowed import allowed
from probes.system.caches import caches
from probes.system.job import JobUse
from probes.system.numa import numa
from probes.system.pinned import pinned
from probes.system.topology import topology
from probes.types import present
from scenarios.experiment.stats import Spread, student
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.numa.remedies import pin
from scenarios.numa.slots import slot

OVER_SPEAKS = 1.1  # a job that uses a tenth more than it asked for
WAIT_SPEAKS = 0.25  # threads that could run and did not, on average


def findings(
    host: Host, job: str, uses: Sequence[JobUse], expect: float | None, members: frozenset[int]
) -> Iterator[Finding]:
    """The answer first: used, or wanted on a busy host, against asked for. Then who waited."""
    cores = _mean([use.cores for use in uses])
    wanted = _mean([use.cores + (use.waited or 0.0) for use in uses])
    over = expect is not None and wanted.low > expect * OVER_SPEAKS
    used = f"uses {_interval(cores)}"
    if expect is None:
        title = f"{job}: {used}"
    elif over and cores.low <= expect * OVER_SPEAKS:
        gets = f"gets {cores.estimate:.2f} on this busy host"
        title = f"{job}: asked for {_cores(expect)}, would use {_interval(wanted)}, {gets}"
    elif over:
        title = f"{job}: asked for {_cores(expect)}, {used}"
    else:
        title = f"{job}: asked for {_cores(expect)} and uses no more: {_interval(cores)}"
    yield Finding(
        id="cpuwatch.cores",
        severity="warning" if over else "ok",
        confidence="measured",
        title=title,
        evidence=_evidence(uses),
        remedy=_remedy(host, expect if expect is not None else cores.estimate, members) if over else (),
        answers=True,
    )
    yield from _waits(host, job, uses, expect, over, members)


def _waits(
    host: Host, job: str, uses: Sequence[JobUse], expect: float | None, over: bool, members: frozenset[int]
) -> Iterator[Finding]:
    own = [use.waited for use in uses if use.waited is not None]
    if own and (mean := sum(own) / len(own)) >= WAIT_SPEAKS:
        yield Finding(
            id="cpuwatch.waits",
            severity="notice",
            confidence="measured",
            title=f"{job}: {mean:.1f} of its threads wait for a CPU on average",
            evidence=(
                Evidence(f"{mean:.2f} threads runnable without a CPU", "/proc/PID/task/TID/schedstat"),
            ),
            remedy=() if over else _remedy(host, expect or 1.0, members),
        )
    others = [use.others_waited for use in uses if use.others_waited is not None]
    if over and others and (mean := sum(others) / len(others)) >= WAIT_SPEAKS:
        yield Finding(
            id="cpuwatch.others",
            severity="warning",
            confidence="measured",
            title=f"{mean:.1f} threads of other processes wait for a CPU while the job uses more than it asked for",
            evidence=(Evidence(f"{mean:.2f} threads runnable without a CPU", "/proc/schedstat"),),
        )


def _evidence(uses: Sequence[JobUse]) -> tuple[Evidence, ...]:
    last = uses[-1]
    user = sum(use.user_share for use in uses) / len(uses)
    lines = [
        Evidence(
            f"{last.processes} processes, {last.threads} threads, read {len(uses)} times", "/proc/PID/stat"
        ),
        Evidence(f"user {units.percent(user)}, system {units.percent(1 - user)} of its CPU time"),
    ]
    moved = [use.migrations_per_s for use in uses if use.migrations_per_s is not None]
    if moved:
        lines.append(
            Evidence(f"{sum(moved) / len(moved):.1f} migrations a second", "/proc/PID/task/TID/sched")
        )
    else:
        seen = sum(use.moved for use in uses)
        lines.append(
            Evidence(f"{seen} times a thread was seen on another CPU than before", "/proc/PID/task/TID/stat")
        )
    return tuple(lines)


def _remedy(host: Host, cores: float, members: frozenset[int]) -> tuple[Remedy, ...]:
    """A place for so many cores that is not taken by other pinned processes."""
    placed, table, found = host.once(topology), host.once(numa), host.once(caches)
    may = allowed(host).cpus
    taken = frozenset[int]().union(*(one.cpus for one in pinned(host, members)))
    chosen = slot(
        placed,
        table if present(table) else None,
        found if present(found) else (),
        max(1, math.ceil(cores)),
        allowed=may if present(may) else placed.online,
        taken=taken,
    )
    return pin(chosen) if chosen is not None else ()


def _interval(cores: Spread) -> str:
    if math.isinf(cores.high):
        return f"{cores.estimate:.2f} cores (read over one second, no interval)"
    return f"{cores.estimate:.2f} cores (95 % CI {max(0.0, cores.low):.2f} to {cores.high:.2f})"


def _cores(count: float) -> str:
    return units.counted(count, "core")


def _mean(values: Sequence[float]) -> Spread:
    """Student's interval over the seconds; a single look has none."""
    if len(values) < 2:
        return Spread(values[0], 0.0, math.inf)
    return student(values, 0.05)
