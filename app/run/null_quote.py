"""What earlier runs on this host found out, for the run that begins: how small an effect can show here."""

from __future__ import annotations

from app.failure import Failure
from app.recording.reader import load
from app.recording.store import listed
from scenarios.null.findings import quote
from scenarios.null.results import Resolution


def resolution(host_name: str) -> str:
    """The answer of this host's last finished `null` run in one sentence; "" where there is none."""
    for known in listed():
        if known.scenario != "null" or known.host != host_name or known.state != "done":
            continue
        try:
            found = load(known.path).result(Resolution)
        except (Failure, OSError):
            continue
        sentence = quote(found.value) if found is not None else ""
        if sentence:
            return f"{sentence} (null run of {known.wall})"
    return ""
