"""`hostdx`, `hostdx attach`, `hostdx replay`: the terminal app on the host, a run under way, or a recording."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from app.cli.recording_argument import recording_argument
from app.failure import USAGE, Failure

ascii_option = click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters only.")
no_mouse_option = click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
theme_option = click.option(
    "--theme", type=click.Choice(("dark", "light", "terminal")), help="Colours of the app."
)


@click.command()
@recording_argument()
@ascii_option
@no_mouse_option
@theme_option
def attach(recording: str | None, ascii_only: bool, no_mouse: bool, theme: str | None) -> int:
    """Follow a run that is under way (without a name: the latest)."""
    from app.recording import store as recordings

    if recording is None:
        under_way = [entry for entry in recordings.listed() if entry.state == "running"]
        if not under_way:
            raise Failure("attach: no run is under way; `hostdx recordings` lists the finished ones")
        path = str(under_way[0].path)
    else:
        path = str(recordings.resolve(recording))
    return open_screen("attach", path, ascii_only=ascii_only, mouse=not no_mouse, theme=theme)


@click.command()
@recording_argument()
@click.option(
    "--speed",
    type=click.FloatRange(min=0.1, max=1000.0),
    default=1.0,
    help="Speed of playing; 1 is real time.",
)
@ascii_option
@no_mouse_option
@theme_option
def replay(recording: str | None, speed: float, ascii_only: bool, no_mouse: bool, theme: str | None) -> int:
    """Play a recording in the app. RECORDING: a path, a name, `last`, or `demo:NAME`. Without one: the list."""
    from app.recording import store as recordings

    if recording is None:
        return open_screen("recordings", None, ascii_only=ascii_only, mouse=not no_mouse, theme=theme)
    path = str(recordings.resolve(recording))
    return open_screen("replay", path, speed=speed, ascii_only=ascii_only, mouse=not no_mouse, theme=theme)


def open_screen(
    mode: str,
    path: str | None,
    *,
    speed: float = 1.0,
    ascii_only: bool,
    mouse: bool,
    theme: str | None = None,
) -> int:
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        raise Failure("the app needs a terminal; `hostdx --help` lists the commands that need none", USAGE)
    open_app = import_module("app.tui.app").open_app  # 0.2 s: only where a screen is opened
    return int(open_app(mode, path, speed, ascii_only, mouse, theme))
