"""Creating, looking up and deleting empty files in a directory of our own. Standard library only."""

import os

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

    The files are empty: it is the file system's names and inodes that are measured, not its data. `place` is the
    folder, `stem` tells this worker's names from another's.

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
