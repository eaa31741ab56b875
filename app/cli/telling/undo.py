"""`hostdx undo`: what a killed run, or a power cut, left behind."""

import os
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from app.cli.look import with_colour
from app.failure import Failure
from app.output import complain, out, out_parts
from app.printable import printable
from app.report.json_document import encoded
from app.run import consent
from app.run.signals import finish_first
from app.state import journal_dir
from app.undo import killed_ending
from app.undo import undo as undoing
from app.undo.change_report import ChangeReport, UndoneChange
from app.undo.damaged_journal import discard, legible
from app.undo.journal import Busy, journals
from scenarios.events import SCHEMA

_ROLES = {"open": "warning", "reverted": "ok", "kept": "warning"}


@with_colour
@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be undone; change nothing.")
@click.option("--forget", metavar="RUN", help="Forget a run's changes (or one: RUN#N) without undoing them.")
@click.option("--yes", is_flag=True, help="Do not ask before --forget.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def undo(dry_run: bool, forget: str | None, yes: bool, as_json: bool) -> int:
    """Undo what a killed run left behind, by its journal, last change first.

    Refuses while the run is under way. A value that somebody else changed meanwhile is left alone and reported.
    """
    if forget is not None:
        return _forget(forget, yes=yes, dry_run=dry_run)
    found, troubles = undoing.leftovers()
    for trouble in troubles:
        complain(trouble)
    failed = bool(troubles)
    told: list[UndoneChange] = []
    for leftover in found:
        if not leftover.entries:
            if not dry_run:
                undoing.sweep(leftover)
        elif leftover.header.kept:
            told += _said(undoing.foreseen(leftover), as_json=as_json)
        elif leftover.living:
            failed = True
            who = leftover.header.who.pid
            complain(f"undo: {leftover.header.run}: is under way (pid {who}); stop it with `hostdx stop`")
        elif dry_run:
            told += _said(undoing.foreseen(leftover), as_json=as_json)
        else:
            with finish_first():
                try:
                    told += _said(_undone(leftover), as_json=as_json)
                except Failure as why:  # one that cannot be undone now does not keep the others
                    complain(why.text)
                    failed = True
    failed = failed or any(change.state == "failed" for change in told)
    if as_json:
        out(encoded(msgspec.to_builtins(ChangeReport(schema=SCHEMA, changes=tuple(told)))))
    elif not told and not failed:
        out(printable(f"nothing to undo in {journal_dir()}{_elsewhere()}"))
    return 3 if failed else 0


def _said(changes: list[UndoneChange], *, as_json: bool) -> list[UndoneChange]:
    """A line each as they come, but of those that failed: stderr has them."""
    for change in changes:
        if change.state != "failed" and not as_json:
            out_parts([(change.line, _ROLES.get(change.state, ""))])
    return changes


def _forget(identifier: str, *, yes: bool, dry_run: bool) -> int:
    """For what cannot be undone any more, or is not to be: shown first, then only with consent."""
    found, _ = undoing.leftovers()
    run = identifier.partition("#")[0]
    if (path := _damaged(run, found)) is not None:
        return _discard(path, yes=yes, dry_run=dry_run)
    leftover = next((one for one in found if one.header.run == run and one.entries), None)
    entries = [e for e in leftover.entries if identifier in (run, e.id)] if leftover is not None else []
    if leftover is None or not entries:
        known = ", ".join(one.header.run for one in found if one.entries) or "none"
        raise Failure(
            printable(f"undo: {identifier}: no such run has anything to undo; those that have: {known}")
        )
    if leftover.living:
        raise Failure(
            printable(f"undo: {run}: is under way (pid {leftover.header.who.pid}); nothing was forgotten")
        )
    for entry in reversed(entries):
        out(printable(f"{entry.id}: {entry.action.title}: {entry.value}: would stay as it is now"))
    if dry_run:
        return 0
    _confirmed("forget these changes? they are not undone", "forgotten", yes=yes)
    with finish_first():
        try:
            journal = undoing.take(leftover.path, undoing.PATIENCE_S)
        except Busy:
            raise Failure(f"undo: {run}: {_hanging(leftover)}") from None
        if journal is not None:
            done = undoing.forget(journal, identifier)
            journal.close()
            with suppress(OSError):
                killed_ending.write(journal.header, done)
    return 0


def _damaged(run: str, found: list[undoing.Leftover]) -> Path | None:
    """The journal of that run where it cannot be read."""
    legible = {one.path for one in found}
    return next((path for path in journals(journal_dir()) if path.stem == run and path not in legible), None)


def _discard(path: Path, *, yes: bool, dry_run: bool) -> int:
    """The whole of a damaged journal: what of it can be read is shown, and nothing is undone by it."""
    out(printable(f"{path}: is damaged; its readable entries:"))
    for entry in legible(path):
        out(
            printable(
                f"{entry.id}: {entry.action.title}: {entry.value}, was {entry.old}: would stay as it is now"
            )
        )
    if dry_run:
        return 0
    _confirmed("remove the journal? what the run changed is not undone", "removed", yes=yes)
    with finish_first():
        try:
            discard(path)
        except Busy:
            raise Failure(
                printable(f"undo: {path.stem}: another hostdx is using it; nothing was removed")
            ) from None
    return 0


def _confirmed(question: str, what: str, *, yes: bool) -> None:
    if not yes and not consent.agreed(f"{question} [y/N] "):
        raise Failure(f"not confirmed, so nothing was {what}; confirm it on a terminal, or add --yes")


def _hanging(leftover: undoing.Leftover) -> str:
    pids = ", ".join(map(str, undoing.hanging(leftover.path)))
    if not pids:
        return "its supervisor is undoing it; try again in a moment"
    return (
        f"a change of it hangs on a stuck device (pid {pids}, see dmesg); its supervisor undoes it as soon as the "
        "device answers, else `hostdx undo` does"
    )


def _elsewhere() -> str:
    """Another user's journal is not looked at; root's is the one that settings of this host are in."""
    if os.geteuid() == 0:
        return ""
    return " (root's changes are in /var/lib/hostdx: `sudo hostdx undo`)"


def _undone(leftover: undoing.Leftover) -> list[UndoneChange]:
    try:
        done = killed_ending.undone(leftover.path)
    except Busy:
        raise Failure(f"undo: {leftover.header.run}: {_hanging(leftover)}") from None
    told = [one.told for one in done]
    for change in told:
        if change.state == "failed":
            complain(f"undo: {change.line}; it stays in {leftover.path}")
    return told
