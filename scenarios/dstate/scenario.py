"""The D-state watch: who is stuck, since when, and behind what. It starts no load and needs no root."""

import asyncio
import os
from collections.abc import Callable
from typing import ClassVar

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.kernel_log import KernelLogFollower, find_hung_tasks
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, Scenario, UsageError
from hostdx.scenarios.contract.plan import Plan, PlannedStep
from hostdx.scenarios.dstate.reporting import DstateReport
from hostdx.scenarios.dstate.watch import TaskHistory, look_at_tasks

DEFAULT_S = 60.0
WATCH = "watch the tasks' states"
READS = (
    "/proc/PID/task/TID/{stat,status,wchan,stack}",
    "/proc/{loadavg,diskstats,pressure,self/mountinfo}",
    "/sys/block/*/{inflight,queue/scheduler,dm/suspended,md/suspend_*}",
    "/sys/kernel/debug/block/*/hctx*/sched_tags",
    "io.max and blkio.throttle.* of a stuck task's control groups",
    "the kernel's log",
)


def plan_watch(options: OptionMap, planned: Callable[..., Plan], *, root: bool) -> Plan:
    """Raises UsageError for a time below zero."""
    seconds = options.as_number("seconds", DEFAULT_S)
    if seconds < 0:
        raise UsageError("--seconds must not be negative")
    until = "" if seconds else ", until it is stopped"
    return planned(
        options={"seconds": seconds},
        steps=(PlannedStep("watch", WATCH, seconds),),
        reads=READS,
        seconds=seconds,
        sentences=(
            f"reads every task's state once a second{until}; starts no load",
            *(() if root else ("without root the stacks and open files of other users' tasks stay unknown",)),
        ),
    )


TICK_S = 1.0
MAX_TICK_S = 30.0
# A pass over /proc costs CPU; on a host with very many threads the watch looks less often rather than disturb.
SHARE_OF_TIME = 0.1

HUNG_TASK_FACTS = ("hung_task_timeout_secs", "hung_task_warnings", "hung_task_detect_count")


@apply_declaration(__file__, default_s=DEFAULT_S)
class Dstate(Scenario):
    """Samples every task's state once a second; three samples of one sleep are called stuck."""

    takes_s: ClassVar[float] = DEFAULT_S

    def blocking_reason(self, host: Host) -> str:
        return (
            "" if host.live else "a captured tree cannot be watched; `hostdx triage --root` reads its tasks"
        )

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        return PreparedRun(plan_watch(options, self.make_plan, root=os.geteuid() == 0), self._run)

    async def _run(self, run: Run) -> None:
        seconds = run.options.as_number("seconds", DEFAULT_S)
        self._emit_hung_task_facts(run)
        with run.begin_step("watch", WATCH) as step:
            watching = TaskHistory()
            report = DstateReport(run)
            follower = KernelLogFollower()
            if follower.problem:
                run.emit_fact("kernel", "log, live", Absent(follower.problem, "permission", "/dev/kmsg"))
            began = run.clock.now()
            try:
                while True:
                    at = run.clock.now() - began
                    sample = await asyncio.to_thread(look_at_tasks, run.host, watching, at)
                    if isinstance(sample, Absent):
                        run.emit_fact("tasks", "in D", sample)
                        break
                    report.emit_look_events(sample, find_hung_tasks(follower.read_new()))
                    took = run.clock.now() - began - at
                    if seconds and at + took >= seconds:
                        break
                    left = seconds - at if seconds else None
                    step.report_progress(
                        f"{len(sample.stuck)} stuck, {sample.in_d} in D of {sample.threads} threads",
                        seconds_left=left,
                        done=at / seconds if seconds else None,
                    )
                    pause = min(MAX_TICK_S, max(TICK_S - took, took / SHARE_OF_TIME - took))
                    await run.clock.sleep(max(0.05, min(pause, left if left is not None else pause)))
            finally:
                follower.close()
                report.emit_conclusion(run.clock.now() - began)

    def _emit_hung_task_facts(self, run: Run) -> None:
        block_devices(run.host)  # read before anything hangs on one of them
        for name in HUNG_TASK_FACTS:
            path = f"/proc/sys/kernel/{name}"
            value = run.host.read_integer(path)
            run.emit_fact("kernel", name, value, source=path)
