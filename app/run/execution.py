"""One `hostdx run` from the request to its end: plan, consent, lock, recording, runner."""

import asyncio
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hostdx.app import __version__, bug_report, locks
from hostdx.app.recordings.events_output import EventsOutput
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.stream import EventStream
from hostdx.app.run import consent
from hostdx.app.run.runner import LATER, MonotonicClock, Runner, handle_signals
from hostdx.app.run.signals import StoppedOutsideRun, StopRequests, raise_on_stop_signals
from hostdx.app.state import journal_dir, make_private_dir, recordings_dir, remove_leftovers_and_check_room
from hostdx.app.terminal import failure
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import ProcessIdentity, process_identity
from hostdx.app.undo import leftovers, undo
from hostdx.app.undo.changes import HostChanges
from hostdx.app.undo.journal import SCHEMA as JOURNAL_SCHEMA
from hostdx.app.undo.journal import JournalHeader
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.harmless_words import mask_all_but_names, mask_unknown_words
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, RunRefused, Scenario, UsageError
from hostdx.scenarios.contract.option_value import OptionRedaction
from hostdx.scenarios.contract.plan import Option, Plan


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for on the command line."""

    options: dict[str, Json]
    declared: tuple[Option, ...]
    command: list[str]
    yes: bool = False
    consent: str = ""
    recording: str = ""
    events: str = ""
    # record the words of the command line that are not known to be harmless, too
    with_arguments: bool = False


class RunExecution:
    """Made for one run; `run_to_end` never raises, whatever happens: it ends with an `RunEnded` event."""

    def __init__(
        self,
        scenario: Scenario,
        host: Host,
        request: RunRequest,
        show: Callable[[ev.AnyEvent], None],
        complain: Callable[[str], None],
        *,
        blocked: str = "",
    ) -> None:
        """`blocked`: why it is not to be measured now; then the recording says that and ends."""
        self._scenario = scenario
        self._blocked = blocked
        self._host = host
        self._request = request
        self._complain = complain
        self._clock = MonotonicClock()
        self._began_s = self._clock.now()
        self._wall = datetime.now(UTC)
        self._me = process_identity()
        self._redaction = OptionRedaction(request.options, request.declared, request.with_arguments)
        self._options = OptionMap(request.options, request.declared)
        self._seed = (
            self._options.as_integer("seed")
            if "seed" in request.options
            else random.SystemRandom().getrandbits(32)
        )
        self._stops = StopRequests()
        self._stream = EventStream(complain)
        self._stream.show = show
        self._lock: locks.LockFile | None = None
        self._reads_only = False

    @property
    def run_session(self) -> RunSession:
        return self._stream.session

    @property
    def recording_path(self) -> Path | None:
        return self._stream.recording_path

    def run_to_end(self) -> ev.RunEnded:
        with raise_on_stop_signals():
            ended = self._run_and_emit_any_end()
        if self._lock is not None:  # before a reader of our events is waited for
            self._lock.release_lock()
        self._stream.close(hurry=ended.status == "interrupted")
        return ended

    def _run_and_emit_any_end(self) -> ev.RunEnded:
        """Return what goes wrong before the scenario runs, as the event that it would have ended with."""
        try:
            return self._prepare_ask_and_run()
        except StoppedOutsideRun as stopped:
            self._stops.signal = stopped.number
            return self._emit_end("interrupted", self._stops.stop_reason, self._stops.exit_status)
        except UsageError as why:
            return self._emit_end("failed", str(why), failure.USAGE)
        except RunRefused as why:
            return self._emit_end("skipped", str(why), failure.COULD_NOT)
        except Failure as why:
            return self._emit_end(
                "failed" if why.status == failure.USAGE else "skipped", why.text, why.status
            )
        except Exception as error:
            return self._emit_end("failed", bug_report.save_traceback_and_get_line(error), failure.COULD_NOT)

    def _emit_end(self, status: ev.Status, reason: str, code: int) -> ev.RunEnded:
        ended = ev.RunEnded(
            t=self._elapsed_s(), status=status, reason=self._redaction.redact_text(reason), exit=code
        )
        self._stream.emit(ended)
        return ended

    def _prepare_ask_and_run(self) -> ev.RunEnded:
        request = self._request
        if request.events:
            self._stream.tee = EventsOutput(request.events, self._complain)
        if request.recording:  # by the app: it follows this file, also to learn of a refusal
            self._stream.start_recording(Path(request.recording).absolute(), is_requested=True)
        self._stream.emit(self._began_event())
        prepared = self._prepare_scenario()
        plan = prepared.plan
        self._stream.emit(ev.Planned(t=self._elapsed_s(), plan=self._redaction.redact_plan(plan)))
        if plan.refusal:
            raise RunRefused(plan.refusal)
        self._refuse_if_journal_on_disk(plan)
        if plan.actions:
            remove_leftovers_and_check_room()
        self._offer_undo_or_refuse(plan)
        consented = consent.ask_consent_for_plan(plan, yes=request.yes, digest=request.consent)
        # A watch that starts no load, and a run that can only read, may go beside a measurement.
        if self._scenario.measures and not self._reads_only:
            since = f"{self._wall:%H:%M:%S} UTC"
            self._lock = locks.lock_measuring(self._scenario.id, since, self._warn_and_note)
        if self._stream.recorder is None:
            self._start_recording_in_state(plan)
        return asyncio.run(self._run_under_signals(prepared, consented))

    def _start_recording_in_state(self, plan: Plan) -> None:
        """A watch that changes nothing does not need its recording: with a full disk it is wanted most."""
        try:
            self._stream.start_recording(make_private_dir(recordings_dir()) / f"{self._run_id}.jsonl")
        except Failure as why:
            if plan.actions:
                raise
            self._complain(f"{why.text}; continuing: the result is only printed")

    async def _run_under_signals(self, prepared: PreparedRun, consented: bool) -> ev.RunEnded:
        plan = prepared.plan
        handle_signals(asyncio.get_running_loop(), self._stops)
        changes = HostChanges(
            plan=plan,
            consented=consented,
            header=self._journal_header(),
            lies_on=self._journal_on_device_reason,
            warn=self._complain,
        )
        runner = Runner(
            scenario=self._scenario.id,
            host=self._host,
            clock=self._clock,
            options=self._options,
            prepared=prepared,
            seed=self._seed,
            changes=changes,
            began_s=self._began_s,
            publish=self._stream.emit,
            save_bug=bug_report.save_traceback_and_get_line,
            pulse=_pulse_source(self._host, plan),
            recording=lambda: self.recording_path,
        )
        try:
            return await runner.run_to_end(self._fact_and_note_events, self._stops)
        finally:
            left = changes.close_journal()
            for entry in left:
                self._complain(f"could not be undone: {entry.action.title} ({entry.value}); {LATER}")

    def _prepare_scenario(self) -> PreparedRun:
        with self._host.read_static_parts_once():
            if blocked := self._blocked or self._scenario.blocking_reason(self._host):
                if self._blocked or not self._scenario.reads_anyway:
                    raise RunRefused(blocked)
                self._reads_only = True  # it says what it reads, and then refuses by itself
            prepared = self._scenario.prepare(self._host, self._options)
            return prepared._replace(plan=prepared.plan.with_digest())

    def _refuse_if_journal_on_disk(self, plan: Plan) -> None:
        """Said before anything is written: the change itself would be refused for it, minutes later."""
        from hostdx.app.undo.journal_disk import journal_disk_refusal

        if why := journal_disk_refusal(self._host, journal_dir(), plan):
            raise RunRefused(why)

    def _offer_undo_or_refuse(self, plan: Plan) -> None:
        """A killed run's settings would be measured as if they were the host's own."""
        all_leftovers, troubles = undo.find_leftovers()
        for trouble in troubles:
            self._complain(trouble)
        for leftover in all_leftovers:
            undo.remove_empty_journal(leftover)
            if leftover.living or not leftover.is_open:
                continue
            line = leftovers.held_changes_line(leftover)
            if not leftovers.is_in_the_way(self._host, leftover, plan):
                self._complain(line)
            elif not consent.offer_undo_of_leftover(line, leftover):
                raise Failure(
                    f"{line}: this run would measure these changes, or change them again; run "
                    "`hostdx undo` first"
                )

    def _fact_and_note_events(self) -> list[ev.AnyEvent]:
        from hostdx.app.run.earlier_answer import resolution_sentence
        from hostdx.scenarios.triage.triage import summary_fact_events

        events = list(summary_fact_events(self._host, self._elapsed_s))
        if self._scenario.card.role != "resolution" and (
            resolution_text := resolution_sentence(os.uname().nodename)
        ):
            events.append(ev.Note(t=self._elapsed_s(), text=resolution_text))
        return events

    def _journal_on_device_reason(self, target: str) -> str:
        from hostdx.app.undo.journal_disk import journal_on_device_reason

        return journal_on_device_reason(self._host, make_private_dir(journal_dir()), target)

    def _elapsed_s(self) -> float:
        return round(self._clock.now() - self._began_s, 4)

    @property
    def _run_id(self) -> str:
        return f"{self._wall:%Y%m%dT%H%M%SZ}-{self._scenario.id}-{self._me.pid}"

    def _warn_and_note(self, text: str) -> None:
        """For whoever starts the run, and for whoever reads its recording."""
        self._complain(text)
        self._stream.emit(ev.Note(t=self._elapsed_s(), text=text))

    def _began_event(self) -> ev.Began:
        return ev.Began(
            t=0.0,
            schema=ev.SCHEMA,
            version=__version__,
            scenario=self._scenario.id,
            command=self._recordable_command(),
            host=os.uname().nodename,
            wall=f"{self._wall:%Y-%m-%dT%H:%M:%SZ}",
            seed=self._seed,
            pid=self._me.pid,
            pid_start=self._me.start,
            boot_id=self._me.boot_id,
            options=self._redaction.redact_options(self._request.options),
        )

    def _recordable_command(self) -> list[str]:
        """Return what is recorded of the command line: only what is known to be harmless; names too if asked."""
        words = self._redaction.redact_command(self._request.command)
        choices = {choice for option in self._request.declared for choice in option.choices}
        keep = mask_all_but_names if self._request.with_arguments else mask_unknown_words
        return keep(words, {"hostdx", "run", self._scenario.id, *choices})

    def _journal_header(self) -> JournalHeader:
        return JournalHeader(
            schema=JOURNAL_SCHEMA,
            run=self._run_id,
            who=ProcessIdentity(self._me.pid, self._me.start, self._me.boot_id),
            command=self._recordable_command(),
            recording=str(self.recording_path or ""),
            began_s=self._began_s,
        )


def _pulse_source(host: Host, plan: Plan) -> Callable[[float], ev.Pulse] | None:
    from hostdx.scenarios.experiment.guards.top_processes import PulseSource

    return PulseSource(host, sorted({written.device for written in plan.writes})).next
