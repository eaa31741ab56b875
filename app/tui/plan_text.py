"""A plan as lines: what it asks, reads, writes and changes, how long it takes, what it needs."""

from collections.abc import Sequence

from rich.cells import cell_len

from app.glyphs import clean
from app.lines import BLANK, Line, pad, text, wrapped
from app.report.plan_text import NAME, WARNED, PlanRow, change_rows, plan_rows
from app.tui.widgets.word_list import word_lines
from probes.action import Action
from scenarios.events import ScenarioOffer
from scenarios.plan import Option, Plan


def change_lines(action: Action, width: int) -> list[Line]:
    """An action with its exact old and new value, how it is undone, and its risk."""
    rows = (wrapped(row.words, width, row.role, row.indent, 2) for row in change_rows(action))
    return [line for lines in rows for line in lines]


def plan_lines(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = wrapped(plan.question or plan.title, width, "strong")
    if plan.why:
        out += wrapped(plan.why, width, "dim")
    out.append(BLANK)
    for row in plan_rows(plan):
        if row.role == "picture":
            out.append([(clean(row.words)[:width], "text")])
        elif not row.words:
            out.append(BLANK)
        else:
            out += _named(row, width)
    return out


def _named(row: PlanRow, width: int) -> list[Line]:
    """The row's words beside its name, folded where they must be: columns stand only in a line that fits."""
    whole = clean(row.words)
    if row.indent + cell_len(whole) <= width - NAME:
        lines: list[Line] = [[(" " * row.indent + whole, row.role)]]
    else:
        lines = wrapped(row.words, width - NAME, row.role, indent=row.indent, hang=2 * bool(row.indent))
    role = "warning" if row.name == WARNED else "dim"
    return [[(f"{row.name if not n else '':<{NAME}}", role), *line] for n, line in enumerate(lines)]


def exact_lines(plan: Plan, width: int) -> list[Line]:
    """The exact steps: every step, load, action and file read."""
    out: list[Line] = [text("STEPS", "title")]
    titles = min(width - 16, max([30, *(cell_len(clean(step.title)) for step in plan.steps)]))
    for step in plan.steps:
        out.append(
            [
                ("  ", "text"),
                *pad(text(step.title), titles),
                (f"{step.seconds:6.0f} s" if step.seconds else "", "dim"),
            ]
        )
    out += [BLANK, text("LOADS", "title")]
    for load in plan.workloads:
        out += wrapped(load.title, width, "strong", indent=2, hang=2)
        if load.why:
            out += wrapped(load.why, width, "dim", indent=4)
        longer = (
            f" or {load.min_operations} operations, whichever takes longer" if load.min_operations else ""
        )
        words = f"blocks of {load.block_s:g} s{longer}; at least {load.min_groups} groups"
        if load.slice_s:
            words = (
                f"slices of {1000 * load.slice_s:g} ms or {load.slice_operations} operations, whichever takes longer, "
                "of all variants in turn"
            )
        out += wrapped(words, width, "text", indent=4, hang=2)
        if load.equivalent:
            out += wrapped(load.equivalent, width, "accent", indent=4, hang=2)
    out += [BLANK, text("ACTIONS, IN THIS ORDER; UNDONE IN REVERSE", "title")]
    for action in plan.actions:
        out += [[("  ", "text"), *row] for row in change_lines(action, width - 2)]
    if not plan.actions:
        out.append(text("  none", "dim"))
    out += [BLANK, text("READS", "title")]
    out += [row for path in plan.reads for row in wrapped(path, width, "dim", indent=2, hang=2)]
    out += [
        BLANK,
        text(f"the plan's digest is {plan.digest}: the run refuses if its own plan differs", "dim"),
    ]
    return out


def planning_lines(offer: ScenarioOffer, width: int) -> list[Line]:
    """While the plan is made, a second or two: what it will be about."""
    out = [text("planning: reads this host, changes nothing", "dim"), BLANK]
    out += [*wrapped(clean(offer.question), width, "strong"), *wrapped(clean(offer.answers), width), BLANK]
    out += [*wrapped(f"needs {clean(offer.needs)}", width), BLANK] if offer.needs else []
    out += [text("OPTIONS", "title")] if offer.options else []
    longest = max((len(option.name) for option in offer.options), default=0) + 2
    for option in offer.options:
        rows = wrapped(clean(option.help), width - longest, "dim")
        out += [[(f"{'' if n else option.name:<{longest}}", "accent"), *row] for n, row in enumerate(rows)]
    return [*out, BLANK, *word_lines(width)]


def needs_lines(offer: ScenarioOffer, missing: Sequence[Option], width: int) -> list[Line]:
    out = wrapped(offer.question, width, "strong")
    first = "one thing" if len(missing) == 1 else f"{len(missing)} things"
    out += [BLANK, text(f"Before the plan can be made, {first} must be named:")]
    for option in missing:
        out += wrapped(f"{option.name}: {option.help}", width, "strong", indent=2, hang=2)
    words = "Enter asks for it, O shows every option. Planning changes nothing."
    return [*out, BLANK, *wrapped(words, width, "dim")]
