"""A plan as lines, and as panels where the screen has room: what it asks, reads, writes, changes and costs."""

from collections.abc import Mapping, Sequence, Set

from rich.cells import cell_len

from hostdx.app.report.plan_text import (
    NAME,
    WARNED,
    PlanRow,
    change_rows,
    differences_text,
    plan_rows,
    variant_column_lines,
    written_text,
)
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    cell_width,
    crop_line,
    fit_line,
    frame_rows,
    split_line,
    text_line,
    wrap_keys,
    wrap_text,
)
from hostdx.app.tui.widgets.measuring.run_bar import step_lines
from hostdx.app.tui.widgets.measuring.variants import ROLES
from hostdx.app.tui.widgets.word_list import word_lines
from hostdx.probes import units
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.card import card_with_role
from hostdx.scenarios.contract.events import ScenarioOffer
from hostdx.scenarios.contract.plan import Option, Plan, Workload
from hostdx.scenarios.experiment.wording import mark_if_control


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
    return _lines_beside_name(row.name, NAME, lines, role)


def _lines_beside_name(name: str, cells: int, lines: Sequence[Line], role: str = "dim") -> list[Line]:
    return [[(f"{'' if n else name:<{cells}}", role), *line] for n, line in enumerate(lines)]


def whole_plan_lines(plan: Plan, width: int) -> list[Line]:
    """The exact steps: every step, load, action and file read."""
    out: list[Line] = [text_line("STEPS", "title")]
    out += [[("  ", "text"), *line] for line in step_lines(plan, min(width, MAX_STEP_CELLS) - 2)]
    out += [BLANK, text_line("LOADS", "title")] if plan.workloads else []
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
    out += [BLANK, text_line("READS", "title")] if plan.reads else []
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
        *wrap_text(offer.question, width, "strong"),
        *wrap_text(offer.answers, width),
        BLANK,
    ]
    out += [*wrap_text(f"needs {clean_text(offer.needs)}", width), BLANK] if offer.needs else []
    out += [text_line("OPTIONS", "title")] if offer.options else []
    longest = max((len(option.name) for option in offer.options), default=0) + 2
    for option in offer.options:
        out += _lines_beside_name(
            option.name, longest, wrap_text(option.help, width - longest, "dim"), "accent"
        )
    return [*out, BLANK, *word_lines(width)] if offer.card.compares else out


def missing_option_lines(offer: ScenarioOffer, missing: Sequence[Option], width: int) -> list[Line]:
    out = wrap_text(offer.question, width, "strong")
    first = "one thing" if len(missing) == 1 else f"{len(missing)} things"
    out += [BLANK, text_line(f"Before the plan can be made, {first} must be named:")]
    for option in missing:
        out += wrap_text(f"{option.name}: {option.help}", width, "strong", indent=2, hang=2)
    words = "[Enter] asks for it; [O] shows every option. Planning changes nothing."
    return [*out, BLANK, *wrap_keys(words, width)]


MAX_STEP_CELLS = 62  # a time farther from its step is read beside another one
LEFT = 58  # per cent of the width for what is compared
MAX_FREE_ROWS = 4  # rows that may be left free
BAR = 24  # cells of the longest load's time


def panel_lines(
    plan: Plan,
    width: int,
    height: int,
    warned: list[str],
    command: str,
    detects: Mapping[str, float],
    able: Set[str],
) -> list[Line]:
    """`warned` stands before all that is to know; the loads have what is left of `height`. `detects`: by load, the
    smallest effect that this host's last run for that could have shown; `able`: the actions that this plan has."""
    inner = width - 4
    asked = wrap_text(plan.question or plan.title, inner, "strong")
    asked += wrap_text(plan.why, inner) if plan.why else []
    out = frame_rows("QUESTION", asked, width)
    left = width * LEFT // 100
    compared, costs = _compared_lines(plan, left - 4), _time_and_write_lines(plan, width - left - 4)
    name, has_comparison = ("COMPARES" if len(plan.variants) > 1 else "MEASURES"), bool(compared)
    if not has_comparison:
        name, compared = "STEPS", step_lines(plan, left - 4)
    cost_title, cost_key, cost_role = (
        text_line("TIME AND WRITES", "title"),
        _key_if_offered("b", "budget", able),
        "rule",
    )
    if plan.refusal:  # no cost matters then
        costs = wrap_text(f"✗ {clean_text(plan.refusal)}", width - left - 4, "critical", hang=2)
        cost_title, cost_key, cost_role = text_line("CANNOT RUN HERE", "critical"), [], "critical"
    high = max(len(compared), len(costs)) + 2
    both = (
        frame_rows(name, compared, left, high, note=_key_if_offered("d", "directories", able)),
        frame_rows(cost_title, costs, width - left, high, note=cost_key, role=cost_role),
    )
    out += [[*left_line, *other] for left_line, other in zip(*both, strict=True)]
    if plan.picture:
        drawn = [crop_line(text_line(row), inner) for row in plan.picture]
        out += frame_rows("THIS HOST", drawn, width)
    before = _preparation_lines(plan, inner, warned)
    last = wrap_text(command, inner, "accent", hang=2)
    used_rows = len(out) + len(before) + len(last) + 4
    if plan.workloads:
        rows = _load_lines(plan, inner, height - used_rows - 2, detects)
        has_resolution = any(load.id in detects for load in plan.workloads)
        form = shared_load_words(plan)
        same: Line = [(f"each: {form}   ", "dim")] if form else []
        source: Line = [(f"±: {last_resolution_words()}   ", "dim")] if has_resolution else []
        out += frame_rows(
            "WHAT IS MEASURED, IN THIS ORDER",
            rows,
            width,
            note=[*same, *source, *_key_if_offered("x", "exact steps")],
        )
    free = max(0, height - len(out) - len(last) - 2)
    steps = step_lines(plan, inner) if has_comparison else []
    if steps and free >= len(before) + len(steps) + 4:
        out += frame_rows("STEPS", steps, width)
    free = max(0, height - len(out) - len(last) - 2)
    if has_comparison and free > len(before) + MAX_FREE_ROWS + 2:  # what can be read meanwhile
        before += [BLANK, *word_lines(inner)][: free - len(before) - 2]
    out += frame_rows(
        "BEFORE YOU START", before, width, max(len(before) + 2, free), note=_key_if_offered("e", "explain")
    )
    return out + frame_rows("THE COMMAND", last, width, note=_key_if_offered("c", "copy"))


def _key_if_offered(key: str, words: str, offered_words: Set[str] | None = None) -> Line:
    return [(key, "key"), (f" {words}", "dim")] if offered_words is None or words in offered_words else []


def _compared_lines(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = []
    for number, words in enumerate(variant_column_lines(plan)):
        rows = wrap_text(words, width - 2) if len(words) > width - 2 else [text_line(words)]
        marked: Line = [("● " if not number else "○ ", ROLES[number % len(ROLES)])]
        out += [[*(marked if not n else text_line("  ")), *row] for n, row in enumerate(rows)]
    if plan.differs:
        out += wrap_text(differences_text(plan), width, "warning", hang=2)
    return out + [line for sentence in plan.common for line in wrap_text(sentence, width, "warning", hang=2)]


def _time_and_write_lines(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = []
    if plan.seconds:
        ready = max(0.0, plan.seconds - plan.measuring_s) if plan.measuring_s else 0.0
        room = max(8, width - 10)
        first = round(room * ready / plan.seconds)
        bar: Line = [("▒" * first, "dim"), ("█" * (room - first), "accent")]
        words = f"at most {units.format_duration(plan.measuring_s or plan.seconds)}"
        words += f" of measuring, {units.format_duration(ready)} to prepare" if ready >= 1 else ""
        out += [[("time     ", "dim"), *bar], *wrap_text(words, width, "strong", indent=9)]
    for number, item in enumerate(plan.writes):
        out += _lines_beside_name("" if number else "writes", 9, wrap_text(written_text(item), width - 9))
    if not plan.writes:
        out.append([("writes   ", "dim"), ("nothing", "ok")])
    asks = [action for action in plan.actions if action.needs_consent]
    change = (
        f"▲ {units.count_noun(len(asks), 'time')} a setting, put back each time"
        if asks
        else "no setting of the host"
    )
    out.append([("changes  ", "dim"), (change, "warning" if asks else "ok")])
    if plan.rights:
        out += _lines_beside_name("needs", 9, wrap_text(", ".join(plan.rights), width - 9))
    return out


def last_resolution_words() -> str:
    return f"as the last {card_with_role('resolution').id} run here showed"


def resolution_lines(plan: Plan, detects: Mapping[str, float], width: int) -> list[Line]:
    """Where there are no panels: the same in words."""
    smallest_effects = [
        f"{load.title} ±{units.format_percent(detects[load.id])}"
        for load in plan.workloads
        if load.id in detects
    ]
    words = f"{clean_text('; '.join(smallest_effects))} ({last_resolution_words()})"
    return _lines_beside_name("resolves", NAME, wrap_text(words, width - NAME)) if smallest_effects else []


def _load_lines(plan: Plan, width: int, room: int, detects: Mapping[str, float]) -> list[Line]:
    """A row a load: how it is measured, and how long; where there is room what it stands for and the same with fio."""
    times = {step.id: step.seconds for step in plan.steps}
    longest = max([*times.values(), 1.0])
    names = max(len(mark_if_control(load.title, control=load.control)) for load in plan.workloads)
    names = min(names, width // 3)
    out: list[Line] = []
    reasons = [wrap_text(load.why, width - 4, indent=4) if load.why else [] for load in plan.workloads]
    shows_reasons = sum(map(len, reasons)) + len(plan.workloads) <= room
    for load, why in zip(plan.workloads, reasons, strict=True):
        length, least = ("", "") if shared_load_words(plan) else _piece_and_group_words(plan, load)
        seconds = times.get(load.id, 0.0)
        drawn = "█" * max(1, round(BAR * seconds / longest)) if seconds else ""
        finest = f"±{units.format_percent(detects[load.id])}" if load.id in detects else ""
        head: Line = [
            *fit_line(text_line(mark_if_control(load.title, control=load.control), "strong"), names),
            (f"  {length:<18}{least:<20}", "dim"),
            (f"{finest:<8}", "text"),
        ]
        tail: Line = [(f"{drawn:<{BAR}}", "accent"), (f"{_duration_or_empty(seconds):>12}", "text")]
        out.append(
            split_line(head, tail, width)
            if cell_width(head) + cell_width(tail) < width
            else crop_line(head, width)
        )
        out += why if shows_reasons else []
    return out


def _piece_and_group_words(plan: Plan, load: Workload) -> tuple[str, str]:
    """Return in which pieces it is measured, and in how many groups at least."""
    length = (
        f"slices of {units.format_latency(load.slice_s * 1e9)}"
        if load.slice_s
        else f"blocks of {load.block_s:g} s"
    )
    least = f"at least {load.min_groups} groups" if load.min_groups > 1 else ""
    return "whole runs" if plan.commands else length, least


def shared_load_words(plan: Plan) -> str:
    """Return it once, where many loads have the same."""
    forms = {_piece_and_group_words(plan, load) for load in plan.workloads}
    return ", ".join(filter(None, forms.pop())) if len(forms) == 1 and len(plan.workloads) > 1 else ""


def _preparation_lines(plan: Plan, width: int, warned: list[str]) -> list[Line]:
    out = [line for words in warned for line in wrap_keys(f"▲ {words}", width, "warning")]
    for action in plan.actions:
        if action.needs_consent:
            out += change_lines(action, width)
    for words in plan.sentences:
        out += wrap_text(f"· {clean_text(words)}", width, "text", hang=2)
    quiet = [clean_text(action.title) for action in plan.actions if not action.needs_consent]
    if quiet:
        out += wrap_text(f"✓ {'; '.join(quiet)}: removed afterwards", width, "ok", hang=2)
    for words in plan.left_out:
        out += wrap_text(f"– {clean_text(words)}", width, "dim", hang=2)
    return out or [BLANK]


def _duration_or_empty(seconds: float) -> str:
    return units.format_duration(seconds) if seconds else ""
