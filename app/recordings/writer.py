"""The recording while it is written: one JSON object a line, flushed as it happens."""

import errno
import math
import os
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from hostdx.app.recordings.limits import LINE_LIMIT
from hostdx.app.state import error_advice
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.printable import make_json_printable
from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.probes.reading.secrecy.secrets import mask_tree
from hostdx.scenarios.contract import events as ev

WAITING_LIMIT = 32 << 20  # bytes kept in memory while the disk is full

_SYNCED = (ev.Found, ev.ActionEvent, ev.RunEnded)
_NUMBERS = (
    ev.Block,
    ev.SliceBatch,
    ev.SampleTaken,
    ev.ProcessTreeSample,
    ev.Group,
    ev.RunningEstimate,
    ev.Pulse,
)


def encode_event(event: ev.AnyEvent) -> bytes:
    """The event's line, secrets masked. What JSON cannot hold (bytes that are no UTF-8, NaN,
    infinity) is written so that it loads again."""
    try:
        event = _with_masked_secrets(event)
        line = encode(event)
        if b"null" in line:  # also what NaN and infinity become, and then the line may not load
            Decoder(type(event)).decode(line)
    except (msgspec.MsgspecError, RecursionError):
        line = _encode_finite_and_masked(event)
    line = make_json_printable(line)
    if len(line) >= LINE_LIMIT:
        line = encode(ev.Note(t=event.t, text=f"left out: an event of {len(line)} bytes"))
    return line + b"\n"


def _with_masked_secrets(event: ev.AnyEvent) -> ev.AnyEvent:
    if isinstance(event, _NUMBERS):  # they come by the thousand
        return event
    tree = msgspec.to_builtins(event)
    masked = mask_tree(tree)
    if masked == tree:
        return event
    return msgspec.convert(masked, type(event))


def _encode_finite_and_masked(event: ev.AnyEvent) -> bytes:
    try:
        tree = mask_tree(msgspec.to_builtins(event))
        line = encode(_drop_non_finite_fields(tree))
        Decoder(type(event)).decode(line)
        return line
    except (msgspec.MsgspecError, RecursionError):
        kind = type(event).__name__
        return encode(ev.Note(t=event.t, text=f"left out: an event ({kind}) with a value that is not finite"))


def _drop_non_finite_fields(value: object) -> object:
    if isinstance(value, dict):
        return {
            k: _drop_non_finite_fields(v)
            for k, v in value.items()
            if not isinstance(v, float) or math.isfinite(v)
        }
    if isinstance(value, list | tuple):
        return [_drop_non_finite_fields(v) for v in value]
    return value


class RecordingWriter:
    """Appends to one file. A full disk costs no result: lines wait in memory and follow when there is room.

    Findings and actions are fsync'd. A scenario emits them between its blocks, never from inside one, so that
    no fsync of ours disturbs what is measured; pulses and progress, which do come inside, are only written.
    """

    def __init__(self, path: Path, complain: Callable[[str], None], *, is_requested: bool = False) -> None:
        """`is_requested`: somebody else asked for this very path and looks there, so that it stays, empty or not."""
        self.path = path
        self.lost = False  # closed, and not one line could be written
        self._is_requested = is_requested
        self._complain = complain
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._dropped = 0
        self._good = 0  # length up to the last complete line
        self._has_complained = False
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise Failure(f"{path}: cannot record there: {error.strerror}; {error_advice(error)}") from None

    @property
    def is_complete(self) -> bool:
        return not self._waiting and not self._dropped

    def write(self, event: ev.AnyEvent) -> None:
        self._waiting.append(encode_event(event))
        self._waiting_bytes += len(self._waiting[-1])
        self._write_waiting_lines()
        if isinstance(event, _SYNCED):
            self._sync_file()

    def close(self) -> None:
        self._write_waiting_lines()
        self._sync_file()
        os.close(self._fd)
        rescued_path = self._rescue_recording()
        self.lost = self._good == 0 and rescued_path is None
        if not self._is_requested and (rescued_path is not None or self.lost):
            try:
                self.path.unlink()
            except OSError:
                pass
        if rescued_path is not None:
            self._complain(f"{self.path}: its disk is full; the recording is kept as {rescued_path} instead")
            self.path = rescued_path
            self._waiting.clear()

    def _rescue_recording(self) -> Path | None:
        if not self._waiting or self._dropped:
            return None
        return rescue_recording(self.path, self._good, self._waiting)

    def _sync_file(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            self._keep_for_retry_and_complain(error)

    def _write_waiting_lines(self) -> None:
        while self._waiting:
            line = self._waiting[0]
            try:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError as error:
                self._keep_for_retry_and_complain(error)
                return
            self._good += len(line)
            self._waiting_bytes -= len(line)
            self._waiting.popleft()

    def _keep_for_retry_and_complain(self, error: OSError) -> None:
        try:  # half a line would break the file
            os.ftruncate(self._fd, self._good)
            os.lseek(self._fd, self._good, os.SEEK_SET)
        except OSError:
            pass
        while self._waiting_bytes > WAITING_LIMIT:
            self._waiting_bytes -= len(self._waiting.popleft())
            self._dropped += 1
        if not self._has_complained:
            self._has_complained = True
            why = "no space left" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror)
            self._complain(
                f"{self.path}: the recording cannot be written: {why}; continuing in memory; free some "
                "space there, or it is kept elsewhere at the end, or only printed"
            )


# A recording whose disk is full by the end of the run is kept on another one: what was measured is not lost.
PLACES = ("/var/tmp", "/tmp", "/dev/shm")


def rescue_recording(path: Path, length: int, rest: Iterable[bytes]) -> Path | None:
    """The first `length` bytes of the file and then `rest`, in a private file on another file system; None: nowhere."""
    import tempfile  # seldom needed

    lines = list(rest)
    for place in (os.environ.get("TMPDIR", ""), *PLACES):
        try:
            if not place.startswith("/") or Path(place).stat().st_dev == path.parent.stat().st_dev:
                continue
            descriptor, name = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=path.suffix, dir=place)
        except OSError:
            continue
        try:
            with os.fdopen(descriptor, "wb") as out:
                with path.open("rb") as written:
                    out.write(written.read(length))
                out.writelines(lines)
                out.flush()
                os.fsync(out.fileno())
            return Path(name)
        except OSError:
            Path(name).unlink(missing_ok=True)
    return None
