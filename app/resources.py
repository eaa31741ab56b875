"""Resources: what an action makes (directory, file, namespace, loop device, mount, process), and removing it.

What is removed is checked to be ours first: by name, owner, backing file, source of the mount or start time.
"""

from __future__ import annotations

import fnmatch
import os
import secrets
import signal
import time
from pathlib import Path

from app import mine
from app.children import CommandFailed, command
from app.failure import NotDone
from app.holders import end_holders
from app.journal import UNDONE, Entry, Outcome
from app.mine import MARK
from app.process import start_time
from probes.action import Action


def named(action: Action) -> str:
    """The exact name: `*` becomes random letters. It carries our mark, so that undoing can tell ours from others'."""
    if action.resource == "loop":
        return action.parameters["file"]
    # Only in a name of ours: the folders above it are the user's, and may hold a `*` themselves.
    *above, last = action.target.split("/")
    drawn = secrets.token_hex(6)
    ours = [part.replace("*", drawn) if part.startswith(MARK) else part for part in above]
    name = "/".join((*ours, last.replace("*", drawn)))
    marked = {
        "directory": Path(name).name.startswith(MARK),
        "file": any(part.startswith(MARK) for part in Path(name).parts),
        "mount": any(part.startswith(MARK) for part in Path(name).parts),
        "namespace": name.startswith("hostdx") and "/" not in name,
        "process": True,
    }[action.resource or "process"]
    if not marked:
        raise NotDone(f"{action.title}: {name}: its name does not carry hostdx's mark")
    return name


def create(entry: Entry, keep: tuple[int, ...]) -> tuple[str, str]:
    """(value, became) of the resource made."""
    name, parameters = entry.value, entry.action.parameters
    match entry.action.resource:
        case "directory":
            mine.make(name, "directory", keep=keep)
            return name, ""
        case "file":
            size = int(parameters["bytes"]) if "bytes" in parameters else None
            mine.make(name, "file", parameters.get("text", ""), size, keep=keep)
            return name, ""
        case "namespace" if parameters.get("held by") == "process":
            return name, ""  # made by the process that will hold it and carries this name
        case "namespace":
            command(("ip", "netns", "add", name), keep=keep)
            return name, ""
        case "loop":
            return command(_losetup(name, parameters), keep=keep).strip(), ""
        case "mount":
            command(_mount(name, parameters), keep=keep)
            return name, ""
        case "process":
            return _start(entry)
    raise NotDone(f"{entry.action.title}: unknown resource")


def _losetup(file: str, parameters: dict[str, str]) -> tuple[str, ...]:
    sector = ("--sector-size", parameters["sector"]) if "sector" in parameters else ()
    direct = ("--direct-io=on",) if parameters.get("direct") == "on" else ()
    return ("losetup", "--find", "--show", *sector, *direct, "--", file)


def _mount(target: str, parameters: dict[str, str]) -> tuple[str, ...]:
    kind = ("-t", parameters["fstype"]) if "fstype" in parameters else ()
    options = ("-o", parameters["options"]) if "options" in parameters else ()
    return ("mount", *kind, *options, "--", parameters["source"], target)


def _start(entry: Entry) -> tuple[str, str]:
    """A process of its own session, told by an environment variable until its pid is in the journal."""
    import subprocess

    environment = os.environ | {"LC_ALL": "C", "HOSTDX_ACTION": entry.id}
    null = subprocess.DEVNULL
    child = subprocess.Popen(
        entry.action.apply,
        stdin=null,
        stdout=null,
        stderr=null,
        env=environment,
        start_new_session=True,
        cwd="/",
    )
    return str(child.pid), str(start_time(child.pid) or 0)


def remove(entry: Entry, keep: tuple[int, ...]) -> Outcome:
    match entry.action.resource:
        case "directory" | "file" as kind:
            return mine.remove(entry.value, kind, entry.place, keep=keep)
        case "namespace" if entry.action.parameters.get("held by") == "process":
            return end_holders(entry.value)
        case "namespace":
            return _remove_namespace(entry.value, keep)
        case "loop":
            return _detach(entry.action.parameters["file"], keep)
        case "mount":
            return _unmount(entry, keep)
        case _:
            return _end(entry)


def _remove_namespace(name: str, keep: tuple[int, ...]) -> Outcome:
    if not fnmatch.fnmatch(name, "hostdx*"):
        return Outcome("failed", f"{name}: not a namespace of ours")
    if not Path("/run/netns", name).exists():
        return Outcome("reverted", f"{name} is gone: nothing left to undo")
    for pid in command(("ip", "netns", "pids", name), keep=keep).split():
        _kill(int(pid))
    command(("ip", "netns", "del", name), keep=keep)
    return UNDONE


def _detach(file: str, keep: tuple[int, ...]) -> Outcome:
    """Every loop device on exactly this file; there is none to know by number when the runner died in between."""
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            shown = backing.read_text("utf-8", "backslashreplace").rstrip("\n")
        except OSError:
            continue
        if shown.removesuffix(" (deleted)") in (file, os.path.realpath(file)):
            command(("losetup", "--detach", "/dev/" + backing.parts[3]), keep=keep)
    return UNDONE


def _unmount(entry: Entry, keep: tuple[int, ...]) -> Outcome:
    target = os.path.realpath(entry.value)
    for attempt in range(20):
        if not _mounted(target):
            return UNDONE
        try:
            command(("umount", "--", target), keep=keep)
        except CommandFailed:
            if attempt == 19:
                raise
            time.sleep(0.1)  # a worker that was just killed may hold it for a moment
    return UNDONE


def _mounted(target: str) -> bool:
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return os.path.ismount(target)
    names = (line.split()[4] for line in lines)
    return os.fsencode(target) in (name.decode("unicode_escape").encode("latin-1") for name in names)


def _end(entry: Entry) -> Outcome:
    if entry.made:
        pid = int(entry.value)
        if str(start_time(pid)) != entry.became:
            _reap(pid)
            return Outcome("reverted", f"process {pid} has ended by itself")
        _kill(pid)
        _reap(pid)
        return UNDONE
    mark = f"HOSTDX_ACTION={entry.id}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            ours = mark in path.read_bytes().split(b"\0") and path.stat().st_uid == os.geteuid()
        except OSError:
            continue
        if ours:
            _kill(int(path.parts[2]))
    return UNDONE


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _reap(pid: int) -> None:
    """Our own child would stay a zombie; somebody else's child is not ours to wait for."""
    try:
        os.waitpid(pid, 0)
    except OSError:
        pass
