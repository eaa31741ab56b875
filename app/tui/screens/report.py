"""The report on the screen: what `hostdx report` writes, saved or copied with one key."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from hostdx.app.report.forms.cells import document_lines
from hostdx.app.report.forms.markdown import render_markdown
from hostdx.app.tui.screens.base import SAVE_BINDINGS, Base
from hostdx.app.tui.widgets.reader import Reader
from hostdx.scenarios.contract.results.document import ReportDocument

if TYPE_CHECKING:
    from hostdx.app.tui.commands import ReportForm


class ReportScreen(Base):
    """`recording`: its name, or what stands for several; `page` and `html`: the commands of hostdx that print it on one
    page and for a browser.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *SAVE_BINDINGS,
        Binding("c", "copy", "copy (OSC 52)"),
        Binding("slash", "filter", "search", priority=True),
    ]
    title_words = "report"

    def __init__(
        self, recording: str, document: ReportDocument, page: tuple[str, ...] = (), html: tuple[str, ...] = ()
    ) -> None:
        super().__init__()
        self.recording, self.document, self._page, self._html = recording, document, page, html

    @property
    def _commands(self) -> dict[ReportForm, tuple[str, ...]]:
        """Return the commands of hostdx that print it, by form. All of the Markdown is made here."""
        page_html = tuple("html" if word == "md" else word for word in self._page)
        commands: dict[ReportForm, tuple[str, ...]] = {
            "page-html": page_html,
            "html": self._html,
            "page": self._page,
        }
        return {form: command for form, command in commands.items() if command}

    @property
    def saved_name(self) -> str:
        return self.recording

    @property
    def saved_forms(self) -> frozenset[ReportForm]:
        return frozenset(("md", *self._commands))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool({"save_page": self._page, "save_html": self._html}.get(action, True))

    @property
    def head_words(self) -> tuple[str, str, str]:
        return "hostdx", "", self.recording

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(lru_cache(1)(lambda width: document_lines(self.document, width)))

    def action_save(self, form: ReportForm = "md") -> None:
        if form == "md":
            self.shell.save_text(self.recording, render_markdown(self.document))
        else:
            self.shell.save_printed(self._commands[form], self.recording, form)

    def action_copy(self) -> None:
        self.shell.copy(render_markdown(self.document), "the report")
