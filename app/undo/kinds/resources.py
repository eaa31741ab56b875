"""Resources: what an action makes (a directory, namespaces held by a process, a control group), and removing it.

What is removed is checked to be ours first: by name, owner and inode, or by the process's own arguments.
"""

import os
import secrets
import signal
import time
from pathlib import Path

from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.undo.journal import JournalEntry, UndoOutcome
from hostdx.app.undo.kinds import own_files, own_groups, text_file
from hostdx.app.undo.kinds.own_files import MARK
from hostdx.probes.files.private_directory import Inode
from hostdx.probes.reading.process_stat import read_start_ticks
from hostdx.scenarios.contract.action import Action

# Namespaces without a name (network, mounts): a process of our own holds them, and they are gone when it is gone.
#
# That process carries the name that the journal knows as an argument of its own command line;
# nothing is to be removed in /run/netns, and after a crash of the runner it has died already
# (PR_SET_PDEATHSIG). the modules that such a process runs
HOLDERS = (
    b"hostdx.scenarios.rpfilter.measurement.lab",
    b"hostdx.scenarios.contention.measurement.server",
    b"hostdx.scenarios.fullstack.measurement.station",
)
_WAIT_S = 2.0


def find_namespace_holders(name: str) -> dict[int, int]:
    """Processes of this user that hold the namespaces of that name: pid to start time."""
    start_times: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        pid = int(path.parts[2])
        try:
            words = path.read_bytes().split(b"\0")
            is_own = path.stat().st_uid in (os.geteuid(), 0) or os.geteuid() == 0
        except OSError:
            continue
        began = read_start_ticks(pid)
        if (
            is_own
            and any(module_name in words for module_name in HOLDERS)
            and name.encode() in words
            and began is not None
        ):
            start_times[pid] = began
    return start_times


def kill_namespace_holders(name: str) -> UndoOutcome:
    """Ends them and waits until they are gone; repeatable."""
    if not name.startswith("hostdx"):
        return UndoOutcome("failed", f"{name}: not a namespace of ours")
    start_times = find_namespace_holders(name)
    for pid, began in start_times.items():
        if read_start_ticks(pid) == began:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
    end = time.monotonic() + _WAIT_S
    while any(read_start_ticks(pid) == began for pid, began in start_times.items()):
        if time.monotonic() > end:
            return UndoOutcome("failed", f"{name}: process {', '.join(map(str, start_times))} does not end")
        time.sleep(0.02)
    return UndoOutcome(
        "reverted", "" if start_times else f"{name} is gone: the process that held it has ended"
    )


def draw_resource_name(action: Action) -> str:
    """The exact name: `*` becomes random letters. It carries our mark, so that undoing can tell ours from others'."""
    # Only in a name of ours: the folders above it are the user's, and may hold a `*` themselves.
    *above, last = action.target.split("/")
    drawn = secrets.token_hex(6)
    marked_parts = [part.replace("*", drawn) if part.startswith(MARK) else part for part in above]
    name = "/".join((*marked_parts, last.replace("*", drawn)))
    if action.resource == "file":
        return text_file.checked_target_path(action)
    if action.resource == "cgroup":
        if not last.startswith(own_groups.MARK):
            raise ChangeNotMade(f"{action.title}: {name}: its name does not carry hostdx's mark")
        return name
    directory = action.resource == "directory"
    if not (last.startswith(MARK) if directory else name.startswith("hostdx") and "/" not in name):
        raise ChangeNotMade(f"{action.title}: {name}: its name does not carry hostdx's mark")
    return name


def create_resource(entry: JournalEntry, fds: tuple[int, ...]) -> Inode | None:
    """Return which directory it is; namespaces are made by the process that will hold them and carries their name."""
    if entry.action.resource == "cgroup":
        own_groups.make_group(entry.value, entry.action.parameters)
    if entry.action.resource == "file":
        text_file.make_file(entry.value, entry.action.new or "")
    return own_files.make_directory(entry.value, fds=fds) if entry.action.resource == "directory" else None


def remove_resource(entry: JournalEntry, fds: tuple[int, ...]) -> UndoOutcome:
    if entry.action.resource == "file":
        return text_file.remove_file(entry.value, entry.action.new or "")
    if entry.action.resource == "directory":
        return own_files.remove_directory(entry.value, entry.place, entry.inode, fds=fds)
    return (
        own_groups.remove_group(entry.value)
        if entry.action.resource == "cgroup"
        else kill_namespace_holders(entry.value)
    )
