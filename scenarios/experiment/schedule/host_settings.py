"""Settings of the host that a variant names: `sysctl:vm.swappiness=10`, `sysfs:PATH=VALUE`, `scheduler:sda=none`.

Each is a change that asks for consent, is journalled before and undone after; a variant's are in force while it runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from hostdx.probes.system import setting_calls
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import Run, RunRefused, UsageError
from hostdx.scenarios.experiment.schedule.switch import attribute_change, scheduler_change

KINDS = ("sysctl:", "sysfs:", "scheduler:")
RISK = "the setting affects all programs on this host while the variant runs"
_SYSCTL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@-]*", re.ASCII)
_DEVICE = re.compile(r"[A-Za-z0-9_!.-]+", re.ASCII)
_LIMIT = 4096


def setting_change(key: str, value: str, context: str) -> Action:
    """Of a variant's word `KEY=VALUE`. Raises UsageError in one line."""
    kind, _, name = key.partition(":")
    word = f"{context}: {key}={value}"
    if not value or not value.isprintable():
        raise UsageError(f"{word}: the value must be one line")
    if kind == "scheduler":
        return _scheduler_action(name, value, word)
    path = _sysctl_path(name) if kind == "sysctl" else f"/{name.lstrip('/')}"
    root = "/proc/sys/" if kind == "sysctl" else "/sys/"
    if not _SYSCTL.fullmatch(name.lstrip("/")) or ".." in path.split("/") or not path.startswith(root):
        raise UsageError(f"{word}: write sysctl:vm.swappiness=10 or sysfs:/sys/...=VALUE")
    if not os.path.realpath(path).startswith(root) or not Path(path).is_file():
        raise UsageError(f"{word}: {path}: no such setting on this host")
    own = read_setting(path)
    if not own:
        raise UsageError(f"{word}: {path} cannot be read, so it could not be undone")
    if not os.access(path, os.W_OK):
        raise UsageError(f"{word}: {path} cannot be written{'; needs root' if os.geteuid() else ''}")
    return attribute_change(path, own, value, risk=RISK)


def read_setting(path: str) -> str:
    """Its value, of several to choose from the one in brackets; "" where it cannot be read.

    `path`: of a file, or what `hostdx.probes.system.setting_calls` reads.
    """
    try:
        if not path.startswith("/"):
            return setting_calls.read_by_call(path)
        with Path(path).open("rb") as file:
            text = file.read(_LIMIT).decode("utf-8", "backslashreplace").strip()
    except OSError:
        return ""
    chosen = re.search(r"\[([^\]\s]+)\]", text)
    return chosen[1] if chosen else text


def _sysctl_path(name: str) -> str:
    """As sysctl(8): the first separator tells which of the two it is; the other one stands for itself."""
    first = next((letter for letter in name if letter in "./"), ".")
    return "/proc/sys/" + (name if first == "/" else name.translate(str.maketrans("./", "/.")))


def _scheduler_action(device: str, value: str, word: str) -> Action:
    path = f"/sys/block/{device}/queue/scheduler"
    try:
        offered = Path(path).read_text().split() if _DEVICE.fullmatch(device) else []
    except OSError:
        offered = []
    names = [name.strip("[]") for name in offered]
    if not names:
        raise UsageError(f"{word}: {device} is no block device of this host that has a scheduler")
    if value not in names:
        raise UsageError(f"{word}: {device} offers {', '.join(names)}")
    if os.geteuid():
        raise UsageError(f"{word}: needs root")
    return scheduler_change(device, read_setting(path), value)


class HostSettingsSwitch:
    """Which variant's settings are in force. Between variants each goes back to the host's own."""

    def __init__(self, run: Run, changes: Sequence[Action]) -> None:
        self.run = run
        self._paths = tuple(dict.fromkeys(action.target for action in changes))
        self._own = self._wanted = {path: read_setting(path) for path in self._paths}
        self._active: tuple[Action, ...] = ()
        self._stay = AsyncExitStack()

    async def __aenter__(self) -> HostSettingsSwitch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.switch_back()

    async def switch_to(self, changes: tuple[Action, ...]) -> None:
        """Raises RunRefused where one cannot be made, or somebody else changes them."""
        if changes != self._active:
            await self.switch_back()
            self.check()
            self._active = changes
            for action in changes:
                await self._stay.enter_async_context(self.run.apply_change(action))
            self._wanted = {path: read_setting(path) for path in self._paths}
        self.check()

    async def switch_back(self) -> None:
        stay, self._stay, self._active = self._stay, AsyncExitStack(), ()
        await stay.aclose()
        self._wanted = self._own

    def check(self) -> None:
        """Somebody else may set them at any time: then nothing is measured. Raises RunRefused."""
        for path, wanted in self._wanted.items():
            now = read_setting(path)
            if now != wanted:
                raise RunRefused(f"{path} is {now} where {wanted} was in force: another program changes it")
