"""What `export` reads: recordings, other tools' results, the JSON of a triage, and folders of all of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from hostdx.app.features.export.rows import RunFile, RunRows
from hostdx.app.recordings import store
from hostdx.app.recordings.baselines import baselines_dir
from hostdx.app.recordings.limits import SIZE_LIMIT
from hostdx.app.recordings.reader import BrokenRecording, RecordingFollower
from hostdx.app.recordings.store import files_below
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.probes.files.safe_read import open_trusted_regular, read_trusted_file
from hostdx.probes.imports import kinds
from hostdx.probes.imports.model import ImportRefusedError
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.snapshot import ParsedImportFile
from hostdx.scenarios.analysis.imported import CARD
from hostdx.scenarios.analysis.imported.pile import make_result_set
from hostdx.scenarios.analysis.imported.recording import recording_events
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.ranges import is_showable

MAX_TRIAGE_BYTES = 16 << 20
FLEET_NODES = "nodes"  # the folder of a fleet run that holds one folder for each node
_NO_MEASUREMENT = {"fleet.json", "answers.jsonl", "index.json", "schema.json"}  # of folders of ours
_OTHER_SUFFIXES = (".log", ".name", ".md")  # of files that lie beside recordings
_CHUNK = 1 << 20
POLL_BYTES = 16 << 10


class ExportSource(NamedTuple):
    path: Path
    node: str = ""  # of a fleet run


class NoRowsInFile(Exception):
    """A file that gives no rows; the text says why."""


def find_sources(arguments: Sequence[str]) -> list[ExportSource]:
    """A file, a folder, a recording's name, `last`, `demo:NAME`, or a baseline's name (`watch`: this host's nights).

    Raises Failure where nothing of that name is there.
    """
    sources: list[ExportSource] = []
    for argument in arguments:
        path = Path(argument)
        baseline_folder = baselines_dir() / argument
        if path.is_dir():
            sources += _measurements_below(path)
        elif "/" not in argument and not path.exists() and baseline_folder.is_dir():
            sources += _measurements_below(baseline_folder)
        else:
            path = store.resolve_recording(argument)
            if not path.exists():
                raise Failure(f"export: {argument}: no such file or directory", USAGE)
            sources.append(ExportSource(path))
    unique = list(dict.fromkeys(sources))
    if not unique:
        raise Failure(f"export: {', '.join(arguments[:3])}: no file in it", USAGE)
    return unique


def _measurements_below(folder: Path) -> Iterator[ExportSource]:
    is_fleet = (folder / "fleet.json").is_file()
    for path in files_below("export", folder, _may_be_measurement):
        parts = path.relative_to(folder).parts
        is_answer = is_fleet and len(parts) > 2 and parts[0] == FLEET_NODES
        yield ExportSource(path, parts[1] if is_answer else "")


def _may_be_measurement(name: str) -> bool:
    return not name.startswith(".") and name not in _NO_MEASUREMENT and not name.endswith(_OTHER_SUFFIXES)


def run_id_of_file(path: Path) -> str:
    """Return the `run_id` of a file. Raises Unexported."""
    digest, size = hashlib.sha256(), 0
    try:
        with os.fdopen(open_trusted_regular(path), "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
                if size > SIZE_LIMIT:
                    raise NoRowsInFile("larger than any recording")
    except (OSError, ValueError) as why:
        raise NoRowsInFile(f"cannot be read: {why.strerror if isinstance(why, OSError) else why}") from None
    return digest.hexdigest()[:16]


def read_source(source: ExportSource, run_id: str) -> RunRows:
    """Return the run whose rows are still to be read. Raises Unexported: no recording, no result of a known tool."""
    try:
        if source.path.name.endswith(".json") and (triage := _triage_or_none(source.path)) is not None:
            return RunRows(RunFile(run_id, str(source.path), "triage", source.node), _triage_events(triage))
        events = _events_in_small_parts(source.path)
        try:
            first = next(events)
        except BrokenRecording as no_recording:
            imported = _imported_events(source.path, no_recording)
            return RunRows(RunFile(run_id, str(source.path), "imported", source.node), imported)
        return RunRows(RunFile(run_id, str(source.path), "recording", source.node), chain((first,), events))
    except (OSError, Failure, ValueError, RecursionError) as why:
        words = str(getattr(why, "text", why)).removeprefix(f"{source.path}: ")
        raise NoRowsInFile(" ".join(words.split())[:300]) from None


def _events_in_small_parts(path: Path) -> Iterator[ev.AnyEvent]:
    """Yield the events of a recording in small parts, so that a damaged line costs few of those before it."""
    with closing(RecordingFollower(path)) as follower:
        before = -1
        while follower.bytes > before:
            before = follower.bytes
            yield from follower.poll(POLL_BYTES)
        if follower.line == 0:
            raise BrokenRecording(f"{path}: line 1: is empty or unfinished; not a hostdx recording")


def _imported_events(path: Path, no_recording: BrokenRecording) -> Iterable[ev.AnyEvent]:
    """Another tool's result as the recording that `hostdx import` would make. Raises `no_recording` for other files."""
    try:
        data = ImportSource.read(path)
        result = kinds.parse_import(data)
    except ImportRefusedError:
        raise no_recording from None
    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    file = ParsedImportFile(
        name=path.name, path=str(path), sha256=data.sha256_digest, bytes=data.size, modified=modified, result=result
    )  # fmt: skip
    began = _began_of_other_tool(CARD.id, result.host or "", (result.began or modified).removesuffix("Z"))
    return recording_events(make_result_set([file]), began)


def _began_of_other_tool(scenario: str, host: str, wall: str) -> ev.Began:
    return ev.Began(
        t=0.0, schema=ev.SCHEMA, version="", scenario=scenario, command=[], host=host, wall=wall, seed=0, pid=0,
        pid_start=0, boot_id="",
    )  # fmt: skip


class _AbsentTriageFact(msgspec.Struct):
    fact: str
    reason: str = ""


class _TriageDocument(msgspec.Struct):
    schema: str
    scenario: str
    status: ev.Status
    facts: dict[str, Json]
    findings: list[Finding] = []
    absent: list[_AbsentTriageFact] = []
    reason: str | None = None


_triage = Decoder(_TriageDocument)


def _triage_or_none(path: Path) -> _TriageDocument | None:
    """None where it is another JSON file."""
    try:
        document: _TriageDocument = _triage.decode(read_trusted_file(path, MAX_TRIAGE_BYTES))
    except (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return document if document.schema == ev.SCHEMA and document.scenario == "triage" else None


def _triage_events(triage: _TriageDocument) -> Iterator[ev.AnyEvent]:
    """`disk:sda model` is the fact `model` of `disk:sda`, as the JSON of a triage spells it."""
    name = triage.facts.get("host name", "")
    yield _began_of_other_tool(triage.scenario, name if isinstance(name, str) else "", "")
    for label, value in triage.facts.items():
        subject, space, fact = label.partition(" ")
        if is_showable(value):
            source = "triage"
            yield ev.FactRead(
                t=0.0, subject=subject if space else "", name=fact or label, value=value, source=source
            )
    for line in triage.absent:
        subject, space, fact = line.fact.partition(" ")
        yield ev.AbsentFact(
            t=0.0, subject=subject if space else "", name=fact or line.fact, reason=line.reason
        )
    for finding in triage.findings:
        yield ev.Found(t=0.0, finding=finding)
    yield ev.RunEnded(t=0.0, status=triage.status, reason=triage.reason)
