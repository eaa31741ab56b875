"""What earlier runs on this host found out, for the run that begins: how small an effect can show here, and levels."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.store import ListedRecording, list_recordings
from hostdx.app.terminal.failure import Failure
from hostdx.probes.types import Fact
from hostdx.scenarios.contract.card import card_of
from hostdx.scenarios.contract.model import AResult

MAX_EARLIER_RUNS = 30  # of one scenario's runs, the newest


def _finished_runs(host: str, is_wanted_scenario: Callable[[str], bool]) -> list[ListedRecording]:
    """Finished runs on a host of the scenarios that are `is_wanted_scenario`, as `list_recordings` has them."""
    return [
        listed_run
        for listed_run in list_recordings()
        if listed_run.host == host and listed_run.state == "done" and is_wanted_scenario(listed_run.scenario)
    ]


def _load_readable(runs: Iterable[ListedRecording]) -> Iterator[tuple[ListedRecording, RunSession]]:
    """What cannot be read is left out."""
    for listed_run in runs:
        try:
            yield listed_run, load_recording(listed_run.path)
        except (Failure, OSError):
            continue


def resolution_sentence(host_name: str) -> str:
    """The answer of this host's last finished run that tells it, in one sentence; "" where there is none."""
    for listed_run, session in _load_readable(
        _finished_runs(host_name, lambda id: card_of(id).role == "resolution")
    ):
        if sentence := next((result.quote for result in session.results.values() if result.quote), ""):
            return f"{sentence} ({listed_run.scenario} run of {listed_run.wall})"
    return ""


def read_rates_alone() -> dict[str, Fact]:
    """Return what disks and cards of this host gave alone, in its newest finished run that tells it, by their names."""
    finished_runs = _finished_runs(os.uname().nodename, lambda id: card_of(id).rates)
    for listed_run, session in _load_readable(
        sorted(finished_runs, key=lambda item: item.wall, reverse=True)
    ):
        source = f"{listed_run.scenario} run of {listed_run.wall}"
        if rates := {
            name: words
            for item in session.results.values()
            for name, words in item.rates_alone_by_device.items()
        }:
            return {name: Fact(name, "measured", words, source) for name, words in rates.items()}
    return {}


def read_proved_remedies() -> dict[str, Fact]:
    """Return what remedies did on this host, by the key of their finding: of each the newest run that tried it."""
    finished_runs = _finished_runs(os.uname().nodename, lambda id: card_of(id).proves)
    newest_runs = sorted(finished_runs, key=lambda item: item.wall)[-MAX_EARLIER_RUNS:]
    return {
        key: Fact(key, "proved", f"proved on {listed_run.wall[:10]}: {words}", f"{listed_run.path.stem}")
        for listed_run, session in _load_readable(newest_runs)
        for result in session.results.values()
        for key, words in result.proofs.items()
    }


def earlier_results(scenario: str, kind: type[AResult]) -> Sequence[tuple[str, AResult]]:
    """Of the newest finished runs of one scenario on this host, the oldest first; what cannot be read is left out."""
    own = _finished_runs(os.uname().nodename, lambda id: id == scenario)
    newest_sessions = _load_readable(sorted(own, key=lambda listed_run: listed_run.wall)[-MAX_EARLIER_RUNS:])
    named_results = (
        (newest_run.path.stem, session.find_result(kind)) for newest_run, session in newest_sessions
    )
    return [(name, result) for name, result in named_results if result is not None]
