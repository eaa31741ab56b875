"""Consent: every setting that a run would change, with its exact old and new value. Enter alone does not give it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from app.tui.lines import BLANK, Line, text, wrapped
from app.tui.plan_text import change_lines
from app.tui.screens.base import Base
from app.tui.widgets.reader import Reader
from scenarios.plan import Plan


class ConsentScreen(Base):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "yes, change and undo it"),
        Binding("n,escape,q", "refuse", "no, change nothing"),
    ]
    title_words = "consent"

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    def body(self) -> Iterable[Widget]:
        yield Reader(self._lines)

    def _lines(self, width: int) -> list[Line]:
        asked = [a for a in self.plan.actions if a.consent]
        out: list[Line] = [
            text(
                f"This run changes {len(asked)} setting{'s' if len(asked) != 1 else ''} of the host.",
                "warning",
            ),
            *wrapped(
                "Each is written down first and put back at the end, also when it is killed.", width, "dim"
            ),
            BLANK,
        ]
        for action in asked:
            out += [*change_lines(action, width), BLANK]
        return [
            *out,
            [
                ("y", "key"),
                (" changes them and starts   ", "text"),
                ("n", "key"),
                (" changes nothing", "text"),
            ],
        ]

    def on_mount(self) -> None:
        self.query_one(Reader).focus()

    def action_agree(self) -> None:
        self.dismiss(True)

    def action_refuse(self) -> None:
        self.dismiss(False)
