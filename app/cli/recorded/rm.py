"""`hostdx rm RECORDING...`: deletes recordings of one's own, with the parts of a checkup."""

from pathlib import Path

import click

from hostdx.app.cli.look import complete_recording
from hostdx.app.recordings import store
from hostdx.app.run.consent import ask_yes_no
from hostdx.app.state import recordings_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.app.terminal.printable import make_printable


@click.command()
@click.argument(
    "recordings", nargs=-1, required=True, metavar="RECORDING...", shell_complete=complete_recording
)
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
def rm(recordings: tuple[str, ...], yes: bool) -> int:
    """Delete recordings. RECORDING: a path, a name, or `last`; a baseline's copies are not touched."""
    paths = list(dict.fromkeys(_own_finished_recording(name) for name in recordings))
    names = ", ".join(make_printable(path.name) for path in paths)
    if not yes and not ask_yes_no(f"delete {names}? [y/N] "):
        raise Failure(f"rm: not deleted: {names}; confirm it on a terminal, or add --yes")
    for path in paths:
        try:
            store.delete_recording_and_parts(path)
        except OSError as error:
            raise Failure(f"rm: {path}: {error.strerror}") from None
        print_note(f"deleted {path.name}")
    return 0


def _own_finished_recording(name: str) -> Path:
    """Raises Failure for what is none of ours, or is being written."""
    if name.startswith("demo:"):
        raise Failure(f"rm: {name}: comes with hostdx and stays", USAGE)
    path = store.resolve_recording(name)
    if not path.name.endswith(store.SUFFIXES) or not path.is_file() or path.is_symlink():
        raise Failure(f"rm: {name}: no such recording; `hostdx recordings` lists them", USAGE)
    state = store.examine_recording(path).state
    if state == "unreadable" and recordings_dir().resolve() not in path.resolve().parents:
        raise Failure(
            f"rm: {name}: is no recording; nothing was deleted; `hostdx recordings` lists them", USAGE
        )
    if state == "running":
        raise Failure(f"rm: {name}: is being recorded; `hostdx stop {path.name}` first")
    return path
