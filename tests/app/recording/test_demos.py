"""Each bundled recording can be named, loads, has an end and a report."""

from __future__ import annotations

import pytest

from app.recording import store as recordings
from app.recording.reader import load
from app.report import markdown as document_markdown
from app.report.report import report


@pytest.mark.parametrize("name", recordings.demos())
def test_a_demo_is_whole(name: str) -> None:
    path = recordings.resolve(name)
    session = load(path)
    assert session.ended is not None and session.ended.status == "done"
    assert session.plan is not None and session.began is not None
    text = document_markdown.rendered(report(session, path.name))
    assert "How it was measured" in text
    assert recordings.examined(path).state == "done"
