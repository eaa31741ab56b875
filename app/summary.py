"""What `hostdx run` prints at its end: the verdicts, the findings, and where the report is."""

from __future__ import annotations

import shlex
from pathlib import Path

from app import wording
from app.answer import answer
from app.printable import printable
from app.session import Session
from app.state import recordings_dir


def summary_lines(session: Session, recording: Path | None) -> list[str]:
    """Safe to print."""
    ended = session.ended
    lines = [answer(session).sentence] if ended is None or ended.status in ("done", "interrupted") else []
    verdicts = list(session.verdicts.values())
    if verdicts and session.plan is not None:
        lines += [f"  {v.id}: {v.label}" for v in session.plan.variants if v.label not in ("", v.id)]
    lines += [
        "  " + wording.verdict_sentence(session, verdict, short=True)
        for verdict in verdicts
        if wording.measured(verdict)
    ]
    lines += ["  " + line for line in wording.unmeasured(session, verdicts)]
    lines += ["  " + wording.series_sentence(session, series) for series in session.series]
    for found in session.worst_first:
        lines.append(f"  {wording.SIGNS[found.severity]} {found.severity}: {found.title}")
    if recording is not None:
        kept = recording.parent == recordings_dir()
        lines.append(f"report: hostdx report {shlex.quote(recording.name if kept else str(recording))}")
    return [printable(line) for line in lines]
