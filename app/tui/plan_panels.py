"""A plan in panels, where the screen has room: what is compared, what it costs, every load, what to know before."""

from collections.abc import Mapping, Set

from app.glyphs import clean
from app.lines import BLANK, Line, cells, crop, framed, pad, split, text, wrapped
from app.report.plan_text import NAME, change_rows, sides
from app.tui.widgets.measuring.block_plot import ROLES
from app.tui.widgets.word_list import word_lines
from probes import units
from scenarios.card import card_with_role
from scenarios.experiment.wording import title_of_workload
from scenarios.plan import Plan

LEFT = 58  # per cent of the width for what is compared
FEW = 4  # rows that may be left free
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
    asked = wrapped(clean(plan.question or plan.title), inner, "strong")
    asked += wrapped(clean(plan.why), inner) if plan.why else []
    out = framed(text("QUESTION", "title"), [], asked, width, len(asked) + 2)
    left = width * LEFT // 100
    compared, costs = _compared(plan, left - 4), _costs(plan, width - left - 4)
    name, beside = ("COMPARES" if len(plan.variants) > 1 else "MEASURES"), bool(compared)
    if not beside:
        name, compared = "STEPS", _steps(plan, left - 4)
    high = max(len(compared), len(costs)) + 2
    both = (
        framed(text(name, "title"), _key("d", "directories", able), compared, left, high),
        framed(text("COSTS", "title"), _key("b", "budget", able), costs, width - left, high),
    )
    out += [[*one, *other] for one, other in zip(*both, strict=True)]
    if plan.picture:
        drawn = [crop(text(clean(row)), inner) for row in plan.picture]
        out += framed(text("THIS HOST", "title"), [], drawn, width, len(drawn) + 2)
    before = _before(plan, inner, warned)
    last = wrapped(command, inner, "accent", hang=2)
    taken = len(out) + len(before) + len(last) + 4
    if plan.workloads:
        rows = _loads(plan, inner, height - taken - 2, detects)
        known = any(load.id in detects for load in plan.workloads)
        source: Line = [(f"±: {resolved_by()}   ", "dim")] if known else []
        out += framed(
            text("WHAT IS MEASURED, IN THIS ORDER", "title"),
            [*source, *_key("x", "exact steps")],
            rows,
            width,
            len(rows) + 2,
        )
    free = max(0, height - len(out) - len(last) - 2)
    steps = _steps(plan, inner) if beside else []
    if steps and free >= len(before) + len(steps) + 4:
        out += framed(text("STEPS", "title"), [], steps, width, len(steps) + 2)
    free = max(0, height - len(out) - len(last) - 2)
    if free > len(before) + FEW + 2:  # what can be read meanwhile
        before += [BLANK, *word_lines(inner)][: free - len(before) - 2]
    out += framed(
        text("BEFORE YOU START", "title"), _key("e", "explain"), before, width, max(len(before) + 2, free)
    )
    return out + framed(text("THE COMMAND", "title"), _key("c", "copy"), last, width, len(last) + 2)


def _key(key: str, words: str, able: Set[str] | None = None) -> Line:
    return [(key, "key"), (f" {words}", "dim")] if able is None or words in able else []


def _compared(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = []
    for number, words in enumerate(sides(plan)):
        rows = wrapped(clean(words), width - 2) if len(words) > width - 2 else [text(clean(words))]
        marked: Line = [("● " if not number else "○ ", ROLES[number % len(ROLES)])]
        out += [[*(marked if not n else text("  ")), *row] for n, row in enumerate(rows)]
    if plan.differs:
        told = (
            f"differs: {clean('; '.join(plan.differs))} → the verdict is about this stack, all of it together"
        )
        out += wrapped(told, width, "warning", hang=2)
    return out


def _steps(plan: Plan, width: int) -> list[Line]:
    return [split(text(clean(step.title)), text(_seconds(step.seconds)), width) for step in plan.steps]


def _costs(plan: Plan, width: int) -> list[Line]:
    out: list[Line] = []
    if plan.seconds:
        ready = max(0.0, plan.seconds - plan.measuring_s) if plan.measuring_s else 0.0
        room = max(8, width - 10)
        first = round(room * ready / plan.seconds)
        bar: Line = [("▒" * first, "dim"), ("█" * (room - first), "accent")]
        words = f"at most {units.duration(plan.measuring_s or plan.seconds)}"
        words += f" of measuring, {units.duration(ready)} to prepare" if ready >= 1 else ""
        out += [[("time     ", "dim"), *bar], *wrapped(words, width, "strong", indent=9)]
    for number, item in enumerate(plan.writes):
        wear = (
            ""
            if item.endurance_share is None
            else f", {units.percent(item.endurance_share)} of its endurance"
        )
        where = f" at {item.where}" if item.where else ""
        words = f"at most {units.size(item.bytes)} to {item.device}{where}{wear}"
        rows = wrapped(clean(words), width - 9)
        out += [[(f"{'writes' if not (n or number) else '':9}", "dim"), *row] for n, row in enumerate(rows)]
    if not plan.writes:
        out.append([("writes   ", "dim"), ("nothing", "ok")])
    asks = [action for action in plan.actions if action.asks]
    change = (
        f"▲ {units.counted(len(asks), 'time')} a setting, put back each time"
        if asks
        else "no setting of the host"
    )
    out.append([("changes  ", "dim"), (change, "warning" if asks else "ok")])
    if plan.rights:
        rows = wrapped(clean(", ".join(plan.rights)), width - 9)
        out += [[(f"{'needs' if not n else '':9}", "dim"), *row] for n, row in enumerate(rows)]
    return out


def resolved_by() -> str:
    return f"as the last {card_with_role('resolution').id} run here showed"


def resolution_lines(plan: Plan, detects: Mapping[str, float], width: int) -> list[Line]:
    """Where there are no panels: the same in words."""
    told = [
        f"{load.title} ±{units.percent(detects[load.id])}" for load in plan.workloads if load.id in detects
    ]
    words = f"{clean('; '.join(told))} ({resolved_by()})"
    rows = wrapped(words, width - NAME) if told else []
    return [[(f"{'' if n else 'resolves':<{NAME}}", "dim"), *row] for n, row in enumerate(rows)]


def _loads(plan: Plan, width: int, room: int, detects: Mapping[str, float]) -> list[Line]:
    """A row a load: how it is measured, and how long; where there is room what it stands for and the same with fio."""
    times = {step.id: step.seconds for step in plan.steps}
    longest = max([*times.values(), 1.0])
    names = max(len(title_of_workload(load.title, control=load.control)) for load in plan.workloads)
    names = min(names, width // 3)
    out: list[Line] = []
    deep = [
        [*wrapped(clean(load.why), width - 4, "text", indent=4)] if load.why else []
        for load in plan.workloads
    ]
    if (
        sum(map(len, deep)) + len(plan.workloads) > room
    ):  # what it is the same as gives way before what it is for
        deep = [
            rows[:-1] if load.equivalent else rows for load, rows in zip(plan.workloads, deep, strict=True)
        ]
    whole = sum(map(len, deep)) + len(plan.workloads) <= room
    for load, why in zip(plan.workloads, deep, strict=True):
        length = (
            f"slices of {units.elapsed(load.slice_s * 1e9)}"
            if load.slice_s
            else f"blocks of {load.block_s:g} s"
        )
        if plan.commands:
            length = "whole runs"
        least = f"{load.min_groups} groups at least" if load.min_groups > 1 else ""
        seconds = times.get(load.id, 0.0)
        drawn = "█" * max(1, round(BAR * seconds / longest)) if seconds else ""
        finest = f"±{units.percent(detects[load.id])}" if load.id in detects else ""
        head: Line = [
            *pad(text(clean(title_of_workload(load.title, control=load.control)), "strong"), names),
            (f"  {length:<18}{least:<20}", "dim"),
            (f"{finest:<8}", "text"),
        ]
        tail: Line = [(f"{drawn:<{BAR}}", "accent"), (f"{_seconds(seconds):>12}", "text")]
        out.append(split(head, tail, width) if cells(head) + cells(tail) < width else crop(head, width))
        out += why if whole else []
    return out


def _before(plan: Plan, width: int, warned: list[str]) -> list[Line]:
    out = [line for words in warned for line in wrapped(f"▲ {clean(words)}", width, "warning", hang=2)]
    if plan.refusal:
        out += wrapped(f"✗ cannot: {clean(plan.refusal)}", width, "critical", hang=2)
    for action in plan.actions:
        if action.asks:
            for row in change_rows(action):
                out += wrapped(clean(row.words), width, row.role, indent=row.indent, hang=2)
    for words in plan.sentences:
        out += wrapped(f"· {clean(words)}", width, "text", hang=2)
    quiet = [clean(action.title) for action in plan.actions if not action.asks]
    if quiet:
        out += wrapped(f"✓ {'; '.join(quiet)}: removed afterwards", width, "ok", hang=2)
    for words in plan.left_out:
        out += wrapped(f"– {clean(words)}", width, "dim", hang=2)
    return out or [BLANK]


def _seconds(seconds: float) -> str:
    return units.duration(seconds) if seconds else ""
