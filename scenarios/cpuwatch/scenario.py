"""Scenario `cpuwatch`: how many cores does a job use, against what it asked for? Watches only, starts no load."""

import asyncio
import pwd
from functools import partial
from typing import ClassVar

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.pulse import read_pressure_s
from hostdx.probes.system.running.cgroup import control_group_of
from hostdx.probes.system.running.cpu_users import CpuUsers
from hostdx.probes.system.running.culprit import (
    find_dominant_family,
    find_dominant_group,
    find_dominant_process,
)
from hostdx.probes.system.running.job_identity import JobLook, JobTarget, JobUse, compute_job_use, look_at_job
from hostdx.probes.system.running.processes import ProcessTable, user_of
from hostdx.probes.system.running.quota_groups import find_job_quotas, quota_counts_since
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import (
    OptionMap,
    PreparedRun,
    Run,
    RunRefused,
    Scenario,
    StepInProgress,
    UsageError,
)
from hostdx.scenarios.contract.plan import PlannedStep
from hostdx.scenarios.cpuwatch.findings import WatchedJob, cpuwatch_findings
from hostdx.scenarios.cpuwatch.users import host_finding, shared_cpus_findings, users_finding
from hostdx.scenarios.triage.cpus.usable import UsableCpus, usable_cpus
from hostdx.scenarios.triage.knowledge.waits import known_kernel_thread

DEFAULT_S = 30.0
TICK_S = 1.0
MIN_WATCH_S = 3.0
FIND_S = 2.0  # between two looks at all processes, where no job is named
MAX_DRAWN = 3  # programs, each a series beside the total
MIN_DRAWN_CPUS = 0.1
LOOK_S = 5.0  # between two looks at all processes while the job is watched: 7 microseconds a process


@apply_declaration(__file__, default_s=DEFAULT_S, least_s=MIN_WATCH_S)
class Cpuwatch(Scenario):
    """A look a second at every process and thread of the job."""

    takes_s: ClassVar[float] = DEFAULT_S

    def blocking_reason(self, host: Host) -> str:
        return "" if host.live else "a captured tree cannot be watched"

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        target = _target_of_options(options)
        if target is not None and target.start_ticks is not None:
            named_job = look_at_job(host, target)
            if isinstance(named_job, Absent):
                raise RunRefused(f"cpuwatch: {named_job.reason}")
        seconds = options.as_number("seconds", DEFAULT_S)
        user = user_of(int(target.value)) if target is not None and target.kind == "pid" else ""
        watched = (
            "looks at all processes, and closer at the one that uses the most CPU,"
            if target is None
            else f"reads {_target_words(target, host)}"
        )
        plan = self.make_plan(
            options=dict(options.values),
            steps=(PlannedStep("watch", "watch the host" if target is None else "watch the job", seconds),),
            seconds=seconds,
            sentences=(
                f"{watched} once a second; starts no load, moves no process",
                *((f"of all that this user runs: --user={user}",) if user else ()),
            ),
        )
        return PreparedRun(plan, partial(self._run, target, usable_cpus(host)))

    async def _run(self, named_target: JobTarget | None, usable: UsableCpus, run: Run) -> None:
        users = CpuUsers(run.host)
        target = named_target or await _find_busiest_target(run, users)
        began_s, waited_s = run.clock.now(), read_pressure_s(run.host, "cpu")
        end_s = began_s + run.options.as_number("seconds", DEFAULT_S)
        watch = await _JobWatch.begin(run, target, users) if target is not None else None
        try:
            with run.begin_step(
                "watch", "watch the job" if watch is not None else "watch all processes"
            ) as step:
                series = _HostSeries(run, users, usable.cpus) if named_target is None else None
                if watch is not None:
                    await watch.watch_job(step, end_s, series)
                end_reason = watch.end_reason if watch is not None else ""
                if series is not None:
                    await series.watch_until(step, end_s, end_reason)
                if end_reason:
                    step.finish_with_remark(end_reason)
        finally:  # what was seen until a stop is an answer, too
            users.look()
            pressure_s = read_pressure_s(run.host, "cpu")
            waited_share = _pressure_share(waited_s, pressure_s, run.clock.now() - began_s)
            _emit_answers(
                run, users, usable, watch, is_named=named_target is not None, waited_share=waited_share
            )


def _emit_answers(
    run: Run,
    users: CpuUsers,
    usable: UsableCpus,
    watch: "_JobWatch | None",
    *,
    is_named: bool,
    waited_share: float | None,
) -> None:
    """Raise RunRefused where a named job ended before it could be read twice."""
    if watch is not None and watch.end_reason:
        if is_named and not watch.uses:
            raise RunRefused("cpuwatch: the job ended within the first second, before it could be read twice")
        run.emit_note(watch.end_reason)
    expect = run.options.as_number("expect") or None
    about_job = is_named or (expect is not None and watch is not None)
    if not about_job:
        run.emit_finding(host_finding(run.host, users, usable.cpus, waited_share))
    is_long_enough = watch is not None and (is_named or len(watch.uses) >= MIN_WATCH_S)
    if watch is not None and watch.uses and is_long_enough:
        job = msgspec.structs.replace(watch.watched_job(waited_share), was_named=about_job)
        for finding in cpuwatch_findings(run.host, usable, job, watch.uses, expect):
            run.emit_finding(finding)
    for finding in shared_cpus_findings(run.host, users.find_shared_cpus(usable.cpus)):
        run.emit_finding(finding)
    if about_job and len(ranked := users.rank_users()) > 1:
        run.emit_finding(users_finding(ranked, usable.cpus, users.seconds))


class _HostSeries:
    """What the host uses from look to look, all of it and by the programs that use most: the answer is about them."""

    def __init__(self, run: Run, users: CpuUsers, usable: frozenset[int]) -> None:
        self._run, self._users, self._usable = run, users, usable
        self._began_s, self._index = run.clock.now(), 0
        self._programs: list[str] = []  # what was drawn once is drawn on

    async def look_and_emit(self) -> None:
        await asyncio.to_thread(self._users.look)
        used = self._users.used_cpus(self._usable, since_last_look=True)
        if used is None:
            return
        _emit_sample(self._run, "CPUs used", self._index, used, "CPUs")
        rates = self._users.last_rates
        for name in sorted(rates, key=lambda name: -rates[name]):
            has_room = len(self._programs) < MAX_DRAWN and rates[name] >= MIN_DRAWN_CPUS
            if has_room and name not in self._programs:
                self._programs.append(name)
        for name in self._programs:
            _emit_sample(self._run, f"by {name}", self._index, rates.get(name, 0.0), "CPUs")
        self._index += 1

    async def watch_until(self, step: StepInProgress, end_s: float, end_reason: str) -> None:
        """A look a second. `end_reason`: of the job that was watched before; empty where there was none."""
        while (left := end_s - self._run.clock.now()) > 0:
            used = self._users.used_cpus(self._usable)
            words = "looks at all processes" if used is None else f"{used:.2f} CPUs used"
            step.report_progress(
                f"{end_reason}; {words}" if end_reason else words, left, 1 - left / (end_s - self._began_s)
            )
            await self._run.clock.sleep(min(TICK_S, left))
            await self.look_and_emit()


class _JobWatch:
    """A look a second at the job, and one in five at all processes. `end_reason`: the job ended before its time."""

    def __init__(self, run: Run, target: JobTarget, users: CpuUsers, first: JobLook) -> None:
        self._run, self._users, self._first = run, users, first
        self._target = _with_start_ticks(target, first)
        self._began_s = run.clock.now()
        self._quotas = find_job_quotas(run.host, self._target)
        self.uses: list[JobUse] = []
        self.end_reason = ""

    @classmethod
    async def begin(cls, run: Run, target: JobTarget, users: CpuUsers) -> "_JobWatch":
        """Raises RunRefused where there is no such job."""
        first = await asyncio.to_thread(look_at_job, run.host, target)
        if isinstance(first, Absent):
            raise RunRefused(f"cpuwatch: {first.reason}")
        watch = cls(run, target, users, first)
        await asyncio.to_thread(users.look)
        return watch

    @property
    def _elapsed_s(self) -> float:
        return self._run.clock.now() - self._began_s

    async def watch_job(self, step: StepInProgress, end_s: float, series: _HostSeries | None) -> None:
        """`series`: of the host, where that is what was asked about; the job's own are emitted else."""
        before, looked_s, seconds = self._first, 0.0, end_s - self._run.clock.now()
        while (left := end_s - self._run.clock.now()) > 0:
            await self._run.clock.sleep(min(TICK_S, max(0.2, left)))
            after = await asyncio.to_thread(look_at_job, self._run.host, self._target)
            if series is not None:
                await series.look_and_emit()
            elif self._elapsed_s >= looked_s + LOOK_S:
                looked_s = self._elapsed_s
                await asyncio.to_thread(self._users.look)
            if isinstance(after, Absent):
                ended = "the job" if series is None else _target_label(self._target, self._first)
                self.end_reason = f"{ended} ended after {self._elapsed_s:.0f} s"
                return
            use = compute_job_use(before, after)
            self.uses.append(use)
            if series is None:
                _emit_samples(self._run, use, len(self.uses) - 1)
            used = f"{use.cores:.2f} cores, {count_noun(use.threads, 'thread')}"
            label = _target_label(self._target, self._first)
            step.report_progress(f"{label}: {used}", left, 1 - left / seconds)
            before = after

    def watched_job(self, waited_share: float | None) -> WatchedJob:
        """Return what was watched, with the quotas of the time until now."""
        now = (quota_counts_since(self._run.host, quota) for quota in self._quotas)
        job = _watched_job(self._target, self._first, waited_share)
        words = f"{job.words} ({self.end_reason})" if self.end_reason else job.words
        quotas = tuple(quota for quota in now if quota is not None)
        return msgspec.structs.replace(job, quotas=quotas, words=words, has_ended=bool(self.end_reason))


async def _find_busiest_target(run: Run, users: CpuUsers) -> JobTarget | None:
    """The process of others that uses the most CPU over two seconds that `users` looks at twice.

    Where no process alone uses a quarter, those that do so together. None where there are none, or it is a kernel
    thread, which works for others.
    """
    with run.begin_step("find", "find the process that uses the most CPU") as step:
        before = await asyncio.to_thread(users.look)
        await run.clock.sleep(FIND_S)
        after = await asyncio.to_thread(users.look)
        own_pids = users.own_pids
        user = find_dominant_process(before, after, "cpu", own_pids)
        target: JobTarget | None = None
        if user is None:
            target, words = await asyncio.to_thread(_busiest_and_words, run.host, before, after, own_pids)
        else:
            words = f"{user.label} uses the most CPU: {user.rate:.1f} CPUs over {FIND_S:g} s"
            if after.processes[user.pid].kernel_thread:
                thread_kind = known_kernel_thread(user.name)
                work = f" that {thread_kind.work}" if thread_kind is not None else ""
                words += f"; it is a kernel thread{work}: look at what asks for that work"
            else:
                target = JobTarget("pid", str(user.pid), user.start_ticks)
        step.finish_with_remark(words)
        run.emit_note(words)
    return target


def _busiest_and_words(
    host: Host, before: ProcessTable, after: ProcessTable, own_pids: frozenset[int]
) -> tuple[JobTarget | None, str]:
    """The processes that used most together where none did alone: one with its descendants, a control group, a user's;
    with the words that say so. None where no such group used a quarter.
    """
    alone = f"no process alone used a quarter of the CPU time within {FIND_S:g} s"
    if (family := find_dominant_family(before, after, own_pids)) is not None:
        words = f"{family.label} and its descendants used {family.rate:.1f} CPUs"
        return JobTarget("pid", str(family.pid), family.start_ticks), f"{alone}; {words}"
    in_group = find_dominant_group(
        before, after, own_pids, lambda pid: control_group_of(host, pid).strip("/")
    )
    of_user = find_dominant_group(before, after, own_pids, _owner_or_empty_if_root)
    if in_group is not None:
        busiest, target = in_group, JobTarget("cgroup", f"/{in_group.key}")
    elif of_user is not None:
        busiest, target = of_user, JobTarget("user", _uid_of_user(of_user.key.removeprefix("uid ")))
    else:
        return None, f"{alone}, and no control group or user: all processes are watched"
    used = f"{busiest.processes} of them used {busiest.rate:.1f} CPUs together"
    return target, f"{alone}; {_target_words(target)}: {used}"


def _owner_or_empty_if_root(pid: int) -> str:
    """The name of its user; "" of root, whose processes are the whole system's."""
    owner = user_of(pid)
    return "" if owner == "root" else owner


def _target_of_options(options: OptionMap) -> JobTarget | None:
    """None: the busiest process. Raises UsageError where several are named."""
    jobs = [(kind, options.as_string(kind)) for kind in ("pid", "cgroup", "user") if options.as_string(kind)]
    start_ticks = options.as_integer("started") or None
    if start_ticks is not None and not options.as_string("pid"):
        raise UsageError("cpuwatch: --started belongs to --pid")
    if not jobs:
        return None
    if len(jobs) != 1:
        raise UsageError("cpuwatch: name one job: --pid N, --cgroup PATH or --user NAME")
    kind, value = jobs[0]
    if kind == "user":
        return JobTarget("user", _uid_of_user(value))
    return JobTarget("pid", value, start_ticks) if kind == "pid" else JobTarget("cgroup", value)


def _with_start_ticks(target: JobTarget, look: JobLook) -> JobTarget:
    """Return the target as the look found it: a process that gets the number later is another one."""
    process = look.processes.get(int(target.value)) if target.kind == "pid" else None
    return target if process is None else JobTarget("pid", target.value, process.start_ticks)


def _uid_of_user(user: str) -> str:
    if user.isascii() and user.isdecimal():
        return user
    try:
        return str(pwd.getpwnam(user).pw_uid)
    except (KeyError, ValueError):
        raise UsageError(f"cpuwatch: there is no user {user}") from None


def _watched_job(target: JobTarget, first: JobLook, waited_share: float | None) -> WatchedJob:
    top = first.processes.get(int(target.value)) if target.kind == "pid" else None
    return WatchedJob(
        words=_process_words(top.name, target.value) if top is not None else _target_words(target),
        target=target,
        name=f"{top.name} [{top.pid}]" if top is not None else "",
        members=frozenset(first.processes),
        waited_share=waited_share,
    )


def _target_label(target: JobTarget, first: JobLook) -> str:
    """`python [23071]`, the last part of a control group's path, or `user 1000`."""
    top = first.processes.get(int(target.value)) if target.kind == "pid" else None
    if top is not None:
        return f"{top.name} [{top.pid}]"
    return (
        target.value.rstrip("/").rpartition("/")[2]
        if target.kind == "cgroup"
        else f"{target.kind} {target.value}"
    )


def _pressure_share(before: float | None, after: float | None, seconds: float) -> float | None:
    if before is None or after is None or seconds <= 0:
        return None
    return min(1.0, max(0.0, (after - before) / seconds))


def _process_words(name: str, pid: str) -> str:
    owner = user_of(int(pid))
    owner_suffix = f" (user {owner})" if owner else ""
    return f"{f'{name} [{pid}]' if name else f'process {pid}'}{owner_suffix} and its children"


def _target_words(target: JobTarget, host: Host | None = None) -> str:
    if target.kind == "pid":
        comm = host.read_file_text(f"/proc/{target.value}/comm", 64) if host is not None else ""
        return _process_words(comm.strip() if is_present(comm) else "", target.value)
    return (
        f"control group {target.value}"
        if target.kind == "cgroup"
        else f"the processes of user {target.value}"
    )


def _emit_samples(run: Run, use: JobUse, index: int) -> None:
    values: list[tuple[str, float | None, str]] = [
        ("cores used", use.cores, "cores"),
        ("user share", use.user_share, "share"),
        ("threads waiting for a CPU", use.waited, "threads"),
        ("others waiting for a CPU", use.others_waited, "threads"),
        ("migrations", use.migrations_per_s, "1/s"),
    ]
    for name, value, unit in values:
        if is_present(value) and value is not None:
            _emit_sample(run, name, index, value, unit)


def _emit_sample(run: Run, series: str, index: int, value: float, unit: str) -> None:
    run.emit(
        ev.SampleTaken(t=run.elapsed_s(), series=series, variant="", block=index, value=value, unit=unit)
    )
