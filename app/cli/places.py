"""`hostdx places`: the directories that can be measured, as JSON, for the screen that lets one choose."""

import os

import click

from app.output import out
from app.printable import printable_json
from probes.host import Host
from probes.lossless_json import encode

MOST_CHOICES = 40


@click.command(hidden=True)
@click.argument("paths", nargs=-1)
@click.option("--mounts", is_flag=True, help="The mounts, then the PATHS.")
@click.option("--complete", metavar="BEGINNING", help="Complete the path of a directory instead.")
def places(paths: tuple[str, ...], mounts: bool, complete: str | None) -> int:
    """The directories named, and the mounts."""
    if complete is not None:
        text, choices = completed(complete)
        out(printable_json(encode({"text": text, "choices": choices})).decode())
        return 0
    from scenarios.files.places import directory_choice
    from scenarios.files.places import list_directory_choices as all_places

    host = Host()
    found = [*(all_places(host) if mounts else ())]
    known = {one.path for one in found}
    found += [directory_choice(host, path) for path in paths if path not in known]
    out(printable_json(encode(found)).decode())
    return 0


def completed(beginning: str) -> tuple[str, list[str]]:
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
    whole = f"{folder}/{os.path.commonprefix(names)}" + ("/" if len(names) == 1 else "")  # noqa: RUF071
    return whole, names[:MOST_CHOICES] if len(names) > 1 else []
