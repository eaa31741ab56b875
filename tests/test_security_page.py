"""The page about who may be hostile names a test for each promise: every one of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "app" / "undo" / "SECURITY.md"


def test_every_test_that_holds_a_promise_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text())
    rows = [
        row for row in PAGE.read_text().splitlines() if row.startswith("| ") and not row.startswith("|--")
    ]
    assert len(named) > 25 and all("`tests/" in row for row in rows if "Held by" not in row)
    missing = []
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text()) if (ROOT / file).exists() else ast.Module([], [])
        functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
        missing += [] if name in {f.name for f in functions} else [f"{file}::{name}"]
    assert missing == []
