"""Whether a person agreed to the plan: `--yes`, a question on the terminal, or the digest of the plan shown."""

import sys

from hostdx.app.report import plan_text
from hostdx.app.terminal import output
from hostdx.app.terminal.failure import Failure
from hostdx.app.undo import killed_ending, undo
from hostdx.app.undo.journal import JournalLocked
from hostdx.scenarios.contract.plan import Plan


def ask_consent_for_plan(plan: Plan, *, yes: bool, digest: str, show_command: str = "") -> bool:
    """True where the plan's changes may be made. `show_command`: what shows the plan of what is no scenario.

    Raises Failure where they may not be made.
    """
    if digest:
        if digest != plan.digest:
            raise Failure(
                f"agreed to plan {digest[:40]}, but the plan is now {plan.digest}: "
                f"something changed since it was shown; look at `hostdx plan {plan.scenario}` again"
            )
        return True
    if yes or not plan.needs_consent:
        return yes or not plan.needs_consent
    if not _can_ask_at_terminal():
        risks = (action.risk for action in plan.actions if action.exposed)
        effect_text = "changes settings of this host" if any(a.consent for a in plan.actions) else next(risks)
        raise Failure(
            f"{effect_text}, and there is no terminal to ask on; "
            f"see `{show_command or f'hostdx plan {plan.scenario}'}`, then add --yes"
            + ("" if show_command else f" or --consent {plan.digest}")
        )
    for line in plan_text.plan_lines(plan):
        output.print_note("".join(words for words, _ in line).rstrip())
    if not _ask_yes_no_on_stderr("go ahead? [y/N] "):
        raise Failure("not confirmed, so nothing was changed")
    return True


def offer_undo_of_leftover(heading: str, leftover: undo.Leftover) -> bool:
    """Asks whether a killed run's changes are to be undone now; True when they are."""
    if not _can_ask_at_terminal():
        return False
    output.print_note(f"{heading}:")
    for change in undo.preview_undo(leftover):
        output.print_note(f"  {change.title}: {change.would}")
    if not _ask_yes_no_on_stderr("undo them now? [y/N] "):
        return False
    try:
        done = killed_ending.undo_killed_run(leftover.path)
    except JournalLocked:
        return False
    return all(undone_entry.outcome.state != "failed" for undone_entry in done)


def ask_yes_no(question: str) -> bool:
    """Asked on the terminal; False where there is none."""
    return _can_ask_at_terminal() and _ask_yes_no_on_stderr(question)


def _can_ask_at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def _ask_yes_no_on_stderr(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
