"""A run that another run starts: a process of its own, its recording in a folder beside that of the whole."""

import asyncio
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from hostdx.app.recordings import baselines, store
from hostdx.app.recordings.reader import RecordingFollower
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.next_steps import checkup_command, next_steps_for
from hostdx.app.run import launch
from hostdx.app.run.signals import finish_despite_cancel
from hostdx.app.state import make_private_dir
from hostdx.app.terminal.failure import Failure
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare import worse
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OtherRunOutcome, RunRefused, Scenario
from hostdx.scenarios.contract.option_value import command_arguments

LOOK_S = 0.5
# for a part that was told to stop and still undoes its changes; then it is left to its supervisor
PATIENCE_S = 20.0


class InnerRun:
    """One of them. `run_to_end` returns when it has ended; `run_outcome` stands from its first event on."""

    def __init__(self, whole_recording: Path, scenario: Scenario, values: Mapping[str, Json]) -> None:
        """Raises Failure where its recording finds no place."""
        folder = make_private_dir(store.parts_folder_of(whole_recording))
        self._scenario = scenario
        self.recording = folder / f"{len(list(folder.glob('*.jsonl'))) + 1}-{scenario.id}.jsonl"
        self._argv = command_arguments(values, scenario.options)
        self._session = RunSession()
        self._follower: RecordingFollower | None = None

    async def run_to_end(self, on_event: Callable[[ev.AnyEvent], None]) -> None:
        """A stop is passed on: the part undoes its changes and ends its recording first."""
        process = launch.start_runner(
            self._scenario.id, self._argv, digest="", recording=self.recording, tied=True
        )
        try:
            while process.poll() is None:
                await asyncio.sleep(LOOK_S)
                self._apply_new_events(on_event)
        except asyncio.CancelledError:
            await finish_despite_cancel(asyncio.to_thread(_interrupt_and_wait, process))
            raise
        finally:
            self._apply_new_events(on_event)
            if self._follower is not None:
                self._follower.close()

    @property
    def run_outcome(self) -> OtherRunOutcome:
        session = self._session
        ended, session_answer = session.ended, find_headline_answer(session)
        reason = (
            launch.read_runner_error(self.recording).removeprefix("hostdx: ") or "it ended without a result"
        )
        return OtherRunOutcome(
            scenario=self._scenario.id,
            status=ended.status if ended is not None else "failed",
            reason=(ended.reason or "") if ended is not None else reason,
            seconds=session.time,
            recording=str(self.recording),
            answer=session_answer.sentence,
            weight=session_answer.weight,
            verdicts=tuple(session.verdicts.values()),
            findings=(*session.worst_first, *self._worse_than_baseline()),
            following=tuple(
                s for s in next_steps_for(session, str(self.recording)) if s.command != checkup_command()
            ),
        )

    def _worse_than_baseline(self) -> tuple[Finding, ...]:
        """Return what got worse since this host's latest baseline of the scenario; nothing where
        none can be compared.
        """
        began = self._session.began
        if began is None or self._session.ended is None or self._session.ended.status != "done":
            return ()
        with suppress(Failure):
            for name in baselines.baselines_of_host(began.host, self._scenario.id)[:1]:
                comparison = baselines.compare_since(name, self.recording)
                return (
                    (worse.worse_finding(comparison, name, str(self.recording)),)
                    if comparison.effects
                    else ()
                )
        return ()

    def _apply_new_events(self, on_event: Callable[[ev.AnyEvent], None]) -> None:
        if self._follower is None and not self.recording.exists():
            return
        self._follower = self._follower or RecordingFollower(self.recording)
        with suppress(Failure):  # what is damaged ends the reading, not the run
            while events := self._follower.poll():
                for event in events:
                    self._session.apply(event)
                    on_event(event)


def _interrupt_and_wait(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE_S)


async def run_scenario_as_part(
    whole_recording: Path | None,
    scenario: Scenario,
    values: Mapping[str, Json],
    on_event: Callable[[ev.AnyEvent], None],
    on_end: Callable[[OtherRunOutcome], None],
) -> None:
    """As `Run.other`. Raises RunRefused without a recording of the whole: its parts would have no place."""
    if whole_recording is None:
        raise RunRefused(
            "no recording could be written, so its parts would leave none: the line before this one says why"
        )
    try:
        part = InnerRun(whole_recording, scenario, values)
    except Failure as why:
        raise RunRefused(why.text) from None
    try:
        await part.run_to_end(on_event)
    finally:
        on_end(part.run_outcome)
        log = launch.runner_log_path(part.recording)
        with suppress(OSError):
            if not log.stat().st_size:
                log.unlink()
