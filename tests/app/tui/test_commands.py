"""Panels and screens know the app by what they may ask of it, never by its type."""

from __future__ import annotations

import ast
import inspect
from graphlib import TopologicalSorter
from pathlib import Path

from app.tui.commands import ShellCommands, Shown
from app.tui.shell import Shell

ROOT = Path(__file__).parents[3]


def test_no_file_of_the_screen_imports_in_a_circle_not_even_for_types() -> None:
    files = {str(p.relative_to(ROOT))[:-3].replace("/", "."): p for p in (ROOT / "app/tui").rglob("*.py")}
    imports: dict[str, set[str]] = {}
    for name, path in files.items():
        nodes = [
            n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and n.module
        ]
        asked = {target for n in nodes for target in (n.module, *(f"{n.module}.{a.name}" for a in n.names))}
        imports[name] = {str(target) for target in asked if target in files} - {name}
    assert sum(map(len, imports.values())) > 150
    TopologicalSorter(imports).prepare()  # raises CycleError with the circle


def test_the_app_does_what_the_screens_may_ask() -> None:
    asked = {
        name: one for kind in (Shown, ShellCommands) for name, one in vars(kind).items() if name[0] != "_"
    }
    assert len(asked) > 25
    for name, one in asked.items():
        mine = getattr(Shell, name)
        if inspect.isfunction(one):
            assert [*inspect.signature(mine).parameters] == [*inspect.signature(one).parameters], name
    fields = set(Shown.__annotations__)
    assert fields <= set(vars(Shell())) | set(dir(Shell))
