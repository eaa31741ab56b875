"""Writes new files, one after the other, and leaves them: for a worker. Standard library only.

Overwriting in place tells a drive which old data is stale; a file that is written anew and deleted later does not.
"""

import os
from collections.abc import Iterator

from probes.engine import loops

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
            loops.fail_short_write(self._open, next(self._turns), self._at, moved)
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
