"""The runs of this host that are a side of a comparison across reboots, as its recordings tell."""

from __future__ import annotations

from pathlib import Path

from app.recording import store
from app.recording.reader import BrokenRecording
from app.state import recordings_dir
from scenarios import events as ev
from scenarios.kernel.reboots import ORDERS, Boot

SCENARIO = "kernel"


def runs(host: str) -> list[Boot]:
    """Finished ones only: an interrupted run is no measurement. Reads the beginning of each recording."""
    named = sorted(path for path in store.files(recordings_dir()) if f"-{SCENARIO}-" in path.name)
    return [found for path in named if (found := _boot(path, host)) is not None]


def _boot(path: Path, host: str) -> Boot | None:
    try:
        head = store.beginning(path)
    except BrokenRecording:
        return None
    began = head[0] if head else None
    if not isinstance(began, ev.Began) or began.scenario != SCENARIO or began.host != host:
        return None
    if not began.options.get("before") and not began.options.get("after"):
        return None
    if store.examined(path).state != "done":
        return None
    kernel = next((e.value for e in head if isinstance(e, ev.FactRead) and _release(e)), "")
    return Boot(
        recording=path.name,
        side="A" if began.options.get("before") else "B",
        boot=began.boot_id,
        wall=began.wall,
        kernel=str(kernel),
        order=str(began.options.get("order") or ORDERS[0]),
    )


def _release(event: ev.FactRead) -> bool:
    return event.label in ("kernel release", "kernel.release")
