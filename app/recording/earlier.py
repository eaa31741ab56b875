"""The finished runs of one scenario on this host, as their recordings begin, for a run that is one of several."""

import os
from pathlib import Path

from app.recording import store
from app.recording.reader import BrokenRecording
from app.state import recordings_dir
from scenarios import events as ev
from scenarios.model import Earlier, Options, Scenario, Usage


def earlier(scenario: Scenario) -> list[Earlier]:
    """Only those that are one of several: an interrupted run is no measurement."""
    named = sorted(path for path in store.files(recordings_dir()) if f"-{scenario.id}-" in path.name)
    return [found for path in named if (found := _run(path, scenario)) is not None]


def _run(path: Path, scenario: Scenario) -> Earlier | None:
    try:
        head = store.beginning(path)
    except BrokenRecording:
        return None
    began = head[0] if head else None
    if not isinstance(began, ev.Began) or began.scenario != scenario.id or began.host != os.uname().nodename:
        return None
    try:
        several = scenario.one_of_several(Options(began.options))
    except Usage:
        several = False
    if not several or store.examined(path).state != "done":
        return None
    facts = {event.label: event.value for event in head if isinstance(event, ev.FactRead)}
    return Earlier(
        recording=path.name, wall=began.wall, boot_id=began.boot_id, options=began.options, facts=facts
    )
