"""The ledger in the report: the bundled recording's own, and values that are no ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

import app
from app.recording.reader import load
from app.recording.session import Session
from app.report.document import Bullets, Table
from app.report.extra import extra_part
from app.report.ledger import ledger
from app.report.markdown import rendered
from app.report.report import report
from probes.types import Json

DEMO = Path(app.__file__).parent / "recording" / "demos" / "fstrim.jsonl"


def test_the_bundled_recording_answers_the_question() -> None:
    text = rendered(report(load(DEMO), DEMO.name))
    assert "## Ledger" in text and "the kernel asked to discard" in text
    assert "| trim once more |" in text and "What the numbers of the trims mean:" in text
    assert "fstrim -v says the same 24 GiB each time (3 trims)" in text


def test_bytes_are_said_as_fstrim_says_them() -> None:
    rows: list[Json] = [
        {"step": "before", "seconds": 4.0},
        {"step": "trim", "seconds": 4.0, "discarded_bytes": 390 << 30, "explained": "why"},
    ]
    table, _, explained = ledger(rows)
    assert isinstance(table, Table) and isinstance(explained, Bullets)
    assert table.header == ("step", "s", "the kernel asked to discard")  # the others have nothing to say
    assert table.rows == (("before", "4", "–"), ("trim", "4", "390 GiB"))
    assert table.right == {1, 2}


def test_a_table_of_a_scenarios_own_values_has_no_empty_column() -> None:
    rows: list[Json] = [
        {"workload": "a", "remarks": "", "share": None, "lists": [], "records": {}, "mean": 0},
        {"workload": "b", "remarks": " ", "share": None, "lists": [], "records": {}, "limit": 2.5},
    ]
    (table,) = extra_part(Session(), "levels", rows)
    assert isinstance(table, Table)
    assert table.header == ("workload", "mean", "limit")
    assert table.rows == (("a", "0", "–"), ("b", "–", "2.5"))
    assert table.right == {1, 2}
    assert extra_part(Session(), "levels", [{"remarks": ""}, {}]) == ()


@pytest.mark.parametrize(
    "value", [None, [], {}, "x", 3, [1, 2], [{"step": ["odd"], "seconds": True, "free_bytes": {"a": 1}}]]
)
def test_what_is_no_ledger_is_survived(value: Json) -> None:
    for part in ledger(value):
        assert isinstance(part, Table)
