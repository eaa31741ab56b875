"""The one way to change the host: carries out an action, and undoes it.

Each kind has three steps: `prepare_entry` reads what is there and chooses exact names (nothing is changed),
`carry_out_entry` does
it, `revert_entry` undoes it and can be repeated: after a crash nobody knows how far the first two came. Only this file
calls what changes anything: `app/undo/kinds/settings.py` for attributes,
`app/undo/kinds/resources.py` for what is made.
"""

import threading
from pathlib import Path

import msgspec

from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.terminal.process import is_living
from hostdx.app.undo.journal import UNDONE, FileSystemId, Journal, JournalEntry, UndoOutcome
from hostdx.app.undo.kinds import resources, settings
from hostdx.app.undo.kinds.command import TIMEOUT_S, ChangingCommandFailed, run_changing_command
from hostdx.app.undo.kinds.file_system_identity import file_system_of
from hostdx.scenarios.contract.action import Action

MAX_OUTPUT_CHARACTERS = 4096  # characters of what a command said


def prepare_entry(action: Action, identifier: str) -> JournalEntry:
    """Return what will be done exactly, with the old values. Changes nothing. Raises ChangeNotMade."""
    value = action.target
    old: str | None = None
    place: FileSystemId | None = None
    saved: dict[str, str] = {}
    if action.kind == "attribute":
        old, saved = settings.read_target_and_side_values(action)
        value = action.new if action.new is not None else ""
    elif action.kind == "resource":
        value = resources.draw_resource_name(action)
        if action.resource == "directory":
            place = file_system_of(Path(value).parent)
    return JournalEntry(id=identifier, action=action, value=value, old=old, saved=saved, place=place)


def carry_out_entry(
    entry: JournalEntry, fds: tuple[int, ...], stop: threading.Event | None = None
) -> JournalEntry:
    """Does it; `fds` are descriptors that children hold while they are at it. Raises ChangeNotMade.

    A command's value is what it said. `stop` breaks off one that nothing could undo anyway: a trim may take minutes.
    """
    action = entry.action
    try:
        if action.kind == "attribute":
            return settings.switch_setting(entry, fds)
        if action.kind == "command":
            timeout_s = float(action.parameters.get("timeout_s", TIMEOUT_S))
            command_output = run_changing_command(
                action.apply, fds=fds, timeout_s=timeout_s, stop=stop if action.irreversible else None
            ).strip()
            return msgspec.structs.replace(
                entry, made=True, value=command_output[:MAX_OUTPUT_CHARACTERS] or entry.value
            )
        return msgspec.structs.replace(entry, made=True, inode=resources.create_resource(entry, fds))
    except ChangingCommandFailed as why:
        raise ChangeNotMade(str(why), why.writer) from None
    except OSError as why:
        raise ChangeNotMade(f"{action.title}: {entry.value}: {why.strerror or why}") from None


def revert_entry(
    entry: JournalEntry, fds: tuple[int, ...] = (), journal: Journal | None = None
) -> UndoOutcome:
    """Undoes it as far as it was done. Never raises. `journal` is told between its steps."""
    hanging = [str(writer.pid) for writer in entry.writers if is_living(writer)]
    subject = entry.action.target if entry.action.kind == "attribute" else entry.value
    if hanging:  # whatever is read or written now, that one may still write after it
        return UndoOutcome(
            "failed",
            f"{subject}: a change of it still hangs (pid {', '.join(hanging)}) on a stuck device",
            stuck=True,
        )
    try:
        if entry.action.kind == "attribute":
            return settings.put_back_setting(entry, fds, journal)
        if entry.action.kind == "command":
            return _run_undo_command(entry, fds)
        return resources.remove_resource(entry, fds)
    except ChangingCommandFailed as why:
        return UndoOutcome("failed", str(why), why.writer is not None, why.writer)
    except OSError as why:
        return UndoOutcome("failed", f"{entry.value}: {why.strerror or why}")
    except Exception as why:  # a mistake of ours with one entry must not keep the others from being undone
        return UndoOutcome("failed", f"{entry.value}: {type(why).__name__}: {why}")


def survives_reboot(action: Action) -> bool:
    """Directories do; sysfs and procfs values and namespaces do not."""
    if action.kind == "resource":
        return action.resource in ("directory", "file")
    return action.kind == "command" and action.survives_reboot


def _run_undo_command(entry: JournalEntry, keep: tuple[int, ...]) -> UndoOutcome:
    if not entry.action.undo:
        return UndoOutcome(
            "kept",
            "it cannot be undone, as the plan said" if entry.action.irreversible else "needs no undoing",
        )
    try:
        run_changing_command(entry.action.undo, fds=keep)
    except ChangingCommandFailed as why:
        if entry.made:
            raise
        return UndoOutcome("reverted", f"was not carried out, or undone already ({why})")
    return UNDONE


__all__ = ["UNDONE", "ChangeNotMade", "carry_out_entry", "prepare_entry", "revert_entry", "survives_reboot"]
