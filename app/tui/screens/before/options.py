"""The options of a scenario, as it declares them, with their values in the plan."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Protocol

from textual.binding import Binding
from textual.widget import Widget

from app.terminal.glyphs import clean_text
from app.terminal.lines import Line, pad_line, wrap_text
from app.tui.option_values import format_value
from app.tui.screens.base import Base
from app.tui.widgets.panel import Panel
from app.tui.widgets.picker import Picker, PickerRow
from probes.types import Json
from scenarios.contract.events import ScenarioOffer
from scenarios.contract.plan import Option


class Asking(Protocol):
    """The plan whose options are listed; `ask_option` asks for a value of one."""

    offer: ScenarioOffer
    values: dict[str, Json]

    def ask_option(self, option: Option) -> None: ...

    def default_text(self, option: Option) -> str: ...


class OptionPicker(Picker):
    DEFAULT_CSS = "OptionPicker { height: 1fr; }"

    def __init__(self, about: Asking) -> None:
        super().__init__(id="options", title=f"OPTIONS  {about.offer.id}")
        self._about = about

    def build_rows(self) -> list[PickerRow]:
        return [
            PickerRow(o.name, partial(self._option_line, o), f"{o.name} {o.help}")
            for o in self._about.offer.options
        ]

    def _option_line(self, option: Option, width: int) -> Line:
        own = option.name in self._about.values
        value = clean_text(format_value(option, self._about.values))
        if value:
            role = "accent" if own else "text"
        else:
            value, role = (
                ("needed", "warning") if option.required else (self._about.default_text(option), "dim")
            )
        return [
            (f"{option.name:<14} ", "strong"),
            *pad_line([(value, role)], 28),
            ("  ", "text"),
            (option.help, "dim"),
        ]


class Explained(Panel):
    """What the option under the cursor means, whole: a row of the list may be too narrow for it."""

    DEFAULT_CSS = "Explained { height: 3; }"

    def __init__(self, about: Asking) -> None:
        super().__init__(id="explained")
        self._about = about

    def draw(self, width: int, height: int) -> list[Line]:
        chosen = self.screen.query_one(Picker).selected_key
        option = next((o for o in self._about.offer.options if o.name == chosen), None)
        if option is None:
            return []
        one_of = f"; one of {', '.join(option.choices)}" if option.choices else ""
        return wrap_text(option.help + one_of, width, "dim")


class OptionsScreen(Base):
    BINDINGS = [
        Binding("enter", "change", "change", priority=True),
        Binding("slash", "filter", "filter", priority=True),
    ]
    title_words = "options"

    def __init__(self, about: Asking) -> None:
        super().__init__()
        self._about = about

    def compose_body(self) -> Iterable[Widget]:
        yield OptionPicker(self._about)
        yield Explained(self._about)

    def on_mount(self) -> None:
        self.query_one(Picker).focus()

    def on_picker_moved(self) -> None:
        self.query_one(Explained).redraw()

    def on_picker_chosen(self) -> None:
        self.action_change()  # a click

    def action_change(self) -> None:
        chosen = self.query_one(Picker).selected_key
        option = next((o for o in self._about.offer.options if o.name == chosen), None)
        if option is not None:
            self._about.ask_option(option)
            self.show()
