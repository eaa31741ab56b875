"""Read-only rules about hanging tasks: in D now, in the kernel's log, and a log that has gone silent."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hostdx.probes.reading.host import Host, compute_once_if_static
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.disk.mounts import NETWORK, Mount, read_mounts
from hostdx.probes.system.kernel_log import (
    HungTask,
    KernelLog,
    find_hung_tasks,
    find_null_dereferences,
    read_kernel_log,
)
from hostdx.probes.system.running.tasks import (
    BlockedTask,
    BlockedTaskScan,
    find_blocked_tasks,
    find_still_asleep,
    kernel_stack,
)
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.rule import (
    FactUnreadable,
    HostRule,
    RuleInapplicable,
    require_readable,
    wait_until_after,
)
from hostdx.scenarios.triage.knowledge.kernels import kernel_faults_of_host
from hostdx.scenarios.triage.knowledge.waits import WaitReason, wait_reason
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("dstate")
# Ordinary I/O keeps a task in D for milliseconds: one that is still in the same sleep after this is worth a word.
# Triage has about a second in all.
LOOK_AGAIN_S = 0.25
_SHOWN = 6


@compute_once_if_static
def _first_scan(host: Host) -> tuple[float, BlockedTaskScan | Absent]:
    """The tasks in D, with the time of the look (monotonic)."""
    return time.monotonic(), find_blocked_tasks(host)


def find_tasks_stuck_in_d(host: Host) -> Iterator[Finding]:
    """Tasks in D, with what their kernel stack says, or their wait channel where the stack cannot be read."""
    look_s, scan = _first_scan(host)
    first = require_readable(scan, "the tasks' states")
    waiting = list(first.tasks)
    if waiting and host.live:
        wait_until_after(look_s, LOOK_AGAIN_S)
        waiting = find_still_asleep(first, find_blocked_tasks(host))
    if not waiting:
        if first.hidden is not None:
            raise FactUnreadable(
                f"none of the visible tasks is in D; {first.hidden.reason}", first.hidden.kind
            )
        return
    reasons = [_wait_reason_and_source(host, task) for task in waiting]
    kinds = Counter(reason.waits_for for reason, _ in reasons)
    main, most = kinds.most_common(1)[0]
    evidence = [
        SAYS.evidence(
            "in-d",
            comm=task.comm,
            tid=task.tid,
            where=f" in {reason.function_name}" if reason.function_name else "",
            what=reason.waits_for,
            source=source,
        )
        for (reason, source), task in zip(reasons[:_SHOWN], waiting, strict=False)
    ]
    if len(waiting) > _SHOWN:
        evidence.append(Evidence(f"and {len(waiting) - _SHOWN} more", "/proc/*/stat"))
    count = len(waiting)
    frozen = any(reason.kind == "frozen" for reason, _ in reasons)  # a thaw comes from outside
    mount = _only_network_mount(host, [reason for reason, _ in reasons])
    if mount is not None:
        evidence.append(SAYS.evidence("server-mount", server=mount.source, mountpoint=mount.mountpoint))
    yield SAYS.finding(
        "tasks-in-d",
        severity="warning" if count >= 10 or frozen else "notice",
        tasks=count_noun(count, "task"),
        most="" if most == count else "most of them ",
        main=f"{main}: {mount.source} at {mount.mountpoint}" if mount is not None else main,
        evidence=evidence,
        remedy=(SAYS.remedy("server"),)
        if any(reason.kind == "network" for reason, _ in reasons)
        else _wait_remedies((reason for reason, _ in reasons), main),
    )


def _wait_remedies(reasons: Iterable[WaitReason], main: str) -> tuple[Remedy, ...]:
    """What helps against the main wait, where that is known."""
    reason = next((reason for reason in reasons if reason.waits_for == main and reason.advice), None)
    return (Remedy(title=reason.advice, commands=reason.commands),) if reason is not None else ()


def _wait_reason_and_source(host: Host, task: BlockedTask) -> tuple[WaitReason, str]:
    """With the file that says so."""
    stack = kernel_stack(host, task.pid, task.tid)
    if is_present(stack):
        return wait_reason(stack.functions, stack.modules), stack.source
    if is_present(task.wchan):
        return wait_reason((task.wchan,)), task.wchan_source
    return wait_reason(()), f"/proc/{task.pid}/stat"


def _only_network_mount(host: Host, reasons: Sequence[WaitReason]) -> Mount | None:
    """The network file system that they wait for, where this host has mounted one alone."""
    table = read_mounts(host)
    if not is_present(table) or not any(reason.kind == "network" for reason in reasons):
        return None
    remote = {mount.source: mount for mount in table if mount.fstype in NETWORK}
    return next(iter(remote.values())) if len(remote) == 1 else None


def _readable_log(host: Host) -> KernelLog:
    return require_readable(host.compute_once(read_kernel_log), "the kernel's log")


def hung_task_findings(host: Host) -> Iterator[Finding]:
    """The hung-task watch's reports (kernel/hung_task.c): who, for how long, behind what."""
    log = _readable_log(host)
    reports = find_hung_tasks(log.lines)
    if not reports:
        return
    reasons = _report_reasons(host, reports)
    kinds = Counter(reason.waits_for for reason, _ in reasons)
    main, most = kinds.most_common(1)[0]
    lines = [
        Evidence(_report_line(report, reason), ", ".join(filter(None, (log.source, source))))
        for report, (reason, source) in list(zip(reports, reasons, strict=True))[:_SHOWN]
    ]
    names = Counter(r.comm for r in reports)
    by_name = ", ".join(f"{name}: {_times_text(count)}" for name, count in names.most_common(5))
    yield SAYS.finding(
        "hung-tasks",
        reports=_hung_tasks_text(len(reports), most == len(reports)),
        main=main,
        evidence=[Evidence(by_name, log.source), *lines],
        remedy=_wait_remedies((reason for reason, _ in reasons), main),
    )
    yield from _known_fault_findings(host, log, reports, [reason for reason, _ in reasons])


def _known_fault_findings(
    host: Host, log: KernelLog, reports: Sequence[HungTask], reasons: Sequence[WaitReason]
) -> Iterator[Finding]:
    """Reports from the block layer on a kernel that is known for them."""
    blocked = [(r, reason) for r, reason in zip(reports, reasons, strict=True) if reason.kind == "block"]
    release = next((r.release for r, _ in blocked if r.release), "")
    fault = next(
        (f for f in kernel_faults_of_host(host, release) if f.scheduler and f.certainty == "reported"), None
    )
    if not blocked or fault is None:
        return
    yield SAYS.finding(
        "stalled",
        tasks=count_noun(len(blocked), "task"),
        scheduler=fault.scheduler,
        update=fault.remedy,
        evidence=(
            *(Evidence(_report_line(r, reason), log.source) for r, reason in blocked[:3]),
            Evidence(f"{fault.title}: {fault.effect}", release or "uname -r"),
        ),
        references=fault.sources,
    )


def _times_text(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _hung_tasks_text(count: int, alike: bool) -> str:
    return "a hung task" if count == 1 else f"{count} hung tasks, {'all' if alike else 'most of them'}"


def _report_reasons(host: Host, reports: Sequence[HungTask]) -> list[tuple[WaitReason, str]]:
    """Of each report, with the file that says so where that is not the log.

    A report without a stack is of the same wait as an earlier one of the task; else the function of its work says what
    it waits for, or the place where the task sleeps now.
    """
    own = {(r.comm, r.pid): wait_reason(r.stack, r.modules) for r in reports if r.stack}
    return [
        (own[r.comm, r.pid], "") if (r.comm, r.pid) in own else _reason_without_stack(host, r)
        for r in reports
    ]


_WORK = lazy_pattern(r"(?:\S+ )?(?P<function>\w+)(?: \[(?P<module>[\w-]+)\])?$")


def _reason_without_stack(host: Host, report: HungTask) -> tuple[WaitReason, str]:
    if work := _WORK.match(report.work):
        return wait_reason((work["function"],), {work["function"]: work["module"] or ""}), ""
    name, path = host.read_word(f"/proc/{report.pid}/comm"), f"/proc/{report.pid}/wchan"
    place = host.read_word(path) if name == report.comm else "0"
    return (wait_reason((place,)), path) if is_present(place) and place != "0" else (wait_reason(()), "")


def _report_line(report: HungTask, reason: WaitReason) -> str:
    place_suffix = f" in {reason.function_name}" if reason.function_name else ""
    work = f", with the work {report.work}" if report.work else ""
    kernel_named = f", kernel {report.release}" if report.release else ""
    head = f"{report.comm} ({report.pid}) blocked for more than {report.seconds} s{place_suffix}"
    return f"{head}{work}, waiting for {reason.waits_for}{kernel_named}"


def null_pointer_findings(host: Host) -> Iterator[Finding]:
    """Null pointers in the block layer's time-out worker: the machine is about to go down, or did."""
    log = _readable_log(host)
    block_oopses = [
        o for o in find_null_dereferences(log.lines) if o.function.startswith(("blk_mq_", "bt_iter", "bfq_"))
    ]
    if not block_oopses:
        return
    # the log may be older than the running kernel
    release = next((o.release for o in block_oopses if o.release), "")
    fault = next(
        (f for f in kernel_faults_of_host(host, release) if not f.scheduler and f.of == "block"), None
    )
    yield SAYS.finding(
        "null-pointer",
        function=block_oopses[0].function,
        update=fault.remedy if fault else SAYS.text("update-then-reboot"),
        evidence=[
            SAYS.evidence(
                "null-pointer",
                function=o.function,
                worker=o.worker or "none",
                kernel=f", kernel {o.release}" if o.release else "",
                source=log.source,
            )
            for o in block_oopses[:3]
        ],
        references=fault.sources if fault else (),
    )


def hung_watch_off_findings(host: Host) -> Iterator[Finding]:
    """After hung_task_warnings reports the kernel says nothing more (sysctl/kernel.rst); 0 seconds: it never looks."""
    left = host.read_integer("/proc/sys/kernel/hung_task_warnings")
    limit = host.read_integer("/proc/sys/kernel/hung_task_timeout_secs")
    if isinstance(left, Absent) and isinstance(limit, Absent):
        if left.kind in ("missing", "captured"):
            raise RuleInapplicable("this kernel does not look for hung tasks")
        raise FactUnreadable(left.reason, left.kind)
    if left != 0 and limit != 0:
        return
    reason = "its limit of reports is used up" if left == 0 else "the time-out is 0"
    yield SAYS.finding("hung-silent", reason=reason, left=left, limit=limit)


RULES: tuple[HostRule, ...] = (
    HostRule("iosched.tasks-in-d", "dstate", "tasks in D now", find_tasks_stuck_in_d, first_look=_first_scan),
    HostRule("iosched.hung-tasks", "dstate", "hung tasks in the kernel's log", hung_task_findings),
    HostRule("iosched.null-pointer", "dstate", "null pointers in the block layer", null_pointer_findings),
    HostRule(
        "iosched.hung-silent", "dstate", "hung-task reports that are switched off", hung_watch_off_findings
    ),
)
