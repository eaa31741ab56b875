"""A finding: its evidence, what to do, and the scenario that would prove it."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.confirmation import confirmation_options, trial_command
from hostdx.app.terminal.invocation import command_to_paste
from hostdx.app.tui.details import commands_text, finding_lines
from hostdx.app.tui.questions import without_ended_process
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.reader import Reader
from hostdx.scenarios.contract.card import card_of
from hostdx.scenarios.contract.finding import Finding


class FindingScreen(Base):
    BINDINGS = [
        Binding("enter", "prove", "measure it"),
        Binding("P", "copy_trial", "copy the command that tries it"),
        Binding("c", "copy", "copy commands"),
        Binding("slash", "filter", "search", show=False, priority=True),
    ]
    title_words = "finding"

    def __init__(self, finding: Finding, session: RunSession) -> None:
        super().__init__()
        self.finding, self.session = finding, session

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(lambda width: finding_lines(self.finding, self.session, width))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "prove":
            return bool(self.finding.prove)
        if action == "copy_trial":
            return any(remedy.settings for remedy in self.finding.remedy)
        if action == "copy":
            return bool(self.finding.remedy)
        return True

    def action_prove(self) -> None:
        options = confirmation_options(self.finding, self.session)
        self.shell.open_plan(self.finding.prove, without_ended_process(card_of(self.finding.prove), options))

    def action_copy_trial(self) -> None:
        """Copy it: what a setting is switched to comes from the keyboard only, for a finding may come from anybody's
        recording (`hostdx.app.tui.option_values.PROPOSABLE`).
        """
        self.shell.copy(command_to_paste(trial_command(self.finding)), "the command")

    def action_copy(self) -> None:
        self.shell.copy(commands_text(self.finding.remedy), "the commands")
