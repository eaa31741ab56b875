"""A plan as lines: what it asks, reads, writes and changes, how long it takes, what it needs."""

from collections.abc import Sequence

from rich.cells import cell_len

from app.report.plan_text import NAME, WARNED, PlanRow, change_rows, plan_rows
from app.terminal.glyphs import clean_text
from app.terminal.lines import BLANK, Line, pad_line, text_line, wrap_text
from app.tui.widgets.word_list import word_lines
from scenarios.contract.action import Action
from scenarios.contract.events import ScenarioOffer
from scenarios.contract.plan import Option, Plan


def change_lines(action: Action, width: int) -> list[Line]:
    """An action with its exact old and new value, how it is undone, and its risk."""
    rows = (wrap_text(row.words, width, row.role, row.indent, 2) for row in change_rows(action))
    return [line for lines in rows for line in lines]


def plan_lines(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = wrap_text(plan.question or plan.title, width, "strong")
    if plan.why:
        out += wrap_text(plan.why, width, "dim")
    out.append(BLANK)
    for row in plan_rows(plan):
        if row.role == "picture":
            out.append([(clean_text(row.words)[:width], "text")])
        elif not row.words:
            out.append(BLANK)
        else:
            out += _named_row_lines(row, width)
    return out


def _named_row_lines(row: PlanRow, width: int) -> list[Line]:
    """The row's words beside its name, folded where they must be: columns stand only in a line that fits."""
    plain_words = clean_text(row.words)
    if row.indent + cell_len(plain_words) <= width - NAME:
        lines: list[Line] = [[(" " * row.indent + plain_words, row.role)]]
    else:
        lines = wrap_text(row.words, width - NAME, row.role, indent=row.indent, hang=2 * bool(row.indent))
    role = "warning" if row.name == WARNED else "dim"
    return [[(f"{row.name if not n else '':<{NAME}}", role), *line] for n, line in enumerate(lines)]


def exact_lines(plan: Plan, width: int) -> list[Line]:
    """The exact steps: every step, load, action and file read."""
    out: list[Line] = [text_line("STEPS", "title")]
    titles = min(width - 16, max([30, *(cell_len(clean_text(step.title)) for step in plan.steps)]))
    for step in plan.steps:
        out.append(
            [
                ("  ", "text"),
                *pad_line(text_line(step.title), titles),
                (f"{step.seconds:6.0f} s" if step.seconds else "", "dim"),
            ]
        )
    out += [BLANK, text_line("LOADS", "title")]
    for load in plan.workloads:
        out += wrap_text(load.title, width, "strong", indent=2, hang=2)
        if load.why:
            out += wrap_text(load.why, width, "dim", indent=4)
        longer = (
            f" or {load.min_operations} operations, whichever takes longer" if load.min_operations else ""
        )
        words = f"blocks of {load.block_s:g} s{longer}; at least {load.min_groups} groups"
        if load.slice_s:
            words = (
                f"slices of {1000 * load.slice_s:g} ms or {load.slice_operations} operations, whichever takes longer, "
                "of all variants in turn"
            )
        out += wrap_text(words, width, "text", indent=4, hang=2)
        if load.equivalent:
            out += wrap_text(load.equivalent, width, "accent", indent=4, hang=2)
    out += [BLANK, text_line("ACTIONS, IN THIS ORDER; UNDONE IN REVERSE", "title")]
    for action in plan.actions:
        out += [[("  ", "text"), *row] for row in change_lines(action, width - 2)]
    if not plan.actions:
        out.append(text_line("  none", "dim"))
    out += [BLANK, text_line("READS", "title")]
    out += [row for path in plan.reads for row in wrap_text(path, width, "dim", indent=2, hang=2)]
    out += [
        BLANK,
        text_line(f"the plan's digest is {plan.digest}: the run refuses if its own plan differs", "dim"),
    ]
    return out


def planning_lines(offer: ScenarioOffer, width: int) -> list[Line]:
    """While the plan is made, a second or two: what it will be about."""
    out = [text_line("planning: reads this host, changes nothing", "dim"), BLANK]
    out += [
        *wrap_text(clean_text(offer.question), width, "strong"),
        *wrap_text(clean_text(offer.answers), width),
        BLANK,
    ]
    out += [*wrap_text(f"needs {clean_text(offer.needs)}", width), BLANK] if offer.needs else []
    out += [text_line("OPTIONS", "title")] if offer.options else []
    longest = max((len(option.name) for option in offer.options), default=0) + 2
    for option in offer.options:
        rows = wrap_text(clean_text(option.help), width - longest, "dim")
        out += [[(f"{'' if n else option.name:<{longest}}", "accent"), *row] for n, row in enumerate(rows)]
    return [*out, BLANK, *word_lines(width)]


def needs_lines(offer: ScenarioOffer, missing: Sequence[Option], width: int) -> list[Line]:
    out = wrap_text(offer.question, width, "strong")
    first = "one thing" if len(missing) == 1 else f"{len(missing)} things"
    out += [BLANK, text_line(f"Before the plan can be made, {first} must be named:")]
    for option in missing:
        out += wrap_text(f"{option.name}: {option.help}", width, "strong", indent=2, hang=2)
    words = "Enter asks for it, O shows every option. Planning changes nothing."
    return [*out, BLANK, *wrap_text(words, width, "dim")]
