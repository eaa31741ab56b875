"""`hostdx places`: the directories that can be measured, as JSON, for the screen that lets one choose."""

import os

import click

from hostdx.app.terminal.output import print_result
from hostdx.app.terminal.printable import make_json_printable
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.lossless_json import encode

MAX_CHOICES = 40


@click.command(hidden=True)
@click.argument("paths", nargs=-1)
@click.option("--mounts", is_flag=True, help="The mounts, then the PATHS.")
@click.option("--complete", metavar="BEGINNING", help="Complete the path of a directory instead.")
def places(paths: tuple[str, ...], mounts: bool, complete: str | None) -> int:
    """The directories named, and the mounts."""
    if complete is not None:
        text, choices = complete_path(complete)
        print_result(make_json_printable(encode({"text": text, "choices": choices})).decode())
        return 0
    from hostdx.scenarios.experiment.files.places import directory_choice
    from hostdx.scenarios.experiment.files.places import list_directory_choices as all_places

    host = Host()
    listed_places = [*(all_places(host) if mounts else ())]
    known_paths = {entry.path for entry in listed_places}
    listed_places += [directory_choice(host, path) for path in paths if path not in known_paths]
    print_result(make_json_printable(encode(listed_places)).decode())
    return 0


def complete_path(beginning: str) -> tuple[str, list[str]]:
    """The path as far as it is certain, and the names of the directories that begin like its last part."""
    folder, _, start = beginning.rpartition("/")
    try:
        with os.scandir(f"{folder}/") as entries:
            names = sorted(e.name for e in entries if e.name.startswith(start) and e.is_dir())
    except OSError:
        return beginning, []
    if not start.startswith("."):
        names = [name for name in names if not name.startswith(".")]
    if not names:
        return beginning, []
    # a part of a name is completed, too
    completion = f"{folder}/{os.path.commonprefix(names)}" + ("/" if len(names) == 1 else "")  # noqa: RUF071
    return completion, names[:MAX_CHOICES] if len(names) > 1 else []
