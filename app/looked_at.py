"""`--root DIR`: the host that is looked at is a captured tree instead of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from app.failure import USAGE, Failure
from probes.host import Host, root_problem


def host_at(root: str | None) -> Host:
    """Raises Failure where there is no such tree: an empty one would read as a host without anything."""
    if root is None:
        return Host()
    if not Path(root).is_dir():
        what = "is not a directory" if Path(root).exists() else "no such directory"
        raise Failure(f"--root {root}: {what}; unpack the archive first", USAGE)
    if not os.access(root, os.R_OK | os.X_OK):
        raise Failure(f"--root {root}: no permission to read it", USAGE)
    if problem := root_problem(root):
        raise Failure(f"--root {problem}; name the folder that holds them", USAGE)
    return Host(root)
