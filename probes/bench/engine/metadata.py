"""Creating, looking up and deleting empty files in a directory of our own. Standard library only."""

from __future__ import annotations

import os


class Names:
    """Works on a directory's fd with at most `most` names at once: creates them all, stats them, deletes them, again.

    The files are empty: it is the file system's names and inodes that are measured, not its data.
    """

    def __init__(self, directory_fd: int, most: int, mark: int = 0) -> None:
        """`mark` tells the names of one side from those of another, which may lie in the same directory."""
        self.fd = directory_fd
        self.names = [f"hostdx-{os.getpid()}-{mark}-{number}" for number in range(most)]
        self.made: set[str] = set()

    def step(self, number: int) -> None:
        """Operation `number` from 0 on; they must come in order."""
        turn, index = divmod(number, len(self.names))
        name = self.names[index]
        what = turn % 3
        if what == 0:
            self.made.add(name)
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self.fd))
        elif what == 1:
            os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        else:
            os.unlink(name, dir_fd=self.fd)
            self.made.discard(name)

    def clear(self) -> None:
        """Deletes what is left of an unfinished turn."""
        for name in sorted(self.made):
            try:
                os.unlink(name, dir_fd=self.fd)
            except FileNotFoundError:
                pass
        self.made.clear()
