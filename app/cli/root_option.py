"""`--root`: the host that is looked at is a captured tree, or a tar of one, instead of this machine."""

import os
import weakref
from pathlib import Path

from app.failure import USAGE, Failure
from app.output import say
from probes.captured.temporary_folder import temporary_folder
from probes.host import Host, root_problem
from probes.types import present

NAMES = ("/etc/hostname", "/proc/sys/kernel/hostname", "/hostname")  # the last one: a sosreport's


def host_at(root: str | None) -> Host:
    """Raises Failure where there is no such tree: an empty one would read as a host without anything."""
    if root is None:
        return Host()
    if Path(root).is_file():
        return _unpacked(root)
    if not Path(root).is_dir():
        what = "is neither a directory nor a tar" if Path(root).exists() else "no such directory or tar"
        raise Failure(f"--root {root}: {what}", USAGE)
    if not os.access(root, os.R_OK | os.X_OK):
        raise Failure(f"--root {root}: no permission to read it", USAGE)
    if problem := root_problem(root):
        raise Failure(f"--root {problem}; name the folder that holds them", USAGE)
    host = Host(root)
    host.still = True
    return host


def captured_name(host: Host, root: str) -> str:
    """Of a captured host, for the head of what is said about it: its own, else that of the tree or tar."""
    for path in NAMES:
        if present(name := host.text(path, 256)) and name.strip():
            return name.split()[0]
    return Path(root).resolve().name.removesuffix(".gz").removesuffix(".tar")


def _unpacked(archive: str) -> Host:
    """In a private folder that goes with the host."""
    from probes.captured.archive import MAX_SIBLINGS, Refused, unpack  # not for the live host

    folder = temporary_folder()
    try:
        unpacked = unpack(archive, folder.name)
    except Refused as why:
        folder.cleanup()
        raise Failure(f"--root {why}", USAGE) from None
    if unpacked.crowded:
        say(
            f"--root {archive}: {unpacked.crowded} files not read: of a folder the first {MAX_SIBLINGS} names are "
            "(processes, cards)"
        )
    if problem := root_problem(folder.name):
        folder.cleanup()
        problem = problem.replace(folder.name, archive)
        raise Failure(f"--root {problem}", USAGE)
    host = Host(folder.name)
    host.still = True
    weakref.finalize(host, folder.cleanup)
    return host
