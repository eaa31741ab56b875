"""What Textual's own widgets cost on the line beside ours: bytes of the first page, of a step, of one changed row.

`python -m tests.measured.widgets [--size 120x40]` prints a table; nothing is asserted. Each widget stands on a
screen of the app, in a terminal of its own. Decisions that rest on it stand in `app/tui/README.md`.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import DataTable, Footer, Markdown, OptionList
from textual.widgets.option_list import Option

from hostdx.app.terminal.lines import Line, split_line
from hostdx.app.terminal.markdown import markdown_lines
from hostdx.app.tui.app import prepare_environment
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.keybar import KeyBar
from hostdx.app.tui.widgets.panel import DrawnPanel
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.app.tui.widgets.reader import Reader
from tests.fakes.terminals.terminal import Terminal

ROWS, CHANGED_ROW = 18, 3
PAGE = Path(__file__).parents[2] / "scenarios/storage/README.md"
KINDS = ("Picker", "OptionList", "DataTable", "Reader", "Markdown", "KeyBar", "Footer")
QUIET_S, KEYS_AGAIN = 0.7, 20


class MeasuredScreen(Base):
    """One widget; `z` changes a row, or has the keys drawn again several times."""

    CSS = "OptionList, DataTable, VerticalScroll { height: 1fr; border: none; padding: 0; }"
    BINDINGS = [
        Binding("z", "change", "change"),
        *(Binding(word[0], word, word) for word in ("undo", "filter", "recordings", "directory")),
    ]
    title_words = "measured"
    kind = ""
    changes = 0

    def row_line(self, number: int, width: int) -> Line:
        known = f"vda {self.changes} % busy" if number == CHANGED_ROW else f"{number} suspects"
        left: Line = [
            (f"{number % 10} ", "key"),
            (f"complaint number {number} of the list  ", "text"),
            (known, "warning"),
        ]
        return split_line(left, [("storage", "accent"), (f"{number * 7:>6} s", "text")], width)

    def compose_body(self) -> Iterable[Widget]:
        page = PAGE.read_text("utf-8")
        texts = ["".join(part for part, _ in self.row_line(n, self.app.size.width - 8)) for n in range(ROWS)]
        if self.kind == "Picker":
            rows = [PickerRow(str(n), partial(self.row_line, n), str(n)) for n in range(ROWS)]
            yield Picker(id="list", title="LIST", list_rows=lambda: rows)
        elif self.kind == "OptionList":
            yield OptionList(*(Option(text, id=str(n)) for n, text in enumerate(texts)), markup=False)
        elif self.kind == "DataTable":
            table: DataTable[str] = DataTable(cursor_type="row")
            table.add_column("list", key="list", width=self.app.size.width - 8)
            for number, text in enumerate(texts):
                table.add_row(text, key=str(number))
            yield table
        elif self.kind == "Reader":
            yield Reader(lru_cache(1)(lambda width: markdown_lines(page, width)))
        elif self.kind == "Markdown":
            with VerticalScroll(can_focus=True):
                yield Markdown(page)
        else:
            yield DrawnPanel(lambda _width, _height: [], id="empty")

    def compose(self) -> Iterable[Widget]:
        for part in super().compose():
            is_replaced = self.kind == "Footer" and isinstance(part, KeyBar)
            yield Footer(show_command_palette=False) if is_replaced else part

    def action_change(self) -> None:
        self.changes += 1
        text = "".join(part for part, _ in self.row_line(CHANGED_ROW, self.app.size.width - 8))
        for widget in self.query("*"):
            if isinstance(widget, OptionList):
                widget.replace_option_prompt(str(CHANGED_ROW), text)
            elif isinstance(widget, DataTable):
                widget.update_cell(str(CHANGED_ROW), "list", text)
        self.set_interval(
            0.1, self.refresh_bindings if self.kind == "Footer" else self.show, repeat=KEYS_AGAIN
        )


class MeasuredApp(Shell):
    def get_default_screen(self) -> Screen[object]:
        screen = MeasuredScreen()
        screen.kind = sys.argv[2]
        return screen


def measure_widget(kind: str, size: tuple[int, int], env: dict[str, str]) -> str:
    terminal = Terminal([sys.executable, "-m", "tests.measured.widgets", "--show", kind], size, env)
    try:
        seconds = terminal.wait("directories" if kind in ("Reader", "Markdown") else "back")
        costs = []
        for keys, pause_s in (
            ("", QUIET_S),
            ("\x1b[B", QUIET_S),
            ("\x1b[6~", QUIET_S),
            ("z", 0.1 * KEYS_AGAIN + QUIET_S),
        ):
            before, cpu = terminal.bytes if keys else 0, terminal.cpu_s()
            terminal.press(keys)
            terminal.pump(pause_s)
            costs.append(terminal.bytes - before)
        cpu_ms = 1000 * (terminal.cpu_s() - cpu) / KEYS_AGAIN
        first, step, page, change = costs
        return f"{kind:<12}{1000 * seconds:>8.0f}{first:>10}{step:>8}{page:>8}{change:>10}{cpu_ms:>10.1f}"
    finally:
        terminal.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="120x40")
    width, height = map(int, parser.parse_args().size.split("x"))
    print(f"{width}x{height}, load {os.getloadavg()[0]:.1f}")
    print("widget      first ms   first B  step B  page B  change B  ms a draw")
    with tempfile.TemporaryDirectory() as state:
        for kind in KINDS:
            print(
                measure_widget(
                    kind,
                    (width, height),
                    os.environ | {"XDG_STATE_HOME": state, "TEXTUAL_ANIMATIONS": "none"},
                )
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--show"]:
        prepare_environment()
        MeasuredApp().run()
    else:
        main()
