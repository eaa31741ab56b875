"""A recording on the screen: its file, read whole or while it grows, and the playback over it."""

from pathlib import Path

from hostdx.app.recordings.playback import Playback
from hostdx.app.recordings.reader import RecordingFollower
from hostdx.app.recordings.session import RunSession
from hostdx.app.run.launch import is_running, read_runner_error, stop_runner
from hostdx.scenarios.contract.events import Began, RunEnded


class RunFeed:
    """`live`: the cursor starts at the end and stays there while events come; else at the start, paused.

    A recording whose runner died (its process is gone and no `end` came) is `dead`: nothing more will come.
    """

    def __init__(self, path: Path, *, live: bool = False, speed: float = 1.0, awaited: bool = False) -> None:
        self.path = path
        self.playback = Playback(live=live, speed=speed)
        self.dead = False
        self.error = ""
        self._awaited = awaited  # just started: the file may not be there yet
        self._follower: RecordingFollower | None = None
        self._idle = 0
        if not awaited:
            self.load()

    @property
    def session(self) -> RunSession:
        return self.playback.session

    @property
    def is_growing(self) -> bool:
        """More may come: no `end` yet, and the runner lives."""
        events = self.playback.events
        return not self.dead and not (events and isinstance(events[-1], RunEnded))

    def load(self) -> None:
        """Reads all that is there. Raises BrokenRecording."""
        self._follow_if_file_exists()
        while self._follower is not None:
            before = self._follower.bytes
            self.playback.extend(self._follower.poll())
            if self._follower.bytes <= before:
                break
        self._note_if_runner_died()

    def poll(self) -> bool:
        """Takes in what was appended; True where what is shown changed. Raises BrokenRecording."""
        if not self.is_growing:
            return False
        if self._follower is None and not self._follow_if_file_exists():
            return False
        assert self._follower is not None
        events = self._follower.poll()
        changed = self.playback.extend(events)
        if events:
            self._idle = 0
            if not self.is_growing:
                self.playback.live = self.playback.playing = False
                return True
            return changed
        self._idle += 1
        if self._idle % 4 == 0:  # not at every look: it reads three files under /proc
            was = self.dead
            self._note_if_runner_died()
            if self.dead:  # nothing moves any more
                self.playback.live = self.playback.playing = False
            return self.dead != was
        return False

    def _follow_if_file_exists(self) -> bool:
        if self._awaited and not self.path.exists():
            return False
        self._awaited = False
        self._follower = RecordingFollower(self.path)
        return True

    def _note_if_runner_died(self) -> None:
        if self._began_event is not None and self.is_growing:
            self.dead = not is_running(self._began_event)

    def refusal_text(self) -> str:
        """Return why the runner ended before it recorded anything; only asked once its process is gone."""
        return read_runner_error(self.path) if self._follower is None else ""

    def stop(self) -> str:
        """Asks the run to stop; empty where it was asked, else why not."""
        return (
            stop_runner(self.path, self._began_event)
            if self._began_event is not None
            else "it has not begun yet"
        )

    @property
    def _began_event(self) -> Began | None:
        first = self.playback.events[0] if self.playback.events else None
        return first if isinstance(first, Began) else None

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = None
