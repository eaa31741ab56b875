"""The runner: gives a scenario its host, clock and changes, and turns however it ends into an `RunEnded` event."""

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostdx.app.run.signals import PROMISED_S, StopRequests, finish_despite_cancel
from hostdx.app.terminal import failure
from hostdx.app.terminal.failure import Failure, UndoIncomplete
from hostdx.app.undo.changes import HostChanges
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.processes import process_with_descendants
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import (
    AppliedChange,
    AResult,
    Clock,
    OptionMap,
    OtherRunOutcome,
    PreparedRun,
    Run,
    RunRefused,
    Scenario,
    UsageError,
)
from hostdx.scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("findings.toml"))
PULSE_S = 1.0
LATER = "its supervisor undoes it as soon as the device answers, else `hostdx undo` does"
CANCELLED = "the scenario cancelled itself"


class MonotonicClock:
    """Implements `hostdx.scenarios.contract.model.Clock`: seconds since an arbitrary moment, never going back."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(kw_only=True, eq=False)
class Runner(Run):
    """Implements `hostdx.scenarios.contract.model.Run`."""

    scenario: str
    host: Host
    clock: Clock
    options: OptionMap
    prepared: PreparedRun
    seed: int
    changes: HostChanges
    began_s: float
    publish: Callable[[ev.AnyEvent], None]
    save_bug: Callable[[BaseException], str]
    pulse: Callable[[float], ev.Pulse] | None = None
    recording: Callable[[], Path | None] = lambda: None
    _undoing: str = ""
    _answered: bool = False  # by something that was measured, whatever could be compared

    def __post_init__(self) -> None:
        self.plan = self.prepared.plan
        self.rng = random.Random(self.seed)
        self._verdicts: list[ev.RunVerdict | ev.SeriesVerdict] = []

    def elapsed_s(self) -> float:
        return round(max(0.0, self.clock.now() - self.began_s), 4)

    def emit(self, event: ev.AnyEvent) -> None:
        if isinstance(event, ev.RunVerdict | ev.SeriesVerdict):
            self._verdicts.append(event)
        elif isinstance(event, ev.Found) and event.finding.answers:
            self._answered = self._answered or event.finding.confidence == "measured"
        self.publish(event)

    async def run_other(
        self,
        scenario: Scenario,
        values: Mapping[str, Json],
        on_event: Callable[[ev.AnyEvent], None],
        on_end: Callable[[OtherRunOutcome], None],
    ) -> None:
        from hostdx.app.run.inner_run import run_scenario_as_part

        await run_scenario_as_part(self.recording(), scenario, values, on_event, on_end)

    def finished_results(self, kind: type[AResult]) -> Sequence[tuple[str, AResult]]:
        from hostdx.app.run.earlier_answer import earlier_results

        return earlier_results(self.scenario, kind)

    def recorded_events(self, path: str) -> Iterator[ev.AnyEvent]:
        from hostdx.app.recordings.reader import read_events

        try:
            yield from read_events(Path(path))
        except Failure as why:
            raise RunRefused(why.text) from None

    @asynccontextmanager
    async def apply_change(self, action: Action) -> AsyncIterator[AppliedChange]:
        # Neither half may be broken off: what is half applied could not be undone (a second Ctrl-C must be harmless).
        try:
            applied, stopped = await finish_despite_cancel(
                asyncio.to_thread(self.changes.apply_action, action), self.changes.break_off_command
            )
        except UndoIncomplete as why:
            self._emit_action(why.identifier, action, "failed", why.text)
            raise
        except Failure as why:
            self._emit_action("", action, "refused", why.text)
            raise RunRefused(why.text) from None
        interrupted = False
        try:
            self._emit_action(applied.id, action, "applied", applied.value)
            if stopped:
                raise asyncio.CancelledError
            yield applied
        except asyncio.CancelledError:
            interrupted = True
            raise
        finally:
            self._undoing = action.title
            outcome, stopped = await finish_despite_cancel(
                asyncio.to_thread(self.changes.revert_action, applied.id)
            )
            self._undoing = ""
            applied.endings.append((outcome.state, outcome.reason))
            self._emit_action(applied.id, action, outcome.state, outcome.reason)
            if stopped:
                raise asyncio.CancelledError
            if outcome.state == "failed" and not interrupted:
                # nothing may be measured on what is left like that
                raise UndoIncomplete(f"could not be undone: {action.title}: {outcome.reason}", applied.id)

    def _emit_action(self, identifier: str, action: Action, state: ev.ActionState, reason: str) -> None:
        self.emit(
            ev.ActionEvent(t=self.elapsed_s(), id=identifier, action=action, state=state, reason=reason)
        )

    async def run_to_end(self, prologue: Callable[[], list[ev.AnyEvent]], stops: StopRequests) -> ev.RunEnded:
        """Runs the scenario to whatever end and emits that end. `prologue` reads the facts (in a thread)."""
        pulses = asyncio.ensure_future(self._emit_pulses())
        stops.late = self._emit_why_stop_is_late
        try:
            ended = await self._await_end_of_work(self._emit_prologue_and_run(prologue), stops)
            ended = await self._retry_undo(ended)
        finally:
            stops.over = True
            pulses.cancel()
            with suppress(asyncio.CancelledError):
                await pulses
        self.emit(ended)
        return ended

    def _emit_why_stop_is_late(self) -> None:
        family = process_with_descendants(self.host) if self.host.live else {}
        stuck = [f"{p.name} (pid {p.pid})" for p in family.values() if p.state == "D"]
        if stuck:
            why = f"waits for {', '.join(stuck)}, which hangs on a device or a frozen file system (see dmesg)"
        elif self._undoing:
            why = f"{self._undoing} is being undone"
        else:
            running = [f"{p.name} (pid {p.pid})" for p in family.values() if p.pid != os.getpid()]
            why = f"waits for {', '.join(running[:4]) or 'its own threads'} to end"
        self.emit(ev.Note(t=self.elapsed_s(), text=f"stopping takes longer than {PROMISED_S:.0f} s: {why}"))

    async def _emit_prologue_and_run(self, prologue: Callable[[], list[ev.AnyEvent]]) -> None:
        for event in await asyncio.to_thread(prologue):
            self.emit(event)
        await self.prepared.run(self)

    async def _await_end_of_work(self, work: Coroutine[Any, Any, None], stops: StopRequests) -> ev.RunEnded:
        task = asyncio.ensure_future(work)
        stops.watch_task(task)
        status: ev.Status = "done"
        reason: str | None = None
        code = 0
        try:
            await task
            if self._verdicts and not self._answered and all(map(_is_unmeasured, self._verdicts)):
                raise RunRefused(_nothing_measured_reason(self._verdicts))
        except asyncio.CancelledError:
            pass
        except (RunRefused, BenchRefused, MeasurementInvalid) as why:
            status, reason, code = "skipped", str(why), failure.COULD_NOT
        except UsageError as why:
            status, reason, code = "failed", str(why), failure.USAGE
        except Failure as why:
            status, reason, code = "failed", why.text, why.status
        except Exception as error:
            status, reason, code = "failed", self.save_bug(error), failure.COULD_NOT
        if stops.signal is not None:
            status, reason, code = "interrupted", stops.stop_reason, stops.exit_status
        elif task.cancelled():
            status, reason, code = "failed", CANCELLED, failure.COULD_NOT
        return ev.RunEnded(t=self.elapsed_s(), status=status, reason=reason, exit=code)

    async def _retry_undo(self, ended: ev.RunEnded) -> ev.RunEnded:
        """Return what could not be undone when its time came, once more: a stuck device may answer by now."""
        done = await asyncio.to_thread(self.changes.retry_open)
        for undone in done:
            self._emit_action(
                undone.entry.id, undone.entry.action, undone.outcome.state, undone.outcome.reason
            )
            if undone.outcome.state == "failed":
                action, reason = undone.entry.action, undone.outcome.reason
                finding = SAYS.finding(
                    "not-undone", subject=action.target, change=action.title, reason=reason
                )
                self.emit(ev.Found(t=self.elapsed_s(), finding=finding))
        if not done:
            return ended
        left = [undone for undone in done if undone.outcome.state == "failed"]
        titles = ", ".join(undone.entry.action.title for undone in left)
        rest = f"still in the undo journal: {titles}; {LATER}" if left else "undone at the end of the run"
        reason = f"{ended.reason}; {rest}" if ended.reason else rest
        status: ev.Status = "interrupted" if ended.status == "interrupted" else "failed"
        return ev.RunEnded(
            t=self.elapsed_s(), status=status, reason=reason, exit=ended.exit or failure.COULD_NOT
        )

    async def _emit_pulses(self) -> None:
        """Also a missing pulse tells something: a view's clock stops, so a bad reading must not end them."""
        while self.pulse is not None:
            await asyncio.sleep(PULSE_S)
            try:
                self.emit(self.pulse(self.elapsed_s()))
            except Exception as error:
                self.emit(ev.Note(t=self.elapsed_s(), text=f"no more pulses: {self.save_bug(error)}"))
                return


def _is_unmeasured(verdict: ev.RunVerdict | ev.SeriesVerdict) -> bool:
    return isinstance(verdict, ev.RunVerdict) and verdict.has_no_groups


def _nothing_measured_reason(verdicts: Sequence[ev.RunVerdict | ev.SeriesVerdict]) -> str:
    """Return what could not be had, and the first reason."""
    unstarted = all(v.is_not_measured for v in verdicts)
    reasons = [v.reason for v in verdicts if v.reason]
    return ": ".join(("nothing was measured" if unstarted else "nothing could be compared", *reasons[:1]))


def handle_signals(loop: asyncio.AbstractEventLoop, stops: StopRequests) -> None:
    """Ctrl-C and SIGTERM stop the run; a closed terminal does not: the run goes on to its end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stops.request_stop, number)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
