"""Settings: a sysfs or procfs attribute, with the side values that writing it resets, and putting both back."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from app import attribute
from app.attribute import AttributeTrouble, selected
from app.failure import NotDone
from app.journal import UNDONE, Entry, Outcome
from probes.action import Action


def old_values(action: Action) -> tuple[str, dict[str, str]]:
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


def switch(entry: Entry, keep: tuple[int, ...]) -> str:
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


def put_back(entry: Entry, keep: tuple[int, ...]) -> Outcome:
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
