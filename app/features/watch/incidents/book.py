"""The incident book on the disk: a file an hour, a look a line; the oldest files go.

A line is written at once and never changed: what a kill or a power cut leaves is a last line that cannot be read, and
it is left out. Every recorder begins files of its own.
"""

import contextlib
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import structs

from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import boot_id
from hostdx.probes.files.safe_read import read_regular
from hostdx.probes.system.running.host_looks import BlockedTasksLook, HostLook

MAX_BOOK_BYTES = 32 << 20
MAX_SEGMENT_BYTES = 8 << 20
HOUR_S = 3600
_SEGMENT = re.compile(r"looks-[0-9]+-[0-9a-z]+-[0-9]+\.jsonl")
_DECODER = msgspec.json.Decoder(HostLook | BlockedTasksLook)


def book_folder() -> Path:
    return state_dir() / "incidents"


class BookWriter:
    """Appends looks. A full disk loses looks, never the book; `lost` counts them.

    `after_segment` is called with the folder when a segment is complete; it may raise OSError and Failure.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = MAX_BOOK_BYTES,
        after_segment: Callable[[Path], None] | None = None,
    ) -> None:
        self.folder = make_private_dir(folder)
        self.lost = 0
        self._after_segment = after_segment
        self._max_bytes = max_bytes
        self._hour = -1
        self._fd = -1

    def append(self, look: HostLook | BlockedTasksLook) -> None:
        line = msgspec.json.encode(look) + b"\n"
        try:
            self._open_segment_of_hour(look.boot_s)
            end = os.fstat(self._fd).st_size
            if os.write(self._fd, line) != len(line):
                os.ftruncate(self._fd, end)  # of a full disk: a part of a line
                self.lost += 1
        except OSError:  # the file stays open: a new one for each lost look would use up the inodes
            self.lost += 1

    def _open_segment_of_hour(self, boot_s: float) -> None:
        """An hour of the time since boot, which no clock change moves."""
        hour = int(boot_s // HOUR_S)
        if hour == self._hour and self._fd >= 0:
            return
        self.close()
        self._make_room_for_segment()
        name = f"looks-{time.time_ns():020d}-{_short_boot_id()}-{os.getpid()}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self.folder / name, flags, 0o600)
        self._hour = hour
        if self._after_segment is not None:
            with contextlib.suppress(OSError, Failure):
                self._after_segment(self.folder)

    def _make_room_for_segment(self) -> None:
        """The newest segments stay, up to the limit, with room for one more."""
        room = self._max_bytes - self._max_bytes // 32
        for path in reversed(book_segments(self.folder)):
            with contextlib.suppress(OSError):
                room -= path.stat().st_size
                if room < 0:
                    path.unlink()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def book_segments(folder: Path) -> list[Path]:
    """The files of the book, the oldest first. Raises OSError."""
    return sorted(path for path in folder.iterdir() if _SEGMENT.fullmatch(path.name))


class IncidentBook(msgspec.Struct, frozen=True):
    """What the book holds, in order of time. `unreadable`: lines and files that could not be read."""

    looks: tuple[HostLook, ...]
    close_looks: tuple[BlockedTasksLook, ...]
    unreadable: int = 0


def _short_boot_id() -> str:
    """The first characters of this boot's id: they stand in the names of its segments."""
    return boot_id()[:8] or "unknown"


def read_book(folder: Path) -> IncidentBook:
    """The times of a boot follow its last clock: a clock that was set in between moves no look. Raises OSError."""
    boots: defaultdict[str, list[HostLook | BlockedTasksLook]] = defaultdict(list)
    unreadable = 0
    for path in book_segments(folder):
        for look in read_looks(path):
            if look is None:
                unreadable += 1
            else:
                boots[path.name.split("-")[2]].append(look)
    all_looks: list[HostLook | BlockedTasksLook] = []
    for boot in boots.values():
        last = max(boot, key=lambda look: look.boot_s)
        shift_s = last.wall_s - last.boot_s
        all_looks += [structs.replace(look, wall_s=look.boot_s + shift_s) for look in boot]
    all_looks.sort(key=lambda look: look.wall_s)
    return IncidentBook(
        tuple(look for look in all_looks if isinstance(look, HostLook)),
        tuple(look for look in all_looks if isinstance(look, BlockedTasksLook)),
        unreadable,
    )


def read_looks(path: Path) -> Iterator[HostLook | BlockedTasksLook | None]:
    """Yield the looks of one segment; None for each line, or a whole file, that cannot be read."""
    try:
        data = read_regular(str(path), MAX_SEGMENT_BYTES)
    except (OSError, ValueError):
        yield None
        return
    for line in data.splitlines():
        try:
            yield _DECODER.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield None
