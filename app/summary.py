"""What `hostdx run` prints at its end: the verdicts, the findings, and where the report is."""

from __future__ import annotations

from pathlib import Path

from app import wording
from app.printable import printable
from app.session import Session


def summary_lines(session: Session, recording: Path | None) -> list[str]:
    """Safe to print."""
    ended = session.ended
    lines = [wording.headline(session)] if ended is None or ended.status in ("done", "interrupted") else []
    sentences = [wording.verdict_sentence(session, verdict) for verdict in session.verdicts.values()]
    lines += ["  " + sentence for sentence in sentences if sentences != lines]
    lines += ["  " + wording.series_sentence(session, series) for series in session.series]
    for found in session.worst_first:
        lines.append(f"  {wording.SIGNS[found.severity]} {found.severity}: {found.title}")
    if recording is not None:
        lines.append(f"report: hostdx report {recording.name}")
    return [printable(line) for line in lines]
