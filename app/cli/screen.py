"""`hostdx`, `hostdx attach`, `hostdx replay`: the terminal app on the host, a run under way, or a recording."""

import sys
from collections.abc import Mapping
from importlib import import_module

import click

from app.cli.look import look_options
from app.cli.recording_argument import recording_argument
from app.terminal.failure import USAGE, Failure


@click.command(params=look_options())
@recording_argument()
def attach(recording: str | None, **look: object) -> int:
    """Follow a run that is under way (without a name: the latest)."""
    from app.recordings import store as recordings

    if recording is None:
        under_way = [entry for entry in recordings.list_recordings() if entry.state == "running"]
        if not under_way:
            raise Failure("attach: no run is under way; `hostdx recordings` lists the finished ones")
        path = str(under_way[0].path)
    else:
        path = str(recordings.resolve_recording(recording))
    return open_screen("attach", path, look)


@click.command(params=look_options())
@recording_argument()
@click.option(
    "--speed",
    type=click.FloatRange(min=0.1, max=1000.0),
    default=1.0,
    help="Speed of playing; 1 is real time.",
)
def replay(recording: str | None, speed: float, **look: object) -> int:
    """Play a recording in the app. RECORDING: a path, a name, `last`, or `demo:NAME`. Without one: the list."""
    from app.recordings import store as recordings

    if recording is None:
        return open_screen("recordings", None, look)
    path = str(recordings.resolve_recording(recording))
    return open_screen("replay", path, look, speed)


def open_screen(
    mode: str, path: str | None, look: Mapping[str, object], speed: float = 1.0, target: str = ""
) -> int:
    """`look`: what `look_options` say. `target`: in mode `feature`, who opens its screen on `path`."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        raise Failure("the app needs a terminal; `hostdx --help` lists the commands that need none", USAGE)
    open_app = import_module("app.tui.app").open_app  # 0.2 s: only where a screen is opened
    return int(open_app(mode, path, speed, look["ascii_only"], not look["no_mouse"], look["theme"], target))
