"""Text reaches a terminal through few doors, each of which cleans it; a new one has to be named here.

Read off the syntax of every module of `app`, `scenarios` and `probes`.
"""

import ast
from collections.abc import Iterable

from tests.every_case import every_case
from tests.syntax import ROOT, modules, nodes

# What shows text, however it was imported or reached.
SHOWS = {
    "print", "echo", "secho", "Segment", "Strip", "Text", "Content", "Console", "Static", "Label", "Markdown", "Toast",
    "Header", "Digits", "copy_to_clipboard", "notify", "set_window_title", "bell",
    "Input", "TextArea", "OptionList", "DataTable", "Footer",
}  # fmt: skip
STREAMS = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}
DOORS = {
    "app/features/bundle/stub.py": {
        "sys.stderr"
    },  # before hostdx is there: fixed words, a version and its own path
    "app/terminal/output.py": {"sys.stdout", "sys.stderr"},
    "app/tui/app.py": {"sys.__stdout__"},  # its size
    "app/tui/widgets/panel.py": {"Segment", "Strip"},
    "app/tui/screens/ask.py": {"Input", "Text"},  # its `HarmlessCells`, a character each
    "app/tui/requests.py": {"copy_to_clipboard"},
    "app/tui/shell.py": {"Text"},  # the one line of a crash, through `printable`
    "app/cli/measuring/progress_rich.py": {"Console", "Text", "print"},
    "app/terminal/markdown.py": {
        "Console",
        "Markdown",
    },  # laid out into a text, which `hostdx.app.terminal.output` shows
    "app/run/consent.py": {"sys.stderr"},  # a fixed question
    "app/terminal/glyphs.py": {"sys.__stderr__"},  # its encoding
    "probes/imports/confinement.py": {"print"},  # the kernel's word on an error, to the process that asked
    "scenarios/contention/measurement/server.py": {"sys.stdout"},  # the same
    "probes/reading/hang_safe/child.py": {"sys.stdout"},  # a pipe to the process that asked
}


def doors_in(read: Iterable[ast.AST]) -> set[str]:
    """To ask a stream whether it is a terminal shows nothing; a child's own streams (`process.stdout`) are pipes."""
    doors: set[str] = set()
    for node in read:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("rich", "textual", "sys", "click")
        ):
            doors |= {alias.name for alias in node.names} & SHOWS
        elif isinstance(node, ast.Attribute) and node.attr in SHOWS:
            doors.add(node.attr)
        elif isinstance(node, ast.Attribute) and node.attr in ("write", "writelines", "buffer"):
            if (stream := ast.unparse(node.value)) in STREAMS:
                doors.add(stream)
        elif isinstance(node, ast.Assign):
            doors |= {
                ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.Attribute)
            } & STREAMS
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            doors.add("print")
    return doors


def test_text_is_shown_through_the_doors_only() -> None:
    doors = {str(p.relative_to(ROOT)): doors_in(nodes(p)) for p in modules("app", "scenarios", "probes")}
    assert {name: through for name, through in doors.items() if through} == DOORS


@every_case(
    "code",
    ["print(1)", "import sys\nsys.stderr.write('')", "from rich.text import Text", "from textual.widgets import Static",
     "self.notify('x')", "import click\nclick.echo('x')"],
)  # fmt: skip
def test_a_new_way_would_be_seen(code: str) -> None:
    assert doors_in(ast.walk(ast.parse(code)))
