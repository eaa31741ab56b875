"""Resources: what an action makes (a directory, namespaces held by a process, a control group), and removing it.

What is removed is checked to be ours first: by name, owner and inode, or by the process's own arguments.
"""

import secrets

from hostdx.app.terminal.failure import NotDone
from hostdx.app.undo.journal import JournalEntry, UndoOutcome
from hostdx.app.undo.kinds import own_files, own_groups, text_file
from hostdx.app.undo.kinds.namespace_holders import end_holders
from hostdx.app.undo.kinds.own_files import MARK
from hostdx.probes.files.private_directory import Inode
from hostdx.scenarios.contract.action import Action


def exact_name(action: Action) -> str:
    """The exact name: `*` becomes random letters. It carries our mark, so that undoing can tell ours from others'."""
    # Only in a name of ours: the folders above it are the user's, and may hold a `*` themselves.
    *above, last = action.target.split("/")
    drawn = secrets.token_hex(6)
    marked_parts = [part.replace("*", drawn) if part.startswith(MARK) else part for part in above]
    name = "/".join((*marked_parts, last.replace("*", drawn)))
    if action.resource == "file":
        return text_file.check_target(action)
    if action.resource == "cgroup":
        if not last.startswith(own_groups.MARK):
            raise NotDone(f"{action.title}: {name}: its name does not carry hostdx's mark")
        return name
    directory = action.resource == "directory"
    if not (last.startswith(MARK) if directory else name.startswith("hostdx") and "/" not in name):
        raise NotDone(f"{action.title}: {name}: its name does not carry hostdx's mark")
    return name


def create_resource(entry: JournalEntry, keep: tuple[int, ...]) -> Inode | None:
    """Return which directory it is; namespaces are made by the process that will hold them and carries their name."""
    if entry.action.resource == "cgroup":
        own_groups.make_group(entry.value, entry.action.parameters)
    if entry.action.resource == "file":
        text_file.make_file(entry.value, entry.action.new or "")
    return own_files.make_directory(entry.value, keep=keep) if entry.action.resource == "directory" else None


def remove_resource(entry: JournalEntry, keep: tuple[int, ...]) -> UndoOutcome:
    if entry.action.resource == "file":
        return text_file.remove_file(entry.value, entry.action.new or "")
    if entry.action.resource == "directory":
        return own_files.remove_directory(entry.value, entry.place, entry.inode, keep=keep)
    return (
        own_groups.remove_group(entry.value)
        if entry.action.resource == "cgroup"
        else end_holders(entry.value)
    )
