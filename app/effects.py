"""The one file that changes the host: carries out an action, and undoes it.

Each kind has three steps: `prepare` reads what is there and chooses exact names (nothing is changed), `carry_out` does
it, `revert` undoes it and can be repeated: after a crash nobody knows how far the first two came. What is undone
is checked to be ours first: by name, owner, backing file, source of the mount or start time of the process.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import secrets
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from app import attribute
from app.attribute import AttributeTrouble, selected
from app.children import TIMEOUT_S, CommandFailed, command
from app.holders import end_holders
from app.journal import Entry, Outcome
from app.mine import MARK, remove_file, remove_tree
from app.process import start_time
from probes.action import Action


class NotDone(Exception):
    """The action could not be carried out, in one line. What was begun has to be reverted."""


UNDONE = Outcome("reverted")
MOST_SAID = 4096  # characters of what a command said


def prepare(action: Action, identifier: str) -> Entry:
    """What will be done exactly, with the old values. Changes nothing. Raises NotDone."""
    value = action.target
    old: str | None = None
    saved: dict[str, str] = {}
    if action.kind == "attribute":
        old, saved = _old_values(action)
        value = action.new if action.new is not None else ""
    elif action.kind == "resource":
        value = _named(action)
    return Entry(id=identifier, action=action, value=value, old=old, saved=saved)


def carry_out(entry: Entry, keep: tuple[int, ...], stop: threading.Event | None = None) -> Entry:
    """Does it; `keep` are descriptors that children hold while they are at it. Raises NotDone.

    A command's value is what it said. `stop` breaks off one that nothing could undo anyway: a trim may take minutes.
    """
    action = entry.action
    try:
        if action.kind == "attribute":
            became = _write_attribute(entry, keep)
            return msgspec.structs.replace(entry, made=True, became=became)
        if action.kind == "command":
            timeout_s = float(action.parameters.get("timeout_s", TIMEOUT_S))
            said = command(
                action.apply, keep=keep, timeout_s=timeout_s, stop=stop if action.irreversible else None
            ).strip()
            return msgspec.structs.replace(entry, made=True, value=said[:MOST_SAID] or entry.value)
        value, became = _create(entry, keep)
        return msgspec.structs.replace(entry, made=True, value=value, became=became)
    except CommandFailed as why:
        raise NotDone(str(why)) from None
    except OSError as why:
        raise NotDone(f"{action.title}: {entry.value}: {why.strerror or why}") from None


def revert(entry: Entry, keep: tuple[int, ...] = ()) -> Outcome:
    """Undoes it as far as it was done. Never raises."""
    try:
        if entry.action.kind == "attribute":
            return _revert_attribute(entry, keep)
        if entry.action.kind == "command":
            return _revert_command(entry, keep)
        return _remove(entry, keep)
    except CommandFailed as why:
        return Outcome("failed", str(why))
    except OSError as why:
        return Outcome("failed", f"{entry.value}: {why.strerror or why}")
    except Exception as why:  # a mistake of ours with one entry must not keep the others from being undone
        return Outcome("failed", f"{entry.value}: {type(why).__name__}: {why}")


def survives_reboot(action: Action) -> bool:
    """Files and directories do; sysfs and procfs values, mounts, loop devices, namespaces and processes do not."""
    if action.kind == "resource":
        return action.resource in ("directory", "file")
    return action.kind == "command" and action.survives_reboot


# attributes


def _old_values(action: Action) -> tuple[str, dict[str, str]]:
    sides: list[str] = []
    for pattern in action.side_paths:
        sides += sorted(map(str, Path("/").glob(pattern.lstrip("/")))) if "*" in pattern else [pattern]
    sides = [path for path in dict.fromkeys(sides) if path != action.target]
    found = attribute.read([action.target, *sides])
    old = found.pop(action.target)
    if isinstance(old, AttributeTrouble):
        raise NotDone(f"{action.target}: cannot be read: {old.strerror}")
    # a side path that cannot be read (wbt_lat_usec gives EINVAL where it is not built in) cannot be reset either
    return selected(old), {path: text for path, text in found.items() if isinstance(text, str)}


def _write_attribute(entry: Entry, keep: tuple[int, ...]) -> str:
    if entry.old == entry.value:
        return entry.value
    try:
        became = selected(attribute.write(entry.action.target, entry.value, keep))
    except AttributeTrouble as why:
        rights = "; needs root" if why.errno in (errno.EACCES, errno.EPERM) and os.geteuid() else ""
        raise NotDone(
            f"{entry.action.target}: {entry.value!r} was not accepted: {why.strerror}{rights}"
        ) from None
    if became == entry.old:
        raise NotDone(
            f"{entry.action.target}: still {became!r} after {entry.value!r} was written: not accepted"
        )
    return became


def _revert_attribute(entry: Entry, keep: tuple[int, ...]) -> Outcome:
    target, old = entry.action.target, entry.old or ""
    text = attribute.read([target])[target]
    if isinstance(text, AttributeTrouble):
        if text.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ENOTDIR):
            return Outcome("reverted", f"{target} is gone: nothing left to undo")
        return Outcome("failed", f"{target}: {text.strerror}")
    now = selected(text)
    if now != old:
        if now not in (entry.value, entry.became):
            return Outcome(
                "kept",
                f"{target} is now {now!r}: somebody else changed it (it was {old!r}, then ours {entry.value!r})",
            )
        try:
            back = selected(attribute.write(target, old, keep))
        except AttributeTrouble as why:
            return Outcome("failed", f"{target}: {old!r} was not accepted: {why.strerror}")
        if back != old:
            return Outcome("failed", f"{target} is {back!r} after {old!r} was written")
    return _revert_sides(entry, keep)


def _revert_sides(entry: Entry, keep: tuple[int, ...]) -> Outcome:
    """In the order declared: `nr_requests` before tunables that depend on it, if the scenario says so.

    Twice: writing nr_requests sets mq-deadline's async_depth along, which may have been right before (measured).
    """
    for _ in range(2):
        now = attribute.read(list(entry.saved))
        wrong = [path for path, text in entry.saved.items() if now[path] != text]
        if not wrong:
            return UNDONE
        outcome = _write_sides(entry, wrong, now, keep)
        if outcome.state == "failed":
            return outcome
    return UNDONE


def _write_sides(
    entry: Entry, paths: Sequence[str], now: Mapping[str, str | AttributeTrouble], keep: tuple[int, ...]
) -> Outcome:
    troubles: list[str] = []
    for path in paths:
        text = entry.saved[path]
        there = now[path]
        if isinstance(there, str) and selected(there) == selected(text):
            continue
        if isinstance(there, AttributeTrouble) and there.errno in (errno.ENODEV, errno.ENXIO):
            continue
        try:
            back = attribute.write(path, selected(text), keep)
            if selected(back) != selected(text):
                troubles.append(f"{path} is {back!r} after {text!r} was written")
        except AttributeTrouble as why:
            troubles.append(f"{path}: {text!r} was not accepted: {why.strerror}")
    return Outcome("failed", "; ".join(troubles)) if troubles else UNDONE


# commands with an inverse


def _revert_command(entry: Entry, keep: tuple[int, ...]) -> Outcome:
    if not entry.action.undo:
        return Outcome(
            "kept", "cannot be undone, as declared" if entry.action.irreversible else "needs no undoing"
        )
    try:
        command(entry.action.undo, keep=keep)
    except CommandFailed as why:
        if entry.made:
            raise
        return Outcome("reverted", f"was not carried out, or undone already ({why})")
    return UNDONE


# resources


def _named(action: Action) -> str:
    """The exact name: `*` becomes random letters. It carries our mark, so that undoing can tell ours from others'."""
    if action.resource == "loop":
        return action.parameters["file"]
    name = action.target.replace("*", secrets.token_hex(6))
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


def _create(entry: Entry, keep: tuple[int, ...]) -> tuple[str, str]:
    """(value, became) of the resource made."""
    name, parameters = entry.value, entry.action.parameters
    match entry.action.resource:
        case "directory":
            Path(name).mkdir(mode=0o700)
            return name, ""
        case "file":
            _create_file(name, parameters)
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


def _create_file(name: str, parameters: dict[str, str]) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, parameters.get("text", "").encode())
        if "bytes" in parameters:
            os.ftruncate(descriptor, int(parameters["bytes"]))
    finally:
        os.close(descriptor)


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


def _remove(entry: Entry, keep: tuple[int, ...]) -> Outcome:
    match entry.action.resource:
        case "directory":
            return remove_tree(Path(entry.value))
        case "file":
            return remove_file(Path(entry.value))
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
