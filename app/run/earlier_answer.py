"""What earlier runs on this host found out, for the run that begins: how small an effect can show here, and levels."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.failure import Failure
from app.recording.reader import load
from app.recording.session import Session
from app.recording.store import Listed, listed
from probes.types import Fact
from scenarios.card import card_of
from scenarios.model import AResult

MOST_KEPT = 30  # of one scenario's runs, the newest


def _finished(host: str, wanted: Callable[[str], bool]) -> list[Listed]:
    """Finished runs on a host of the scenarios that are `wanted`, as `listed` has them."""
    return [one for one in listed() if one.host == host and one.state == "done" and wanted(one.scenario)]


def _read(runs: Iterable[Listed]) -> Iterator[tuple[Listed, Session]]:
    """What cannot be read is left out."""
    for known in runs:
        try:
            yield known, load(known.path)
        except (Failure, OSError):
            continue


def resolution(host_name: str) -> str:
    """The answer of this host's last finished run that tells it, in one sentence; "" where there is none."""
    for known, found in _read(_finished(host_name, lambda id: card_of(id).role == "resolution")):
        if sentence := next((result.quote for result in found.results.values() if result.quote), ""):
            return f"{sentence} ({known.scenario} run of {known.wall})"
    return ""


def line_rates() -> dict[str, Fact]:
    """What disks and cards of this host gave alone, in its newest finished run that tells it, by their names."""
    told = _finished(os.uname().nodename, lambda id: card_of(id).rates)
    for known, found in _read(sorted(told, key=lambda one: one.wall, reverse=True)):
        source = f"{known.scenario} run of {known.wall}"
        if rates := {name: words for one in found.results.values() for name, words in one.line_rates.items()}:
            return {name: Fact(name, "measured", words, source) for name, words in rates.items()}
    return {}


def results(scenario: str, kind: type[AResult]) -> Sequence[tuple[str, AResult]]:
    """Of the newest finished runs of one scenario on this host, the oldest first; what cannot be read is left out."""
    own = _finished(os.uname().nodename, lambda id: id == scenario)
    kept = _read(sorted(own, key=lambda one: one.wall)[-MOST_KEPT:])
    found = ((known.path.stem, session.result(kind)) for known, session in kept)
    return [(name, result) for name, result in found if result is not None]
