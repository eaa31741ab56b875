"""What earlier runs on this host found out, for the run that begins: how small an effect can show here, and levels."""

from __future__ import annotations

import os
from collections.abc import Sequence

from app.failure import Failure
from app.recording.reader import load
from app.recording.store import listed
from probes.types import Fact
from scenarios.card import card_of
from scenarios.model import AResult

MOST_KEPT = 30  # of one scenario's runs, the newest


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


def line_rates() -> dict[str, Fact]:
    """What disks and cards of this host gave alone, in its newest finished run that tells it, by their names."""
    host = os.uname().nodename
    told = (
        one for one in listed() if (one.host, one.state) == (host, "done") and card_of(one.scenario).rates
    )
    for known in sorted(told, key=lambda one: one.wall, reverse=True):
        try:
            found = load(known.path).results.values()
        except (Failure, OSError):
            continue
        source = f"{known.scenario} run of {known.wall}"
        if rates := {name: words for result in found for name, words in result.line_rates.items()}:
            return {name: Fact(name, "measured", words, source) for name, words in rates.items()}
    return {}


def results(scenario: str, kind: type[AResult]) -> Sequence[tuple[str, AResult]]:
    """Of the newest finished runs of one scenario on this host, the oldest first; what cannot be read is left out."""
    host = os.uname().nodename
    own = [one for one in listed() if (one.host, one.scenario, one.state) == (host, scenario, "done")]
    found: list[tuple[str, AResult]] = []
    for known in sorted(own, key=lambda one: one.wall)[-MOST_KEPT:]:
        try:
            result = load(known.path).result(kind)
        except (Failure, OSError):
            continue
        if result is not None:
            found.append((known.path.stem, result))
    return found
