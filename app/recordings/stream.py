"""The events of a run on their way out: folded into the session, recorded, teed, shown."""

from collections.abc import Callable
from pathlib import Path

from hostdx.app import bug_report
from hostdx.app.recordings.events_output import EventsOutput
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.writer import RecordingWriter
from hostdx.scenarios.contract import events as ev


class EventStream:
    """What comes before `record` waits, so that a run which is refused at once leaves no recording."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self.session = RunSession()
        self.show: Callable[[ev.AnyEvent], None] | None = None
        self.recorder: RecordingWriter | None = None
        self.tee: EventsOutput | None = None
        self._complain = complain
        self._early: list[ev.AnyEvent] = []

    @property
    def recording_path(self) -> Path | None:
        """None where there is none, or nothing could be written to it."""
        return self.recorder.path if self.recorder is not None and not self.recorder.lost else None

    def start_recording(self, path: Path, *, is_requested: bool = False) -> None:
        """Raises Failure where it cannot be written to. `is_requested`: see Recorder."""
        self.recorder = RecordingWriter(path, self._complain, is_requested=is_requested)
        for event in self._early:
            self.recorder.write(event)
        self._early.clear()

    def emit(self, event: ev.AnyEvent) -> None:
        self.session.apply(event)
        if self.recorder is not None:
            self.recorder.write(event)
        else:
            self._early.append(event)
        if self.tee is not None:
            self.tee.write(event)
        if self.show is not None:
            try:
                self.show(event)
            except OSError:  # the terminal was closed: the run goes on without a view
                self.show = None
            except Exception as error:  # drawing must never cost a measurement
                self.show = None
                self._complain(bug_report.save_traceback_and_get_line(error))

    def close(self, *, hurry: bool) -> None:
        if self.recorder is not None:
            self.recorder.close()
            if self.recorder.lost:
                self._complain(f"{self.recorder.path}: no recording is left: its disk is full")
            elif not self.recorder.is_complete:
                self._complain(f"{self.recorder.path}: is not complete: its disk is full")
        if self.tee is not None:
            self.tee.close(hurry=hurry)
