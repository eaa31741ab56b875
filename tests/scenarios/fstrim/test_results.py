"""The ledger's own view: what the bundled recording says, sizes as fstrim says them, no column without a value."""

from __future__ import annotations

from pathlib import Path

import app
from app.recordings.reader import load
from app.report.forms.markdown import render_markdown
from app.report.full_report import report
from scenarios.contract.results.document import Bullets, Table
from scenarios.fstrim.results import LedgerRow, TrimLedger

DEMO = Path(app.__file__).parent / "recordings" / "demos" / "fstrim.jsonl"


def test_the_bundled_recording_answers_the_question() -> None:
    text = render_markdown(report(load(DEMO), DEMO.name))
    assert "## Ledger" in text and "the kernel asked to discard" in text
    assert "| trim once more |" in text and "What the numbers of the trims mean:" in text
    assert "fstrim -v says the same 24 GiB each time (3 trims)" in text


def test_bytes_are_said_as_fstrim_says_them() -> None:
    rows = (
        LedgerRow(step="before", seconds=4.0),
        LedgerRow(step="trim", seconds=4.0, discarded_bytes=390 << 30, explained="why"),
    )
    table, _, explained = TrimLedger(t=1.0, value=rows).result_parts
    assert isinstance(table, Table) and isinstance(explained, Bullets)
    assert table.rows[0][-1] == "–" and table.rows[1][-1] == "390 GiB"
    assert "free" not in table.header  # what no step knows is no column


def test_an_empty_ledger_is_survived() -> None:
    assert TrimLedger(t=1.0, value=()).result_parts == ()
