"""Control groups of our own (version 2): made with their limits, and removed with all that runs in them."""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.undo.journal import UndoOutcome

MARK = "hostdx-"
GROUP_KEYS = "cgroup.procs"
_WAIT_S = 5.0
_LOOK_S = 0.01


def make_group(path: str, limits: Mapping[str, str]) -> None:
    """Raises ChangeNotMade, and then there is none. cgroupfs is in memory: nothing here waits on a device."""
    group = Path(path)
    try:
        group.mkdir(0o755)
        if not (group / GROUP_KEYS).exists():
            group.rmdir()
            raise ChangeNotMade(f"{path}: {group.parent} is no control group of version 2")
    except OSError as why:
        raise ChangeNotMade(f"{path}: no control group can be made there: {why.strerror}") from None
    for name, value in limits.items():
        try:
            descriptor = os.open(group / name, os.O_WRONLY | os.O_CLOEXEC)  # never O_CREAT
            try:
                os.write(descriptor, (value + "\n").encode())
            finally:
                os.close(descriptor)
        except OSError as why:
            remove_group(path)
            raise ChangeNotMade(f"{path}: {name}={value} was not accepted: {why.strerror}") from None


def remove_group(path: str) -> UndoOutcome:
    """Ends all that runs in it or in groups below it, and removes them; repeatable. Never touches another's."""
    group = Path(path)
    if not group.name.startswith(MARK):
        return UndoOutcome("failed", f"{path}: its name does not carry hostdx's mark; not touched")
    if not group.exists():
        return UndoOutcome("reverted", f"{path} is gone: nothing left to undo")
    if group.is_symlink() or not (group / GROUP_KEYS).exists():
        return UndoOutcome("failed", f"{path}: is no control group; not touched")
    until = time.monotonic() + _WAIT_S
    while True:
        _kill_control_group(group)
        try:
            for below in sorted(_group_and_subgroups(group), reverse=True):  # the deepest first
                Path(below).rmdir()
            return UndoOutcome("reverted")
        except FileNotFoundError:
            pass
        except OSError as why:
            if time.monotonic() > until:
                return UndoOutcome("failed", f"{path}: {why.strerror}: what runs in it does not end")
        time.sleep(_LOOK_S)
        if not group.exists():
            return UndoOutcome("reverted")


def _kill_control_group(group: Path) -> None:
    """All at once where the kernel can (5.14), else one by one, again and again."""
    try:
        descriptor = os.open(group / "cgroup.kill", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        for folder in _group_and_subgroups(group):
            for pid in _group_pids(folder):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
        return
    try:
        os.write(descriptor, b"1")
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _group_and_subgroups(group: Path) -> list[str]:
    return [folder for folder, _, _ in os.walk(group)]


def _group_pids(folder: str) -> list[int]:
    try:
        return [int(word) for word in Path(folder, GROUP_KEYS).read_text().split() if int(word) > 1]
    except (OSError, ValueError):
        return []
