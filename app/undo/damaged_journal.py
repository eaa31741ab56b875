"""A journal that cannot be read to its end: shown to a person as far as it can, and given up by hand.

Nothing is ever undone by it: what its missing lines said may be the contrary of what the others say.
"""

import fcntl
import os
from pathlib import Path

import msgspec

from app.terminal.failure import Failure
from app.undo.journal import (
    Busy,
    JournalEntry,
    JournalHeader,
    Line,
    fold_line,
    open_trusted,
    read_content,
    sync_directory,
)
from probes.reading.lossless_json import Decoder

_decoder = Decoder(Line)


def read_legible_entries(path: Path) -> list[JournalEntry]:
    """Return what it still says is open. Raises Failure where it is not a journal of ours."""
    descriptor = open_trusted(path)
    entries: dict[str, JournalEntry] = {}
    try:
        for line in read_content(descriptor).split(b"\n"):
            try:
                read = _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                continue
            if not isinstance(read, JournalHeader):
                fold_line(entries, read)
    finally:
        os.close(descriptor)
    return list(entries.values())


def discard_journal(path: Path) -> None:
    """Raises Failure where it is not ours, Busy where somebody holds it."""
    descriptor = open_trusted(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
        sync_directory(path.parent)
    except BlockingIOError:
        raise Busy from None
    except OSError as error:
        raise Failure(f"{path}: the journal cannot be removed: {error.strerror}") from None
    finally:
        os.close(descriptor)
