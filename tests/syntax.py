"""The syntax of our own modules, parsed once for all the tests that read something off it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def modules(*rooms: str) -> tuple[Path, ...]:
    return tuple(sorted(path for room in rooms for path in (ROOT / room).rglob("*.py")))


@cache
def parse_module(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """As `ast.walk` gives them."""
    return tuple(ast.walk(parse_module(path)))
