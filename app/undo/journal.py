"""The undo journal: what is about to be changed is on the disk before it is changed, and struck out after it is undone.

One file a run. Its lock is held by the runner and by the children that change something for it, so
that whoever gets the lock knows that nobody is changing anything any more.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from hostdx.app.state import ROOTS_OWN, error_advice
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import ProcessIdentity
from hostdx.probes import units
from hostdx.probes.files.path_ownership import known_path_writers_text
from hostdx.probes.files.private_directory import Inode
from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.scenarios.contract.action import Action

SCHEMA = "hostdx-journal/1"
SIZE_LIMIT = 64 << 20

State: TypeAlias = Literal["reverted", "kept", "failed"]


class UndoOutcome(msgspec.Struct, frozen=True):
    """How undoing went. `kept`: left as it is on purpose; `failed`: to be tried again."""

    state: State
    reason: str = ""
    stuck: bool = False  # no answer from the device: worth another try later
    # a child that was abandoned at it: what it had begun may still happen
    writer: ProcessIdentity | None = None


UNDONE = UndoOutcome("reverted")


class JournalHeader(msgspec.Struct, frozen=True, tag="header", tag_field="line", kw_only=True):
    """`began_s` is CLOCK_MONOTONIC at t = 0 of the recording. `kept`: stays on purpose until this command."""

    schema: str
    run: str
    who: ProcessIdentity
    command: list[str]
    recording: str
    began_s: float
    kept: str = ""


class FileSystemId(msgspec.Struct, frozen=True, kw_only=True):
    """`device` is st_dev ("8:1"), `number` f_fsid of statvfs(2): ext4 and btrfs make it of their UUID, so it stays the
    same over a reboot, XFS of the device number; 0 where there is none. The rest is to be shown to a person."""

    device: str
    number: int
    boot: str
    mountpoint: str = ""
    source: str = ""
    in_memory: bool = False


class JournalEntry(msgspec.Struct, frozen=True, tag="intend", tag_field="line", kw_only=True):
    """An action as it is carried out. `value` is the exact name made or value written; `old` what was there;
    `saved` the side paths' texts; `became` what could be read back, or the start time of a process.

    What the later lines say of it: `left` are the side paths' texts as our own last write of the target left them;
    `inode`: which directory or file was made; `undoing`: the old value is being written back, `back`: it was;
    `writers` are abandoned children."""

    id: str
    action: Action
    value: str
    old: str | None = None
    saved: dict[str, str] = {}
    made: bool = False
    became: str = ""
    left: dict[str, str] = {}
    undoing: bool = False
    back: bool = False
    writers: tuple[ProcessIdentity, ...] = ()
    place: FileSystemId | None = None
    inode: Inode | None = None


class MadeLine(msgspec.Struct, frozen=True, tag="made", tag_field="line"):
    """`inode`: which directory or file it is; a journal of an earlier version does not tell."""

    id: str
    value: str
    became: str = ""
    left: dict[str, str] = {}
    inode: Inode | None = None


class UndoingLine(msgspec.Struct, frozen=True, tag="undoing", tag_field="line"):
    id: str


class BackLine(msgspec.Struct, frozen=True, tag="back", tag_field="line"):
    id: str
    left: dict[str, str]


class HangingLine(msgspec.Struct, frozen=True, tag="hanging", tag_field="line"):
    id: str
    writer: ProcessIdentity


class StruckLine(msgspec.Struct, frozen=True, tag="struck", tag_field="line"):
    id: str
    state: State
    reason: str = ""


Line: TypeAlias = JournalHeader | JournalEntry | MadeLine | UndoingLine | BackLine | HangingLine | StruckLine
_decoder = Decoder(Line)


class JournalLocked(Exception):
    """Somebody holds the journal's lock."""


class Journal:
    """An open, locked journal file. `open_entries` are those not struck out yet, in the order they were made."""

    def __init__(
        self, path: Path, descriptor: int, header: JournalHeader, entries: list[JournalEntry]
    ) -> None:
        self.path = path
        self.descriptor = descriptor
        self.header = header
        self._dicts_in = {entry.id: entry for entry in entries}

    @classmethod
    def create_new(cls, path: Path, header: JournalHeader) -> Journal:
        """Raises Failure where it cannot be written: then nothing may be changed."""
        if why := _others_can_write_reason(path):
            raise Failure(f"{why}; so nothing was changed; {ROOTS_OWN}")
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            journal = cls(path, descriptor, header, [])
            journal._append_line_and_sync(header)
            if os.fstat(descriptor).st_nlink == 0:  # somebody cleaned it away while it was empty
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            sync_directory(path.parent)
        except FileExistsError as error:  # another run's, with what it has to undo
            raise _cannot_write_journal(path, error) from None
        except OSError as error:
            path.unlink(missing_ok=True)
            raise _cannot_write_journal(path, error) from None
        return journal

    @classmethod
    def wait_for_lock(cls, path: Path) -> Journal | None:
        """As `lock_existing`, but sleeps until nobody holds its lock, however long that takes."""
        return cls.lock_existing(path, 0)

    @classmethod
    def lock_existing(cls, path: Path, lock_flag: int = fcntl.LOCK_NB) -> Journal | None:
        """A dead run's journal; None when it is gone meanwhile. Raises JournalLocked, or Failure where it is not
        trusted.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Failure(f"{path}: the journal cannot be opened: {error.strerror}") from None
        try:
            _refuse_untrusted_journal(path, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | lock_flag)
            if os.fstat(descriptor).st_nlink == 0:
                os.close(descriptor)
                return None
            data = read_journal(descriptor)
            header, entries = _parse_header_and_entries(path, data)
            os.ftruncate(descriptor, data.rfind(b"\n") + 1)  # half a line from a power cut: never acted upon
            return cls(path, descriptor, header, entries)
        except BlockingIOError:
            os.close(descriptor)
            raise JournalLocked from None
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def open_entries(self) -> list[JournalEntry]:
        return list(self._dicts_in.values())

    def find_entry(self, identifier: str) -> JournalEntry:
        return self._dicts_in[identifier]

    def record_intent(self, entry: JournalEntry) -> None:
        """On the disk before anything is done. Raises Failure: then nothing may be done."""
        try:
            self._append_line_and_sync(entry)
        except OSError as error:
            raise _cannot_write_journal(self.path, error) from None
        self._dicts_in[entry.id] = entry

    def mark_kept(self, until: str) -> None:
        """What was made stays on purpose: `undo` leaves it until the command `until`. Raises OSError."""
        self.header = replace(self.header, kept=until)
        self._append_line_and_sync(self.header)

    def record_made(self, entry: JournalEntry) -> None:
        """Says what it became. A full disk is survived: without this line a directory is removed
        only if it is empty. Undoing does not depend on the next three."""
        self._dicts_in[entry.id] = entry
        self._fold_and_try_to_append(MadeLine(entry.id, entry.value, entry.became, entry.left, entry.inode))

    def record_undoing(self, identifier: str) -> None:
        """From here on the old value may be there because of us."""
        self._fold_and_try_to_append(UndoingLine(identifier))

    def record_back(self, identifier: str, side_texts: dict[str, str]) -> None:
        """The old value is there; `side_texts` is what writing it made of the side paths."""
        self._fold_and_try_to_append(BackLine(identifier, side_texts))

    def record_hanging(self, identifier: str, writer: ProcessIdentity) -> None:
        """An abandoned child may still finish what it had begun: until it is gone nobody knows how this stands."""
        self._fold_and_try_to_append(HangingLine(identifier, writer))

    def strike_out(self, identifier: str, outcome: UndoOutcome) -> None:
        """A full disk is survived too: undoing twice does no harm."""
        self._dicts_in.pop(identifier, None)
        self._fold_and_try_to_append(StruckLine(identifier, outcome.state, outcome.reason))

    def _fold_and_try_to_append(self, line: Line) -> None:
        fold_journal_line(self._dicts_in, line)
        try:
            self._append_line_and_sync(line)
        except OSError:
            pass

    def close(self) -> None:
        """Removes the file when everything is struck out."""
        if not self._dicts_in:
            try:
                self.path.unlink(missing_ok=True)
                sync_directory(self.path.parent)
            except OSError:
                pass
        os.close(self.descriptor)

    def _append_line_and_sync(self, line: Line) -> None:
        data = encode(line) + b"\n"
        length = os.fstat(self.descriptor).st_size
        try:
            if os.write(self.descriptor, data) != len(data):
                raise OSError(28, "no space left on device")
            os.fsync(self.descriptor)
        except OSError:
            os.ftruncate(self.descriptor, length)
            raise


def peek_journal(path: Path) -> tuple[JournalHeader, list[JournalEntry]]:
    """A journal's header and open entries without its lock. Raises Failure."""
    descriptor = open_trusted_journal(path)
    try:
        return _parse_header_and_entries(path, read_journal(descriptor))
    finally:
        os.close(descriptor)


def open_trusted_journal(path: Path) -> int:
    """A descriptor of a journal that is ours alone. Raises Failure."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Failure(f"{path}: the journal cannot be opened: {error.strerror}") from None
    try:
        _refuse_untrusted_journal(path, descriptor)
    except Failure:
        os.close(descriptor)
        raise
    return descriptor


def list_journals(directory: Path) -> list[Path]:
    """Oldest first (the name begins with the time). Raises Failure where nobody can tell whether there are any."""
    try:
        return sorted(p for p in directory.iterdir() if p.suffix == ".jsonl")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Failure(f"{directory}: the undo journals cannot be read: {error.strerror}") from None


def read_journal(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))


def _decode_lines_or_refuse(path: Path, data: bytes) -> Iterator[Line]:
    # what follows the last line end was never fsync'd completely, so it was never acted upon
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            yield _decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            text = " ".join(str(error).split())[:120]
            removed = f"undo it by hand, then `hostdx undo --forget {path.stem}` removes it"
            raise Failure(f"{path}: line {number}: the journal is damaged: {text}; {removed}") from None


def _parse_header_and_entries(path: Path, data: bytes) -> tuple[JournalHeader, list[JournalEntry]]:
    header: JournalHeader | None = None
    entries: dict[str, JournalEntry] = {}
    for line in _decode_lines_or_refuse(path, data):
        if isinstance(line, JournalHeader):
            header = line
        else:
            fold_journal_line(entries, line)
    if header is None:
        if entries:
            raise Failure(f"{path}: the journal has no header; undo it by hand")
        header = JournalHeader(
            schema=SCHEMA, run=path.stem, who=ProcessIdentity(0, 0, ""), command=[], recording="", began_s=0.0
        )
    return header, list(entries.values())


def fold_journal_line(entries: dict[str, JournalEntry], line: Line) -> None:
    """What a line makes of the open entries."""
    if isinstance(line, JournalEntry):
        entries[line.id] = line
        return
    entry = None if isinstance(line, JournalHeader) else entries.get(line.id)
    if entry is None:
        return
    match line:
        case MadeLine():
            entry = replace(
                entry, made=True, value=line.value, became=line.became, left=line.left, inode=line.inode
            )
        case UndoingLine():
            entry = replace(entry, undoing=True)
        case BackLine():
            entry = replace(entry, back=True, left=line.left)
        case HangingLine():
            entry = replace(entry, writers=(*entry.writers, line.writer))
        case StruckLine():
            del entries[line.id]
            return
    entries[entry.id] = entry


def _refuse_untrusted_journal(path: Path, descriptor: int) -> None:
    """What a journal says is carried out: it must be ours alone."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise Failure(f"{path}: is not a journal of yours alone (owner or mode); not touched")
    if status.st_size > SIZE_LIMIT:
        raise Failure(f"{path}: larger than {units.format_size(SIZE_LIMIT)}; not a journal")
    if why := _others_can_write_reason(path):
        raise Failure(f"{why}; not trusted; {ROOTS_OWN}")


def _others_can_write_reason(path: Path) -> str:
    owner_text = known_path_writers_text(str(path.parent))
    return f"{path}: {owner_text}, who can put other journals there" if owner_text else ""


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_write_journal(path: Path, error: OSError) -> Failure:
    return Failure(
        f"{path.parent}: the undo journal cannot be written: {error.strerror}; so nothing was changed; "
        f"{error_advice(error)}"
    )


def read_legible_entries(path: Path) -> list[JournalEntry]:
    """Return what it still says is open. Raises Failure where it is not a journal of ours."""
    descriptor = open_trusted_journal(path)
    entries: dict[str, JournalEntry] = {}
    try:
        for line in read_journal(descriptor).split(b"\n"):
            try:
                read = _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                continue
            if not isinstance(read, JournalHeader):
                fold_journal_line(entries, read)
    finally:
        os.close(descriptor)
    return list(entries.values())


def discard_journal(path: Path) -> None:
    """Raises Failure where it is not ours, JournalLocked where somebody holds it."""
    descriptor = open_trusted_journal(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
        sync_directory(path.parent)
    except BlockingIOError:
        raise JournalLocked from None
    except OSError as error:
        raise Failure(f"{path}: the journal cannot be removed: {error.strerror}") from None
    finally:
        os.close(descriptor)
