"""Read-only rules about the host as a whole: what slows every job before any disk or network is asked.

Kernel threads that use more than half a CPU: since they started, or when a captured `top` looked.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from hostdx.probes.cpu_list import format_cpu_list
from hostdx.probes.number_text import parse_real
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import TICKS_PER_S
from hostdx.probes.system.processor.throttle import find_quota_files, throttled_and_all_periods
from hostdx.probes.system.processor.topology import ROOT, CpuTopology, read_cpu_topology, read_cpuinfo
from hostdx.probes.system.running.cgroup import cpu_quota_of_group, read_cgroup
from hostdx.probes.system.running.processes import Process, ProcessTable
from hostdx.probes.system.running.quota_groups import MAX_DEPTH, MAX_GROUPS, QuotaGroup, list_quota_groups
from hostdx.probes.system.running.tasks import kernel_stack
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import count_noun, format_cpus, format_number, format_percent, join_names
from hostdx.scenarios.contract.card import options_of_process
from hostdx.scenarios.contract.finding import MAX_SHOWN_SUBJECTS, Evidence, Finding, Remedy
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule, RuleInapplicable, require_readable
from hostdx.scenarios.triage.cpus import priority
from hostdx.scenarios.triage.cpus.quota import (
    MIN_THROTTLED_SHARE,
    SessionQuota,
    raise_quota_remedy,
    throttling_sentence,
)
from hostdx.scenarios.triage.host.top_users import (
    TopUser,
    process_table_of_look,
    reason_nobody_is_named,
    top_users,
)
from hostdx.scenarios.triage.knowledge.waits import KnownKernelThread, known_kernel_thread
from hostdx.scenarios.triage.rules import settings
from hostdx.scenarios.triage.rules.services import read_processes
from hostdx.scenarios.triage.rules.texts import finding_texts

MIN_SHARE = 0.5  # of a CPU
MIN_SHARE_OF_SEVERAL = 0.05  # of each thread of a name
MIN_LIFE_S = 600.0  # a thread that has just started may be in its first work
MAX_SHOWN = 8
# top(1): PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND. A kernel thread has no memory of its own.
_TOP = re.compile(
    r"^\s*(\d{1,10})\s+\S+\s+\S+\s+\S+\s+0\s+0\s+0\s+\S\s+(\d{1,5}\.\d)\s+\S+\s+\S+\s+(\S+)", re.MULTILINE
)


class BusyThread(msgspec.Struct, frozen=True):
    """`share`: CPUs that it used, `over` what time; `source`: where that was read."""

    pid: int
    name: str
    share: float
    over: str
    source: str
    members: int = 1  # threads of the name that count together; `pid` is the busiest


def check_busy_kernel_threads(host: Host) -> Iterator[Finding]:
    """One finding a thread; those that poll by design are left out."""
    table = host.compute_once(read_processes)
    listed = _threads_in_top(host)
    if not table.processes and not listed:
        raise FactUnreadable("no process can be seen")
    threads_by_name = {thread.name: thread for thread in (*_busy_kernel_threads(table), *listed)}
    for thread in sorted(threads_by_name.values(), key=lambda busy_thread: -busy_thread.share)[:MAX_SHOWN]:
        thread_kind = known_kernel_thread(thread.name)
        if thread_kind is not None and thread_kind.by_design:
            continue
        yield SAYS.finding(
            "kernel-thread",
            severity="warning" if thread_kind is not None and thread_kind.fault else "notice",
            subject=thread.name,
            name=thread.name,
            share=format_percent(thread.share),
            over=thread.over,
            work=f": it {thread_kind.work}" if thread_kind is not None else _queued_work_words(thread.name),
            evidence=(
                SAYS.evidence("thread-times" if thread.members > 1 else "thread-time", name=thread.name, pid=thread.pid,
                              count=thread.members, share=format_percent(thread.share),
                              over=thread.over, source=thread.source),
                *_stack_evidence(host, thread),
            ),
            remedy=_kernel_thread_remedies(host, thread, thread_kind),
            references=(thread_kind.source,) if thread_kind is not None else (),
        )  # fmt: skip


def _busy_kernel_threads(table: ProcessTable) -> Iterator[BusyThread]:
    """Threads of one name that work only when something is wrong count together."""
    groups: dict[tuple[str, int], list[tuple[float, Process]]] = {}
    for process in table.processes.values():
        life_s = table.uptime_s - process.start_ticks / TICKS_PER_S
        if process.kernel_thread and life_s >= MIN_LIFE_S:
            kind = (
                known_kernel_thread(process.name) if process.own_s / life_s >= MIN_SHARE_OF_SEVERAL else None
            )
            pid = 0 if kind is not None and kind.fault else process.pid
            groups.setdefault((process.name, pid), []).append((process.own_s / life_s, process))
    for (name, _), members in groups.items():
        share, (_, busiest) = sum(part for part, _ in members), max(members, key=lambda member: member[0])
        if share >= MIN_SHARE:
            source = f"/proc/{busiest.pid}/stat"
            yield BusyThread(busiest.pid, name, share, _since_words(busiest), source, len(members))


def _since_words(process: Process) -> str:
    return "since boot" if process.start_ticks < MIN_LIFE_S * TICKS_PER_S else "since it started"


def _threads_in_top(host: Host) -> list[BusyThread]:
    """By the `top` that a sosreport keeps: what ran at that moment."""
    threads = []
    for path in host.glob_paths("/sos_commands/process/top_*") if not host.live else ():
        text = host.read_file_text(path, 4 << 20)
        for pid, share, name in _TOP.findall(text) if is_present(text) else ():
            if float(share) >= MIN_SHARE * 100:
                threads.append(BusyThread(int(pid), name, float(share) / 100, "when top looked", path))
    return threads


def _queued_work_words(name: str) -> str:
    """Return what a worker's name says of its work: `kworker/u8:1-events_unbound` and `kworker/0:1+pm`."""
    queue = re.match(r"kworker/[^-+]+[-+](\S+)", name)
    return f": it does the work that is queued on {queue[1]}" if queue else ""


def _stack_evidence(host: Host, thread: BusyThread) -> Iterator[Evidence]:
    stack = kernel_stack(host, thread.pid, thread.pid)
    if is_present(stack):
        yield SAYS.evidence("thread-stack", stack=" <- ".join(stack.functions[:5]), source=stack.source)


def _kernel_thread_remedies(
    host: Host, thread: BusyThread, kind: KnownKernelThread | None
) -> tuple[Remedy, ...]:
    looks = priority.kernel_thread_remedy(thread.pid, thread.name)
    lines = (
        settings.commands_to_change_settings(host, kind.set, "kernel-thread")
        if kind is not None and kind.set
        else None
    )
    if kind is None or lines is None or not lines.commands:
        return (looks,)
    setting_remedy = Remedy(
        title=kind.advice,
        commands=lines.commands,
        verify=lines.verify,
        undo=lines.undo,
    )
    return (setting_remedy, looks)


SAYS = finding_texts("triage/host")

# Shares of time (0..1 of the last minute) in which somebody waited, from which on triage speaks. Ten per cent of the
# wall time of at least one task is what a person feels; idle servers show under one.
MIN_PRESSURE_SHARE = 0.10
MIN_PERIODS = 100  # ten seconds of work: fewer tell little of a group that is not our own


def check_pressure(host: Host) -> Iterator[Finding]:
    """Pressure stall information of the last minute (Documentation/accounting/psi.rst)."""
    read = {kind: host.read_file_text(f"/proc/pressure/{kind}") for kind in ("cpu", "io", "memory")}
    reasons = [v.reason for v in read.values() if isinstance(v, Absent)]
    if len(reasons) == len(read):
        raise FactUnreadable(f"pressure stall information: {reasons[0]} (boot with psi=1)")
    for kind, text in read.items():
        if not is_present(text):
            continue
        share = one_minute_share(text)
        if share is None or share < MIN_PRESSURE_SHARE:
            continue
        users = top_users(host, kind) if host.live else ()
        first = users[0] if users else None
        nobody = (
            reason_nobody_is_named(host, kind, process_table_of_look(host))
            if host.live and first is None
            else None
        )
        most = f"; {first.name} [{first.pid}]{_kernel_thread_words(first)} uses {first.used}" if first else ""
        is_thread = first is not None and first.kernel_thread
        yield SAYS.finding(
            "pressure",
            id=f"host.pressure-{kind}",
            severity="warning" if kind == "memory" else "notice",
            kind=kind,
            resource=_WAITED_FOR[kind],
            share=f"{share * 100:.0f}",
            least=f"{MIN_PRESSURE_SHARE * 100:.0f}",
            most=most + (f"; {nobody.reason_sentence}" if nobody else ""),
            evidence=[
                Evidence(
                    f"{user.name} [{user.pid}]{_owner_suffix(user)}: {user.used}{user.since}",
                    f"/proc/{user.pid}/{_FILES[kind]}",
                )
                for user in users
            ],
            remedy=(_look_at_top_user(kind, first),)
            if first
            else (nobody.next_remedy if nobody else SAYS.remedy(f"captured-{kind}"),),
            proof="process" if kind == "cpu" and not is_thread else kind,
            prove_options=options_of_process(first.pid, first.start_ticks)
            if first and kind == "cpu" and not is_thread
            else (),
        )


_WAITED_FOR = {"cpu": "a CPU", "io": "a disk", "memory": "memory"}
_FILES = {"cpu": "stat", "io": "io", "memory": "statm"}  # of a process, in /proc/PID


def _owner_suffix(user: TopUser) -> str:
    return ", a kernel thread" if user.kernel_thread else f" of {user.owner}"


def _kernel_thread_words(user: TopUser) -> str:
    """`, a kernel thread that ...`: few know them by their names; empty for a process."""
    if not user.kernel_thread:
        return ""
    thread_kind = known_kernel_thread(user.name)
    return ", a kernel thread" + (f" that {thread_kind.work}" if thread_kind is not None else "")


def _look_at_top_user(kind: str, first: TopUser) -> Remedy:
    """Return what the process that uses most does now: its average since the start is too little for a new priority."""
    if first.kernel_thread:
        return priority.kernel_thread_remedy(first.pid, first.name)
    return SAYS.remedy("memory" if kind == "memory" else "look", name=first.name, pid=first.pid)


def one_minute_share(text: str) -> float | None:
    """The `some avg60` share (0..1) of a pressure file."""
    for field in text.split("\n", 1)[0].split():
        if field.startswith("avg60="):
            percent_value = parse_real(field[6:])
            return None if percent_value is None else percent_value / 100
    return None


def check_offline_cpus(host: Host) -> Iterator[Finding]:
    """CPUs that are there but switched off: fewer cores than were paid for. Siblings of SMT that was switched off
    by choice are none (Documentation/admin-guide/hw-vuln/l1tf.rst, smt/control), nor is what cannot be plugged in.
    """
    cpus = read_cpu_topology(host)
    if not cpus.known_cpus:
        raise FactUnreadable("no CPU is listed")
    if isinstance(off := host.read_file_text(f"{ROOT}/offline"), Absent) and not cpus.offline:
        raise FactUnreadable(f"{ROOT}/offline: {off.reason}", off.kind)
    control = host.read_file_text(f"{ROOT}/smt/control")
    by_choice = is_present(control) and control.strip() in ("off", "forceoff")
    # On s390 what is not configured is spare, kept aside for this machine (admin-guide/s390, cpu/cpuN/configure).
    missing = frozenset(n for n in cpus.offline if host.read_file_text(f"{ROOT}/cpu{n}/configure", 64) != "0")
    # With SMT off each online core has one thread, and its siblings, one or three a core, are the others.
    if by_choice and len(missing) <= 3 * len(cpus.online):
        return
    if _are_first_threads_on(host, cpus):
        return
    if missing:
        count = len(missing)
        yield SAYS.finding(
            "cpu-offline",
            cpus=f"{count} CPU{' is' if count == 1 else 's are'}",
            missing=format_cpu_list(missing),
            present=len(cpus.present),
            source=f"{ROOT}/offline" if is_present(off) else f"{ROOT}/cpu*/online",
            evidence=(SAYS.evidence("smt", control=control.strip()),) if is_present(control) else (),
        )


def _are_first_threads_on(host: Host, cpus: CpuTopology) -> bool:
    """POWER with fewer threads a core than it could run (ppc64_cpu --smt=off, usual under KVM): the first ones of
    each are on. Its kernels tell that by nothing else before 6.6, and number a core's threads one after the other.
    """
    if not any(entry.get("cpu", "").startswith("POWER") for entry in read_cpuinfo(host)[:1]):
        return False
    for threads in (8, 4, 2):
        counts = Counter(n // threads for n in cpus.online)
        used = next(iter(counts.values()), 0)
        as_usual = all(n % threads < used for n in cpus.online) and len(set(counts.values())) == 1
        if 0 < used < threads and as_usual and {n // threads for n in cpus.offline} <= set(counts):
            return True
    return False


def throttled_groups_finding(host: Host, groups: Sequence[QuotaGroup]) -> Finding | None:
    """One finding for all groups that their own quota stops; the group that is stopped most often is named first."""
    stopped = sorted(
        (g for g in groups if g.periods >= MIN_PERIODS and g.stopped_share > MIN_THROTTLED_SHARE),
        key=lambda g: -g.stopped_share,
    )
    if not stopped:
        return None
    first = stopped[0]
    title = throttling_sentence(first)
    if len(stopped) > 1:
        others = [
            f"{g.name} ({format_cpus(g.cores)}, {format_percent(g.stopped_share)})" for g in stopped[1:]
        ]
        title += f"; {count_noun(len(others), 'other group')} too: {join_names(others, 3)}"
    return SAYS.finding(
        "cpu-quota-groups",
        subject=first.folder if len(stopped) == 1 else "",
        subjects=tuple(g.folder for g in stopped) if len(stopped) > 1 else (),
        groups=title,
        evidence=[
            SAYS.evidence(
                "group",
                name=g.name,
                cpus=format_cpus(g.cores),
                stopped=g.stopped,
                periods=g.periods,
                folder=g.folder,
            )
            for g in stopped[:MAX_SHOWN_SUBJECTS]
        ],
        remedy=(raise_quota_remedy(host, first.folder),),
        prove_options=("--cgroup", first.folder),
    )


def check_quota(host: Host) -> Iterator[Finding]:
    """A CPU quota that stops tasks, of our own group, of one above it or of any other (admin-guide/cgroup-v2.rst,
    cpu.stat).
    """
    cpu_topology = read_cpu_topology(host)
    cpus = len(cpu_topology.online) if cpu_topology.known_cpus else 0
    has_counts = False
    for path in find_quota_files(host):
        folder = path.rsplit("/", 1)[0]
        if (counts := throttled_and_all_periods(host, folder)) is None:
            continue
        throttled, periods = counts
        has_counts = True
        limit = cpu_quota_of_group(host, folder)
        # Periods in which nothing of the group ran are not counted (kernel/sched/fair.c, do_sched_cfs_period_timer).
        stops = periods > 0 and throttled / periods > MIN_THROTTLED_SHARE
        session_quota = SessionQuota(cores=limit, cpus=cpus) if limit is not None else None
        limits = session_quota is not None and session_quota.is_below_host
        if not stops and not limits:
            continue
        sentence = session_quota.quota_sentence if session_quota is not None and limits else ""
        yield SAYS.finding(
            "cpu-quota",
            severity="warning" if stops else "notice",  # a container may be meant to have it
            subject=folder,
            alike=path,
            sentence=sentence or SAYS.text("stopped", share=throttled / periods),
            stopped=throttled,
            periods=periods,
            path=path,
            evidence=(SAYS.evidence("limit", limit=format_number(limit), folder=folder),)
            if limit is not None
            else (),
            remedy=(raise_quota_remedy(host, folder),),
        )
    own = frozenset(path.rpartition("/")[0] for path in find_quota_files(host))
    groups, complete = list_quota_groups(host, own)
    if (others := throttled_groups_finding(host, groups)) is not None:
        yield others
    if not complete:
        raise FactUnreadable(f"CPU quota: of more than {MAX_GROUPS} control groups only so many were read")
    group = require_readable(host.compute_once(read_cgroup), "control group")
    if isinstance(group.cpu_cores, Absent) and not find_quota_files(host):
        raise FactUnreadable(f"CPU quota: {group.cpu_cores.reason}", group.cpu_cores.kind)
    if not has_counts and isinstance(group.cpu_cores, float):
        raise FactUnreadable("a CPU quota is set, but no cpu.stat shows whether it stops tasks")
    if not has_counts and not groups:
        raise RuleInapplicable("no CPU quota is set for our control group, one above it or another one")


def busy_kernel_thread_findings(host: Host) -> Iterator[Finding]:
    """Kernel threads that use more than half a CPU."""
    return check_busy_kernel_threads(host)


RULES: tuple[HostRule, ...] = (
    HostRule(
        "host.kernel-thread",
        "host",
        "kernel threads that use more than half a CPU",
        busy_kernel_thread_findings,
    ),
    HostRule(
        "host.pressure", "host", "tasks that waited for CPU, I/O or memory in the last minute", check_pressure
    ),
    HostRule("host.cpu-offline", "host", "CPUs switched off", check_offline_cpus),
    HostRule(
        "host.cpu-quota",
        "host",
        "CPU quotas of the control groups",
        check_quota,
        detail=(
            f"Reads cpu.max (version 1: cpu.cfs_quota_us) and cpu.stat of hostdx's own group, those above it, and "
            f"all others down to {MAX_DEPTH} levels, at most {MAX_GROUPS} groups. Speaks of a group that its quota "
            f"stopped in more than {format_percent(MIN_THROTTLED_SHARE)} of its periods (of another group: of "
            f"{MIN_PERIODS} at "
            f"least), and of a quota of the own group that is less than the host.",
        ),
    ),
)
