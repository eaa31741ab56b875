"""What panels and screens know of the app: what they read of it, and what they may ask it to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from textual.screen import Screen

    from hostdx.app.recordings.session import RunSession
    from hostdx.app.tui.children.event_child import EventChild
    from hostdx.app.tui.children.feed import RunFeed
    from hostdx.app.undo.change_report import UndoneChange
    from hostdx.scenarios.contract.events import Pulse
    from hostdx.scenarios.contract.plan import Plan


ReportForm = Literal["page-html", "html", "page", "md"]  # of a file: HTML and Markdown, one page or all of it


class FormChoice(msgspec.Struct, frozen=True):
    """A form in which a report can be saved. `key` saves in this form; `suffix` follows the file's name."""

    form: ReportForm
    key: str
    words: str
    suffix: str


FORM_CHOICES = (
    FormChoice("page-html", "h", "one page, HTML", "-page.html"),
    FormChoice("html", "B", "all, HTML", ".html"),
    FormChoice("page", "M", "one page, Markdown", "-page.md"),
    FormChoice("md", "m", "all, Markdown", ".md"),
)


class RecordedAnswer(msgspec.Struct, frozen=True):
    """A recording with its answer in one sentence, and the effect that this rests on."""

    name: str
    result: str
    wall: str = ""  # when it began, UTC
    weight: str = "unknown"
    ratio: float | None = None
    ci95: tuple[float, float] | None = None


class EarlierResults(msgspec.Struct, frozen=True):
    """What earlier recordings tell: the newest; of this host the last of each scenario, the directories measured, and
    the smallest effect that the last run for that could have shown, by load."""

    examples: list[RecordedAnswer] = []
    last: dict[str, RecordedAnswer] = {}
    directories: list[str] = []
    detects: dict[str, float] = {}


class ShellCommands(Protocol):
    """What panels draw and what keys ask for; fields are explained where `Shell` and `ShellBase` set them."""

    ascii_only: bool
    earlier_results: EarlierResults
    left: list[UndoneChange]
    message: str
    keeps_keys: bool
    findings_before: frozenset[str]
    first_pulse: Pulse | None
    pulses: deque[Pulse]
    settled_pulses: deque[Pulse]
    raw_values: bool
    recorded: int
    has_looked_for_runs: bool
    report_directory: Path | None
    running: Path | None
    running_words: str
    triage: EventChild | None
    watches_host: bool

    @property
    def is_last_screen(self) -> bool: ...
    @property
    def run_feed(self) -> RunFeed: ...
    @property
    def is_feed_moving(self) -> bool: ...
    @property
    def host_reading_age_s(self) -> float: ...
    @property
    def own_run_ended_s(self) -> float | None: ...
    @property
    def triage_error(self) -> str: ...
    def home_session(self) -> RunSession: ...

    def run_command_then(
        self, argv: Sequence[str], refused: str, then: Callable[[str], None], timeout_s: float = ...
    ) -> None: ...

    def open_running_recording(self) -> None: ...
    def copy(self, text: str, content_name: str) -> None: ...
    def draw(self) -> None: ...
    def go_back(self) -> None: ...
    def import_file(self, path: Path, then: Callable[[], None]) -> None: ...
    def look_for_runs(self) -> None: ...
    def offer_undo(self, asked: bool = False) -> None: ...
    def open_comparison(self, a: Sequence[Path], b: Sequence[Path]) -> None: ...
    def open_explanation(self, scenario: str, is_wanted: Callable[[], bool] = ...) -> None: ...
    def open_plan(
        self,
        scenario: str,
        argv: Sequence[str] = (),
        propose: Callable[[], Sequence[str]] | None = None,
        ask: str = "",
    ) -> None: ...
    def open_recording(self, path: Path, *, on_top: bool = ..., plays: bool = ...) -> None: ...
    def open_recordings(self) -> None: ...
    def open_report(self, path: Path) -> None: ...
    def open_link(self, target: str) -> None: ...
    def read_host(self, *, programs: bool = False) -> None: ...
    def reread_host_if_old(self, max_age_s: float) -> None: ...
    def save_report(self, path: Path, form: ReportForm) -> None: ...
    def report_target(self, name: str) -> str: ...
    def save_printed(self, argv: Sequence[str], name: str, form: ReportForm) -> None: ...
    def save_text(self, name: str, text: str, suffix: str = ".md", note: str = "") -> None: ...
    def show_report(self, argv: Sequence[str], title: str, noun: str, page: Sequence[str] = ()) -> None: ...
    def show_message(self, words: str, *, keeps_keys: bool = False) -> None: ...
    def refresh_after_move(self) -> None: ...
    def show_keys(self, about: Screen[object], *, as_palette: bool = False) -> None: ...
    def show_run(self, which: str = "") -> None: ...
    def start_run(self, scenario: str, argv: Sequence[str], plan: Plan) -> None: ...
    def stop_run(self) -> None: ...
    def toggle_raw(self) -> None: ...
