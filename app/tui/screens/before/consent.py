"""Consent: every setting that a run would change, with its exact old and new value, and every command of the user's own
that it would start. Enter alone does not give it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.terminal.lines import BLANK, Line, text_line, wrap_text
from hostdx.app.tui.plan_text import change_lines
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.reader import Reader
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.plan import Plan


def _undo_or_stay_lines(asked: list[Action], width: int) -> list[Line]:
    """Return what becomes of them: most are put back, a trim cannot be."""
    lasting = sum(action.irreversible for action in asked)
    out: list[Line] = []
    if lasting:
        words = "It cannot be undone." if len(asked) == 1 else f"{lasting} of them cannot be undone."
        out += wrap_text(f"! {words}", width, "critical")
    if lasting < len(asked):
        which = "Every other one" if lasting else "It" if len(asked) == 1 else "Each"
        words = (
            f"{which} is recorded in the undo journal first, and undone at the end, also when the run is "
            "stopped. If all of hostdx is killed, its next start offers to undo it."
        )
        out += wrap_text(words, width, "dim")
    return out


class ConsentScreen(Base):
    BINDINGS = [
        Binding("y", "agree", "yes, start"),
        Binding("n", "refuse", "no, change nothing"),
        Binding("escape,q", "refuse", "no, change nothing", show=False),
    ]
    title_words = "consent"

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    @property
    def head_words(self) -> tuple[str, str, str]:
        return self.plan.scenario, "", self.plan.title

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(self._consent_lines)

    def _consent_lines(self, width: int) -> list[Line]:
        asked = [a for a in self.plan.actions if a.needs_consent]
        out: list[Line] = [BLANK]
        for command in self.plan.commands:
            user = "root" if os.geteuid() == 0 else "you"
            out += [text_line(f"▲ This run starts a command as {user}, several times:", "warning")]
            out += [*wrap_text(command, width, "strong", indent=2, hang=2), BLANK]
        if asked:
            out += [
                text_line(f"▲ This run makes {count_noun(len(asked), 'change')} to this host.", "warning"),
                *_undo_or_stay_lines(asked, width),
                BLANK,
            ]
        for action in asked:
            out += [*change_lines(action, width), BLANK]
        return [
            *out,
            [
                ("y", "key"),
                (" agrees and starts   ", "text"),
                ("n", "key"),
                (" changes nothing", "text"),
            ],
        ]

    def action_agree(self) -> None:
        self.dismiss(True)

    def action_refuse(self) -> None:
        self.dismiss(False)
