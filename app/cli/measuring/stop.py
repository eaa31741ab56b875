"""`hostdx stop [RECORDING]`: stops a run of one's own and has its changes undone."""

from pathlib import Path

import click

from app.cli.recording_argument import recording_argument
from app.recordings import store
from app.recordings.limits import LINE_LIMIT
from app.run import launch
from app.terminal.failure import Failure
from app.terminal.output import print_note
from scenarios.contract import events as ev


@click.command()
@recording_argument()
def stop(recording: str | None) -> int:
    """Stop a run that is under way; its changes are undone first. Without RECORDING: the only one under way."""
    path = _under_way() if recording is None else store.resolve_recording(recording)
    began = _first(path)
    why = launch.GONE if began is None else launch.stop_runner(path, began)
    if why:
        raise Failure(f"stop: {path.name}: {why}")
    print_note(f"stopping {path.name}: its changes are undone first")
    return 0


def _under_way() -> Path:
    running = [entry.path for entry in store.list_recordings() if entry.state == "running"]
    if not running:
        raise Failure("stop: no run of yours is under way; `hostdx recordings` lists what was run")
    if len(running) > 1:
        names = ", ".join(path.name for path in running)
        raise Failure(f"stop: {len(running)} runs are under way; name one of {names}")
    return running[0]


def _first(path: Path) -> ev.Began | None:
    """The line that names the runner; None where there is none yet. Raises Failure for what is no recording."""
    events = store.read_beginning(path, LINE_LIMIT)
    return events[0] if events and isinstance(events[0], ev.Began) else None
