"""Settings: a sysfs or procfs attribute, with the side values that writing it resets, and putting both back."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.undo.journal import UNDONE, Journal, JournalEntry, UndoOutcome
from hostdx.app.undo.kinds import attribute
from hostdx.app.undo.kinds.attribute import AttributeTexts, AttributeTrouble, selected_word
from hostdx.scenarios.contract.action import Action

GONE = (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ENOTDIR)


def read_target_and_side_values(action: Action) -> tuple[str, dict[str, str]]:
    """The target's value and the side paths' texts. Raises ChangeNotMade."""
    sides: list[str] = []
    for pattern in action.side_paths:
        sides += sorted(map(str, Path("/").glob(pattern.lstrip("/")))) if "*" in pattern else [pattern]
    sides = [path for path in dict.fromkeys(sides) if path != action.target]
    texts = attribute.read_attributes([action.target, *sides])
    old = texts.pop(action.target)
    if isinstance(old, AttributeTrouble):
        raise ChangeNotMade(f"{action.target}: cannot be read: {old.strerror}")
    # a side path that cannot be read (wbt_lat_usec gives EINVAL where it is not built in) cannot be reset either
    return selected_word(old), _only_texts(texts)


def switch_setting(entry: JournalEntry, fds: tuple[int, ...]) -> JournalEntry:
    """Writes the new value; the entry as it became. Raises ChangeNotMade."""
    target = entry.action.target
    if entry.old == entry.value:
        return replace(entry, made=True, became=entry.value)
    try:
        text, sides = attribute.write_attribute(target, entry.value, fds, tuple(entry.saved))
    except AttributeTrouble as why:
        rights = "; needs root" if why.errno in (errno.EACCES, errno.EPERM) and os.geteuid() else ""
        text = f"{target}: {entry.value!r} was not accepted: {why.strerror}{rights}"
        raise ChangeNotMade(text, why.writer) from None
    became = selected_word(text)
    if became == entry.old:
        raise ChangeNotMade(f"{target}: still {became!r} after {entry.value!r} was written: not accepted")
    return replace(entry, made=True, became=became, left=_only_texts(sides))


def put_back_setting(entry: JournalEntry, fds: tuple[int, ...], journal: Journal | None) -> UndoOutcome:
    """A value that somebody else set is left alone and reported, a side value as well. The journal
    is told each time before the next step is made."""
    outcome = _put_back_value(entry, fds, journal)
    is_nice = entry.action.target.startswith("nice:") and entry.old != entry.value
    return (
        _put_back_nice_of_children(entry, fds, journal.header.who.start, outcome)
        if is_nice and journal is not None and outcome.state == "reverted"
        else outcome
    )


def _put_back_nice_of_children(
    entry: JournalEntry, keep: tuple[int, ...], since_ticks: int, outcome: UndoOutcome
) -> UndoOutcome:
    """A process that began meanwhile took the switched value over from its maker. It gets the old value of that one."""
    target = f"nice-children:{entry.action.target.removeprefix('nice:')}/{since_ticks}/{entry.value}"
    names = attribute.read_attributes([target], keep)[target]
    if not names or isinstance(names, AttributeTrouble):
        return outcome
    try:
        left, _ = attribute.write_attribute(target, entry.old or "", keep)
    except AttributeTrouble as why:
        return _failed_outcome(f"{names}: {entry.old!r} was not accepted: {why.strerror}", why)
    if left:
        return UndoOutcome("failed", f"{left}: began meanwhile, and still {entry.value!r}")
    text = f"given back to what began meanwhile, too: {names}"
    return UndoOutcome("reverted", "; ".join(filter(None, (outcome.reason, text))))


def _put_back_value(entry: JournalEntry, keep: tuple[int, ...], journal: Journal | None) -> UndoOutcome:
    target, old = entry.action.target, entry.old or ""
    texts = attribute.read_attributes([target, *entry.saved])
    text = texts.pop(target)
    if isinstance(text, AttributeTrouble):
        if text.errno in GONE:
            return UndoOutcome("reverted", f"{target} is gone: nothing left to undo")
        return _failed_outcome(f"{target}: {text.strerror}", text)
    now = selected_word(text)
    if now == old:
        return _put_back_along(entry, texts, keep)
    if now not in (entry.value, entry.became) and not _is_half_written(now, entry):
        return UndoOutcome(
            "kept",
            f"{target} is now {now!r}: another program changed it (it was {old!r}, hostdx set {entry.value!r})",
        )
    if journal is not None:
        journal.record_undoing(entry.id)
    try:
        text, texts = attribute.write_attribute(target, old, keep, tuple(entry.saved))
    except AttributeTrouble as why:
        return _failed_outcome(f"{target}: {old!r} was not accepted: {why.strerror}", why)
    if selected_word(text) != old:
        return UndoOutcome("failed", f"{target} is {selected_word(text)!r} after {old!r} was written")
    if journal is not None:
        journal.record_back(entry.id, _only_texts(texts))
    return _write_values_set_along(entry, entry.saved, keep)


def _is_half_written(now: str, entry: JournalEntry) -> bool:
    """A nice value is written thread by thread: a writer of ours that was killed leaves old and new ones, `0,5`."""
    values = set(now.split(","))
    return entry.action.target.startswith("nice:") and values <= {entry.old or "", entry.value, entry.became}


def _put_back_along(entry: JournalEntry, now: AttributeTexts, keep: tuple[int, ...]) -> UndoOutcome:
    """The target is as it was: never switched, switched back by us before we died, or set by somebody else.

    A side value is ours to put back where a write of ours left it as it is now, or may have: between
    `record_undoing` and
    `record_back` nobody could write down what the kernel made of it, nor while the side values were being put back.
    """
    if entry.old == entry.value:
        return UNDONE
    all_ours = entry.undoing and (not entry.back or _is_half_put_back(entry, now))
    others = [
        path
        for path, text in entry.saved.items()
        if not all_ours
        and not _is_same_text(now[path], text)
        and not _is_same_text(now[path], entry.left.get(path))
    ]
    # those that are right as well: writing one may set another along
    outcome = _write_values_set_along(entry, [path for path in entry.saved if path not in others], keep)
    if outcome.state == "failed" or not others:
        return outcome
    side_texts = [
        f"{path} is now {_text_or_error(now[path])} (it was {entry.saved[path]!r})" for path in others
    ]
    return UndoOutcome("kept", f"{'; '.join(side_texts)}: another program set {entry.action.target} and this")


def _is_half_put_back(entry: JournalEntry, now: AttributeTexts) -> bool:
    """A writer of ours was killed among the side values: one is back that the switch had left otherwise, and one of
    them sets another along (nr_requests async_depth). A writer that hung goes on to its end, and leaves no half."""
    return not entry.writers and any(
        path in entry.left and not _is_same_text(entry.left[path], text) and _is_same_text(now[path], text)
        for path, text in entry.saved.items()
    )


def _write_values_set_along(entry: JournalEntry, paths: Iterable[str], keep: tuple[int, ...]) -> UndoOutcome:
    """In the order declared: `nr_requests` before tunables that depend on it, if the scenario says so."""
    wanted = {path: entry.saved[path] for path in paths}
    there = attribute.write_until_settled(wanted, keep)
    troubles: list[str] = []
    for path, text in wanted.items():
        now = there[path]
        if isinstance(now, str):
            if not _is_same_text(now, text):
                troubles.append(f"{path} is {now!r} after {text!r} was written")
        elif now.errno == errno.ETIMEDOUT:  # one child for all of them
            return _failed_outcome(f"{path}: {now.strerror}", now)
        elif now.errno not in (errno.ENODEV, errno.ENXIO):
            troubles.append(f"{path}: {text!r} was not accepted: {now.strerror}")
    return UndoOutcome("failed", "; ".join(troubles)) if troubles else UNDONE


def _failed_outcome(text: str, why: AttributeTrouble) -> UndoOutcome:
    return UndoOutcome("failed", text, why.errno == errno.ETIMEDOUT, why.writer)


def _is_same_text(now: str | AttributeTrouble, text: str | None) -> bool:
    return isinstance(now, str) and text is not None and selected_word(now) == selected_word(text)


def _only_texts(texts: AttributeTexts) -> dict[str, str]:
    return {path: text for path, text in texts.items() if isinstance(text, str)}


def _text_or_error(now: str | AttributeTrouble) -> str:
    return repr(now) if isinstance(now, str) else str(now.strerror)
