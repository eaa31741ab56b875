"""`--root`: the host that is looked at is a captured tree, or a tar of one, instead of this machine."""

import os
import weakref
from pathlib import Path

from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.probes.reading.captured.temporary_folder import temporary_folder
from hostdx.probes.reading.host import Host, captured_root_problem
from hostdx.probes.types import is_present

NAMES = ("/etc/hostname", "/proc/sys/kernel/hostname", "/hostname")  # the last one: a sosreport's


def live_or_captured_host(root: str | None) -> Host:
    """Raises Failure where there is no such tree: an empty one would read as a host without anything."""
    if root is None:
        return Host()
    if Path(root).is_file():
        return _host_of_archive(root)
    if not Path(root).is_dir():
        complaint = "is neither a directory nor a tar" if Path(root).exists() else "no such directory or tar"
        raise Failure(f"--root {root}: {complaint}", USAGE)
    if not os.access(root, os.R_OK | os.X_OK):
        raise Failure(f"--root {root}: no permission to read it", USAGE)
    if problem := captured_root_problem(root):
        raise Failure(f"--root {problem}; name the folder that holds them", USAGE)
    host = Host(root)
    host.is_static = True
    return host


def captured_host_name(host: Host, root: str) -> str:
    """Of a captured host, for the head of what is said about it: its own, else that of the tree or tar."""
    for path in NAMES:
        if is_present(name := host.read_file_text(path, 256)) and name.strip():
            return name.split()[0]
    return Path(root).resolve().name.removesuffix(".gz").removesuffix(".tar")


def _host_of_archive(archive: str) -> Host:
    """In a private folder that goes with the host."""
    from hostdx.probes.reading.captured.archive import (  # not for the live host
        MAX_SIBLINGS,
        ArchiveRefusedError,
        unpack_archive,
    )

    folder = temporary_folder()
    try:
        unpacked = unpack_archive(archive, folder.name)
    except ArchiveRefusedError as why:
        folder.cleanup()
        raise Failure(f"--root {why}", USAGE) from None
    if unpacked.crowded:
        print_note(
            f"--root {archive}: {unpacked.crowded} files not read: of a folder the first {MAX_SIBLINGS} names are "
            "(processes, cards)"
        )
    if problem := captured_root_problem(folder.name):
        folder.cleanup()
        problem = problem.replace(folder.name, archive)
        raise Failure(f"--root {problem}", USAGE)
    host = Host(folder.name)
    host.is_static = True
    weakref.finalize(host, folder.cleanup)
    return host
