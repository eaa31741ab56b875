"""What earlier runs on this host found out, for the run that begins: how small an effect can show here."""

from __future__ import annotations

from app.failure import Failure
from app.recording.reader import load
from app.recording.store import listed
from scenarios.card import card_of


def resolution(host_name: str) -> str:
    """The answer of this host's last finished run that tells it, in one sentence; "" where there is none."""
    for known in listed():
        if known.host != host_name or known.state != "done" or card_of(known.scenario).role != "resolution":
            continue
        try:
            found = load(known.path)
        except (Failure, OSError):
            continue
        if sentence := next((result.quote for result in found.results.values() if result.quote), ""):
            return f"{sentence} ({known.scenario} run of {known.wall})"
    return ""
