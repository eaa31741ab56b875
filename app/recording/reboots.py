"""The runs of this host that are a side of a comparison across reboots, as its recordings tell."""

from __future__ import annotations

from pathlib import Path

from app.recording import store
from app.recording.reader import BrokenRecording, Follower
from app.state import recordings_dir
from scenarios import events as ev
from scenarios.kernel.reboots import ORDERS, Boot

SCENARIO = "kernel"


def runs(host: str) -> list[Boot]:
    """Finished ones only: an interrupted run is no measurement. Reads the beginning of each recording."""
    try:
        paths = sorted(recordings_dir().iterdir())
    except OSError:
        return []
    named = [p for p in paths if f"-{SCENARIO}-" in p.name and p.name.endswith(store.SUFFIXES)]
    return [found for path in named if (found := _boot(path, host)) is not None]


def _boot(path: Path, host: str) -> Boot | None:
    head = _head(path)
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


def _head(path: Path) -> list[ev.AnyEvent]:
    try:
        follower = Follower(path)
    except BrokenRecording:
        return []
    try:
        return follower.poll(store.HEAD)
    except BrokenRecording:
        return []
    finally:
        follower.close()
