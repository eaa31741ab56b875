"""An import as a recording file: read, recognised, recomputed, written in one go."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from hostdx.app import __version__
from hostdx.app.recordings.session import UNKNOWN_HOST
from hostdx.app.recordings.writer import encode_event
from hostdx.app.state import error_advice, make_private_dir, recordings_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.imports.kinds import ImportKind, parse_import
from hostdx.probes.imports.model import ImportRefusedError
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.reading.host import OutOfTime
from hostdx.probes.reading.time_limit import limit_time
from hostdx.scenarios.analysis.compare.snapshot import ParsedImportFile
from hostdx.scenarios.analysis.imported import CARD
from hostdx.scenarios.analysis.imported.pile import ResultSet
from hostdx.scenarios.analysis.imported.recording import recording_events
from hostdx.scenarios.analysis.incidents.incidents import judge_samples
from hostdx.scenarios.contract import events as ev

MAX_READ_S = 300.0  # a file of the largest size takes a minute


def read_foreign_result(path: Path, kind: ImportKind | None = None) -> ParsedImportFile:
    """Named by its last path component. Raises Failure with one line: what, where, why, what next."""
    try:
        source = ImportSource.read(path)
        with limit_time(MAX_READ_S):
            result = parse_import(source, kind)
            timeline = judge_samples(result)
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    except OutOfTime:
        raise Failure(
            f"import: {path}: took longer than {MAX_READ_S:.0f} s to read; import the parts of it one by one"
        ) from None
    except ImportRefusedError as why:
        hint = f"; {why.hint}" if why.hint else ""
        raise Failure(f"import: {path}: {why.why}{hint}") from None
    except OSError as error:
        raise Failure(f"import: {path}: cannot be read: {error.strerror}") from None
    return ParsedImportFile(
        name=path.name,
        path=str(path),
        sha256=source.sha256_digest,
        bytes=source.size,
        modified=modified,
        result=structs.replace(result, series=()),
        timeline=timeline,
    )


def recording_bytes(results: ResultSet, command: Sequence[str]) -> bytes:
    """The recording of these files together."""
    return b"".join(map(encode_event, recording_events(results, _began_of_files(results.files, command))))


def _began_of_files(files: Sequence[ParsedImportFile], command: Sequence[str]) -> ev.Began:
    """`wall` is when it was measured, by the files; where they do not say, when they were last changed."""
    hosts = {f.result.host for f in files if f.result.host}
    dates = sorted(_as_if_utc(f.result.began) or f.modified for f in files)
    return ev.Began(
        t=0.0, schema=ev.SCHEMA, version=__version__, scenario=CARD.id, command=list(command),
        host=next(iter(hosts)) if len(hosts) == 1 else UNKNOWN_HOST, wall=dates[0], seed=0, pid=0, pid_start=0,
        boot_id="", options={"kind": files[0].result.kind},
    )  # fmt: skip


def _as_if_utc(began: str | None) -> str | None:
    """A date without a zone is taken as it stands: no zone is known."""
    return f"{began.removesuffix('Z')}+00:00" if began else None


def save_imported_recording(content: bytes, kind: str, wall: str) -> Path:
    """In the state directory, named by kind and date; a name that is taken gets a number."""
    directory = make_private_dir(recordings_dir())
    stamp = "".join(c for c in wall[:19] if c.isdigit())
    stem = f"import-{kind}-{stamp[:8]}-{stamp[8:14]}"
    used_names = {path.name for path in directory.glob(f"{stem}*.jsonl")}
    names = (
        f"{stem}-{turn}.jsonl" if turn > 1 else f"{stem}.jsonl" for turn in range(1, len(used_names) + 2)
    )
    path = directory / next(name for name in names if name not in used_names)
    try:
        write_bytes("import", str(path), 0o600, content, new=True)
    except Failure as why:
        if isinstance(why.__cause__, OSError):
            raise Failure(f"{why.text}; {error_advice(why.__cause__)}") from None
        raise
    return path
