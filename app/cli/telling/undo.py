"""`hostdx undo`: what a killed run, or a power cut, left behind."""

import os
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from hostdx.app.cli.look import add_color_option
from hostdx.app.report.json_document import to_json_text
from hostdx.app.run import consent
from hostdx.app.run.signals import hold_back_signals
from hostdx.app.state import journal_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output import print_line, print_parts, print_problem, print_result
from hostdx.app.undo import killed_ending
from hostdx.app.undo import undo as undoing
from hostdx.app.undo.change_report import ChangeReport, UndoneChange
from hostdx.app.undo.journal import JournalLocked, discard_journal, list_journals, read_legible_entries
from hostdx.scenarios.contract.events import SCHEMA

_ROLES = {"open": "warning", "reverted": "ok", "kept": "warning"}


@add_color_option
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
        return _show_and_forget_changes(forget, yes=yes, dry_run=dry_run)
    leftovers, troubles = undoing.find_leftovers()
    for trouble in troubles:
        print_problem(trouble)
    failed = bool(troubles)
    changes: list[UndoneChange] = []
    for leftover in leftovers:
        if not leftover.entries:
            if not dry_run:
                undoing.remove_empty_journal(leftover)
        elif leftover.header.kept:
            changes += _print_undone_changes(undoing.preview_undo(leftover), as_json=as_json)
        elif leftover.living:
            failed = True
            pid = leftover.header.who.pid
            print_problem(
                f"undo: {leftover.header.run}: is under way (pid {pid}); stop it with `hostdx stop`"
            )
        elif dry_run:
            changes += _print_undone_changes(undoing.preview_undo(leftover), as_json=as_json)
        else:
            with hold_back_signals():
                try:
                    changes += _print_undone_changes(_undo_and_print_failures(leftover), as_json=as_json)
                except Failure as why:  # one that cannot be undone now does not keep the others
                    print_problem(why.text)
                    failed = True
    failed = failed or any(change.state == "failed" for change in changes)
    if as_json:
        print_result(to_json_text(msgspec.to_builtins(ChangeReport(schema=SCHEMA, changes=tuple(changes)))))
    elif not changes and not failed:
        print_line(f"nothing to undo in {journal_dir()}{_roots_journals_hint()}")
    return 3 if failed else 0


def _print_undone_changes(changes: list[UndoneChange], *, as_json: bool) -> list[UndoneChange]:
    """A line each as they come, but of those that failed: stderr has them."""
    for change in changes:
        if change.state != "failed" and not as_json:
            print_parts([(change.change_line, _ROLES.get(change.state, ""))])
    return changes


def _show_and_forget_changes(identifier: str, *, yes: bool, dry_run: bool) -> int:
    """For what cannot be undone any more, or is not to be: shown first, then only with consent."""
    leftovers, _ = undoing.find_leftovers()
    run = identifier.partition("#")[0]
    if (path := _damaged_journal(run, leftovers)) is not None:
        return _show_and_discard_journal(path, yes=yes, dry_run=dry_run)
    leftover = next(
        (candidate for candidate in leftovers if candidate.header.run == run and candidate.entries), None
    )
    entries = [e for e in leftover.entries if identifier in (run, e.id)] if leftover is not None else []
    if leftover is None or not entries:
        run_names = ", ".join(candidate.header.run for candidate in leftovers if candidate.entries) or "none"
        raise Failure(f"undo: {identifier}: no such run has anything to undo; those that have: {run_names}")
    if leftover.living:
        raise Failure(f"undo: {run}: is under way (pid {leftover.header.who.pid}); nothing was forgotten")
    for entry in reversed(entries):
        print_line(f"{entry.id}: {entry.action.title}: {entry.value}: would stay as it is now")
    if dry_run:
        return 0
    _require_confirmation("forget these changes? they are not undone", "forgotten", yes=yes)
    with hold_back_signals():
        try:
            journal = undoing.lock_journal(leftover.path, undoing.PATIENCE_S)
        except JournalLocked:
            raise Failure(f"undo: {run}: {_still_locked_text(leftover)}") from None
        if journal is not None:
            done = undoing.forget_entries(journal, identifier)
            journal.close()
            with suppress(OSError):
                killed_ending.write_ending(journal.header, done)
    return 0


def _damaged_journal(run: str, leftovers: list[undoing.Leftover]) -> Path | None:
    """The journal of that run where it cannot be read."""
    legible = {leftover.path for leftover in leftovers}
    return next(
        (path for path in list_journals(journal_dir()) if path.stem == run and path not in legible), None
    )


def _show_and_discard_journal(path: Path, *, yes: bool, dry_run: bool) -> int:
    """The whole of a damaged journal: what of it can be read is shown, and nothing is undone by it."""
    print_line(f"{path}: is damaged; its readable entries:")
    for entry in read_legible_entries(path):
        print_line(
            f"{entry.id}: {entry.action.title}: {entry.value}, was {entry.old}: would stay as it is now"
        )
    if dry_run:
        return 0
    _require_confirmation("remove the journal? what the run changed is not undone", "removed", yes=yes)
    with hold_back_signals():
        try:
            discard_journal(path)
        except JournalLocked:
            raise Failure(f"undo: {path.stem}: another hostdx is using it; nothing was removed") from None
    return 0


def _require_confirmation(question: str, outcome: str, *, yes: bool) -> None:
    if not yes and not consent.ask_yes_no(f"{question} [y/N] "):
        raise Failure(f"not confirmed, so nothing was {outcome}; confirm it on a terminal, or add --yes")


def _still_locked_text(leftover: undoing.Leftover) -> str:
    pids = ", ".join(map(str, undoing.hanging_child_pids(leftover.path)))
    if not pids:
        return "its supervisor is undoing it; try again in a moment"
    return (
        f"a change of it hangs on a stuck device (pid {pids}, see dmesg); its supervisor undoes it as soon as the "
        "device answers, else `hostdx undo` does"
    )


def _roots_journals_hint() -> str:
    """Another user's journal is not looked at; root's is the one that settings of this host are in."""
    if os.geteuid() == 0:
        return ""
    return " (root's changes are in /var/lib/hostdx: `sudo hostdx undo`)"


def _undo_and_print_failures(leftover: undoing.Leftover) -> list[UndoneChange]:
    try:
        done = killed_ending.undo_killed_run(leftover.path)
    except JournalLocked:
        raise Failure(f"undo: {leftover.header.run}: {_still_locked_text(leftover)}") from None
    changes = [undone.change_report for undone in done]
    for change in changes:
        if change.state == "failed":
            print_problem(f"undo: {change.change_line}; it stays in {leftover.path}")
    return changes
