"""Panels and screens know the app by what they may ask of it, never by its type."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_no_file_of_the_screen_imports_in_a_circle_not_even_for_types() -> None:
    files = {
        f"hostdx.{p.relative_to(ROOT)}"[:-3].replace("/", "."): p for p in (ROOT / "app/tui").rglob("*.py")
    }
    imports: dict[str, set[str]] = {}
    for name, path in files.items():
        nodes = [
            n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and n.module
        ]
        targets = {target for n in nodes for target in (n.module, *(f"{n.module}.{a.name}" for a in n.names))}
        imports[name] = {str(target) for target in targets if target in files} - {name}
    assert sum(map(len, imports.values())) > 150
    TopologicalSorter(imports).prepare()  # raises CycleError with the circle
