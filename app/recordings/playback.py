"""Time under control: a recording's events, a cursor in them, and the session folded up to the cursor.

Pure: it knows neither files nor screens, and time passes only when `advance_time` says so. A run that is under
way is the same thing with events still coming (`extend`) and the cursor kept at the end (`live`).
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence

from hostdx.app.recordings.session import RunSession
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Plan

SPEEDS: tuple[float, ...] = (0.5, 1, 2, 4, 8, 16, 32, 64, float("inf"))
GROUP_GAP_S = 0.05  # events closer together than this were written by one thing that happened
CHECKPOINT_EVERY = 8192  # refolding that many takes about 10 ms


_MEASURED = (ev.Block, ev.SliceBatch, ev.SampleTaken)
_MARKED = frozenset({ev.RunStep, ev.Found, ev.RunVerdict, ev.SeriesVerdict, ev.ActionEvent, ev.RunEnded})


def copy_session(session: RunSession) -> RunSession:
    """A copy that goes its own way; the events in it are shared (they are frozen)."""
    copy = RunSession()
    for name, value in vars(session).items():
        if isinstance(value, dict):
            value = {k: list(v) if isinstance(v, list) else v for k, v in value.items()}
        elif isinstance(value, list):
            value = list(value)
        elif isinstance(value, deque):
            value = deque(value, maxlen=value.maxlen)
        setattr(copy, name, value)
    return copy


def mark_text(event: ev.AnyEvent, plan: Plan | None = None) -> str:
    """Return what `n` stops at, in a few words as the plan calls it; empty for everything else."""
    match event:
        case ev.RunStep(state="started"):
            return f"step {event.title}"
        case ev.RunStep(state="skipped" | "failed"):
            return f"{event.title} {event.state}"
        case ev.Found():
            return f"finding, {event.finding.title}"
        case ev.RunVerdict() | ev.SeriesVerdict():
            titles = {w.id: w.title for w in plan.workloads} if plan is not None else {}
            return f"verdict on {titles.get(event.workload, event.workload)}"
        case ev.ActionEvent():
            return f"{event.state} {event.action.title}"
        case ev.RunEnded():
            return "end"
    return ""


class Playback:
    """`position` events are folded into `session`; `time` is the cursor in seconds of the recording."""

    def __init__(self, events: Sequence[ev.AnyEvent] = (), *, live: bool = False, speed: float = 1.0) -> None:
        self.events: list[ev.AnyEvent] = []
        self.session = RunSession()
        self.position = 0
        self.time = 0.0
        self.playing = live
        self.live = live  # the cursor stays at the end
        self.speed = speed
        self._times: list[float] = []  # never falling, whatever the recording says
        self._marks: list[int] = []
        self._checkpoints: list[RunSession] = [RunSession()]
        self.extend(events)

    def extend(self, events: Iterable[ev.AnyEvent]) -> bool:
        """Takes in further events; True where what is shown changed (a live cursor follows them)."""
        before = len(self.events)
        self.events.extend(events)
        last = self._times[-1] if self._times else 0.0
        for index in range(before, len(self.events)):
            event = self.events[index]
            if event.t > last:
                last = event.t
            self._times.append(last)
            if type(event) in _MARKED and mark_text(event):
                self._marks.append(index)
        if self.live and len(self.events) > before:
            self._fold_to(len(self.events))
            self.time = self.end
            return True
        return False

    @property
    def end(self) -> float:
        return self._times[-1] if self._times else 0.0

    @property
    def is_at_end(self) -> bool:
        return self.position >= len(self.events)

    @property
    def next_mark_text(self) -> str:
        index = bisect_right(self._marks, self.position - 1)
        if index >= len(self._marks):
            return ""
        return mark_text(self.events[self._marks[index]], self.session.plan)

    def advance_time(self, seconds: float) -> bool:
        """Lets `seconds` of the viewer's time pass; True where the screen must be drawn again."""
        if not self.playing or self.live:
            return False
        if self.speed == float("inf"):
            self._fold_to(len(self.events))
            self.time = self.end
        else:
            self.time = min(self.end, self.time + seconds * self.speed)
            self._fold_to(bisect_right(self._times, self.time))
        if self.is_at_end:
            self.playing = False
        return True

    def toggle(self) -> None:
        """Plays or pauses; at the end it begins anew. A live run is paused where it is."""
        if self.live:
            self.live = self.playing = False
        elif self.is_at_end and not self.playing:
            self.seek(0.0)
            self.playing = True
        else:
            self.playing = not self.playing

    def seek(self, seconds: float) -> None:
        self.live = False
        self.time = min(max(0.0, seconds), self.end)
        self._fold_to(bisect_right(self._times, self.time))

    def play_from_first_measured(self) -> None:
        """Plays from the first thing that was measured: what comes before it is preparation, one key away."""
        first = next((n for n, e in enumerate(self.events) if isinstance(e, _MEASURED)), 0)
        self.seek(self._times[first] if self._times else 0.0)
        self.playing = True

    def pause_at_start(self) -> None:
        self.playing = False
        self.seek(0.0)

    def seek_end(self, *, live: bool = False) -> None:
        """To the last event; `live` for a recording that still grows: stay there."""
        self._fold_to(len(self.events))
        self.time = self.end
        self.live = self.playing = live

    def step_group(self, direction: int) -> None:
        """To the next (+1) or previous (-1) group of events that belong together."""
        self._pause()
        if direction > 0:
            if not self.is_at_end:
                self._seek_position(self._end_of_event_group(self.position))
            return
        start = self._start_of_event_group(self.position)  # where the group shown last begins
        self._seek_position(start)

    def jump_to_mark(self, direction: int) -> None:
        """To just after the next or previous step, finding, verdict, action or the end."""
        self._pause()
        shown = bisect_right(self._marks, self.position - 1)
        on_it = shown > 0 and self._marks[shown - 1] == self.position - 1
        index = shown if direction > 0 else shown - (2 if on_it else 1)
        if index < 0:
            self._seek_position(0)
        elif index < len(self._marks):
            self._seek_position(self._marks[index] + 1)

    def change_speed(self, direction: int) -> None:
        """To the next higher or lower of `SPEEDS`."""
        if direction > 0:
            higher = [s for s in SPEEDS if s > self.speed]
            self.speed = higher[0] if higher else SPEEDS[-1]
        else:
            lower = [s for s in SPEEDS if s < self.speed]
            self.speed = lower[-1] if lower else SPEEDS[0]

    def _pause(self) -> None:
        self.playing = self.live = False

    def _seek_position(self, position: int) -> None:
        self._fold_to(position)
        self.time = self._times[position - 1] if position else 0.0

    def _end_of_event_group(self, position: int) -> int:
        index = position
        while index + 1 < len(self._times) and self._times[index + 1] - self._times[index] < GROUP_GAP_S:
            index += 1
        return min(index + 1, len(self._times))

    def _start_of_event_group(self, position: int) -> int:
        index = max(0, position - 1)
        while index > 0 and self._times[index] - self._times[index - 1] < GROUP_GAP_S:
            index -= 1
        return index

    def fold_checkpoint(self) -> bool:
        """Folds one more checkpoint ahead of the cursor, so that a later jump is quick; False when all are there."""
        edge = len(self._checkpoints) * CHECKPOINT_EVERY
        if edge > len(self.events):
            return False
        session = copy_session(self._checkpoints[-1])
        for event in self.events[edge - CHECKPOINT_EVERY : edge]:
            session.apply(event)
        self._checkpoints.append(session)
        return True

    def _fold_to(self, position: int) -> None:
        """Folds forward, or from the last checkpoint at or before `position`."""
        nearest = min(position // CHECKPOINT_EVERY, len(self._checkpoints) - 1)
        if position < self.position or nearest * CHECKPOINT_EVERY > self.position:
            self.session = copy_session(self._checkpoints[nearest])
            self.position = nearest * CHECKPOINT_EVERY
        session = self.session
        while self.position < position:
            edge = (self.position // CHECKPOINT_EVERY + 1) * CHECKPOINT_EVERY
            upto = min(position, edge)
            for event in self.events[self.position : upto]:
                session.apply(event)
            self.position = upto
            if upto == edge and len(self._checkpoints) * CHECKPOINT_EVERY == edge:
                self._checkpoints.append(copy_session(session))
