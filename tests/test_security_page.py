"""The page about who may be hostile names a test for each promise: every one of them is there."""

import ast
import re

from tests.syntax import ROOT, nodes

PAGE = ROOT / "app" / "undo" / "SECURITY.md"


def test_every_test_that_holds_a_promise_is_there() -> None:
    matches = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text())
    rows = [
        row for row in PAGE.read_text().splitlines() if row.startswith("| ") and not row.startswith("|--")
    ]
    assert len(matches) > 25 and all("`tests/" in row for row in rows if "Held by" not in row)
    missing = []
    for file, name in matches:
        read = nodes(ROOT / file) if (ROOT / file).exists() else ()
        functions = (n for n in read if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
        missing += [] if name in {f.name for f in functions} else [f"{file}::{name}"]
    assert missing == []
