"""The options of a scenario, as it declares them, with their values in the plan."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Protocol

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.terminal.lines import Line, fit_line, wrap_text
from hostdx.app.tui.option_values import format_value
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.panel import DrawnPanel
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes.types import Json
from hostdx.scenarios.contract.events import ScenarioOffer
from hostdx.scenarios.contract.plan import Option


class Asking(Protocol):
    """The plan whose options are listed; `change_option` asks for a value of one."""

    offer: ScenarioOffer
    values: dict[str, Json]

    def change_option(self, option: Option) -> None: ...

    def default_text(self, option: Option) -> str: ...


class OptionsScreen(Base):
    DEFAULT_CSS = """
    OptionsScreen Picker { height: 1fr; }
    OptionsScreen #explained { height: 3; }
    """
    BINDINGS = [
        Binding("enter", "change", "change", priority=True),
        Binding("slash", "filter", "filter", priority=True),
    ]
    title_words = "options"

    def __init__(self, about: Asking) -> None:
        super().__init__()
        self._about = about

    def compose_body(self) -> Iterable[Widget]:
        yield Picker(id="options", title=f"OPTIONS  {self._about.offer.id}", list_rows=self._option_rows)
        yield DrawnPanel(self._option_help_lines, id="explained")

    def _option_rows(self) -> list[PickerRow]:
        options = self._about.offer.options
        return [PickerRow(o.name, partial(self._option_line, o), f"{o.name} {o.help}") for o in options]

    def _option_line(self, option: Option, _width: int) -> Line:
        value, role = format_value(option, self._about.values), "text"
        if not value and option.required:
            value, role = "needed", "warning"
        elif not value:
            value, role = self._about.default_text(option), "dim"
        elif option.name in self._about.values:
            role = "accent"
        value_cells = fit_line([(value, role)], 28)
        return [(f"{option.name:<14} ", "strong"), *value_cells, ("  ", "text"), (option.help, "dim")]

    @property
    def _selected_option(self) -> Option | None:
        name = self.query_one(Picker).selected_key
        return next((o for o in self._about.offer.options if o.name == name), None)

    def _option_help_lines(self, width: int, _height: int) -> list[Line]:
        """What the option under the cursor means, whole: a row of the list may be too narrow for it."""
        option = self._selected_option
        if option is None:
            return []
        one_of = f"; one of {', '.join(option.choices)}" if option.choices else ""
        return wrap_text(option.help + one_of, width, "dim")

    def on_picker_chosen(self) -> None:
        self.action_change()  # a click

    def action_change(self) -> None:
        option = self._selected_option
        if option is not None:
            self._about.change_option(option)
            self.show()
