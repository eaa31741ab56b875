"""Kernel threads that use more than half a CPU: since they started, or when a captured `top` looked."""

import re
from collections.abc import Iterator

import msgspec

from probes.host import Host
from probes.system.processor.cpu_times import TICKS_PER_S
from probes.system.running.processes import Process, ProcessTable, look
from probes.system.running.tasks import kernel_stack
from probes.types import present
from probes.units import percent
from scenarios.cpus import priority
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.knowledge.waits import KernelThread, kernel_thread
from scenarios.rule import Unreadable
from scenarios.rules import settings
from scenarios.rules.texts import texts

SAYS = texts("host")
MIN_SHARE = 0.5  # of a CPU
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


def busy_kernel_threads(host: Host) -> Iterator[Finding]:
    """One finding a thread; those that poll by design are left out."""
    table = host.once(_processes)
    listed = _in_top(host)
    if not table.processes and not listed:
        raise Unreadable("no process can be seen")
    found = {thread.name: thread for thread in (*_since_start(table), *listed)}
    for thread in sorted(found.values(), key=lambda one: -one.share)[:MAX_SHOWN]:
        known = kernel_thread(thread.name)
        if known is not None and known.by_design:
            continue
        yield SAYS.finding(
            "kernel-thread",
            severity="warning" if known is not None and known.fault else "notice",
            subject=thread.name,
            name=thread.name,
            share=percent(thread.share),
            over=thread.over,
            work=f": it {known.work}" if known is not None else _queue_of(thread.name),
            evidence=(
                SAYS.evidence("thread-time", name=thread.name, pid=thread.pid, share=percent(thread.share),
                              over=thread.over, source=thread.source),
                *_doing(host, thread),
            ),
            remedy=_advice(host, thread, known),
            references=(known.source,) if known is not None else (),
        )  # fmt: skip


def _processes(host: Host) -> ProcessTable:
    return look(host, io=False)


def _since_start(table: ProcessTable) -> Iterator[BusyThread]:
    for process in table.processes.values():
        life_s = table.uptime_s - process.start_ticks / TICKS_PER_S
        if process.kernel_thread and life_s >= MIN_LIFE_S and process.own_s / life_s >= MIN_SHARE:
            yield BusyThread(
                process.pid,
                process.name,
                process.own_s / life_s,
                _since(process),
                f"/proc/{process.pid}/stat",
            )


def _since(process: Process) -> str:
    return "since boot" if process.start_ticks < MIN_LIFE_S * TICKS_PER_S else "since it started"


def _in_top(host: Host) -> list[BusyThread]:
    """By the `top` that a sosreport keeps: what ran at that moment."""
    found = []
    for path in host.glob("/sos_commands/process/top_*") if not host.live else ():
        text = host.text(path, 4 << 20)
        for pid, share, name in _TOP.findall(text) if present(text) else ():
            if float(share) >= MIN_SHARE * 100:
                found.append(BusyThread(int(pid), name, float(share) / 100, "when top looked", path))
    return found


def _queue_of(name: str) -> str:
    """What a worker's name says of its work: `kworker/u8:1-events_unbound` and `kworker/0:1+pm`."""
    queue = re.match(r"kworker/[^-+]+[-+](\S+)", name)
    return f": it does the work that is queued on {queue[1]}" if queue else ""


def _doing(host: Host, thread: BusyThread) -> Iterator[Evidence]:
    stack = kernel_stack(host, thread.pid, thread.pid)
    if present(stack):
        yield SAYS.evidence("thread-stack", stack=" <- ".join(stack.functions[:5]), source=stack.source)


def _advice(host: Host, thread: BusyThread, known: KernelThread | None) -> tuple[Remedy, ...]:
    looks = priority.of_kernel_thread(thread.pid, thread.name)
    made = settings.lines(host, known.set, "kernel-thread") if known is not None and known.set else None
    if known is None or made is None or not made.commands:
        return (looks,)
    told = Remedy(title=known.advice, commands=made.commands, verify=made.verify, undo=made.undo)
    return (told, looks)
