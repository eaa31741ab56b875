"""`hostdx`, `hostdx attach`, `hostdx replay`: the terminal app on the host, a run under way, or a recording."""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import click

from hostdx.app.cli.look import appearance_options, recording_argument_decorator
from hostdx.app.recordings import store
from hostdx.app.recordings.limits import LINE_LIMIT
from hostdx.app.run import launch
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.scenarios.contract import events as ev


@click.command(params=appearance_options())
@recording_argument_decorator()
def attach(recording: str | None, **look: object) -> int:
    """Follow a run that is under way (without a name: the latest)."""
    from hostdx.app.recordings import store as recordings

    if recording is None:
        under_way = [entry for entry in recordings.list_recordings() if entry.state == "running"]
        if not under_way:
            raise Failure("attach: no run is under way; `hostdx recordings` lists the finished ones")
        path = str(under_way[0].path)
    else:
        path = str(recordings.resolve_recording(recording))
    return open_screen("attach", path, look)


@click.command(params=appearance_options())
@recording_argument_decorator()
@click.option(
    "--speed",
    type=click.FloatRange(min=0.1, max=1000.0),
    default=1.0,
    help="Speed of playing; 1 is real time.",
)
def replay(recording: str | None, speed: float, **look: object) -> int:
    """Play a recording in the app. RECORDING: a path, a name, `last`, or `demo:NAME`. Without one: the list."""
    from hostdx.app.recordings import store as recordings

    if recording is None:
        return open_screen("recordings", None, look)
    path = str(recordings.resolve_recording(recording))
    return open_screen("replay", path, look, speed)


def open_screen(
    mode: str, path: str | None, look: Mapping[str, object], speed: float = 1.0, target: str = ""
) -> int:
    """`look`: what `appearance_options` say. `target`: in mode `feature`, who opens its screen on `path`."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        raise Failure("the app needs a terminal; `hostdx --help` lists the commands that need none", USAGE)
    open_app = import_module("hostdx.app.tui.app").open_app  # 0.2 s: only where a screen is opened
    return int(open_app(mode, path, speed, look["ascii_only"], not look["no_mouse"], look["theme"], target))


@click.command()
@recording_argument_decorator()
def stop(recording: str | None) -> int:
    """Stop a run that is under way; its changes are undone first. Without RECORDING: the only one under way."""
    path = _only_run_under_way() if recording is None else store.resolve_recording(recording)
    began = _read_began_event(path)
    why = launch.GONE if began is None else launch.stop_runner(path, began)
    if why:
        raise Failure(f"stop: {path.name}: {why}")
    print_note(f"stopping {path.name}: its changes are undone first")
    return 0


def _only_run_under_way() -> Path:
    running = [entry.path for entry in store.list_recordings() if entry.state == "running"]
    if not running:
        raise Failure("stop: no run of yours is under way; `hostdx recordings` lists what was run")
    if len(running) > 1:
        names = ", ".join(path.name for path in running)
        raise Failure(f"stop: {len(running)} runs are under way; name one of {names}")
    return running[0]


def _read_began_event(path: Path) -> ev.Began | None:
    """The line that names the runner; None where there is none yet. Raises Failure for what is no recording."""
    events = store.read_first_events(path, LINE_LIMIT)
    return events[0] if events and isinstance(events[0], ev.Began) else None
