"""What was seen of a job: cores against what it asked for, its waits and those of others, where it should run."""

import math
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from hostdx.probes import units
from hostdx.probes.cpu_list import format_cpu_list, name_cpus, parse_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.allowed import find_pinned_cpus, listed_in_status
from hostdx.probes.system.running.job_identity import JobTarget, JobUse
from hostdx.probes.system.running.quota_groups import QuotaGroup
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.experiment.statistics.stats import EstimateWithInterval, student_interval
from hostdx.scenarios.triage.cpus import priority
from hostdx.scenarios.triage.cpus.quota import MIN_THROTTLED_SHARE, raise_quota_remedy, throttling_sentence
from hostdx.scenarios.triage.cpus.slot import choose_pinning_slot, pin_remedy
from hostdx.scenarios.triage.cpus.usable import UsableCpus
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("cpuwatch")

OVER_SPEAKS = 1.1  # a job that uses a tenth more than it asked for
WAIT_SPEAKS = 0.25  # threads that could run and did not, on average
TAKES_SPEAKS = 0.1  # of all CPUs: who takes less is not what the others wait for
PRESSURE_SPEAKS = 0.10  # of the time, as in triage


class WatchedJob(msgspec.Struct, frozen=True, kw_only=True):
    """What was watched. `watch_command_line` asks for it again; `waited_share`: share of the time in which a task
    waited for a CPU; `quotas`: of its control groups, with the periods of the watch.
    """

    words: str
    target: JobTarget
    name: str = ""  # of the process, for a process
    members: frozenset[int] = frozenset()
    waited_share: float | None = None
    quotas: tuple[QuotaGroup, ...] = ()
    has_ended: bool = False  # its number may be another process's by now
    was_named: bool = True  # else the answer is about the host, and this about what used most of it

    @property
    def tightest_quota(self) -> QuotaGroup | None:
        """The group whose quota stopped it most often, where that was often."""
        most = max(self.quotas, key=lambda quota: quota.stopped_share, default=None)
        return most if most is not None and most.stopped_share > MIN_THROTTLED_SHARE else None

    @property
    def watch_command_line(self) -> str:
        return shlex.join(["hostdx", "run", "cpuwatch", f"--{self.target.kind}", self.target.value])


def cpuwatch_findings(
    host: Host, usable: UsableCpus, job: WatchedJob, uses: Sequence[JobUse], expect: float | None
) -> Iterator[Finding]:
    """The answer first: what is used of this host, or against what was asked for. Then who waited."""
    if expect is None:
        yield _usage_finding(host, usable, job, uses)
        return
    cores = _mean_with_interval([use.cores for use in uses])
    wanted = _mean_with_interval([use.cores + (use.waited or 0.0) for use in uses])
    over = wanted.low > expect * OVER_SPEAKS
    text_name = "no-more" if not over else "would-use" if cores.low <= expect * OVER_SPEAKS else "over"
    fields = {
        "asked": units.count_noun(expect, "core"),
        "wanted": _cores_with_range(wanted),
        "used": _cores_with_range(cores),
        "gets": f"{cores.estimate:.2f}",
    }
    stopped = job.tightest_quota
    yield SAYS.finding(
        "cores",
        severity="warning" if over or stopped else "ok",
        answers=True,
        job=job.words,
        uses=SAYS.text(text_name, **fields),
        stopped=f"; {throttling_sentence(stopped)}" if stopped else "",
        evidence=(*_job_evidence(job, uses), *_restricted_affinity(host, usable, job)),
        remedy=(
            *_quota_remedies(host, stopped),
            *(_pin_to_free_cpus(host, usable, expect, job) if over and not job.has_ended else ()),
        ),
    )
    yield from _wait_findings(host, usable, job, uses, expect, over)


def _usage_finding(host: Host, usable: UsableCpus, job: WatchedJob, uses: Sequence[JobUse]) -> Finding:
    """Nobody said how much the job may use: what it takes, and who waited meanwhile, is no acquittal."""
    cores = _mean_with_interval([use.cores for use in uses])
    cpus = len(usable.placed.online)
    waited = _mean_waiting([use.others_waited for use in uses])
    waited_share = job.waited_share if waited is None else None
    contended = (waited or 0.0) >= WAIT_SPEAKS or _min_waiting_share_of_others(
        waited_share, uses, cpus
    ) >= PRESSURE_SPEAKS
    took = contended and cores.low >= TAKES_SPEAKS * max(1, cpus)
    of_all = f" of {units.count_noun(cpus, 'CPU')}" if cpus else " CPUs"
    meanwhile = ""
    if waited is not None:
        meanwhile = SAYS.text("others-waited", waited=f"{waited:.1f}")
    elif waited_share is not None:
        meanwhile = SAYS.text("pressed", pressed=waited_share)
    needed = math.ceil(cores.estimate - 0.1)
    # all of them are no place of its own
    place = _pin_to_free_cpus(host, usable, needed, job) if needed < cpus else ()
    stopped = job.tightest_quota
    may_advise = took and job.was_named and not job.has_ended
    held_back = (_lower_priority_remedy(host, job), *place) if may_advise else ()
    takes = SAYS.text(
        "takes",
        cores=f"{cores.estimate:.2f}",
        of_all=of_all,
        seconds=sum(use.seconds for use in uses),
        range=_range_text(cores),
        meanwhile=meanwhile,
    )
    return SAYS.finding(
        "cores",
        severity="warning" if (took and job.was_named) or stopped else "notice",
        answers=job.was_named,
        job=job.words,
        uses=takes,
        stopped=f"; {throttling_sentence(stopped)}" if stopped else "",
        evidence=(*_job_evidence(job, uses), *_restricted_affinity(host, usable, job)),
        remedy=(
            *_quota_remedies(host, stopped),
            *held_back,
            *((SAYS.remedy("compare", line=job.watch_command_line),) if job.was_named else ()),
        ),
    )


def _quota_remedies(host: Host, stopped: QuotaGroup | None) -> tuple[Remedy, ...]:
    return (raise_quota_remedy(host, stopped.folder),) if stopped else ()


def _min_waiting_share_of_others(waited_share: float | None, uses: Sequence[JobUse], cpus: int) -> float:
    """Where the kernel counts no waits of all CPUs: the least share of the time in which others than the job waited.

    A job with no more threads than CPUs never waits for itself.
    """
    own = _mean_waiting([use.waited for use in uses])
    if waited_share is None or (own is None and uses[-1].threads > cpus):
        return 0.0
    return waited_share - min(1.0, own or 0.0)


def _lower_priority_remedy(host: Host, job: WatchedJob) -> Remedy:
    target = job.target
    if target.kind == "pid":
        return priority.process_priority_remedy(
            host, int(target.value), job.name or f"process {target.value}"
        )
    if target.kind == "user":
        return priority.user_priority_remedy(target.value)
    below = target.value.removeprefix("/sys/fs/cgroup").strip("/")
    return priority.group_priority_remedy(host, f"/sys/fs/cgroup/{below}")


def _wait_findings(
    host: Host, usable: UsableCpus, job: WatchedJob, uses: Sequence[JobUse], expect: float, exceeds: bool
) -> Iterator[Finding]:
    mean = _mean_waiting([use.waited for use in uses])
    if mean is not None and mean >= WAIT_SPEAKS:
        yield SAYS.finding(
            "waits",
            job=job.words,
            mean=f"{mean:.1f}",
            mean2=f"{mean:.2f}",
            remedy=() if exceeds or job.has_ended else _pin_to_free_cpus(host, usable, expect, job),
        )
    mean = _mean_waiting([use.others_waited for use in uses])
    if exceeds and mean is not None and mean >= WAIT_SPEAKS:
        yield SAYS.finding("others", mean=f"{mean:.1f}", mean2=f"{mean:.2f}")


def _mean_waiting(samples: Sequence[float | None]) -> float | None:
    """Threads that waited, on average; None: the kernel does not say."""
    known_samples = [value for value in samples if value is not None]
    return sum(known_samples) / len(known_samples) if known_samples else None


def _job_evidence(job: WatchedJob, uses: Sequence[JobUse]) -> tuple[Evidence, ...]:
    last = uses[-1]
    user = sum(use.user_share for use in uses) / len(uses)
    lines = [
        SAYS.evidence(
            "read",
            processes=units.count_noun(last.processes, "process"),
            threads=units.count_noun(last.threads, "thread"),
            times=units.count_noun(len(uses), "time"),
            seconds=sum(use.seconds for use in uses),
        ),
        SAYS.evidence("modes", user=user, system=1 - user),
    ]
    if job.waited_share is not None:
        lines.append(SAYS.evidence("pressure", pressed=job.waited_share))
    for quota in job.quotas:
        cpus, periods = units.count_noun(quota.cores, "CPU"), units.count_noun(quota.periods, "period")
        lines.append(
            SAYS.evidence(
                "quota",
                name=quota.name,
                cpus=cpus,
                stopped=quota.stopped,
                periods=periods,
                folder=quota.folder,
            )
        )
    own, others = _mean_waiting([u.waited for u in uses]), _mean_waiting([u.others_waited for u in uses])
    for waiters, mean, source in (
        ("the job", own, "/proc/PID/task/TID/schedstat"),
        ("others", others, "/proc/schedstat"),
    ):
        if mean is None:
            lines.append(SAYS.evidence("waiting-unknown", who=waiters, source=source))
        else:
            lines.append(SAYS.evidence("waiting", who=waiters, mean=f"{mean:.2f}", source=source))
    moved = [use.migrations_per_s for use in uses if use.migrations_per_s is not None]
    if moved:
        lines.append(SAYS.evidence("migrations", rate=f"{sum(moved) / len(moved):.1f}"))
    else:
        lines.append(SAYS.evidence("moved", times=sum(use.moved for use in uses)))
    return tuple(lines)


def _affinity_of_process(host: Host, job: WatchedJob) -> str:
    """Return the CPUs on which a watched process may run; empty for a group or a user, or where it has ended."""
    if job.target.kind != "pid":
        return ""
    status = host.read_file_text(f"/proc/{job.target.value}/status", may_hang=True)
    return listed_in_status(status, "Cpus_allowed_list")


def _restricted_affinity(host: Host, usable: UsableCpus, job: WatchedJob) -> tuple[Evidence, ...]:
    affinity = _affinity_of_process(host, job)
    if not affinity or affinity == format_cpu_list(usable.cpus):
        return ()
    words = name_cpus(parse_cpu_list(affinity) or frozenset())
    return (SAYS.evidence("affinity", cpus=words, source=f"/proc/{job.target.value}/status"),)


def _pin_to_free_cpus(host: Host, usable: UsableCpus, cores: float, job: WatchedJob) -> tuple[Remedy, ...]:
    """A place for so many cores that is not taken by other pinned processes; a running process is moved there.

    None for a kernel thread: the kernel moves it itself.
    """
    if job.target.kind == "pid" and priority.is_kernel_thread(host, int(job.target.value)):
        return ()
    chosen = choose_pinning_slot(usable, max(1, math.ceil(cores)), find_pinned_cpus(host, job.members))
    if chosen is None:
        return ()
    place = pin_remedy(chosen)
    if job.target.kind != "pid":
        return (place,)
    move = f"taskset -a -cp {{}} {job.target.value}"
    affinity = _affinity_of_process(host, job)
    back = (move.format(affinity),) if affinity else ()
    commands = (move.format(chosen.cpu_list), *place.commands)
    return (msgspec.structs.replace(place, commands=commands, undo=back),)


def _cores_with_range(cores: EstimateWithInterval) -> str:
    return f"{cores.estimate:.2f} cores ({_range_text(cores)})"


def _range_text(cores: EstimateWithInterval) -> str:
    if math.isinf(cores.high):
        return "read over one second, no interval"
    return f"95 % CI {max(0.0, cores.low):.2f} to {cores.high:.2f}"


def _mean_with_interval(values: Sequence[float]) -> EstimateWithInterval:
    """Student's interval over the seconds; a single look has none."""
    if len(values) < 2:
        return EstimateWithInterval(values[0], 0.0, math.inf)
    return student_interval(values, 0.05)
