"""What the D-state watch says: samples every look, a guard for each task that got stuck, findings by cause."""

from collections.abc import Sequence, Set
from typing import Literal

import msgspec

from hostdx.probes.system.kernel_log import HungTask
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.dstate.cause import StuckTaskDetails, TaskSleep, TaskWaitCause
from hostdx.scenarios.dstate.findings import StuckGroup, group_by_cause, stuck_group_finding
from hostdx.scenarios.dstate.results import StuckTask, TasksInDResult
from hostdx.scenarios.dstate.watch import TaskLook, kernel_log_about
from hostdx.scenarios.triage.knowledge.kernels import kernel_faults_of_host
from hostdx.scenarios.triage.rules.texts import finding_texts

# A task that stays stuck is told again when it has waited twice as long as it was told last.
SAYS = finding_texts("dstate")
FIRST_REPEAT_S = 10.0
MAX_REPORTED_TASKS = 20  # tasks told one by one; of a storm the first ones and the findings say enough
MAX_LISTED_TASKS = 200
MAX_LIVE_TASKS = 40  # of the table while it watches


class DstateReport:
    """Turns looks into events. `close` gives the last word."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._faults = tuple(fault for fault in kernel_faults_of_host(run.host) if fault.of == "block")
        self._reported_s: dict[tuple[int, int], float] = {}
        self._findings: dict[tuple[str, str], tuple[object, ...]] = {}
        self._all: dict[tuple[int, int], tuple[StuckTaskDetails, TaskWaitCause]] = {}
        self._halted: set[str] = set()
        self._worst: dict[tuple[str, str], tuple[StuckGroup, TaskLook]] = {}
        self._now: set[tuple[int, int]] = set()
        self._looks = 0
        self._most_in_d = 0
        self._hung = 0
        self._hidden: Absent | None = None
        self._psi: tuple[float, dict[str, float]] | None = None

    def emit_look_events(self, look: TaskLook, hung: Sequence[HungTask]) -> None:
        self._looks += 1
        self._most_in_d = max(self._most_in_d, look.in_d)
        self._emit_series(look)
        if self._hidden is None and look.hidden is not None:
            self._hidden = look.hidden
            self.run.emit_fact("tasks", "of other users", look.hidden)
        for report in hung:
            self._hung += 1
            text = f"the kernel reports {report.comm} ({report.pid}) blocked for more than {report.seconds} s"
            self._emit_guard("hung-task", text)
        for stuck, cause in look.stuck:
            self._all[stuck.sleep.task.key] = (stuck, cause)
            self._report_if_longer_stuck(stuck, cause)
        for sleep in look.ended:
            self._report_if_reported(sleep)
        for device in look.halted:
            if device.name not in self._halted:
                self._halted.add(device.name)
                text = f"{device.name} holds {device.driver_holds} requests and completes none"
                self._emit_guard("device", f"{text} since {device.quiet_s:.0f} s")
        self._emit_changed_findings(look)
        self._emit_table_if_changed(look)

    def emit_conclusion(self, seconds: float) -> None:
        """The list of all that was stuck, or that nothing was; that it is well only where every task could be seen."""
        self._emit_findings(list(self._worst.values()), closing=True)  # how long it was in the end
        self.run.emit(TasksInDResult(t=self.run.elapsed_s(), value=self._stuck_tasks(MAX_LISTED_TASKS)))
        if self._all or not self._looks:
            return
        visibility = "" if self._hidden is None else " that can be seen"
        looks = Evidence(
            f"every task{visibility} read {self._looks} times, at most {self._most_in_d} in D at once"
        )
        hidden = () if self._hidden is None else (Evidence(self._hidden.reason, self._hidden.source),)
        finding = SAYS.finding(
            "none",
            severity="notice" if hidden else "ok",
            seen=visibility,
            seconds=f"{seconds:.0f}",
            evidence=(looks, *hidden),
        )
        self.run.emit_finding(finding)

    def _emit_series(self, look: TaskLook) -> None:
        values = [
            ("tasks in D", float(look.in_d), "tasks"),
            ("stuck", float(len(look.stuck)), "tasks"),
            ("longest", max((s.sleep.watched_seconds for s, _ in look.stuck), default=0.0), "s"),
            ("hung-task reports", float(self._hung), "reports"),
        ]
        if look.load1 is not None:
            values.append(("load1", look.load1, ""))
        if self._psi is not None and look.at_s > self._psi[0]:
            took, before = look.at_s - self._psi[0], self._psi[1]
            for name, some_s in look.psi.items():
                if name in before:
                    share = (some_s - before[name]) / took
                    values.append((f"psi {name}", min(1.0, max(0.0, share)), "share"))
        self._psi = (look.at_s, look.psi)
        for name, value, unit in values:
            self.run.emit(
                ev.SampleTaken(
                    t=self.run.elapsed_s(),
                    series=name,
                    variant="",
                    block=self._looks - 1,
                    value=value,
                    unit=unit,
                )
            )

    def _report_if_longer_stuck(self, stuck: StuckTaskDetails, cause: TaskWaitCause) -> None:
        key, seconds = stuck.sleep.task.key, stuck.sleep.watched_seconds
        reported_s = self._reported_s.get(key)
        if reported_s is None and len(self._reported_s) >= MAX_REPORTED_TASKS:
            return
        if reported_s is not None and seconds < max(FIRST_REPEAT_S, 2 * reported_s):
            return
        self._reported_s[key] = seconds
        task = stuck.sleep.task
        function = task.wchan if is_present(task.wchan) else cause.function
        inside = f" in {function}" if function else ""
        suffix = f" on {stuck.place.text}" if stuck.place and stuck.place.text else ""
        self._emit_guard("stuck", f"{task.comm} ({task.tid}) is in D for {seconds:.0f} s{inside}{suffix}")

    def _report_if_reported(self, sleep: TaskSleep) -> None:
        if self._reported_s.pop(sleep.task.key, None) is not None:
            task = sleep.task
            text = f"{task.comm} ({task.tid}) left its sleep after {sleep.watched_seconds:.0f} s"
            self._emit_guard("released", text, severity="notice")

    def _emit_guard(self, kind: str, text: str, severity: Literal["warning", "notice"] = "warning") -> None:
        self.run.emit(ev.Guard(t=self.run.elapsed_s(), kind=kind, text=text, severity=severity))

    def _emit_changed_findings(self, look: TaskLook) -> None:
        """A finding is said when it is new, when its severity or its number of tasks changes."""
        groups = group_by_cause(look.stuck)
        fresh = []
        for group in groups:
            longest = group.stuck[0].sleep.watched_seconds
            state = (len(group.stuck), group.cause.certain, longest >= 60, longest >= 10)
            key = (group.cause.kind, group.cause.subject)
            worst = self._worst.get(key)
            if worst is None or len(group.stuck) >= len(worst[0].stuck):
                self._worst[key] = (group, look)
            if self._findings.get(key) != state:
                self._findings[key] = state
                fresh.append(group)
        self._emit_findings([(group, look) for group in fresh])

    def _emit_findings(self, groups: Sequence[tuple[StuckGroup, TaskLook]], *, closing: bool = False) -> None:
        """`closing`: it is said too of whom nobody waits any more."""
        if not groups:
            return
        log = kernel_log_about(self.run.host, {g.cause.subject for g, _ in groups if g.cause.subject})
        for group, look in groups:
            finding = stuck_group_finding(group, look.devices, self._faults, log)
            if closing and not self._now & {stuck.sleep.task.key for stuck in group.stuck}:
                # nothing is to be thawed, resumed or aborted any more
                over = SAYS.text("over", title=finding.title)
                finding = msgspec.structs.replace(finding, title=over, remedy=(SAYS.remedy("watch-again"),))
            self.run.emit_finding(finding)

    def _emit_table_if_changed(self, look: TaskLook) -> None:
        """The table of the live screen, whenever a task joins or leaves: between, its seconds go on by themselves."""
        now = {stuck.sleep.task.key for stuck, _ in look.stuck}
        if now != self._now:
            self._now = now
            self.run.emit(
                TasksInDResult(t=self.run.elapsed_s(), value=self._stuck_tasks(MAX_LIVE_TASKS, now))
            )

    def _stuck_tasks(self, most: int, now: Set[tuple[int, int]] | None = None) -> tuple[StuckTask, ...]:
        """Longest first; `now`: the tasks that are stuck at this moment, told without their stacks."""
        longest = sorted(self._all.values(), key=lambda pair: -pair[0].sleep.watched_seconds)
        return tuple(
            StuckTask(
                now=None if now is None else stuck.sleep.task.key in now,
                pid=stuck.sleep.task.pid,
                tid=stuck.sleep.task.tid,
                comm=stuck.sleep.task.comm,
                wchan=stuck.sleep.task.wchan if is_present(stuck.sleep.task.wchan) else None,
                seconds=round(stuck.sleep.watched_seconds, 1),
                stack=tuple(stuck.stack) if now is None else None,
                cause=cause.kind,
                subject=cause.subject,
                where=stuck.place.text if stuck.place else "",
            )
            for stuck, cause in longest[:most]
        )
