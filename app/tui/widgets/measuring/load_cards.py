"""All loads of a run at once: a card each where there is room, else a row; the one under way is bright."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeAlias

from app.glyphs import clean, columns
from app.lines import (
    Line,
    Span,
    area,
    cells,
    clauses,
    crop,
    framed,
    half,
    merged,
    pad,
    shortened,
    split,
    text,
    wrapped,
)
from app.lines import columns as side_by_side
from app.recording.session import Session
from app.report.figures.verdict_table import short_size
from app.tui.widgets.measuring.block_plot import leading_metric, plot_lines
from app.tui.widgets.measuring.group_plot import group_plot_lines, pair_ratios
from app.tui.widgets.measuring.levels import SideLevels, group_marks, sides
from app.tui.widgets.measuring.standing import Standing, pairs_of, planned_words
from app.tui.widgets.measuring.times import Times
from probes import units
from probes.units import Quantity, brief
from scenarios.experiment.wording import title_of_workload
from scenarios.plan import Workload

LEAST, LEAST_WIDTH = 6, 36  # lines and cells of a card
LEAST_BLOCKS = 6  # to be worth a plot
MOST_HIGH = 3  # rows of a side's levels
MOST_DEEP = 3  # of its times
LEAST_COURSE, MOST_COURSE = 8, 12  # lines of a plot of all groups
LEAST_FIGURE = 50  # cells of a battery's load
_VALUE, _NAME, _LEAST_TRACE = 13, 11, 3
_MARKS = ("✓", "?", "▶")
Pairs = Sequence[tuple[Workload, list[Standing]]]
DrawMore: TypeAlias = Callable[[int], list[Line]]


def title(load: Workload) -> str:
    return clean(title_of_workload(load.title, control=load.control))


def state(session: Session, load: Workload, found: Sequence[Standing]) -> tuple[Line, bool]:
    """How it stands in a few words, and whether it is the one under way."""
    now = session.ended is None and session.workload == load.id
    step = session.steps.get(load.id)
    open_ones = [one for one in found if one.verdict is None]
    if found and not open_ones:
        sign = "✓" if all(one.verdict and one.verdict.is_decided for one in found) else "?"
        one = found[0]
        words = (
            short_size(one.verdict, one.words) if len(found) == 1 and one.verdict else f"{len(found)} pairs"
        )
        return [(f"{sign} {words}", one.role if len(found) == 1 else "strong")], now
    one_bar = len(open_ones) == 1 and open_ones[0].bar is not None
    words = (
        units.counted(len(session.groups.get(load.id, ())), "group")
        if one_bar
        else planned_words(session, load)
    )
    if now:
        return [("▶ ", "accent"), (words, "strong")], now
    begun = step is not None and step.state == "started" and session.ended is None
    return [("has another turn" if begun and found else words, "dim")], now


def card(
    session: Session,
    load: Workload,
    found: Sequence[Standing],
    width: int,
    height: int,
    more: DrawMore | None = None,
) -> list[Line]:
    """`more`: what stands below, for a width, where there is room."""
    inner, room = width - 4, height - 2
    said, now = state(session, load, found)
    name, said = _edge(session, load, found, said, inner)
    drawn = sides(session, load.id, inner - _NAME - _VALUE - 3)
    below = [*_pairs(found, inner), *_groups(session, load, inner)]
    times = Times(session, load, inner)
    why = wrapped(clean(load.why), inner) if load.why else []
    left = room - len(drawn) - len(below)
    high = sum(bool(side.shares) for side in drawn)  # a side without a value has one row
    deep, each = 0, 1
    if times.sides and left >= times.sides:
        deep, left = 1, left - times.sides
    while high and each < MOST_HIGH and left - len(why) >= high:
        each, left = each + 1, left - high
    while deep and deep < MOST_DEEP and left - len(why) >= times.sides + 1:
        deep, left = deep + 1, left - times.sides
    rows = [line for side in drawn for line in side_lines(side, inner, each if side.shares else 1)]
    rows += below
    rows += times.lines(deep, axis=room - len(rows) > times.sides * deep) if deep else []
    course = _course(session, load, inner, room - len(rows) - len(why))
    left = room - len(rows) - len(why) - len(course)
    rest = [*_measured(session, load, inner, left), *(more(inner) if more is not None else [])]
    rows += [*why, *course, *rest][: max(0, room - len(rows))]
    frame = "accent" if now else "rule"
    head = text(name, "title" if now else "strong" if found else "text")
    return framed(head, said, rows, width, height, frame)


def _edge(
    session: Session, load: Workload, found: Sequence[Standing], said: Line, inner: int
) -> tuple[str, Line]:
    """The load's title and its state so short that both are whole: the card says the rest below."""
    names, states = briefer(session, load), [said, _brief(said, found)]
    for name, words in product(names, states):
        if len(name) + cells(words) + 5 <= inner:
            return name, words
    return shortened(names[-1], inner - cells(states[-1]) - 5), states[-1]


def briefer(session: Session, load: Workload) -> list[str]:
    """Its title, then with less and less of what stands after a comma, as long as no other load is called so."""
    others = [clean(one.title) for one in session.workloads if one.id != load.id]
    names = clauses(load.title)
    told = [one for n, one in enumerate(names) if not n or not any(other.startswith(one) for other in others)]
    return [title_of_workload(one, control=load.control) for one in told]


def _brief(said: Line, found: Sequence[Standing]) -> Line:
    """`✓ 26.9 × ◂`: the mark, and of a difference its size and direction."""
    mark, role = said[0]
    verdict = found[0].verdict if len(found) == 1 else None
    if verdict is not None and verdict.is_different and verdict.ratio:
        size = units.effect(verdict.ratio, ("◂", "▸"))
        return [(f"✓ {size}", role)]
    return [(mark[:1], role)] if mark[:1] in _MARKS else []


def side_lines(side: SideLevels, width: int, height: int) -> list[Line]:
    """Marker and id, the levels so far in `height` rows, and the median with its unit."""
    value = "" if side.level is None else str(brief(side.level))
    short = len(side.variant) <= 2
    name = pad([(f"{side.marker} ", side.role), (clean(side.variant), "text")], 4 if short else _NAME + 3)
    room = width - cells(name) - _VALUE
    out: list[Line] = []
    drawn = area(side.shares, height, side.role)
    for number, row in enumerate(drawn):
        last = number == height - 1
        dots = ("·" if last else " ") * max(0, room - cells(row))
        left = name if last else [(" " * cells(name), "text")]
        figure = (f"{value if last else '':>{_VALUE}}", "strong")
        out.append(merged([*left, *row, (dots, "rule"), figure]))
    return out


def _course(session: Session, load: Workload, width: int, room: int) -> list[Line]:
    """Group by group what the sides' ratio is, where a load has the screen for itself; before that block by block."""
    if room < LEAST_COURSE:
        return []
    name, _ = leading_metric(session, load.id)
    found = pair_ratios(session, load.id, name)
    high = min(room, MOST_COURSE)
    if any(len(one.values) > 1 for one in found):
        return group_plot_lines(session, load.id, found, name, width, high)
    enough = len(session.blocks.get(load.id, ())) >= LEAST_BLOCKS
    return plot_lines(session, width, high, load.id) if enough else []


def _pairs(found: Sequence[Standing], width: int) -> list[Line]:
    """The interval in figures, of several pairs with their names and words."""
    out: list[Line] = []
    for one in found:
        if one.name:
            whole: Line = [(f"{one.name}  ", "text"), (one.words, one.role), (f"  {one.figures}", "dim")]
            out.append(crop(whole if cells(whole) <= width else whole[:2], width))
        elif one.figures:
            way = one.verdict is not None and one.verdict.is_different and one.verdict.ratio
            figures = f"{one.figures} {units.direction(way)}" if way else one.figures
            words = f"95 % CI {figures}" if one.bar else figures
            out.append(crop(text(words if len(words) <= width else one.figures, "dim"), width))
    return out


def _groups(session: Session, load: Workload, width: int) -> list[Line]:
    groups = session.groups.get(load.id, ())
    if not groups:
        return []
    again = sum(bool(g.disturbed) for g in groups)
    short = 0 < len(groups) - again < load.min_groups
    head = (
        f"{len(groups) - again} of {load.min_groups} groups" if short else units.counted(len(groups), "group")
    )
    head += f", {again} again" if again else ""
    marks, _ = group_marks(session, load.id, width - len(head) - 1)
    spans: list[Span] = [(f"{head} ", "dim")]
    spans += [(sign, "warning" if sign == "!" else "ok") for sign in marks]
    return [merged(spans)]


def _measured(session: Session, load: Workload, width: int, room: int) -> list[Line]:
    """In `room` lines; what does not fit whole is left out."""
    names = ", ".join(clean(m.name) for m in load.metrics[:3] if m.judged)
    how = f"{names}: " if names else ""
    if session.plan is not None and session.plan.commands:  # as long as the command takes
        length = ""
    elif load.slice_s:
        length = f"slices of {units.elapsed(load.slice_s * 1e9)}"
    else:
        length = f"blocks of {load.block_s:g} s"
    least = f"{load.min_groups} groups at least" if load.min_groups > 1 else ""
    parts = [", ".join(filter(None, (length, least))), length]
    forms = [wrapped(words, width, "dim") for words in (how + parts[0], *parts) if words]
    out = next((form for form in forms if len(form) <= room), [])
    same = wrapped(f"the same with {clean(load.equivalent)}", width, "dim") if load.equivalent else []
    return out + (same if len(out) + len(same) <= room else [])


def card_lines(
    session: Session, pairs: Pairs, width: int, height: int, more: DrawMore | None = None
) -> list[Line]:
    """As many beside each other as have room; empty where a card for each has none. `more`: see `card`."""
    if not pairs:
        return []
    across = max(1, min(len(pairs), (width + 1) // (LEAST_WIDTH + 1)))
    while across > 1 and -(-len(pairs) // across) == -(-len(pairs) // (across - 1)):
        across -= 1  # no card less wide than it need be
    down = -(-len(pairs) // across)
    if height // down < LEAST:
        return []
    alone = (
        LEAST if down > 1 and len(pairs) % across == 1 else 0
    )  # a card as wide as the screen needs no more
    out: list[Line] = []
    for row in range(down):
        some = pairs[row * across : (row + 1) * across]
        rest, rows = (height - alone, down - 1) if alone else (height, down)
        high = alone if alone and row == down - 1 else rest // rows + (row < rest % rows)
        widths = [width // len(some) + (n < width % len(some)) for n in range(len(some))]
        made = [
            card(session, *one, w, high, more if not n else None)
            for n, (one, w) in enumerate(zip(some, widths, strict=True))
        ]
        out += [merged([span for part in parts for span in part]) for parts in zip(*made, strict=True)]
    return out


def row_lines(session: Session, pairs: Pairs, width: int, height: int, *, effects: bool = True) -> list[Line]:
    """One row a load; round the one under way where there is not room for all. `effects`: with how each stands."""
    most = max(14, width * 3 // 10 if effects else width - 2 * (_VALUE + 2 + _LEAST_TRACE) - 4)
    names = min(max((len(title(load)) for load, _ in pairs), default=0), most)
    under_way = session.workload if session.ended is None else ""
    at = next((n for n, (load, _) in enumerate(pairs) if load.id == under_way), 0)
    room = height if len(pairs) <= height else height - 1
    first = max(0, min(at - room // 2, len(pairs) - room))
    shown = pairs[first : first + room]
    said = [crop(state(session, *one)[0], max(16, width // 3)) if effects else [] for one in shown]
    trace = (width - names - 2 * (_VALUE + 1) - max(map(cells, said), default=0) - 4) // 2
    trace = max(_LEAST_TRACE, min(12, trace))
    out = [_row(session, *one, words, names, width, trace) for one, words in zip(shown, said, strict=True)]
    if len(pairs) > room:
        out.append(text(f"  {len(pairs) - room} more of {len(pairs)} loads", "dim"))
    return out


def _row(
    session: Session,
    load: Workload,
    found: Sequence[Standing],
    said: Line,
    names: int,
    width: int,
    trace: int,
) -> Line:
    now = state(session, load, found)[1]
    name = next((one for one in briefer(session, load) if len(one) <= names), title(load))
    head: Line = [
        ("▶ " if now else "  ", "accent"),
        *pad(text(name, "strong" if now else "text"), names),
    ]
    body: Line = []
    for side in sides(session, load.id, trace)[:2]:
        value = "" if side.level is None else short(side.level, _VALUE - 2)
        (drawn,) = columns(side.shares, 1)
        body += [("  ", "text"), (f"{value:>{_VALUE - 2}} ", "text"), *pad([(drawn, side.role)], trace)]
    return split([*head, *body], said, width)


def short(value: Quantity, width: int) -> str:
    """With its unit where there is room, else with its prefix alone: `12.9 k /s`."""
    whole = str(brief(value))
    prefix, _, unit = value.unit.partition(" ")
    prefix = prefix if unit and len(prefix) == 1 else ""  # no word of a unit of several
    rate = " /s" if value.unit.endswith("/s") else ""
    return whole if len(whole) <= width else f"{value.number} {prefix}".rstrip() + rate


def battery_lines(session: Session, width: int, most: int) -> list[Line]:
    """What a battery measured, two loads beside each other where each has room."""
    pairs = pairs_of(session) if session.blocks else []
    if not pairs:
        return []
    if len(pairs) <= most or width < 2 * LEAST_FIGURE:
        return row_lines(session, pairs, width, most, effects=session.ended is None)
    down = -(-len(pairs) // 2)
    left, right = (
        row_lines(session, some, half(width), most, effects=False) for some in (pairs[:down], pairs[down:])
    )
    return side_by_side(left, right, width)
