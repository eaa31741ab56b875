"""The report on the screen: what `hostdx report` writes, saved or copied with one key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from app.report.document import Document
from app.report.markdown import rendered
from app.tui.document_lines import document_lines
from app.tui.lines import Line, grounded, split, text
from app.tui.screens.base import Base
from app.tui.widgets.panel import Panel
from app.tui.widgets.reader import Reader


class ReportHead(Panel):
    DEFAULT_CSS = "ReportHead { height: 1; }"

    def __init__(self, recording: str) -> None:
        super().__init__(id="head")
        self._recording = recording

    def draw(self, width: int, height: int) -> list[Line]:
        left: Line = [(" hostdx › ", "dim"), ("report", "title")]
        return [grounded(split(left, text(f"{self._recording} ", "dim"), width), width, "bar")]


class ReportScreen(Base):
    """`document` is the report of `recording`, a recording's file name."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "save", "save as markdown"),
        Binding("c", "copy", "copy (OSC 52)"),
    ]
    title_words = "report"

    def __init__(self, recording: str, document: Document) -> None:
        super().__init__()
        self.recording, self.document = recording, document

    def head(self) -> Iterable[Widget]:
        yield ReportHead(self.recording)

    def body(self) -> Iterable[Widget]:
        yield Reader(lambda width: document_lines(self.document, width))

    def on_mount(self) -> None:
        self.query_one(Reader).focus()

    def action_save(self) -> None:
        self.shell.save_text(self.recording, rendered(self.document))

    def action_copy(self) -> None:
        self.shell.copy(rendered(self.document), "the report")
