"""Directories to measure: the mounts with what carries them; space ticks, the first one ticked is the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import ClassVar

import msgspec
from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from app.tui.command import Outcome, hostdx
from app.tui.glyphs import clean
from app.tui.lines import Line, cells, crop, pad, text, wrapped
from app.tui.screens.ask import AskScreen
from app.tui.screens.base import Base
from app.tui.widgets.panel import Panel
from app.tui.widgets.picker import Picker, Row
from probes import units

PATH_HINT = "an absolute path; Tab completes it, Enter adds it, Esc cancels"
NONE_SUCH = "no directory begins like that"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Place(msgspec.Struct, frozen=True):
    """As `hostdx places` tells it; of a path that was typed only the path, until it has been asked about."""

    path: str
    device: str = ""
    model: str = ""
    fstype: str = ""
    free_bytes: int | None = None
    refusal: str = ""


class Completion(msgspec.Struct, frozen=True):
    text: str
    choices: list[str]


class Explained(Panel):
    DEFAULT_CSS = "Explained { height: 3; }"

    def draw(self, width: int, height: int) -> list[Line]:
        screen = self.screen
        assert isinstance(screen, DirectoriesScreen)
        place = screen.place
        if place is not None and place.refusal:
            return wrapped(f"✗ {place.path}: {place.refusal}", width, "unknown")
        words = "space ticks one, / types its path; the first is the baseline A; Enter uses those that are ticked."
        if screen.several:
            return wrapped(words, width, "dim")
        return wrapped("space ticks the directory, / types the path of one; Enter uses it.", width, "dim")


class DirectoryPicker(Picker):
    DEFAULT_CSS = "DirectoryPicker { height: 1fr; }"


class DirectoriesScreen(Base):
    """Gives the directories, in the order in which they were ticked; None for Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "use these", priority=True),
        Binding("space", "tick", "tick", priority=True),
        Binding("slash", "name", "type a path", priority=True),  # a path begins like that
        Binding("plus,insert,i", "name", "type a path", show=False, priority=True),
    ]
    title_words = "directories"

    def __init__(self, chosen: Sequence[str], several: bool, then: Callable[[list[str]], None]) -> None:
        super().__init__()
        self.ticked = list(chosen)
        self.several = several
        self._then = then
        self._places: list[Place] = [Place(path) for path in chosen]

    @property
    def place(self) -> Place | None:
        path = self.query_one(Picker).selected
        return next((p for p in self._places if p.path == path), None)

    def body(self) -> Iterable[Widget]:
        yield DirectoryPicker(id="directories", title="DIRECTORIES", empty="reading the mounts")
        yield Explained(id="explained")

    def on_mount(self) -> None:
        self.query_one(Picker).focus()
        self._fill()
        hostdx(self.shell, ["places", "--mounts", "--", *self.ticked], self._told)

    def _told(self, outcome: Outcome) -> None:
        if outcome.error:
            self.shell.say(f"the mounts could not be read: {outcome.error}; + types a path")
            return
        told = msgspec.json.decode(outcome.output, type=list[Place])
        known = {place.path for place in told}
        typed = [place for place in self._places if place.path not in known]
        self._places = sorted([*told, *typed], key=lambda p: (self._place_of(p.path), bool(p.refusal)))
        self._fill()

    def _place_of(self, path: str) -> int:
        """What was ticked when the screen was opened comes first, in its order."""
        return self.ticked.index(path) if path in self.ticked else len(self.ticked)

    def _looked_up(self, before: list[str], outcome: Outcome) -> None:
        """What lies under a path that was typed; one that cannot be measured is not kept, and that is said."""
        if outcome.error:
            return
        told = {place.path: place for place in msgspec.json.decode(outcome.output, type=list[Place])}
        self._places = [told.get(place.path, place) for place in self._places]
        for place in told.values():
            if place.refusal and place.path in self.ticked:
                others = [path for path in self.ticked if path != place.path]
                self.ticked = others if self.several else before
                self.shell.say(f"not added: {place.refusal}")
        self._fill()

    def _fill(self) -> None:
        if not self.is_attached:  # an answer may come when the screen has been left
            return
        picker = self.query_one(Picker)
        picker._rows = [
            Row(p.path, partial(self._line, p), f"{p.path} {p.device} {p.model} {p.fstype}")
            for p in self._places
        ]
        self.show()

    def _line(self, place: Place, width: int) -> Line:
        number = self.ticked.index(place.path) if place.path in self.ticked else -1
        letter = LETTERS[number] if 0 <= number < len(LETTERS) else " "
        named = max((len(p.path) for p in self._places), default=8)
        tick: Line = [(f"[{letter}] ", "accent" if number >= 0 else "dim")]
        what: Line = [
            *pad(text(place.path, "strong"), min(named, width // 3)),
            ("  ", "text"),
            *pad(text(place.device), 9),
            (" ", "text"),
            *pad(text(place.model, "dim"), 16 if width > 90 else 8),
            (" ", "text"),
            *pad(text(place.fstype), 6),
        ]
        if place.refusal:
            fits = cells([*tick, *what]) + len(place.refusal) + 4 <= width
            why = place.refusal if fits else "cannot be measured"  # the lines below say all of it
            return crop([*tick, *what, (f"  ✗ {why}", "unknown")], width)
        free = f"{units.size(place.free_bytes)} free" if place.free_bytes is not None else ""
        return crop([*tick, *what, (f" {free:>13}", "text")], width)

    def on_picker_moved(self) -> None:
        self.query_one(Explained).redraw()

    def on_picker_chosen(self) -> None:
        self.action_tick()  # a click

    def action_tick(self) -> None:
        place = self.place
        if place is None:
            return
        if place.path in self.ticked:
            self.ticked.remove(place.path)
        elif place.refusal:
            self.shell.say(f"it cannot be measured: {place.refusal}")
            return
        else:
            self.ticked = [*self.ticked, place.path] if self.several else [place.path]
        self.show()

    def action_take(self) -> None:
        self._then(self.ticked)
        self.action_back()

    def on_paste(self, event: events.Paste) -> None:
        """A path that was copied somewhere."""
        event.stop()
        path = "".join(takewhile(str.isprintable, event.text))  # its first line
        self._ask("/" + path.strip().lstrip("/"))

    def action_name(self) -> None:
        self._ask("/")

    def _ask(self, beginning: str) -> None:
        field = AskScreen("directory", beginning, hint=PATH_HINT, check=_no_path, complete=self._complete)
        self.app.push_screen(field, self._named)

    def _named(self, path: str | None) -> None:
        if path is None:
            return
        path = "/" + path.strip("/") if path.startswith("/") else path.rstrip("/")
        if path not in {place.path for place in self._places}:
            self._places.append(Place(path))
        if path not in self.ticked:
            before = self.ticked
            self.ticked = [*before, path] if self.several else [path]
            hostdx(self.shell, ["places", "--", path], partial(self._looked_up, before))
        self.query_one(Picker)._key = path
        self._fill()

    def _complete(self, words: str, then: Callable[[str, str], None]) -> None:
        """In a child: a directory on a mount that does not answer would hold the screen."""

        def told(outcome: Outcome) -> None:
            if not outcome.error:
                found = msgspec.json.decode(outcome.output, type=Completion)
                certain = NONE_SUCH if found.text == words else PATH_HINT
                then(found.text, "  ".join(map(clean, found.choices)) or certain)

        hostdx(self.shell, ["places", f"--complete={words}"], told)


def _no_path(words: str) -> str:
    if not words.startswith("/"):
        return "a path that begins with /"
    return "" if words.strip("/") else "the path continues after the /; Tab completes it, Esc cancels"
