"""`hostdx undo`: what a killed run, or a power cut, left behind."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from app import epilogue
from app import undo as undoing
from app.failure import Failure
from app.output import complain, out
from app.printable import printable
from app.state import journal_dir
from app.stops import finish_first


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be undone; change nothing.")
def undo(dry_run: bool) -> int:
    """Undo what a killed run left behind, by its journal, last change first.

    Refuses while the run is under way. A value that somebody else changed meanwhile is left alone and reported.
    """
    found, troubles = undoing.leftovers()
    for trouble in troubles:
        complain(trouble)
    failed = bool(troubles)
    nothing = True
    for leftover in found:
        if leftover.living:
            if leftover.entries:
                nothing = False
                failed = True
                who = leftover.header.who.pid
                complain(
                    f"undo: {leftover.header.run}: is under way (pid {who}); stop it with `kill -INT {who}`"
                )
        elif dry_run:
            for entry, what in undoing.foreseen(leftover):
                nothing = False
                out(printable(f"{entry.action.title}: would {what}"))
        else:
            with finish_first():
                try:
                    done = _undone(leftover)
                except Failure as why:  # one that cannot be undone now does not keep the others
                    complain(why.text)
                    failed = True
                    continue
            nothing = nothing and not done
            failed = failed or any(one.outcome.state == "failed" for one in done)
    if nothing and not failed:
        out(printable(f"nothing to undo in {journal_dir()}{_elsewhere()}"))
    return 3 if failed else 0


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


def _undone(leftover: undoing.Leftover) -> list[undoing.Undone]:
    try:
        journal = undoing.take(leftover.path, undoing.PATIENCE_S)
    except undoing.Busy:
        raise Failure(f"undo: {leftover.header.run}: {_hanging(leftover)}") from None
    if journal is None:
        return []
    done = undoing.undo_entries(journal)
    journal.close()
    with suppress(OSError):
        epilogue.write(journal.header, done)
    for one in done:
        reason = f": {one.outcome.reason}" if one.outcome.reason else ""
        line = f"{one.entry.action.title}: {one.outcome.state}{reason}"
        if one.outcome.state == "failed":
            complain(f"undo: {line}; it stays in {leftover.path}")
        else:
            out(printable(line))
    return done
