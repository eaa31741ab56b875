"""Read-only rules about hanging tasks: in D now, in the kernel's log, and a log that has gone silent."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from probes.host import Host
from probes.system.kernel_log import HungTask, KernelLog, hung_tasks, kernel_log, null_dereferences
from probes.system.running.tasks import stack, still, tasks_in_d
from probes.types import Absent, present
from probes.units import counted
from scenarios.finding import Evidence, Finding
from scenarios.knowledge.kernels import faults_here
from scenarios.knowledge.waits import wait_kind
from scenarios.rule import Inapplicable, Rule, Unreadable, readable
from scenarios.rules.texts import texts

SAYS = texts("dstate")
# Ordinary I/O keeps a task in D for milliseconds: one that is still in the same sleep after this is worth a word.
# Triage has about a second in all.
LOOK_AGAIN_S = 0.25
_WORDS = {
    "network": "a file server",
    "fuse": "a FUSE server",
    "frozen": "a frozen file system",
    "memory": "memory",
    "block": "the block layer",
    "lock": "another task's lock",
    "unknown": "something unknown",
}
_SHOWN = 6


def tasks_now(host: Host) -> Iterator[Finding]:
    """Tasks in D, with their wait channel and, for root, their stack."""
    first = readable(tasks_in_d(host), "the tasks' states")
    waiting = list(first.tasks)
    if waiting and host.live:
        time.sleep(LOOK_AGAIN_S)
        waiting = still(first, tasks_in_d(host))
    if not waiting:
        if first.hidden is not None:
            raise Unreadable(f"none of the visible tasks is in D; {first.hidden.reason}")
        return
    kinds: Counter[str] = Counter()
    evidence: list[Evidence] = []
    for task in waiting[:_SHOWN]:
        frames = stack(host, task) if host.live else Absent("")
        functions = (*((task.wchan,) if present(task.wchan) else ()), *(frames if present(frames) else ()))
        kind, function = wait_kind(functions)
        kinds[_WORDS[kind]] += 1
        below = f" <- {' <- '.join(frames[1:5])}" if present(frames) else ""
        evidence.append(
            SAYS.evidence(
                "in-d",
                comm=task.comm,
                tid=task.tid,
                pid=task.pid,
                function=function or "an unknown function",
                below=below,
                what=_WORDS[kind],
            )
        )
    if len(waiting) > _SHOWN:
        evidence.append(Evidence(f"and {len(waiting) - _SHOWN} more"))
    count = len(waiting)
    main = kinds.most_common(1)[0][0]
    many = count >= 10 or kinds[_WORDS["frozen"]]  # a thaw comes from outside
    yield SAYS.finding(
        "tasks-in-d",
        severity="warning" if many else "notice",
        tasks=counted(count, "task"),
        most="most of them " * (count > 1),
        main=main,
        evidence=evidence,
    )


def _log(host: Host) -> KernelLog:
    return readable(host.once(kernel_log), "the kernel's log")


def hung(host: Host) -> Iterator[Finding]:
    """The hung-task watch's reports (kernel/hung_task.c): who, for how long, behind what."""
    log = _log(host)
    reports = hung_tasks(log.lines)
    if not reports:
        return
    kinds = Counter(wait_kind(r.stack)[0] for r in reports)
    main = kinds.most_common(1)[0][0]
    names = Counter(r.comm for r in reports)
    by_name = ", ".join(f"{name}: {_times(count)}" for name, count in names.most_common(5))
    yield SAYS.finding(
        "hung-tasks",
        reports=_reports(len(reports)),
        main=_WORDS[main],
        evidence=[Evidence(line, log.source) for line in (by_name, *map(_line, reports[:_SHOWN]))],
    )
    yield from _known(host, log, reports)


def _known(host: Host, log: KernelLog, reports: Sequence[HungTask]) -> Iterator[Finding]:
    """Reports from the block layer on a kernel that is known for them."""
    blocked = [r for r in reports if wait_kind(r.stack)[0] == "block"]
    release = next((r.release for r in blocked if r.release), "")
    fault = next((f for f in faults_here(host, release) if f.scheduler and f.certainty == "reported"), None)
    if not blocked or fault is None:
        return
    yield SAYS.finding(
        "stalled",
        tasks=counted(len(blocked), "task"),
        scheduler=fault.scheduler,
        update=fault.remedy,
        evidence=(
            *(Evidence(_line(r), log.source) for r in blocked[:3]),
            Evidence(f"{fault.title}: {fault.effect}", release or "uname -r"),
        ),
        references=fault.sources,
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _reports(count: int) -> str:
    return "a hung task" if count == 1 else f"{count} hung tasks, most of them"


def _line(report: HungTask) -> str:
    kind, function = wait_kind(report.stack)
    where = f" in {function}" if function else ""
    kernel_named = f", kernel {report.release}" if report.release else ""
    head = f"{report.comm} ({report.pid}) blocked for more than {report.seconds} s{where}"
    return f"{head}, waiting for {_WORDS[kind]}{kernel_named}"


def oopses(host: Host) -> Iterator[Finding]:
    """Null pointers in the block layer's time-out worker: the machine is about to go down, or did."""
    log = _log(host)
    found = [o for o in null_dereferences(log.lines) if o.function.startswith(("blk_mq_", "bt_iter", "bfq_"))]
    if not found:
        return
    # the log may be older than the running kernel
    release = next((o.release for o in found if o.release), "")
    fault = next((f for f in faults_here(host, release) if not f.scheduler and f.of == "block"), None)
    yield SAYS.finding(
        "null-pointer",
        function=found[0].function,
        update=fault.remedy if fault else SAYS.text("update-then-reboot"),
        evidence=[
            SAYS.evidence(
                "null-pointer",
                function=o.function,
                worker=o.worker or "none",
                kernel=f", kernel {o.release}" if o.release else "",
                source=log.source,
            )
            for o in found[:3]
        ],
        references=fault.sources if fault else (),
    )


def silent(host: Host) -> Iterator[Finding]:
    """After hung_task_warnings reports the kernel says nothing more (sysctl/kernel.rst); 0 seconds: it never looks."""
    left = host.integer("/proc/sys/kernel/hung_task_warnings")
    limit = host.integer("/proc/sys/kernel/hung_task_timeout_secs")
    if isinstance(left, Absent) and isinstance(limit, Absent):
        if left.kind in ("missing", "captured"):
            raise Inapplicable("this kernel does not look for hung tasks")
        raise Unreadable(left.reason)
    if left != 0 and limit != 0:
        return
    reason = "its limit of reports is used up" if left == 0 else "the time-out is 0"
    yield SAYS.finding("hung-silent", reason=reason, left=left, limit=limit)


RULES: tuple[Rule, ...] = (
    Rule("iosched.tasks-in-d", "dstate", "tasks in D now", tasks_now),
    Rule("iosched.hung-tasks", "dstate", "hung tasks in the kernel's log", hung),
    Rule("iosched.null-pointer", "dstate", "null pointers in the block layer", oopses),
    Rule("iosched.hung-silent", "dstate", "hung-task reports that are switched off", silent),
)
