"""What a scenario measures, how, and what it cannot tell: the page that `hostdx explain SCENARIO --long` prints."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from textual.widget import Widget

from hostdx.app.terminal.markdown import markdown_lines
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.reader import Reader


class ExplainScreen(Base):
    title_words = "explain"

    def __init__(self, scenario: str, page: str) -> None:
        super().__init__()
        self.scenario, self.page = scenario, page

    @property
    def head_words(self) -> tuple[str, str, str]:
        return "hostdx", "", self.scenario

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(lru_cache(1)(lambda width: markdown_lines(self.page, width)))
