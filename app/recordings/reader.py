"""A recording as it is read: whole, or followed while it grows; memory and line length are bounded."""

import gc
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from hostdx.app.recordings.limits import (
    LINE_LIMIT,
    RATIO_FROM,
    RATIO_LIMIT,
    SIZE_LIMIT,
    VALUES_LIMIT,
    count_json_values,
)
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.failure import Failure
from hostdx.probes import units
from hostdx.probes.files.safe_read import open_trusted_regular
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.ranges import is_showable
from hostdx.scenarios.contract.results import result as result_types
from hostdx.scenarios.contract.results.result import Result

CHUNK = 1 << 20

_decoder = Decoder(ev.Common)


class _EventType(msgspec.Struct):
    type: str


class _TypeAndSchema(msgspec.Struct):
    type: str = ""
    schema: str = ""


_tag_decoder = msgspec.json.Decoder(_EventType)
_head_decoder = msgspec.json.Decoder(_TypeAndSchema)
_KNOWN = frozenset(kind.__struct_config__.tag for kind in ev.Common.__args__)
_OUT_OF_RANGE = re.compile(r"Expected `\w+` (?:[<>]=?|of length)|out of range")  # msgspec's words
_NO_TYPE: dict[type, Callable[[Any], Json]] = {  # values of any type, by their event
    ev.Began: lambda e: e.options,
    ev.Planned: lambda e: e.plan.options,
    ev.ScenarioOffer: lambda e: [option.default for option in e.options],
}
FORMER = "extra"  # how results were written before they had types: by a name, with the same value
_result_decoder = Decoder(dict[str, Any])


def _is_storable_event(event: ev.AnyEvent) -> bool:
    if isinstance(event, ev.FactRead):  # the many
        return isinstance(event.value, str) or is_showable(event.value)
    loose = _NO_TYPE.get(type(event))
    return loose is None or is_showable(loose(event))


class BrokenRecording(Failure):
    """`text` names the file, the line and what is wrong with it."""


class RecordingFollower:
    """Reads what has been appended since the last `poll`. An unfinished last line waits for its end."""

    def __init__(self, path: Path, decoder: Decoder = _decoder) -> None:
        """`decoder` of another union of the same tags: for a reader that needs a part of the events' fields only."""
        self.path = path
        self._decoder = decoder
        self.line = 0  # lines read so far
        self.bytes = 0
        self.unknown = 0  # events of a type that this version does not know
        # the last line has no end (yet): the writer is at it, or was killed while it wrote
        self.unfinished = False
        self._time = 0.0  # of the last event, seconds
        self._cut = False  # compressed, and its end is missing
        self._values = 0
        self._rest = b""
        self._file = _open_recording(path)

    def poll(self, limit_bytes: int = CHUNK) -> list[ev.AnyEvent]:
        """The next complete events, from at most `limit_bytes` of the file; empty when there is nothing new."""
        try:
            return self._poll_file(limit_bytes)
        except (OSError, zlib.error) as error:
            raise self._error_of_line(self.line + 1, f"cannot be read: {error}") from None

    def _poll_file(self, limit_bytes: int) -> list[ev.AnyEvent]:
        """Raises OSError, zlib.error."""
        data = self._read_data(min(limit_bytes, CHUNK))
        self.bytes += len(data)
        self._refuse_beyond_limits(data)
        short = len(data) < min(limit_bytes, CHUNK)
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        self._rest = data[end:]
        if len(self._rest) >= LINE_LIMIT or (end and data.index(b"\n") >= LINE_LIMIT):
            raise self._error_of_line(
                self.line + 1, "longer than 1 MiB; not a hostdx recording, or a damaged one"
            )
        self.unfinished = bool(self._rest) or self._cut
        if self._rest and short and not isinstance(self._file, gzip.GzipFile):
            # read again next time: a writer whose disk was full takes half a line back
            self._file.seek(-len(self._rest), os.SEEK_CUR)
            self.bytes -= len(self._rest)
            self._values -= count_json_values(self._rest)
            self._rest = b""
        return self._decode_lines(data[:end]) if end else []

    def _refuse_beyond_limits(self, data: bytes) -> None:
        """Before it is decoded: what a few bytes stand for may take gigabytes."""
        excess = ""
        self._values += count_json_values(data)
        if self.bytes > SIZE_LIMIT:
            excess = f"larger than {units.format_size(SIZE_LIMIT)}"
        elif self._values > VALUES_LIMIT:
            excess = f"more than {VALUES_LIMIT / 1e6:.0f} million values"
        elif isinstance(self._file, gzip.GzipFile) and self.bytes > RATIO_FROM:
            packed = os.fstat(self._file.fileno()).st_size
            if self.bytes > packed * RATIO_LIMIT:
                excess = f"more than {RATIO_LIMIT} times as large as its packed file"
        if excess:
            raise self._error_of_line(self.line + 1, f"{excess}, not read any further")

    def _read_data(self, size: int) -> bytes:
        """So many bytes, fewer at the end. Of a truncated .gz all that can be unpacked: `read` would lose it."""
        if not isinstance(self._file, gzip.GzipFile):
            return self._file.read(size)
        parts: list[bytes] = []
        while size > 0 and not self._cut:
            try:
                part = self._file.read1(size)
            except EOFError:
                self._cut = True
                break
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._file.close()

    def _decode_lines(self, data: bytes) -> list[ev.AnyEvent]:
        if self.line == 0:
            self._refuse_foreign_head(data[: data.index(b"\n")])
        try:
            events: list[ev.AnyEvent] = self._decoder.decode_lines(data)
            if all(map(_is_storable_event, events)):
                self.line += data.count(b"\n")
                self._time = events[-1].t if events else self._time
                return events
            return list(self._decode_lines_or_raise(data))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return list(self._decode_lines_or_raise(data))

    def _decode_lines_or_raise(self, data: bytes) -> Iterator[ev.AnyEvent]:
        for line in data.split(b"\n")[:-1]:
            self.line += 1
            if not line.strip():
                continue
            try:
                event = self._decoder.decode(line)
                if not _is_storable_event(event):
                    raise msgspec.ValidationError("value out of range - at `$.value`, `$.options`, ...")
                self._time = event.t
                yield event
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as first_error:
                error = _error_of_whole_event(line) or first_error
                tag = _event_type_or_empty(line)
                if tag and tag not in _KNOWN:
                    yield from self._decode_result(line)
                elif tag and self.line > 1 and _OUT_OF_RANGE.search(str(error)):
                    yield ev.LeftOutLine(t=self._time, why=f"line {self.line}: {_short_error_text(error)}")
                else:
                    raise self._error_of_line(self.line, f"is damaged: {_short_error_text(error)}") from None

    def _decode_result(self, line: bytes) -> Iterator[ev.AnyEvent]:
        """A scenario's own; what is not as its type says is left out, as a table more or less damages no run."""
        try:
            result = decode_result(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            yield ev.LeftOutLine(t=self._time, why=f"line {self.line}: {_short_error_text(error)}")
            return
        if result is None:
            self.unknown += 1
            return
        self._time = result.t
        yield result

    def _refuse_foreign_head(self, line: bytes) -> None:
        try:
            head = _head_decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            raise self._error_of_line(1, f"is not a hostdx recording ({_describe_head(line)})") from None
        if head.type != "run" or not head.schema.startswith("hostdx/"):
            raise self._error_of_line(1, "is not a hostdx recording (it must begin with a `run` event)")
        if head.schema != ev.SCHEMA:
            raise self._error_of_line(
                1, f"was written in the schema {head.schema[:40]}; this hostdx reads {ev.SCHEMA}"
            )

    def _error_of_line(self, line: int, problem: str) -> BrokenRecording:
        return BrokenRecording(f"{self.path}: line {line}: {problem}")


def _describe_head(line: bytes) -> str:
    """Return what a file without a recording's head looks like: gzip, bzip2 and xz by their magic, ustar at offset
    257.
    """
    if line.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ")) or line[257:262] == b"ustar":
        return "an archive; a captured host is looked at with `hostdx triage --root`"
    return "no JSON object with a type"


def read_events(path: Path, decoder: Decoder = _decoder) -> Iterator[Any]:
    """Every event up to the file's end now. Raises BrokenRecording; an empty file is one too."""
    follower = RecordingFollower(path, decoder)
    try:
        while True:
            before = follower.bytes
            yield from follower.poll()
            if follower.bytes <= before:
                break
        if follower.line == 0:
            problem = "is unfinished" if follower.unfinished else "is empty"
            raise BrokenRecording(f"{path}: line 1: {problem}; not a hostdx recording")
    finally:
        follower.close()


def load_recording(path: Path) -> RunSession:
    """The state at the recording's end."""
    session = RunSession()
    with pause_garbage_collection():
        for event in read_events(path):
            session.apply(event)
    return session


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Events make no cycles, and looking for some in 200,000 of them takes a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _open_recording(path: Path) -> io.BufferedIOBase | gzip.GzipFile:
    file = None
    try:
        file = os.fdopen(open_trusted_regular(path), "rb")
        magic = file.read(2)
        file.seek(0)
    except OSError as error:  # a disk that fails shows it at the first byte, not when the file is opened
        if file is not None:
            file.close()
        raise BrokenRecording(
            f"{path}: cannot be read: {error.strerror}; `hostdx recordings` lists yours"
        ) from None
    return gzip.GzipFile(fileobj=file) if magic == b"\x1f\x8b" else file


def _event_type_or_empty(line: bytes) -> str:
    """Its event's type; empty where the line is no JSON object with one, whichever of its fields is damaged."""
    try:
        return _tag_decoder.decode(line).type
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return ""


def _error_of_whole_event(line: bytes) -> Exception | None:
    """Return what is wrong with all fields, so that a reader of a part of them judges the line as every other does."""
    try:
        _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        return error
    return None


def _short_error_text(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())[:200]


def decode_result(line: bytes) -> Result | None:
    """None where the line is of no type that is known here. Raises as msgspec's decoder where it does not fit it."""
    tree = _result_decoder.decode(line)
    tag = tree["type"]
    kind = result_types.result_named(tree.get("name")) if tag == FORMER else result_types.result_tagged(tag)
    if kind is None:
        return None
    result: Result = msgspec.convert({**tree, "type": kind.__struct_config__.tag}, kind, str_keys=True)
    if not is_showable(tree.get("value")):  # another package's type may say nothing of ranges
        raise msgspec.ValidationError("value out of range")
    return result
