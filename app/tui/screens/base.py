"""What every screen has: a body, the line of keys, the notice of a small terminal, the keys that work everywhere."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget

from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import Line, cell_width, crop_line, split_line, text_line, tinted_line
from hostdx.app.tui.commands import FORM_CHOICES
from hostdx.app.tui.own_settings import KeysFromKeymap
from hostdx.app.tui.widgets.keybar import KeyBar
from hostdx.app.tui.widgets.panel import Box, DrawnPanel, Panel
from hostdx.app.tui.widgets.picker import Picker
from hostdx.app.tui.widgets.reader import Reader

if TYPE_CHECKING:
    from hostdx.app.tui.commands import ReportForm, ShellCommands

SAVE_BINDINGS = (
    Binding("E", "choose_form", "save"),
    Binding("M", "save_page", "save one page as Markdown", show=False),
    Binding("m", "save", "save all as Markdown", show=False),
    Binding("B", "save_html", "save all as HTML", show=False),
)
ANOTHER_DIRECTORY = "d"  # a key of the question where a report goes
MIN_SIZE_CELLS = (60, 20)
BROAD = 160  # cells from which on two columns stand side by side; `-wide` holds there as well


class TopBar(Panel):
    """Where one is, as the screen says it (`Base.head_words`)."""

    DEFAULT_CSS = "TopBar { height: auto; max-height: 2; }"

    def __init__(self) -> None:
        super().__init__(id="head")

    def draw(self, width: int, height: int) -> list[Line]:
        screen = cast("Base", self.screen)
        before, after, about = screen.head_words
        left: Line = [(f" {before} › ", "dim"), (screen.title_words, "title"), (after, "dim")]
        right = crop_line(text_line(f"{about} ", "strong"), max(0, width - cell_width(left) - 2))
        return [tinted_line(split_line(left, right, width), width, "bar")]


class Base(KeysFromKeymap, Screen[object]):
    """Keys that ask for words are priority bindings: they act before the next key, which may have come with them.

    Subclasses give `compose_body()`. `show` draws what changed: after events and keys, never by a clock alone."""

    DEFAULT_CSS = """
    Base { layout: vertical; overflow: hidden; }
    Base > #body { height: 1fr; padding: 0 1; overflow: hidden; }
    Base > #head { height: auto; max-height: 2; }
    Base.-low > #body, Base.-low > #head, Base.-low > #headline { display: none; }
    Base.-tiny > #body, Base.-tiny > #head, Base.-tiny > #headline { display: none; }
    Base > #small { display: none; height: 1fr; }
    Base.-low > #small, Base.-tiny > #small { display: block; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (MIN_SIZE_CELLS[0], "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (MIN_SIZE_CELLS[1], "-tall"), (32, "-high")]
    # 24 lines are what most terminals have: every line counts on the fewer of a split window
    FINER_BREAKPOINTS = [*VERTICAL_BREAKPOINTS[:-1], (24, "-roomy"), VERTICAL_BREAKPOINTS[-1]]
    BINDINGS = [
        Binding("question_mark", "keys", "keys"),
        Binding("q", "back", "back"),
        Binding("p", "picture", "picture of this screen", show=False),
        Binding("escape", "clear", "clear the filter, or back", show=False),
        Binding("tab", "app.focus_next", "next list", show=False),
        Binding("shift+tab", "app.focus_previous", "previous list", show=False),
        # Textual would copy a selection
        Binding("ctrl+c", "app.interrupt", "copy, or quit; a run continues", show=False),
    ]
    title_words: ClassVar[str] = ""  # what the palette and the key list call this screen

    late_in_footer: ClassVar[
        tuple[str, ...]
    ] = ()  # actions whose keys give way first where the footer is short

    filter_hint = "Enter keeps the filter, Esc clears it"

    _held: Widget | None = None  # what had the focus last

    def is_added_to_footer(self, action: str) -> bool:
        """Return whether an action that is not always in the footer stands there now, after the others."""
        return False

    def footer_words(self, binding: Binding) -> str:
        """Return what a key does now, for the footer."""
        return binding.description

    @property
    def shell(self) -> ShellCommands:
        return cast("ShellCommands", self.app)

    @property
    def head_words(self) -> tuple[str, str, str]:
        """Return what the bar at the top says before and after the screen's name, and at its right edge."""
        return "hostdx", "", ""

    def compose_head(self) -> Iterable[Widget]:
        """The bar at the top, from edge to edge."""
        yield TopBar()

    def compose_body(self) -> Iterable[Widget]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        # Textual sets these after the first paint only, and then lays out and paints all of it again
        width, height = self.app.size
        for steps, size in ((self.HORIZONTAL_BREAKPOINTS, width), (self.VERTICAL_BREAKPOINTS, height)):
            self.add_class([name for least, name in steps if size >= least][-1], update=False)
        self.set_class(width >= BROAD, "-broad", update=False)
        yield from self.compose_head()
        with Box(id="body"):
            yield from self.compose_body()
        yield DrawnPanel(self._small_notice, id="small")
        yield KeyBar()

    def _compositor_refresh(self) -> None:
        """Below a question Textual would paint all of the screen with each change of a part: 42 kB a letter."""
        super()._compositor_refresh()
        if self is not self.app.screen:
            self._repaint_required = False

    def _small_notice(self, _width: int, _height: int) -> list[Line]:
        return [
            text_line("hostdx needs 60x20 cells.", "strong"),
            text_line(f"This terminal has {self.size.width}x{self.size.height}."),
            text_line("Make it larger; nothing is lost.", "dim"),
            text_line("q quits"),
        ]

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """Return each cell of a panel as one that the mouse can select."""
        widget, offset = super().get_widget_and_offset_at(x, y)
        if isinstance(widget, Panel):
            offset = Offset(x, y) - widget.region.offset
        return widget, offset

    def keeps_key(self, event: events.Key) -> bool:
        """Return True for a key that the screen keeps for later: it cannot act on it yet."""
        return False

    @property
    def is_in_use(self) -> bool:
        """Not left: the parts of a screen go before it does, and a child's answer may come even then."""
        return self in self.app.screen_stack

    def show(self) -> None:
        for panel in self.query(Panel):
            panel.redraw()

    def on_picker_moved(self) -> None:
        """What stands beside a list is about the row under the cursor."""
        for panel in self.query("DrawnPanel, Whole").results(Panel):
            panel.redraw()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if self._held is not None:  # not before the first paint
            self.query_one(KeyBar).redraw()  # what has the focus has keys of its own
        self._held = event.widget

    def on_resize(self) -> None:
        """A list that a small terminal hid has lost the focus; it gets it back with the room."""
        self.set_class(self.app.size.width >= BROAD, "-broad")
        if self.focused is None and self._held is not None:
            self.call_after_refresh(self._held.focus)

    def on_screen_resume(self) -> None:
        self.show()

    def action_keys(self) -> None:
        self.shell.show_keys(self)

    def action_back(self) -> None:
        self.shell.go_back()

    @property
    def recording_of_report(self) -> Path | None:
        """Return the recording that the keys of a report are about."""
        return None

    def action_report(self) -> None:
        if self.recording_of_report is not None:
            self.shell.open_report(self.recording_of_report)

    def action_save(self, form: ReportForm = "md") -> None:
        if self.recording_of_report is not None:
            self.shell.save_report(self.recording_of_report, form)

    @property
    def saved_name(self) -> str:
        """Return the name under which the keys of a report save it; empty where there is none."""
        return self.recording_of_report.name if self.recording_of_report is not None else ""

    @property
    def saved_forms(self) -> frozenset[ReportForm]:
        return frozenset(choice.form for choice in FORM_CHOICES)

    def action_choose_form(self) -> None:
        """Say where the report will go, and ask in which form."""
        from hostdx.app.tui.screens.ask import ChoiceScreen

        if not self.saved_name:
            return
        choices = {choice.key: choice for choice in FORM_CHOICES if choice.form in self.saved_forms}

        def save_in_form(key: str | None) -> None:
            if key == ANOTHER_DIRECTORY:
                self._ask_report_directory()
            elif key is not None:
                self.action_save(choices[key].form)

        ways = {key: f"{choice.words} (…{choice.suffix})" for key, choice in choices.items()}
        ways[ANOTHER_DIRECTORY] = "another directory"
        question = f"Save {clean_text(self.shell.report_target(self.saved_name))}… as:"
        self.app.push_screen(ChoiceScreen(question, ways, "Esc cancels"), save_in_form)

    def _ask_report_directory(self) -> None:
        from hostdx.app.tui.screens.ask import AskScreen, complete_directory

        def ask_form_again(words: str | None) -> None:
            if words is not None:
                self.shell.report_directory = Path(words).expanduser()
            self.action_choose_form()

        present = str(Path(self.shell.report_target(self.saved_name)).parent)
        hint = "Tab completes it, Enter accepts, Esc cancels"
        self.app.push_screen(
            AskScreen(
                "save in directory",
                present,
                hint=hint,
                check=_reason_not_to_save_in,
                complete=partial(complete_directory, self.app, hint),
                replaced=True,
            ),
            ask_form_again,
        )

    def action_save_page(self) -> None:
        self.action_save("page")

    def action_save_html(self) -> None:
        self.action_save("html")

    def action_picture(self) -> None:
        self.shell.save_text(self.title_words, self.app.export_screenshot(), ".svg")

    def action_clear(self) -> None:
        """Esc takes back the last thing: a filter, else this screen; it never leaves the program."""
        filtered = [p for p in self.query(Picker) if p.filter]
        for picker in filtered:
            picker.filter = ""
            picker.redraw()
            picker.post_message(Picker.Moved())
        if filtered:
            return
        if self.shell.is_last_screen:
            self.shell.show_message("q quits")
        else:
            self.action_back()

    def _ask_search_words(self, reader: Reader) -> None:
        from hostdx.app.tui.screens.ask import AskScreen

        def find_words(words: str | None) -> None:
            if words and not reader.find(words):
                self.shell.show_message(f"not found: {words}")

        self.app.push_screen(
            AskScreen(
                "search", reader.words, hint="Enter goes to the next line with it, / Enter to the one after"
            ),
            find_words,
        )

    def confirm_filter(self) -> None:
        """Enter was pressed in the filter's line."""

    def action_filter(self) -> None:
        """Asks for words on the last line; the list shrinks while they are typed, Esc gives the old filter back. A text
        goes to the next line that has them."""
        from hostdx.app.tui.screens.ask import AskScreen

        if isinstance(self.focused, Reader):
            self._ask_search_words(self.focused)
            return
        pickers = [p for p in self.query(Picker) if p.display]
        picker = self.focused if isinstance(self.focused, Picker) else pickers[0] if pickers else None
        if picker is None:
            return
        target, before = picker, picker.filter

        def apply_filter(words: str) -> None:
            target.filter = words
            target.redraw()
            target.post_message(Picker.Moved())  # another item may be under the cursor now

        def finish_filter(words: str | None) -> None:
            apply_filter(before if words is None else words)
            if words is not None:
                self.call_later(self.confirm_filter)

        self.app.push_screen(
            AskScreen("filter", before, changed=apply_filter, hint=self.filter_hint, move=target.move_within),
            finish_filter,
        )


def _reason_not_to_save_in(words: str) -> str:
    directory = Path(words).expanduser()
    if not directory.is_dir():
        return f"{clean_text(words)}: no such directory"
    return "" if os.access(directory, os.W_OK) else f"{clean_text(words)}: you may not write there"
