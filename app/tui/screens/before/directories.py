"""Directories to measure: the mounts with what carries them; space marks, the first one marked is the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile

import msgspec
from textual import events
from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    fit_line,
    shorten_middle,
    text_line,
    wrap_keys,
    wrap_text,
)
from hostdx.app.tui.children.event_child import CommandOutcome, run_hostdx
from hostdx.app.tui.screens.ask import AskScreen, complete_directory
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.panel import DrawnPanel
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes import units
from hostdx.probes.reading.lossless_json import Decoder

PATH_HINT = "an absolute path; Tab completes it, Enter adds it, Esc cancels"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def normalize_path(path: str) -> str:
    return "/" + path.strip("/") if path.startswith("/") else path.rstrip("/")


def _explain_no_path(words: str) -> str:
    if not words.startswith("/"):
        return "a path that begins with /"
    return "" if words.strip("/") else "the path continues after the /; Tab completes it, Esc cancels"


EXPLAINED = 5  # lines below the list
COLUMNS = ("directory", "disk", "model", "type", "free")


class ListedDirectory(msgspec.Struct, frozen=True):
    """As `hostdx places` tells it; of a path that was typed only the path, until it has been asked about."""

    path: str
    device: str = ""
    model: str = ""
    fstype: str = ""
    free_bytes: int | None = None
    refusal: str = ""
    file_system: str = ""


def with_one_free_space(
    places: Sequence[ListedDirectory], newest: Sequence[ListedDirectory]
) -> list[ListedDirectory]:
    """Return the places with the free space that `newest` tells of their file system: rows of one have one figure."""
    free_bytes = {place.file_system: place.free_bytes for place in newest if place.file_system}
    return [
        msgspec.structs.replace(place, free_bytes=free_bytes.get(place.file_system, place.free_bytes))
        for place in places
    ]


class DirectoriesScreen(Base):
    """Gives the directories, in the order in which they were marked; nothing for Esc. `known` are listed, too. What is
    marked as `proposed` goes with the first choice. Without a mark, or where one directory is asked for, Enter takes
    the row under the cursor.
    """

    DEFAULT_CSS = """
    DirectoriesScreen Picker { height: auto; max-height: 80%; }
    DirectoriesScreen #explained { height: 5; margin: 1 0 0 0; }
    """
    BINDINGS = [
        Binding("enter", "take", "use these", priority=True),
        Binding("space", "mark", "mark", priority=True),
        Binding("slash", "path", "type a path", priority=True),  # a path begins like that
    ]
    title_words = "directories"

    def __init__(
        self,
        chosen: Sequence[str],
        several: bool,
        then: Callable[[list[str]], None],
        known_paths: Sequence[str] = (),
        *,
        proposed: bool = False,
    ) -> None:
        super().__init__()
        self.marked = list(chosen)
        self.several = several
        self._then = then
        self._is_proposed = proposed
        self._places: list[ListedDirectory] = [
            ListedDirectory(path) for path in dict.fromkeys((*chosen, *known_paths))
        ]

    @property
    def selected_place(self) -> ListedDirectory | None:
        path = self.query_one(Picker).selected_key
        return next((p for p in self._places if p.path == path), None)

    def compose_body(self) -> Iterable[Widget]:
        yield Picker(
            id="directories", title="DIRECTORIES TO MEASURE", empty="reading the mounts", list_rows=self._place_rows,
            draw_heads=self._column_heads,
        )  # fmt: skip
        yield DrawnPanel(self._refusal_and_key_lines, id="explained")

    def _refusal_and_key_lines(self, width: int, _height: int) -> list[Line]:
        place = self.selected_place
        if place is not None and place.refusal:
            refusal = wrap_text(f"✗ {place.refusal}", width, "unknown")
        else:
            reasons = [f"✗ {row.path}: {row.refusal}" for row in self._places if row.refusal]
            refusal = [line for reason in reasons for line in wrap_text(reason, width, "unknown")]
        words = "[Enter] takes the directory of this row; [/] types a path."
        if self.several:
            words = (
                "[space] marks a directory; [/] types a path. The one marked first is baseline A. "
                "[Enter] takes those marked."
            )
        if self.several and not self.marked:
            words += " Without a mark it takes this row."
        hint = wrap_keys(words, width)
        return [*refusal[: max(1, EXPLAINED - len(hint))], *hint]

    def on_mount(self) -> None:
        self.show()
        run_hostdx(
            self.app,
            ["places", "--mounts", "--", *(p.path for p in self._places)],
            self._take_listed_directories,
        )

    def _take_listed_directories(self, outcome: CommandOutcome) -> None:
        if not self.is_in_use:
            return
        if outcome.error:
            self.shell.show_message(f"the mounts could not be read: {outcome.error}; / types a path")
            return
        listed = Decoder(list[ListedDirectory]).decode(outcome.output.encode())
        listed_paths = {place.path for place in listed}
        if self._is_proposed:  # nobody has marked these: a refused one would only be in the way
            refused = {place.path for place in listed if place.refusal}
            self.marked = [path for path in self.marked if path not in refused]
        typed = [place for place in self._places if place.path not in listed_paths]
        listed = with_one_free_space(listed, listed)
        self._places = sorted(
            [*listed, *typed], key=lambda p: (self._place_when_sorted(p.path), bool(p.refusal))
        )
        self.show()

    def _place_when_sorted(self, path: str) -> int:
        """What was marked when the screen was opened comes first, in its order."""
        return self.marked.index(path) if path in self.marked else len(self.marked)

    def _take_typed_path(self, before: list[str], outcome: CommandOutcome) -> None:
        """Show what carries a path that was typed. A path that cannot be measured loses its mark, and the message line
        gives the reason. One that does not exist also loses its row, and comes back into the field with the reason."""
        if outcome.error or not self.is_in_use:
            return
        listed_by_path = {
            place.path: place for place in Decoder(list[ListedDirectory]).decode(outcome.output.encode())
        }
        self._places = with_one_free_space(
            [listed_by_path.get(place.path, place) for place in self._places], list(listed_by_path.values())
        )
        for place in listed_by_path.values():
            if place.refusal and place.path in self.marked:
                others = [path for path in self.marked if path != place.path]
                self.marked = others if self.several else before
                self.shell.show_message(f"not added: {place.refusal}")
                if not place.device:
                    self._places = [row for row in self._places if row.path != place.path]
                    if self.app.screen is self:
                        self._ask_path(place.path, place.refusal)
        self.show()

    def _place_rows(self) -> list[PickerRow]:
        return [
            PickerRow(p.path, partial(self._directory_line, p), f"{p.path} {p.device} {p.model} {p.fstype}")
            for p in self._places
        ]

    def _column_heads(self, width: int) -> list[Line]:
        if not self._places:
            return []
        *widths, free = self.column_widths(width - 2)
        heads = [f"{word:<{room}}" for word, room in zip(COLUMNS, widths, strict=False) if room]
        return [crop_line(text_line("      " + "  ".join([*heads, f"{COLUMNS[-1]:>{free}}"]), "dim"), width)]

    def _directory_line(self, place: ListedDirectory, width: int) -> Line:
        number = self.marked.index(place.path) if place.path in self.marked else -1
        letter = LETTERS[number] if 0 <= number < len(LETTERS) else " "
        line: Line = [(f"[{letter}] ", "accent" if number >= 0 else "dim")]
        words = (place.path, place.device, place.model, place.fstype)
        *widths, most = self.column_widths(width)
        for word, room, role in zip(words, widths, ("strong", "text", "dim", "text"), strict=True):
            if not room:
                continue
            line += [*fit_line(text_line(shorten_middle(word, room), role), room), ("  ", "text")]
        if place.refusal:
            fits = cell_width(line) + len(place.refusal) + 2 <= width
            why = place.refusal if fits else "refused"  # the lines below say all of it
            return crop_line([*line, (f"✗ {why}", "unknown")], width)
        free = units.format_size(place.free_bytes) if place.free_bytes is not None else ""
        return crop_line([*line, (f"{free:>{most}}", "text")], width)

    def column_widths(self, width: int) -> list[int]:
        """Of the columns: each as wide as its words, the path and the model as far as there is room."""
        rows = [(p.path, p.device, p.model, p.fstype, "✗ refused") for p in self._places]
        path, device, model, fstype, free = (
            max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)
        )
        device = min(device, 14)
        model = model if any(p.model for p in self._places) else 0
        room = width - 4 - device - fstype - free - 8
        path = min(path, max(12, room - min(model, 16)))
        return [path, device, max(0, min(model, room - path)), fstype, free]

    def on_picker_chosen(self) -> None:
        self.action_mark()  # a click

    def action_mark(self) -> None:
        place = self.selected_place
        if place is None:
            return
        if place.path in self.marked:
            self.marked.remove(place.path)
        elif self._say_if_refused(place):
            return
        else:
            self.marked = self._marked_after_adding(place.path)
        self._is_proposed = False
        self.show()

    def _say_if_refused(self, place: ListedDirectory) -> bool:
        """Return True, and say why, where nothing can be measured there."""
        if place.refusal:
            self.shell.show_message(f"it cannot be measured: {place.refusal}")
        return bool(place.refusal)

    def _marked_after_adding(self, path: str) -> list[str]:
        return [*self.marked, path] if self.several and not self._is_proposed else [path]

    def action_take(self) -> None:
        place = self.selected_place
        if place is not None and (not self.several or not self.marked):
            if self._say_if_refused(place):
                return
            self.marked = [place.path]
        self._then(self.marked)
        self.action_back()

    def on_paste(self, event: events.Paste) -> None:
        """A path that was copied somewhere."""
        event.stop()
        path = "".join(takewhile(str.isprintable, event.text))  # its first line
        self._ask_path("/" + path.strip().lstrip("/"))

    def action_path(self) -> None:
        self._ask_path("/")

    def _ask_path(self, beginning: str, trouble: str = "") -> None:
        """`trouble`: what is wrong with the path that stands in the field."""
        self.app.push_screen(
            AskScreen(
                "directory",
                beginning,
                hint=f"{clean_text(trouble)}; Tab completes it" if trouble else PATH_HINT,
                check=_explain_no_path,
                complete=partial(complete_directory, self.app, PATH_HINT),
            ),
            self._add_and_examine_path,
        )

    def _add_and_examine_path(self, path: str | None) -> None:
        if path is None:
            return
        path = normalize_path(path)
        if path not in {place.path for place in self._places}:
            self._places.append(ListedDirectory(path))
        if path not in self.marked:
            before = self.marked
            self.marked, self._is_proposed = self._marked_after_adding(path), False
            run_hostdx(self.app, ["places", "--", path], partial(self._take_typed_path, before))
        self.query_one(Picker)._key = path
        self.show()
