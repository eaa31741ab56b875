"""The runs of one side of a comparison: recordings and other tools' results, one by one, by directory or column."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Union

from app.failure import USAGE, Failure
from app.recording import store
from app.recording.reader import BrokenRecording, events_of, uncollected
from probes.imports import kinds
from probes.imports.model import Refused
from probes.imports.path_names import told_apart
from probes.imports.source import Source
from probes.imports.storage import io500_table
from probes.lossless_json import Decoder
from scenarios.compare.run_summary import READ, Take, take
from scenarios.compare.snapshot import imported

_decoder = Decoder(Union[READ])  # noqa: UP007


def paths(arguments: Iterable[str]) -> list[Path]:
    """A path, a name, `last`, `demo:NAME`, or a directory of recordings. Raises Failure.

    `TABLE:COLUMN` stays as it is: a column of a table of results.
    """
    found: list[Path] = []
    for argument in arguments:
        folder = Path(argument)
        if folder.is_dir():
            inside = sorted(store.files(folder))
            if not inside:
                seen = os.access(folder, os.R_OK | os.X_OK)
                why = "no recording (*.jsonl, *.jsonl.gz) in this directory" if seen else "may not be read"
                raise Failure(f"{argument}: {why}", USAGE)
            found += inside
        elif _column(argument):
            found.append(folder)
        else:
            found.append(store.resolve(argument))
    return list(dict.fromkeys(found))


def takes(files: Sequence[Path], beside: Sequence[Path] = ()) -> list[Take]:
    """One after the other, so that a thousand need the memory of one. Raises Failure.

    Each is named by the part of its path that tells it from the others and from those `beside` them.
    """
    names = dict(zip((*files, *beside), told_apart([str(p) for p in (*files, *beside)]), strict=True))
    names |= {path: f"{label} ({names[path]})" for path in files if (label := store.label_of(path))}
    with uncollected():
        return [take_of(path, names[path]) for path in files]


def take_of(path: Path, name: str, *, spread: bool = True) -> Take:
    """`spread`: with each figure's own. Raises Failure."""
    if parts := _column(str(path)):
        return _of_table(*parts, name)
    try:
        return take(events_of(path, _decoder), name, spread=spread)
    except BrokenRecording as no_recording:
        return another_tools(path, name, no_recording)


def another_tools(path: Path, name: str, no_recording: BrokenRecording) -> Take:
    """Raises `no_recording` again where no importer knows the file."""
    try:
        return imported(kinds.parse(Source.read(path)), name)
    except Refused:
        raise no_recording from None


def _column(argument: str) -> tuple[Path, str] | None:
    """`table.tsv:new` where there is a file table.tsv and none of the whole name."""
    file, _, column = argument.rpartition(":")
    if not file or not column or Path(argument).exists() or not Path(file).is_file():
        return None
    return Path(file), column


def _of_table(path: Path, column: str, name: str) -> Take:
    try:
        found = io500_table.columns(Source.read(path))
    except Refused as why:
        raise Failure(f"{path}: {why.why}; {why.hint}", USAGE) from None
    if column not in found:
        raise Failure(f"{path}: no column {column}; there are: {', '.join(list(found)[:20])}", USAGE)
    return imported(found[column], name)
