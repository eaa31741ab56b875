"""A directory of the test's own, held as a run holds the one that it made."""

import os
from pathlib import Path

from hostdx.probes.files.private_directory import Inode, PrivateDirectory, inode_of


def inode_at(path: Path) -> Inode:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return inode_of(fd)
    finally:
        os.close(fd)


def open_private(path: Path) -> PrivateDirectory:
    path.chmod(0o700)
    return PrivateDirectory.open(str(path), inode_at(path))
