"""A run that is one of several on this host (before and after a reboot): what was before it, and what they tell."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import BrokenRecording
from hostdx.app.state import recordings_dir
from hostdx.app.terminal.failure import USAGE, Failure, scenario_failure_text
from hostdx.app.terminal.process import boot_id
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import EarlierRun, OptionMap, Scenario, UsageError


def find_earlier_runs(scenario: Scenario) -> list[EarlierRun]:
    """Only those that are one of several: an interrupted run is no measurement."""
    recording_paths = sorted(
        path for path in store.recordings_in(recordings_dir()) if f"-{scenario.id}-" in path.name
    )
    return [
        earlier_run
        for path in recording_paths
        if (earlier_run := _earlier_run_of_scenario(path, scenario)) is not None
    ]


def _earlier_run_of_scenario(path: Path, scenario: Scenario) -> EarlierRun | None:
    try:
        head = store.read_first_events(path)
    except BrokenRecording:
        return None
    began = head[0] if head else None
    if not isinstance(began, ev.Began) or began.scenario != scenario.id or began.host != os.uname().nodename:
        return None
    try:
        several = scenario.depends_on_earlier_runs(OptionMap(began.options))
    except UsageError:
        several = False
    if not several or store.examine_recording(path).state != "done":
        return None
    facts = {event.label: event.value for event in head if isinstance(event, ev.FactRead)}
    return EarlierRun(
        recording=path.name, wall=began.wall, boot_id=began.boot_id, options=began.options, facts=facts
    )


def check_follows_earlier_runs(command: str, scenario: Scenario, chosen: Mapping[str, Json]) -> bool:
    """Before the run. Raises Failure where it cannot follow the earlier ones."""
    options = OptionMap(chosen)
    try:
        if not scenario.depends_on_earlier_runs(options):
            return False
        scenario.check(options, boot_id(), find_earlier_runs(scenario))
    except UsageError as why:
        raise Failure(scenario_failure_text(command, scenario.id, str(why)), USAGE) from None
    return True


def describe_series_progress(scenario: Scenario) -> Iterator[str]:
    """Yield what was measured until now, the answer as far as there is one, and what is still to do."""
    progress = scenario.describe_series(find_earlier_runs(scenario))
    yield from progress.lines
    if progress.sides is not None:
        from hostdx.app.recordings.sides import find_recordings, read_run_summaries
        from hostdx.app.report.results.comparison import headline_text
        from hostdx.scenarios.analysis.compare.comparison import compare_recordings

        a, b = progress.sides
        yield headline_text(
            compare_recordings(read_run_summaries(find_recordings(a)), read_run_summaries(find_recordings(b)))
        )
        yield f"comparison: hostdx compare {' '.join(a)} -- {' '.join(b)}"
    yield from progress.to_do
