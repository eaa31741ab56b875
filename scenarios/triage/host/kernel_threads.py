"""Kernel threads that use more than half a CPU: since they started, or when a captured `top` looked."""

import re
from collections.abc import Iterator

import msgspec

from probes.reading.host import Host
from probes.system.processor.cpu_times import TICKS_PER_S
from probes.system.running.processes import Process, ProcessTable, read_process_table
from probes.system.running.tasks import kernel_stack
from probes.types import is_present
from probes.units import format_percent
from scenarios.contract.finding import Evidence, Finding, Remedy
from scenarios.contract.rule import Unreadable
from scenarios.triage.cpus import priority
from scenarios.triage.knowledge.waits import KernelThread, kernel_thread
from scenarios.triage.rules import settings
from scenarios.triage.rules.texts import texts

SAYS = texts("triage/host")
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
    table = host.compute_once(_read_processes)
    listed = _threads_in_top(host)
    if not table.processes and not listed:
        raise Unreadable("no process can be seen")
    threads_by_name = {thread.name: thread for thread in (*_busy_since_start(table), *listed)}
    for thread in sorted(threads_by_name.values(), key=lambda busy_thread: -busy_thread.share)[:MAX_SHOWN]:
        thread_kind = kernel_thread(thread.name)
        if thread_kind is not None and thread_kind.by_design:
            continue
        yield SAYS.finding(
            "kernel-thread",
            severity="warning" if thread_kind is not None and thread_kind.fault else "notice",
            subject=thread.name,
            name=thread.name,
            share=format_percent(thread.share),
            over=thread.over,
            work=f": it {thread_kind.work}" if thread_kind is not None else _queue_of(thread.name),
            evidence=(
                SAYS.evidence("thread-time", name=thread.name, pid=thread.pid, share=format_percent(thread.share),
                              over=thread.over, source=thread.source),
                *_stack_evidence(host, thread),
            ),
            remedy=_advise(host, thread, thread_kind),
            references=(thread_kind.source,) if thread_kind is not None else (),
        )  # fmt: skip


def _read_processes(host: Host) -> ProcessTable:
    return read_process_table(host, io=False)


def _busy_since_start(table: ProcessTable) -> Iterator[BusyThread]:
    for process in table.processes.values():
        life_s = table.uptime_s - process.start_ticks / TICKS_PER_S
        if process.kernel_thread and life_s >= MIN_LIFE_S and process.own_s / life_s >= MIN_SHARE:
            yield BusyThread(
                process.pid,
                process.name,
                process.own_s / life_s,
                _since_words(process),
                f"/proc/{process.pid}/stat",
            )


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


def _queue_of(name: str) -> str:
    """Return what a worker's name says of its work: `kworker/u8:1-events_unbound` and `kworker/0:1+pm`."""
    queue = re.match(r"kworker/[^-+]+[-+](\S+)", name)
    return f": it does the work that is queued on {queue[1]}" if queue else ""


def _stack_evidence(host: Host, thread: BusyThread) -> Iterator[Evidence]:
    stack = kernel_stack(host, thread.pid, thread.pid)
    if is_present(stack):
        yield SAYS.evidence("thread-stack", stack=" <- ".join(stack.functions[:5]), source=stack.source)


def _advise(host: Host, thread: BusyThread, thread_kind: KernelThread | None) -> tuple[Remedy, ...]:
    looks = priority.kernel_thread_remedy(thread.pid, thread.name)
    setting_lines = (
        settings.setting_lines(host, thread_kind.set, "kernel-thread")
        if thread_kind is not None and thread_kind.set
        else None
    )
    if thread_kind is None or setting_lines is None or not setting_lines.commands:
        return (looks,)
    setting_remedy = Remedy(
        title=thread_kind.advice,
        commands=setting_lines.commands,
        verify=setting_lines.verify,
        undo=setting_lines.undo,
    )
    return (setting_remedy, looks)
