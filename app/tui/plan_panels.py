"""A plan in panels, where the screen has room: what is compared, what it costs, every load, what to know before."""

from collections.abc import Mapping, Set

from app.report.plan_text import NAME, change_rows, variant_lines
from app.terminal.glyphs import clean_text
from app.terminal.lines import (
    BLANK,
    Line,
    cell_width,
    crop_line,
    frame_rows,
    pad_line,
    split_line,
    text_line,
    wrap_text,
)
from app.tui.widgets.measuring.block_plot import ROLES
from app.tui.widgets.word_list import word_lines
from probes import units
from scenarios.contract.card import card_with_role
from scenarios.contract.plan import Plan
from scenarios.experiment.wording import title_of_workload

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
    asked = wrap_text(clean_text(plan.question or plan.title), inner, "strong")
    asked += wrap_text(clean_text(plan.why), inner) if plan.why else []
    out = frame_rows(text_line("QUESTION", "title"), [], asked, width, len(asked) + 2)
    left = width * LEFT // 100
    compared, costs = _compared_lines(plan, left - 4), _cost_lines(plan, width - left - 4)
    name, has_comparison = ("COMPARES" if len(plan.variants) > 1 else "MEASURES"), bool(compared)
    if not has_comparison:
        name, compared = "STEPS", _step_lines(plan, left - 4)
    high = max(len(compared), len(costs)) + 2
    both = (
        frame_rows(text_line(name, "title"), _key("d", "directories", able), compared, left, high),
        frame_rows(text_line("COSTS", "title"), _key("b", "budget", able), costs, width - left, high),
    )
    out += [[*left_line, *other] for left_line, other in zip(*both, strict=True)]
    if plan.picture:
        drawn = [crop_line(text_line(clean_text(row)), inner) for row in plan.picture]
        out += frame_rows(text_line("THIS HOST", "title"), [], drawn, width, len(drawn) + 2)
    before = _preparation_lines(plan, inner, warned)
    last = wrap_text(command, inner, "accent", hang=2)
    used_rows = len(out) + len(before) + len(last) + 4
    if plan.workloads:
        rows = _load_lines(plan, inner, height - used_rows - 2, detects)
        has_resolution = any(load.id in detects for load in plan.workloads)
        source: Line = [(f"±: {resolved_by()}   ", "dim")] if has_resolution else []
        out += frame_rows(
            text_line("WHAT IS MEASURED, IN THIS ORDER", "title"),
            [*source, *_key("x", "exact steps")],
            rows,
            width,
            len(rows) + 2,
        )
    free = max(0, height - len(out) - len(last) - 2)
    steps = _step_lines(plan, inner) if has_comparison else []
    if steps and free >= len(before) + len(steps) + 4:
        out += frame_rows(text_line("STEPS", "title"), [], steps, width, len(steps) + 2)
    free = max(0, height - len(out) - len(last) - 2)
    if free > len(before) + MAX_FREE_ROWS + 2:  # what can be read meanwhile
        before += [BLANK, *word_lines(inner)][: free - len(before) - 2]
    out += frame_rows(
        text_line("BEFORE YOU START", "title"),
        _key("e", "explain"),
        before,
        width,
        max(len(before) + 2, free),
    )
    return out + frame_rows(text_line("THE COMMAND", "title"), _key("c", "copy"), last, width, len(last) + 2)


def _key(key: str, words: str, able: Set[str] | None = None) -> Line:
    return [(key, "key"), (f" {words}", "dim")] if able is None or words in able else []


def _compared_lines(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = []
    for number, words in enumerate(variant_lines(plan)):
        rows = (
            wrap_text(clean_text(words), width - 2)
            if len(words) > width - 2
            else [text_line(clean_text(words))]
        )
        marked: Line = [("● " if not number else "○ ", ROLES[number % len(ROLES)])]
        out += [[*(marked if not n else text_line("  ")), *row] for n, row in enumerate(rows)]
    if plan.differs:
        difference_text = (
            f"differs: {clean_text('; '.join(plan.differs))} → the verdict is about this "
            "stack, all of it together"
        )
        out += wrap_text(difference_text, width, "warning", hang=2)
    return out


def _step_lines(plan: Plan, width: int) -> list[Line]:
    return [
        split_line(text_line(clean_text(step.title)), text_line(_format_seconds(step.seconds)), width)
        for step in plan.steps
    ]


def _cost_lines(plan: Plan, width: int) -> list[Line]:
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
        wear = (
            ""
            if item.endurance_share is None
            else f", {units.format_percent(item.endurance_share)} of its endurance"
        )
        place_text = f" at {item.where}" if item.where else ""
        words = f"at most {units.format_size(item.bytes)} to {item.device}{place_text}{wear}"
        rows = wrap_text(clean_text(words), width - 9)
        out += [[(f"{'writes' if not (n or number) else '':9}", "dim"), *row] for n, row in enumerate(rows)]
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
        rows = wrap_text(clean_text(", ".join(plan.rights)), width - 9)
        out += [[(f"{'needs' if not n else '':9}", "dim"), *row] for n, row in enumerate(rows)]
    return out


def resolved_by() -> str:
    return f"as the last {card_with_role('resolution').id} run here showed"


def resolution_lines(plan: Plan, detects: Mapping[str, float], width: int) -> list[Line]:
    """Where there are no panels: the same in words."""
    smallest_effects = [
        f"{load.title} ±{units.format_percent(detects[load.id])}"
        for load in plan.workloads
        if load.id in detects
    ]
    words = f"{clean_text('; '.join(smallest_effects))} ({resolved_by()})"
    rows = wrap_text(words, width - NAME) if smallest_effects else []
    return [[(f"{'' if n else 'resolves':<{NAME}}", "dim"), *row] for n, row in enumerate(rows)]


def _load_lines(plan: Plan, width: int, room: int, detects: Mapping[str, float]) -> list[Line]:
    """A row a load: how it is measured, and how long; where there is room what it stands for and the same with fio."""
    times = {step.id: step.seconds for step in plan.steps}
    longest = max([*times.values(), 1.0])
    names = max(len(title_of_workload(load.title, control=load.control)) for load in plan.workloads)
    names = min(names, width // 3)
    out: list[Line] = []
    deep = [
        [*wrap_text(clean_text(load.why), width - 4, "text", indent=4)] if load.why else []
        for load in plan.workloads
    ]
    if (
        sum(map(len, deep)) + len(plan.workloads) > room
    ):  # what it is the same as gives way before what it is for
        deep = [
            rows[:-1] if load.equivalent else rows for load, rows in zip(plan.workloads, deep, strict=True)
        ]
    shows_reasons = sum(map(len, deep)) + len(plan.workloads) <= room
    for load, why in zip(plan.workloads, deep, strict=True):
        length = (
            f"slices of {units.format_latency(load.slice_s * 1e9)}"
            if load.slice_s
            else f"blocks of {load.block_s:g} s"
        )
        if plan.commands:
            length = "whole runs"
        least = f"at least {load.min_groups} groups" if load.min_groups > 1 else ""
        seconds = times.get(load.id, 0.0)
        drawn = "█" * max(1, round(BAR * seconds / longest)) if seconds else ""
        finest = f"±{units.format_percent(detects[load.id])}" if load.id in detects else ""
        head: Line = [
            *pad_line(
                text_line(clean_text(title_of_workload(load.title, control=load.control)), "strong"), names
            ),
            (f"  {length:<18}{least:<20}", "dim"),
            (f"{finest:<8}", "text"),
        ]
        tail: Line = [(f"{drawn:<{BAR}}", "accent"), (f"{_format_seconds(seconds):>12}", "text")]
        out.append(
            split_line(head, tail, width)
            if cell_width(head) + cell_width(tail) < width
            else crop_line(head, width)
        )
        out += why if shows_reasons else []
    return out


def _preparation_lines(plan: Plan, width: int, warned: list[str]) -> list[Line]:
    out = [line for words in warned for line in wrap_text(f"▲ {clean_text(words)}", width, "warning", hang=2)]
    if plan.refusal:
        out += wrap_text(f"✗ cannot: {clean_text(plan.refusal)}", width, "critical", hang=2)
    for action in plan.actions:
        if action.needs_consent:
            for row in change_rows(action):
                out += wrap_text(clean_text(row.words), width, row.role, indent=row.indent, hang=2)
    for words in plan.sentences:
        out += wrap_text(f"· {clean_text(words)}", width, "text", hang=2)
    quiet = [clean_text(action.title) for action in plan.actions if not action.needs_consent]
    if quiet:
        out += wrap_text(f"✓ {'; '.join(quiet)}: removed afterwards", width, "ok", hang=2)
    for words in plan.left_out:
        out += wrap_text(f"– {clean_text(words)}", width, "dim", hang=2)
    return out or [BLANK]


def _format_seconds(seconds: float) -> str:
    return units.format_duration(seconds) if seconds else ""
