"""A scenario: a question, an experiment, a verdict. What it needs from above comes in as the protocol `Run`."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import msgspec

from hostdx.probes.files.path_ownership import describe_exposure_of_root
from hostdx.probes.files.private_directory import Inode, PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, Json, make_fact
from hostdx.probes.units import format_duration, format_size
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action, private_directory_action
from hostdx.scenarios.contract.card import Card
from hostdx.scenarios.contract.declared_options import COMMON_OPTIONS
from hostdx.scenarios.contract.finding import Finding, SuggestedStep
from hostdx.scenarios.contract.plan import Option, Plan
from hostdx.scenarios.contract.results.result import Result

AResult = TypeVar("AResult", bound=Result)
UNUSUALLY_BRIEF_SHARE = 0.5  # of the usual time: a plan with less says so


class RunRefused(Exception):
    """An error that says why the run cannot be done here (exit status 3). One line: what, where, why, what next."""


class UsageError(Exception):
    """An error that says why the request itself is wrong (exit status 2). The text is one line."""


class Clock(Protocol):
    """A source of monotonic seconds. Tests bring a clock that does not wait."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class AppliedChange(msgspec.Struct, frozen=True):
    """An action that was carried out: `value` is the path, name or text that the action made or wrote.

    `inode` identifies a directory that was made. `endings` is filled when the run ends: how the undo ended (reverted,
    kept, failed), and why.
    """

    id: str
    action: Action
    value: str
    endings: list[tuple[ev.ActionState, str]] = []
    inode: Inode | None = None


class OtherRunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run of another scenario (`Run.run_other`): its answer, verdicts and findings.

    `recording` is the path of the recording. `status` is `interrupted` where the run was stopped: the results until
    then are valid.
    """

    scenario: str
    status: ev.Status
    reason: str
    seconds: float
    recording: str
    answer: str
    weight: str  # of the answer: a severity, or "unknown"
    verdicts: tuple[ev.RunVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    following: tuple[SuggestedStep, ...] = ()


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run of the same scenario on this host, read from the start of its recording; `facts` are keyed by
    label.
    """

    recording: str
    wall: str
    boot_id: str
    options: Mapping[str, Json]
    facts: Mapping[str, Json]


class SeriesProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of several runs after the last of them: lines of text, and the comparison that is due now, if any."""

    lines: tuple[str, ...]
    to_do: tuple[str, ...] = ()
    sides: tuple[tuple[str, ...], tuple[str, ...]] | None = None


class OptionMap:
    """Option values by name, with declared defaults filled in, that typed methods read."""

    def __init__(self, values: Mapping[str, Json], declared: Sequence[Option] = ()) -> None:
        self.values: dict[str, Json] = {o.name: o.default for o in declared} | {
            k: v for k, v in values.items() if v is not None and v != []
        }

    def as_strings(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name)
        if value is None:
            return ()
        return tuple(str(v) for v in value) if isinstance(value, list) else (str(value),)

    def as_string(self, name: str, default: str = "") -> str:
        value = self.values.get(name)
        return default if value is None else str(value)

    def as_number(self, name: str, default: float = 0.0) -> float:
        value = self.values.get(name)
        return default if value is None or isinstance(value, list | dict) else float(value)

    def as_integer(self, name: str, default: int = 0) -> int:
        value = self.values.get(name)
        return default if value is None or isinstance(value, list | dict) else int(value)

    def is_set(self, name: str) -> bool:
        return bool(self.values.get(name))


class StepInProgress:
    """A step that `Run.begin_step` started. The step ends as `done` unless a method here skips or fails it."""

    def __init__(self, run: Run, id: str, title: str) -> None:
        self.id = id
        self.title = title
        self.state: ev.StepState = "started"
        self.reason = ""
        self._run = run
        self._wrote_s = -math.inf

    def skip_step(self, reason: str) -> None:
        self.state, self.reason = "skipped", reason

    def fail(self, reason: str) -> None:
        self.state, self.reason = "failed", reason

    def finish_with_remark(self, remark: str) -> None:
        """End the step as `done`, with a remark."""
        self.state, self.reason = "done", remark

    def report_progress(
        self, text: str, seconds_left: float | None = None, done: float | None = None
    ) -> None:
        """Emit what the step does now; `done` is the share (0..1) of the whole run."""
        self._run.emit_progress(self.id, text, seconds_left, done)

    def report_written(self, written_bytes: int, total_bytes: int) -> None:
        """Report how many bytes of the test files are written: at most once a second, and at the end. A bench calls
        this.
        """
        if self._run.elapsed_s() - self._wrote_s >= 1.0 or written_bytes >= total_bytes:
            self._wrote_s = self._run.elapsed_s()
            self.report_progress(
                f"writing the test files, {format_size(written_bytes)} of {format_size(total_bytes)}"
            )

    def emit_state(self) -> None:
        self._run.emit(
            ev.RunStep(
                t=self._run.elapsed_s(), id=self.id, title=self.title, state=self.state, reason=self.reason
            )
        )


class Run(Protocol):
    """What a scenario gets to work with. `apply_change` asks for consent, writes the journal, applies the change,
    and reverts it at the end.

    `begin_step`, `emit_fact`, `emit_note` and `emit_finding` are short forms of events that every Run inherits.

    Ctrl-C and SIGTERM cancel the scenario's task, so a scenario need not check for them. A second signal does not
    interrupt the undo.
    """

    host: Host
    clock: Clock
    options: OptionMap
    plan: Plan
    seed: int
    rng: random.Random

    def elapsed_s(self) -> float:
        """Return the seconds since the run began: the `t` of the next event."""
        ...

    def emit(self, event: ev.AnyEvent) -> None: ...

    @property
    def effect_margin(self) -> float:
        """Return the smallest effect that matters, as a share (0.05 is 5 %)."""
        return self.options.as_number("margin", 0.05)

    def apply_change(self, action: Action) -> AbstractAsyncContextManager[AppliedChange]: ...

    async def run_other(
        self,
        scenario: Scenario,
        values: Mapping[str, Json],
        on_event: Callable[[ev.AnyEvent], None],
        on_end: Callable[[OtherRunOutcome], None],
    ) -> None:
        """Run another scenario as a run of its own, with its own recording and undo journal; the run stops when this
        run stops.

        `on_event` gets the events of that run as they come. `on_end` gets its outcome, also where this run is stopped
        meanwhile. Raises RunRefused where this run cannot start others.
        """
        raise RunRefused("this run cannot start other runs")

    def finished_results(self, kind: type[AResult]) -> Sequence[tuple[str, AResult]]:
        """Return the results of type `kind` in finished recordings on this host, oldest first, each with its
        recording's name.
        """
        return ()

    def recorded_events(self, path: str) -> Iterator[ev.AnyEvent]:
        """Yield the events of a recording that the user named. Raises RunRefused where the recording cannot be read."""
        raise RunRefused(f"{path}: this run cannot read other runs' recordings")

    @contextmanager
    def begin_step(self, id: str, title: str) -> Iterator[StepInProgress]:
        """Emit the start of a step, and at the end of the block `done`, or `failed` with the exception's text.

        A stop (Ctrl-C, SIGTERM) within the block ends the run, not the step.
        """
        step = StepInProgress(self, id, title)
        step.emit_state()
        try:
            yield step
        except Exception as why:
            step.fail(" ".join((str(why) or type(why).__name__).split())[:300])
            step.emit_state()
            raise
        if step.state == "started":
            step.state = "done"
        step.emit_state()

    def emit_fact(
        self, subject: str, name: str, value: Json | Absent, unit: str = "", *, source: str = ""
    ) -> None:
        """Emit a fact, or why the fact is absent: `emit_fact("disk:sda", "size", 1 << 40, "B",
        source="/sys/block/sda/size")`.
        """
        self.emit(ev.fact_event(make_fact(subject, name, value, source, unit), self.elapsed_s()))

    def emit_progress(
        self, step: str, text: str, seconds_left: float | None = None, done: float | None = None
    ) -> None:
        """Emit the progress of a step by its id; see `StepInProgress.report_progress`."""
        self.emit(ev.Progress(t=self.elapsed_s(), step=step, text=text, seconds_left=seconds_left, done=done))

    def emit_note(self, text: str) -> None:
        self.emit(ev.Note(t=self.elapsed_s(), text=text))

    def emit_finding(self, finding: Finding) -> None:
        self.emit(ev.Found(t=self.elapsed_s(), finding=finding))


def make_directory_action(host: Host, parent: str) -> Action:
    """Return the action that makes a private directory under `parent`, with the users who could interfere there."""
    return private_directory_action(parent, describe_exposure_of_root(parent) if host.live else "")


@asynccontextmanager
async def own_test_directory(run: Run, parent: str) -> AsyncIterator[PrivateDirectory]:
    """Make a private directory under `parent`, yield it held by a descriptor, and remove it. Raises RunRefused."""
    import asyncio  # 19 ms, and triage, which runs nothing, needs this module too

    async with run.apply_change(make_directory_action(run.host, parent)) as applied:
        assert applied.inode is not None, "whoever carries the action out tells which directory it made"
        try:
            private = await asyncio.to_thread(PrivateDirectory.open, applied.value, applied.inode)
        except OSError as why:
            raise RunRefused(
                f"{applied.value}: {why.strerror}; nothing was written; name another directory"
            ) from None
        try:
            yield private
        finally:
            private.close()


class PreparedRun(NamedTuple):
    """A plan and the function that carries the plan out. The function keeps what was read, so nothing is read twice.

    `run` emits events. It raises RunRefused where it finds out late that the run cannot be done; a bench's
    BenchRefused may pass.
    """

    plan: Plan
    run: Callable[[Run], Awaitable[None]]


class Scenario(Protocol):
    """A question that hostdx answers by measuring. Its texts are declared once, for the screen, the plan, the help
    and the report.

    This class holds all that hostdx needs from a scenario. A subclass need not declare what has a value here.
    """

    id: ClassVar[str]
    card: ClassVar[Card] = Card()  # what is known of it without loading it
    title: ClassVar[str]
    question: ClassVar[str]
    why: ClassVar[str]
    answers: ClassVar[str]  # what it gives, in a few words, for the list of scenarios
    takes_s: ClassVar[float]  # as usually run; what needs nothing and is quick is offered first
    needs: ClassVar[str] = ""  # rights and tools, in words; empty: nothing
    options: ClassVar[tuple[Option, ...]] = COMMON_OPTIONS
    suspect: ClassVar[str] = ""  # what it clears or accuses, as a checkup calls it ("the disk")
    # seconds that it gets in a checkup of five minutes; 0: is no part of one
    checkup_s: ClassVar[float] = 0.0
    checkup_first: ClassVar[bool] = False  # its answer decides what is worth measuring after it
    measures: ClassVar[bool] = True  # False: starts no load, so it may run beside a measurement
    reads: ClassVar[tuple[str, ...]] = ()  # what of the host it looks at, for its plan
    # True: run where it is blocked too, to emit what can be read; then Refused
    reads_anyway: ClassVar[bool] = False
    # True: its hidden option `state` is the directory where it may keep files
    remembers: ClassVar[bool] = False

    def blocking_reason(self, host: Host) -> str:
        """Return why the scenario cannot run here, in one line; "" where it can. The check is quick and read-only."""
        return "" if host.live else "a captured tree cannot be measured"

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        """Return the plan and its run; change nothing. Raises UsageError for a wrong request. Not called where blocked.

        A plan with a `refusal` is shown and never run.
        """
        ...

    def depends_on_earlier_runs(self, options: OptionMap) -> bool:
        """Return whether this run depends on earlier runs on this host. Raises UsageError."""
        return False

    def check(self, options: OptionMap, boot_id: str, earlier: Sequence[EarlierRun]) -> None:
        """Raise UsageError where a run with these options cannot follow the `earlier` runs."""

    def describe_series(self, earlier: Sequence[EarlierRun]) -> SeriesProgress:
        """Return the summary of a series of runs; the run that has just ended is the last of `earlier`."""
        return SeriesProgress(lines=())

    def make_plan(self, **fields: Any) -> Plan:
        """Return a plan with this scenario's title, question and reads; `fields` are the other fields of Plan."""
        words = {"title": self.title, "question": self.question, "why": self.why, "reads": self.reads}
        plan = Plan(scenario=self.id, **words | fields)
        if 0.0 < plan.measuring_s < UNUSUALLY_BRIEF_SHARE * self.takes_s and len(plan.variants) > 1:
            usual = format_duration(self.takes_s)
            short = f"only {format_duration(plan.measuring_s)} of measuring ({usual} in all are usual)"
            short += ": small differences will stay undecided"
            plan = msgspec.structs.replace(plan, sentences=(short, *plan.sentences))
        return plan.with_digest()


def missing_attributes(scenario: object) -> tuple[str, ...]:
    """Return the names that `scenario` does not declare. A scenario of another package need not subclass `Scenario`."""
    asked = [*Scenario.__annotations__, "blocking_reason", "prepare"]
    return tuple(name for name in asked if not hasattr(scenario, name))
