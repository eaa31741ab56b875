"""All loads of a run at once: a card each where there is room, else a row; the one under way is bright."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.glyphs import clean, columns
from app.lines import BLANK, Line, Span, cells, crop, framed, merged, pad, split, text, wrapped
from app.recording.session import Session
from app.report.figures.histogram import histogram_lines, latencies
from app.report.figures.verdict_table import short_size
from app.report.wording import variant_title
from app.tui.widgets.measuring.levels import Side, group_marks, sides
from app.tui.widgets.measuring.standing import Standing, planned_words
from probes import units
from probes.units import brief
from scenarios.experiment.wording import titled
from scenarios.plan import Workload
from scenarios.results.document import Histogram

LEAST, LEAST_WIDTH = 6, 36  # lines and cells of a card
MOST_HIGH = 6  # rows of a side's levels
_VALUE, _NAME = 13, 11
Pairs = Sequence[tuple[Workload, list[Standing]]]


def title(load: Workload) -> str:
    return clean(titled(load.title, control=load.control))


def state(session: Session, load: Workload, found: Sequence[Standing]) -> tuple[Line, bool]:
    """How it stands in a few words, and whether it is the one under way."""
    now = session.ended is None and session.workload == load.id
    step = session.steps.get(load.id)
    open_ones = [one for one in found if one.verdict is None]
    if found and not open_ones:
        sign = "✓" if all(one.verdict and one.verdict.decided for one in found) else "?"
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
    more: Sequence[Line] = (),
) -> list[Line]:
    """`more`: what stands below where there is room."""
    inner, room = width - 4, height - 2
    said, now = state(session, load, found)
    drawn = sides(session, load.id, inner - _NAME - _VALUE - 3)
    below = [*_pairs(found, inner), *_groups(session, load, inner)]
    why = wrapped(clean(load.why), inner, "dim") if load.why else []
    left = room - len(drawn) - len(below)
    times = _times(session, load, inner) if left >= 2 + len(drawn) else []
    left -= len(times)
    each = 1
    high = sum(bool(side.shares) for side in drawn)  # a side without a value has one row
    while high and each < MOST_HIGH and left - len(why) >= high:
        each, left = each + 1, left - high
    rows = [line for side in drawn for line in side_lines(side, inner, each if side.shares else 1)]
    rows += [*below, *times]
    how = _measured(load, inner)
    rows += [*why, *how, *more][: max(0, room - len(rows))]
    frame = "accent" if now else "rule"
    name: Line = [(title(load), "title" if now else "strong" if found else "text")]
    return framed(name, said, rows, width, height, frame)


def side_lines(side: Side, width: int, height: int) -> list[Line]:
    """Marker and id, the levels so far in `height` rows, and the median with its unit."""
    value = "" if side.level is None else str(brief(side.level))
    short = len(side.variant) <= 2
    name = pad([(f"{side.marker} ", side.role), (clean(side.variant), "text")], 4 if short else _NAME + 3)
    room = width - cells(name) - _VALUE
    drawn = columns(side.shares, height) or [""]
    out: list[Line] = []
    for number, row in enumerate(drawn):
        last = number == height - 1
        dots = "·" * max(0, room - len(row)) if last else " " * max(0, room - len(row))
        left = name if last else [(" " * cells(name), "text")]
        out.append([*left, (row, side.role), (dots, "dim"), (f"{value if last else '':>{_VALUE}}", "text")])
    return out


def _pairs(found: Sequence[Standing], width: int) -> list[Line]:
    """The interval in figures, of several pairs with their names and words."""
    out: list[Line] = []
    for one in found:
        if one.name:
            whole: Line = [(f"{one.name}  ", "text"), (one.words, one.role), (f"  {one.figures}", "dim")]
            out.append(crop(whole if cells(whole) <= width else whole[:2], width))
        elif one.figures:
            rows = wrapped(("95 % CI " if one.bar else "") + one.figures, width, "dim")
            out += rows[:2]
    return out


def _groups(session: Session, load: Workload, width: int) -> list[Line]:
    groups = session.groups.get(load.id, ())
    if not groups:
        return []
    again = sum(bool(g.disturbed) for g in groups)
    head = units.counted(len(groups), "group") + (f", {again} again" if again else "")
    marks, _ = group_marks(session, load.id, width - len(head) - 1)
    spans: list[Span] = [(f"{head} ", "dim")]
    spans += [(sign, "warning" if sign == "!" else "ok") for sign in marks]
    return [merged(spans)]


def _times(session: Session, load: Workload, width: int) -> list[Line]:
    """How long the operations took, a side over the other; else the percentile that was told last."""
    if load.id in session.blocks and (found := latencies(session, load.id)):
        return histogram_lines(_narrower(found[0], session, width), width)
    told = [e.p99_ns for e in session.estimates.values() if e.workload == load.id and e.p99_ns is not None]
    if not told:
        return []
    tails = "  ".join(units.elapsed(ns) for ns in told[-1])
    return [crop(text(f"p99 of the last group {tails}", "dim"), width)]


def _narrower(found: Histogram, session: Session, width: int) -> Histogram:
    """The sides by their ids, and as many neighbouring buckets as one as it takes to have room."""
    ids = session.ordered(block.variant for blocks in session.blocks.values() for block in blocks)
    named = {variant_title(session, one): clean(one) for one in ids}
    room = max(8, width - max(len(named.get(name, name)) for name, _ in found.rows) - 2)
    each = -(-len(found.rows[0][1]) // room)
    rows = tuple(
        (named.get(name, name), tuple(sum(counts[at : at + each]) for at in range(0, len(counts), each)))
        for name, counts in found.rows
    )
    return msgspec.structs.replace(found, rows=rows)


def _measured(load: Workload, width: int) -> list[Line]:
    names = ", ".join(clean(m.name) for m in load.metrics[:3] if m.judged)
    how = f"{names}: " if names else ""
    length = (
        f"slices of {units.elapsed(load.slice_s * 1e9)}" if load.slice_s else f"blocks of {load.block_s:g} s"
    )
    least = f"{load.min_groups} groups at least" if load.min_groups > 1 else ""
    out = wrapped(how + ", ".join(filter(None, (length, least))), width, "dim")
    return out + (wrapped(f"the same with {clean(load.equivalent)}", width, "dim") if load.equivalent else [])


def card_lines(
    session: Session, pairs: Pairs, width: int, height: int, more: Sequence[Line] = ()
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
        fill = [[crop(line, w - 4) for line in more] if not n else [] for n, w in enumerate(widths)]
        made = [card(session, *one, w, high, rest) for one, w, rest in zip(some, widths, fill, strict=True)]
        out += [merged([span for part in parts for span in part]) for parts in zip(*made, strict=True)]
    return out


def row_lines(session: Session, pairs: Pairs, width: int, height: int) -> list[Line]:
    """One row a load; round the one under way where there is not room for all."""
    names = min(max((len(title(load)) for load, _ in pairs), default=0), max(14, width * 27 // 100))
    at = next((n for n, (load, _) in enumerate(pairs) if load.id == session.workload), 0)
    room = height if len(pairs) <= height else height - 1
    first = max(0, min(at - room // 2, len(pairs) - room))
    out = [_row(session, *one, names, width) for one in pairs[first : first + room]]
    if len(pairs) > room:
        out.append(text(f"  {len(pairs) - room} more of {len(pairs)} loads", "dim"))
    return out


def _row(session: Session, load: Workload, found: Sequence[Standing], names: int, width: int) -> Line:
    said, now = state(session, load, found)
    shown = crop(said, max(16, width // 3))
    trace = max(3, min(12, (width - names - 2 * _VALUE - 19) // 2))
    head: Line = [
        ("▶ " if now else "  ", "accent"),
        *pad(text(title(load), "strong" if now else "text"), names),
    ]
    body: Line = []
    for side in sides(session, load.id, trace)[:2]:
        value = "" if side.level is None else str(brief(side.level))
        (drawn,) = columns(side.shares, 1)
        body += [("  ", "text"), (f"{value:>{_VALUE - 2}} ", "text"), *pad([(drawn, side.role)], trace)]
    if cells(head) + cells(body) + cells(shown) + 2 > width:
        body = BLANK
    return split([*head, *body], shown, width)
