"""One `hostdx run` from the request to its end: plan, consent, lock, recording, runner."""

import asyncio
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from app import __version__, bug_report, failure, locks
from app.failure import Failure
from app.process import Identity, identity
from app.recording.events_output import Tee
from app.recording.session import Session
from app.recording.stream import Stream
from app.run import consent
from app.run.runner import LATER, Monotonic, Runner, listen_for_stops
from app.run.signals import Stopped, Stops, stop_early
from app.state import check_room, journal_dir, private, recordings_dir
from app.undo import leftovers, undo
from app.undo.changes import Changes
from app.undo.journal import SCHEMA as JOURNAL_SCHEMA
from app.undo.journal import Header
from probes.host import Host
from probes.secrecy.harmless_words import harmless_text, harmless_words
from probes.secrecy.secrets import masked, masked_words
from probes.types import Json
from scenarios import events as ev
from scenarios.model import Options, Prepared, RunRefused, Scenario, UsageError
from scenarios.option_value import Discretion
from scenarios.plan import Option, Plan


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for on the command line."""

    options: dict[str, Json]
    declared: tuple[Option, ...]
    command: list[str]
    yes: bool = False
    consent: str = ""
    recording: str = ""
    events: str = ""
    with_arguments: bool = (
        False  # record the words of the command line that are not known to be harmless, too
    )


class Execution:
    """Made for one run; `outcome` never raises, whatever happens: it ends with an `RunEnded` event."""

    def __init__(
        self,
        scenario: Scenario,
        host: Host,
        request: Request,
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
        self._clock = Monotonic()
        self._began_s = self._clock.now()
        self._wall = datetime.now(UTC)
        self._me = identity()
        form = masked if request.with_arguments else harmless_text
        self._discretion = Discretion(request.options, request.declared, form)
        self._options = Options(request.options, request.declared)
        self._seed = (
            self._options.as_integer("seed")
            if "seed" in request.options
            else random.SystemRandom().getrandbits(32)
        )
        self._stops = Stops()
        self._stream = Stream(complain)
        self._stream.show = show
        self._lock: locks.Lock | None = None
        self._reads_only = False

    @property
    def session(self) -> Session:
        return self._stream.session

    @property
    def recording(self) -> Path | None:
        return self._stream.recording

    def outcome(self) -> ev.RunEnded:
        with stop_early():
            ended = self._guarded()
        if self._lock is not None:  # before a reader of our events is waited for
            self._lock.release()
        self._stream.close(hurry=ended.status == "interrupted")
        return ended

    def _guarded(self) -> ev.RunEnded:
        """What goes wrong before the scenario runs, as the event that it would have ended with."""
        try:
            return self._steps()
        except Stopped as stopped:
            self._stops.signal = stopped.number
            return self._end("interrupted", self._stops.reason, self._stops.status)
        except UsageError as why:
            return self._end("failed", str(why), failure.USAGE)
        except RunRefused as why:
            return self._end("skipped", str(why), failure.COULD_NOT)
        except Failure as why:
            return self._end("failed" if why.status == failure.USAGE else "skipped", why.text, why.status)
        except Exception as error:
            return self._end("failed", bug_report.save(error), failure.COULD_NOT)

    def _end(self, status: ev.Status, reason: str, code: int) -> ev.RunEnded:
        ended = ev.RunEnded(
            t=self._time(), status=status, reason=self._discretion.discreet_text(reason), exit=code
        )
        self._stream.emit(ended)
        return ended

    def _steps(self) -> ev.RunEnded:
        request = self._request
        if request.events:
            self._stream.tee = Tee(request.events, self._complain)
        if request.recording:  # by the app: it follows this file, also to learn of a refusal
            self._stream.record(Path(request.recording).absolute(), named=True)
        self._stream.emit(self._began())
        prepared = self._prepared()
        plan = prepared.plan
        self._stream.emit(ev.Planned(t=self._time(), plan=self._discretion.plan(plan)))
        if plan.refusal:
            raise RunRefused(plan.refusal)
        self._check_journal_place(plan)
        if plan.actions:
            check_room()
        self._check_leftovers(plan)
        consented = consent.asked(plan, yes=request.yes, digest=request.consent)
        # A watch that starts no load, and a run that can only read, may go beside a measurement.
        if self._scenario.measures and not self._reads_only:
            since = f"{self._wall:%H:%M:%S} UTC"
            self._lock = locks.measuring(self._scenario.id, since, self._warn)
        if self._stream.recorder is None:
            self._record(plan)
        return asyncio.run(self._conduct(prepared, consented))

    def _record(self, plan: Plan) -> None:
        """A watch that changes nothing does not need its recording: with a full disk it is wanted most."""
        try:
            self._stream.record(private(recordings_dir()) / f"{self._run_id}.jsonl")
        except Failure as why:
            if plan.actions:
                raise
            self._complain(f"{why.text}; continuing: the result is only printed")

    async def _conduct(self, prepared: Prepared, consented: bool) -> ev.RunEnded:
        plan = prepared.plan
        listen_for_stops(asyncio.get_running_loop(), self._stops)
        changes = Changes(
            plan=plan,
            consented=consented,
            header=self._journal_header(),
            lies_on=self._lies_on,
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
            save_bug=bug_report.save,
            pulse=_pulse_source(self._host, plan),
            recording=lambda: self.recording,
        )
        try:
            return await runner.conduct(self._facts, self._stops)
        finally:
            left = changes.close()
            for entry in left:
                self._complain(f"could not be undone: {entry.action.title} ({entry.value}); {LATER}")

    def _prepared(self) -> Prepared:
        with self._host.standing_still():
            if blocked := self._blocked or self._scenario.blocked(self._host):
                if self._blocked or not self._scenario.reads_anyway:
                    raise RunRefused(blocked)
                self._reads_only = True  # it says what it reads, and then refuses by itself
            prepared = self._scenario.prepare(self._host, self._options)
            return prepared._replace(plan=prepared.plan.with_digest())

    def _check_journal_place(self, plan: Plan) -> None:
        """Said before anything is written: the change itself would be refused for it, minutes later."""
        from app.undo.journal_disk import refusal

        if why := refusal(self._host, journal_dir(), plan):
            raise RunRefused(why)

    def _check_leftovers(self, plan: Plan) -> None:
        """A killed run's settings would be measured as if they were the host's own."""
        found, troubles = undo.leftovers()
        for trouble in troubles:
            self._complain(trouble)
        for leftover in found:
            undo.sweep(leftover)
            if leftover.living or not leftover.open:
                continue
            line = leftovers.mention(leftover)
            if not leftovers.in_the_way(self._host, leftover, plan):
                self._complain(line)
            elif not consent.offer_undo(line, leftover):
                raise Failure(
                    f"{line}: this run would measure these changes, or change them again; run "
                    "`hostdx undo` first"
                )

    def _facts(self) -> list[ev.AnyEvent]:
        from app.run.earlier_answer import resolution
        from scenarios.triage import fact_events

        events = list(fact_events(self._host, self._time))
        if self._scenario.card.role != "resolution" and (known := resolution(os.uname().nodename)):
            events.append(ev.Note(t=self._time(), text=known))
        return events

    def _lies_on(self, target: str) -> str:
        from app.undo.journal_disk import lies_on

        return lies_on(self._host, private(journal_dir()), target)

    def _time(self) -> float:
        return round(self._clock.now() - self._began_s, 4)

    @property
    def _run_id(self) -> str:
        return f"{self._wall:%Y%m%dT%H%M%SZ}-{self._scenario.id}-{self._me.pid}"

    def _warn(self, text: str) -> None:
        """For whoever starts the run, and for whoever reads its recording."""
        self._complain(text)
        self._stream.emit(ev.Note(t=self._time(), text=text))

    def _began(self) -> ev.Began:
        return ev.Began(
            t=0.0,
            schema=ev.SCHEMA,
            version=__version__,
            scenario=self._scenario.id,
            command=self._kept_command(),
            host=os.uname().nodename,
            wall=f"{self._wall:%Y-%m-%dT%H:%M:%SZ}",
            seed=self._seed,
            pid=self._me.pid,
            pid_start=self._me.start,
            boot_id=self._me.boot_id,
            options=self._discretion.discreet_options(self._request.options),
        )

    def _kept_command(self) -> list[str]:
        """What is recorded of the command line: only what is known to be harmless, unless all was asked for."""
        words = self._discretion.discreet_command(self._request.command)
        if self._request.with_arguments:
            return masked_words(words)
        choices = {choice for option in self._request.declared for choice in option.choices}
        return harmless_words(words, {"hostdx", "run", self._scenario.id, *choices})

    def _journal_header(self) -> Header:
        return Header(
            schema=JOURNAL_SCHEMA,
            run=self._run_id,
            who=Identity(self._me.pid, self._me.start, self._me.boot_id),
            command=self._kept_command(),
            recording=str(self.recording or ""),
            began_s=self._began_s,
        )


def _pulse_source(host: Host, plan: Plan) -> Callable[[float], ev.Pulse] | None:
    from scenarios.guards.top_processes import PulseSource

    return PulseSource(host, sorted({written.device for written in plan.writes})).next
