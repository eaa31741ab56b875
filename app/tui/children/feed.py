"""A recording on the screen: its file, read whole or while it grows, and the playback over it."""

from pathlib import Path

from app.recording.playback import Playback
from app.recording.reader import Follower
from app.recording.session import Session
from app.run.launch import last_words, running, stop
from scenarios.events import Began, RunEnded


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
        self._follower: Follower | None = None
        self._idle = 0
        if not awaited:
            self.load()

    @property
    def session(self) -> Session:
        return self.playback.session

    @property
    def growing(self) -> bool:
        """More may come: no `end` yet, and the runner lives."""
        events = self.playback.events
        return not self.dead and not (events and isinstance(events[-1], RunEnded))

    def load(self) -> None:
        """Reads all that is there. Raises BrokenRecording."""
        self._open()
        while self._follower is not None:
            before = self._follower.bytes
            self.playback.extend(self._follower.poll())
            if self._follower.bytes <= before:
                break
        self._look()

    def poll(self) -> bool:
        """Takes in what was appended; True where what is shown changed. Raises BrokenRecording."""
        if not self.growing:
            return False
        if self._follower is None and not self._open():
            return False
        assert self._follower is not None
        events = self._follower.poll()
        changed = self.playback.extend(events)
        if events:
            self._idle = 0
            if not self.growing:
                self.playback.live = self.playback.playing = False
                return True
            return changed
        self._idle += 1
        if self._idle % 4 == 0:  # not at every look: it reads three files under /proc
            was = self.dead
            self._look()
            return self.dead != was
        return False

    def _open(self) -> bool:
        if self._awaited and not self.path.exists():
            return False
        self._awaited = False
        self._follower = Follower(self.path)
        return True

    def _look(self) -> None:
        if self._began is not None and self.growing:
            self.dead = not running(self._began)

    def refused(self) -> str:
        """Why the runner ended before it recorded anything; only asked once its process is gone."""
        return last_words(self.path) if self._follower is None else ""

    def stop(self) -> str:
        """Asks the run to stop; empty where it was asked, else why not."""
        return stop(self.path, self._began) if self._began is not None else "it has not begun yet"

    @property
    def _began(self) -> Began | None:
        first = self.playback.events[0] if self.playback.events else None
        return first if isinstance(first, Began) else None

    def close(self) -> None:
        if self._follower is not None:
            self._follower.close()
            self._follower = None
