"""Writes a file system's cached data and its journal to the disk, by another process: the kernel may hold it for ever.

syncfs(2) in a thread of ours would keep this process with it on a frozen or dead file system; `sync -f` is left behind.
"""

import asyncio
import subprocess
import time

from hostdx.probes.children.command import find_tool
from hostdx.probes.files.private_directory import PrivateDirectory

LOOK_S = 0.01


async def flush_file_system(private: PrivateDirectory, at_most_s: float) -> bool:
    """Return whether the file system that it lies on was written within the time."""
    program = find_tool("sync")
    if program is None:
        return False
    child = subprocess.Popen(
        [program, "-f", "--", private.proc_path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    until = time.monotonic() + at_most_s
    try:
        while child.poll() is None and time.monotonic() < until:
            await asyncio.sleep(LOOK_S)
    finally:
        if child.poll() is None:
            child.kill()
    return child.returncode == 0
