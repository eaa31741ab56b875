"""Creating, looking up and deleting empty files in a directory of our own. Standard library only.

Writes new files, one after the other, and leaves them: for a worker. Standard library only.

Overwriting in place tells a drive which old data is stale; a file that is written anew and deleted later does not.
"""

import os
from collections.abc import Iterator

from hostdx.probes.engine import loops

PREFIX = "hostdx-"


class NewFiles:
    """Under a directory's fd: each of `file_bytes`, written in steps of `step_bytes` and synced when it is full."""

    def __init__(
        self,
        directory_fd: int,
        mark: int,
        file_bytes: int,
        step_bytes: int,
        turns: Iterator[loops.Buffers],
        direct: bool,
    ) -> None:
        """`mark` tells the files of one block from those of the others."""
        self.fd = directory_fd
        self.prefix = f"{PREFIX}{os.getpid()}-{mark:x}"
        self.file_bytes = max(step_bytes, file_bytes // step_bytes * step_bytes)
        self.step_bytes = step_bytes
        self._turns = turns
        self._flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | (os.O_DIRECT if direct else 0)
        self._open: int | None = None
        self._at = 0
        self._count = 0

    def write_piece(self, _number: int) -> None:
        """Writes the next piece; with a file's first comes its making, with its last its fdatasync."""
        if self._open is None:
            self._open = os.open(f"{self.prefix}-{self._count}", self._flags, 0o600, dir_fd=self.fd)
            self._count += 1
            self._at = 0
        if (moved := os.pwritev(self._open, next(self._turns), self._at)) != self.step_bytes:
            loops.write_rest(self._open, next(self._turns), self._at, moved)
        self._at += self.step_bytes
        if self._at >= self.file_bytes:
            self.close_file()

    def close_file(self) -> None:
        """The last one stays as long as it got, and is on the disk."""
        if self._open is None:
            return
        fd, self._open = self._open, None
        try:
            os.fdatasync(fd)
        finally:
            os.close(fd)


LINKED = "hostdx-linked"  # the file in each place that names are made of, where no inode must be freed


def supports_links(directory: int) -> bool:
    """Makes `LINKED` in the directory of that descriptor and tries a link to it; False where there are none."""
    try:
        os.close(os.open(LINKED, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=directory))
        os.link(LINKED, f"{LINKED}-tried", src_dir_fd=directory, dst_dir_fd=directory)
        os.unlink(f"{LINKED}-tried", dir_fd=directory)
    except OSError:
        return False
    return True


class NameCycle:
    """Works below a directory's fd in cycles: creates `count` names, stats them, deletes them, again.

    The files are empty: it is the file system's names and inodes that are measured, not its data.
    `place` is the folder, `stem` tells this worker's names from another's.

    links  names are links to one file (`LINKED`, in the same folder), for a file system that passes over freed inodes
           for some minutes (ext4 without a journal): each deleted file would make the next creations slower.
    """

    def __init__(self, directory_fd: int, place: str, stem: str, count: int, *, links: bool = False) -> None:
        self.fd, self.count = directory_fd, count
        self.linked = f"{place}/{LINKED}" if links else ""
        self.names = [f"{place}/hostdx-{stem}-{number}" for number in range(count)]
        self.created_names: set[str] = set()

    @property
    def cycle_length(self) -> int:
        """Operations until everything begins anew: a measurement holds whole cycles, or other work than the next."""
        return 3 * self.count

    def do_operation(self, number: int) -> None:
        """Operation `number` from 0 on; they must come in order."""
        phase, index = divmod(number % self.cycle_length, self.count)
        name = self.names[index]
        if phase == 0:
            self.created_names.add(name)
            if self.linked:
                os.link(self.linked, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
            else:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self.fd))
        elif phase == 1:
            os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        else:
            os.unlink(name, dir_fd=self.fd)
            self.created_names.discard(name)

    def clear(self) -> None:
        """Deletes what is left of an unfinished cycle."""
        for name in sorted(self.created_names):
            try:
                os.unlink(name, dir_fd=self.fd)
            except FileNotFoundError:
                pass
        self.created_names.clear()
