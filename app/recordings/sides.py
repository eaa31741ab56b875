"""The runs of one side of a comparison: recordings and other tools' results, one by one, by directory or column."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Union

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import BrokenRecording, pause_garbage_collection, read_events
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError
from hostdx.probes.imports.path_names import distinct_short_names
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage import io500_table
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.scenarios.analysis.compare.run_summary import READ, RunSummary, summarise_run
from hostdx.scenarios.analysis.compare.snapshot import summarise_import

_decoder = Decoder(Union[READ])  # noqa: UP007


def find_recordings(arguments: Iterable[str]) -> list[Path]:
    """Resolve arguments: a path, a name, `last`, `demo:NAME`, or a directory of recordings. Raises Failure.

    `TABLE:COLUMN` stays as it is: a column of a table of results.
    """
    resolved: list[Path] = []
    for argument in arguments:
        folder = Path(argument)
        if folder.is_dir():
            inside = sorted(store.recordings_in(folder))
            if not inside:
                is_readable = os.access(folder, os.R_OK | os.X_OK)
                why = (
                    "no recording (*.jsonl, *.jsonl.gz) in this directory"
                    if is_readable
                    else "may not be read"
                )
                raise Failure(f"{argument}: {why}", USAGE)
            resolved += inside
        elif _split_file_and_column(argument):
            resolved.append(folder)
        else:
            resolved.append(store.resolve_recording(argument))
    return list(dict.fromkeys(resolved))


def read_run_summaries(files: Sequence[Path], named_beside: Sequence[Path] = ()) -> list[RunSummary]:
    """One after the other, so that a thousand need the memory of one. Raises Failure.

    Each is named by the part of its path that tells it from the others and from those `other_files` them.
    """
    names = dict(
        zip(
            (*files, *named_beside),
            distinct_short_names([str(p) for p in (*files, *named_beside)]),
            strict=True,
        )
    )
    names |= {path: f"{label} ({names[path]})" for path in files if (label := store.read_label(path))}
    with pause_garbage_collection():
        return [read_run_summary(path, names[path]) for path in files]


def read_run_summary(path: Path, name: str, *, spread: bool = True) -> RunSummary:
    """`spread`: with each figure's own. Raises Failure."""
    if parts := _split_file_and_column(str(path)):
        return _read_io500_column(*parts, name)
    try:
        return summarise_run(read_events(path, _decoder), name, spread=spread)
    except BrokenRecording as no_recording:
        return read_foreign_run_summary(path, name, no_recording)


def read_foreign_run_summary(path: Path, name: str, no_recording: BrokenRecording) -> RunSummary:
    """Raises `no_recording` again where no importer knows the file."""
    try:
        return summarise_import(kinds.parse_import(ImportSource.read(path)), name)
    except ImportRefusedError:
        raise no_recording from None


def _split_file_and_column(argument: str) -> tuple[Path, str] | None:
    """`table.tsv:new` where there is a file table.tsv and none of the whole name."""
    file, _, column = argument.rpartition(":")
    if not file or not column or Path(argument).exists() or not Path(file).is_file():
        return None
    return Path(file), column


def _read_io500_column(path: Path, column: str, name: str) -> RunSummary:
    try:
        columns = io500_table.read_column_results(ImportSource.read(path))
    except ImportRefusedError as why:
        raise Failure(f"{path}: {why.why}; {why.hint}", USAGE) from None
    if column not in columns:
        raise Failure(f"{path}: no column {column}; there are: {', '.join(list(columns)[:20])}", USAGE)
    return summarise_import(columns[column], name)
