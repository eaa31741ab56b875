"""Switching: every stay in another scheduler is one journalled change, left again for the current one.

Whether the queue is as it was, and whose doing a difference is: ours, or somebody else's meanwhile.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.scheduler import SchedulerState, queue_folder_of, read_scheduler_state
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.events import ActionState
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.model import AppliedChange, Run, RunRefused
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.experiment.schedule.switch import scheduler_change
from hostdx.scenarios.iosched.measurement.mixed import MixedBench, WorkerMix
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("iosched")


class QueueFileTracker:
    """Follows every file under the leaves' queue/ over the run's switches.

    What changes while none of our switches is under way was changed by somebody else: so does a value that we set
    and that has another one when we leave (the action ends `kept_reasons`).
    """

    def __init__(self, host: Host, leaves: Sequence[str]) -> None:
        self._host = host
        self.before = {leaf: queue_files(host, leaf) for leaf in leaves}
        self._now = dict(self.before)
        self._others: dict[str, set[str]] = {leaf: set() for leaf in leaves}
        self._kept_reasons: dict[str, list[str]] = {leaf: [] for leaf in leaves}
        self._failed: set[str] = set()

    def record_foreign_changes(self) -> None:
        """Between switches: before one is made, before it is undone, at the end."""
        for leaf, last in self._now.items():
            now = queue_files(self._host, leaf)
            self._others[leaf] |= find_changed_paths(last, now)
            self._now[leaf] = now

    def record_own_switch(self) -> None:
        """After a switch of ours, there or back: its own effects are not somebody else's."""
        self._now = {leaf: queue_files(self._host, leaf) for leaf in self._now}

    def record_undo(self, leaf: str, states: Sequence[tuple[ActionState, str]]) -> None:
        """How the undoing of a switch of this leaf ended."""
        for state, reason in states:
            if state == "kept":
                self._kept_reasons[leaf].append(reason)
            elif state == "failed":
                self._failed.add(leaf)

    def build_findings(self) -> list[Finding]:
        """One a leaf, and one more where somebody else changed something beside what we left wrong."""
        self.record_foreign_changes()
        findings: list[Finding] = []
        for leaf, before in self.before.items():
            now = self._now[leaf]
            different = find_changed_paths(before, now)
            foreign_paths = {p for p in different if p in self._others[leaf]}
            if self._kept_reasons[leaf]:
                base = queue_folder_of(leaf)
                managed = (f"{base}/scheduler", f"{base}/nr_requests", f"{base}/iosched/")
                foreign_paths |= {p for p in different if p.startswith(managed)}
            own_paths = different - foreign_paths
            if foreign_paths:
                findings.append(
                    _changed_meanwhile_finding(
                        leaf, describe_changes(before, now, foreign_paths), self._kept_reasons[leaf]
                    )
                )
            if own_paths:
                findings.append(_not_restored_finding(leaf, before, now, own_paths, leaf in self._failed))
            # a write that hangs shows the old value, until it happens
            if not different and leaf not in self._failed:
                findings.append(SAYS.finding("restored", subject=leaf, files=len(before)))
        return findings


def queue_files(host: Host, leaf: str) -> dict[str, str]:
    """Every readable file under queue/, the scheduler's settings too: what must be the same afterwards."""
    file_texts: dict[str, str] = {}
    for directory in (queue_folder_of(leaf), f"{queue_folder_of(leaf)}/iosched"):
        names = host.list_names(directory)
        for name in names if is_present(names) else ():
            text = host.read_file_text(f"{directory}/{name}", 1 << 16)
            if is_present(text):
                file_texts[f"{directory}/{name}"] = text
    return file_texts


def find_changed_paths(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """The paths whose text differs, or that only one of the two has."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def describe_changes(old: Mapping[str, str], new: Mapping[str, str], changed: set[str]) -> tuple[str, ...]:
    """One line for each file that is not as it was."""
    return tuple(
        f"{path}: was {old.get(path, 'not there')!r}, is {new.get(path, 'not there')!r}"
        for path in sorted(changed)
    )


def _changed_meanwhile_finding(leaf: str, change_lines: Sequence[str], reasons: Sequence[str]) -> Finding:
    evidence = [Evidence(line) for line in (*change_lines, *dict.fromkeys(reasons))]
    return SAYS.finding("changed-meanwhile", subject=leaf, evidence=evidence)


def _not_restored_finding(
    leaf: str, before: Mapping[str, str], now: Mapping[str, str], paths: set[str], failed: bool
) -> Finding:
    """The journal holds what failed to be undone; what no action of ours names is put back by hand."""
    by_hand = tuple(_format_echo_command(path, before[path]) for path in sorted(paths) if path in before)
    return SAYS.finding(
        "not-restored",
        subject=leaf,
        evidence=[Evidence(line) for line in describe_changes(before, now, paths)],
        remedy=(SAYS.remedy("undo") if failed else SAYS.remedy("by-hand", lines=by_hand),),
    )


def _format_echo_command(path: str, text: str) -> str:
    marked = [word.strip("[]") for word in text.split() if word.startswith("[")]
    return f"echo {marked[0] if marked else text.strip()} > {path}"


# Others' bytes on the device in a block: beyond this share of ours, and this rate, the group is measured again.
FOREIGN_SHARE = 0.30
FOREIGN_RATE = 2e6


class Switcher:
    """Which scheduler is active, and the way back. `close` must be called however the run ends."""

    def __init__(self, run: Run, leaves: Sequence[str], current: str) -> None:
        self.run = run
        self.untouched = QueueFileTracker(run.host, leaves)
        self.leaves = tuple(leaves)
        self.current = current
        self.active = current
        self.states_by_scheduler: dict[str, tuple[SchedulerState, ...]] = {}
        self._stay = AsyncExitStack()
        self._stays: list[tuple[str, AppliedChange]] = []

    async def switch_to(self, scheduler: str) -> None:
        """Makes it active on every leaf and checks that it is. Raises RunRefused where it is not."""
        if scheduler != self.active:
            await self.switch_back()
            self.check_and_record_states(self.current)
            if scheduler != self.current:
                await self._switch_from_current_to(scheduler)
        self.check_and_record_states(scheduler)

    async def _switch_from_current_to(self, scheduler: str) -> None:
        self.untouched.record_foreign_changes()
        self.active = scheduler
        for leaf in self.leaves:
            change = self.run.apply_change(scheduler_change(leaf, self.current, scheduler))
            try:
                self._stays.append((leaf, await self._stay.enter_async_context(change)))
            except RunRefused:  # then nothing is changed
                raise
            except Exception as why:
                self.untouched.record_undo(leaf, [("failed", str(why))])
                raise
        self.untouched.record_own_switch()

    async def switch_back(self) -> None:
        """To the scheduler that was found, with its settings."""
        if not self._stays:
            self.active = self.current
            return
        self.untouched.record_foreign_changes()
        stay, self._stay, self.active = self._stay, AsyncExitStack(), self.current
        stays, self._stays = self._stays, []
        try:
            await stay.aclose()
        finally:
            for leaf, applied in stays:
                self.untouched.record_undo(leaf, applied.endings)
            self.untouched.record_own_switch()

    def check_and_record_states(self, scheduler: str) -> None:
        """Somebody else (a udev rule on a change event, tuned) may set it at any time: then nothing is measured."""
        states = [read_scheduler_state(self.run.host, leaf) for leaf in self.leaves]
        for leaf, state in zip(self.leaves, states, strict=True):
            now = state.active if is_present(state) and is_present(state.active) else "not readable"
            if now != scheduler:
                raise RunRefused(
                    f"{leaf}: the scheduler is {now} where {scheduler} was set: another program changes it "
                    "(a udev rule, tuned); stop that, then run again"
                )
        if scheduler not in self.states_by_scheduler:
            self.states_by_scheduler[scheduler] = tuple(s for s in states if is_present(s))
            for state in self.states_by_scheduler[scheduler]:
                self._emit_setting_facts(state, scheduler)

    def _emit_setting_facts(self, state: SchedulerState, scheduler: str) -> None:
        """What comes along with a scheduler: its settings, the depth, write-back throttling."""
        subject, base = f"disk:{state.device}", queue_folder_of(state.device)
        for name, value in (("nr_requests", state.nr_requests), ("wbt_lat_usec", state.wbt_lat_usec)):
            self.run.emit_fact(subject, f"{name} with {scheduler}", value, source=f"{base}/{name}")
        if state.tunables:
            text = " ".join(f"{k}={v}" for k, v in state.tunables.items())
            self.run.emit_fact(subject, f"tunables of {scheduler}", text, source=f"{base}/iosched")


class MixedVariantBench:
    """One scheduler under one mixed load."""

    def __init__(
        self, variant: str, switcher: Switcher, bench: MixedBench, mix: WorkerMix, workload: Workload
    ) -> None:
        self.variant = variant
        self.switcher = switcher
        self.bench = bench
        self.mix = mix
        self.workload = workload

    async def switch_to_variant(self) -> None:
        await self.switcher.switch_to(self.variant)

    async def measure_block(self, seconds: float) -> Measured:
        measured = await self.bench.measure_block(self.mix, seconds, self.workload.onset_s)
        self.switcher.check_and_record_states(self.variant)
        return measured

    async def finish_requests(self) -> None:
        await self.bench.wait_until_settled()


class MixedLoadWatch(InterferenceWatch):
    """The guards, with others' I/O told by the bench: readers' and writers' bytes do not go by one count."""

    def __init__(
        self, run: Run, bench: MixedBench, devices: Sequence[str], directories: Sequence[str]
    ) -> None:
        super().__init__(run, devices, directories=directories)
        self.bench = bench

    def end_block(self, workload: str, variant: str, measured: Measured) -> Disturbance | None:
        disturbance = super().end_block(workload, variant, measured)
        # The stop rule tells others by the direction of their I/O: here the fdatasync at a block's end writes
        # while readers read, and on an idle disk it took that for somebody who suffers (measured).
        if self._bystanders is not None:
            self._bystanders.mark_direction_unknown()
        if disturbance is not None or self.bench.last is None:
            return disturbance
        own_bytes, foreign_bytes, seconds = self.bench.last
        if foreign_bytes > FOREIGN_SHARE * own_bytes and foreign_bytes / max(seconds, 0.1) > FOREIGN_RATE:
            return Disturbance(
                "device", self._culprits.culprit_of_kind("device"), foreign_bytes, own_bytes, "B"
            )
        return None
