"""All loads of a run at once: a card each where there is room, else a row; the one under way is bright."""

import math
from collections.abc import Sequence
from itertools import product

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.figures.verdict_table import size_or_equal_within
from hostdx.app.terminal.glyphs import bar_rows, clean_text
from hostdx.app.terminal.lines import (
    Line,
    Span,
    cell_width,
    clause_prefixes,
    crop_line,
    fit_line,
    frame_rows,
    half_column_width,
    link_line,
    merge_spans,
    shorten_middle,
    split_line,
    text_line,
    workload_link,
    wrap_text,
)
from hostdx.app.terminal.lines import two_columns as side_by_side
from hostdx.app.tui.widgets.measuring.graphs import Scale, dot_rows, format_short, run_graph_lines
from hostdx.app.tui.widgets.measuring.group_plot import group_plot_lines, pair_ratios
from hostdx.app.tui.widgets.measuring.levels import VariantLevels, group_marks, variant_levels
from hostdx.app.tui.widgets.measuring.standing import (
    PairStanding,
    piece_noun,
    planned_words,
    workloads_with_pairs,
)
from hostdx.app.tui.widgets.measuring.times import Times
from hostdx.app.tui.widgets.measuring.variants import leading_metric_and_unit
from hostdx.probes import units
from hostdx.probes.units import abbreviate_unit
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.wording import mark_if_control

MIN_CARD_LINES, MIN_CARD_CELLS = 6, 36  # lines and cells of a card
WAITING_CARD_LINES = 8  # lines of cards that have nothing measured yet: what the loads stand for
MAX_LEVEL_ROWS, MAX_ROOMY_ROWS = 4, 3  # rows of a side's levels; where all groups are drawn below them, too
MAX_LONE_ROWS, MAX_LONE_TIMES_ROWS = 9, 6  # on a high card without a plot, of a load that waits
MIN_ROOMY_CARD_LINES = 14  # lines from which on a card has room for a plot of its groups
MAX_TIMES_ROWS = 3  # of its times
MIN_COURSE_LINES, MAX_COURSE_LINES = 8, 12  # lines of a plot of all groups
MIN_FIGURE_CELLS = 50  # cells of a battery's load
VALUE_CELLS, _NAME, _MIN_TRACE_CELLS = 13, 11, 3
MIN_TRACE_RANGE = 0.2  # of the middle
TRACE_HEIGHT = 0.8  # of a row: the lowest value is still seen
_MARKS = ("✓", "?", "▶")
Pairs = Sequence[tuple[Workload, list[PairStanding]]]


def card_title(load: Workload) -> str:
    return clean_text(mark_if_control(load.title, control=load.control))


def load_state(session: RunSession, load: Workload, standings: Sequence[PairStanding]) -> tuple[Line, bool]:
    """Return how it stands in a few words, and whether it is the one under way."""
    now = session.ended is None and session.workload == load.id
    step = session.steps.get(load.id)
    open_ones = [standing for standing in standings if standing.verdict is None]
    if standings and not open_ones:
        sign = "✓" if all(standing.verdict and standing.verdict.is_decided for standing in standings) else "?"
        standing = standings[0]
        words = (
            size_or_equal_within(standing.verdict, standing.words)
            if len(standings) == 1 and standing.verdict
            else units.count_noun(len(standings), "comparison")
        )
        return [(f"{sign} {words}", standing.role if len(standings) == 1 else "strong")], now
    one_bar = len(open_ones) == 1 and open_ones[0].bar is not None
    words = (
        units.count_noun(len(session.groups.get(load.id, ())), piece_noun(session))
        if one_bar
        else planned_words(session, load, marked=now)
    )
    if now:
        return [("▶ ", "accent"), (words, "strong")], now
    begun = step is not None and step.state == "started" and session.ended is None
    if begun and len(open_ones) == 1 and _ratio_if_direction_clear(open_ones[0]) is not None:
        return [(open_ones[0].words, open_ones[0].role)], now
    return [("inconclusive so far" if begun and standings else words, "dim")], now


def draw_card(
    session: RunSession, load: Workload, pair_standings: Sequence[PairStanding], width: int, height: int
) -> list[Line]:
    """The sides' levels, the intervals so far, the times, the groups; then the run's graphs where there is room."""
    inner, room = width - 4, height - 2
    state_line, now = load_state(session, load, pair_standings)
    name, state_line = _fit_title_and_state(session, load, pair_standings, state_line, inner)
    drawn = variant_levels(session, load.id, inner - _NAME - VALUE_CELLS - 3)
    below = [*_pair_lines(pair_standings, inner), *_group_count_and_marks(session, load, inner)]
    times = Times(session, load, inner)
    why = wrap_text(load.why, inner) if load.why and load.id not in session.blocks else []
    left = room - len(drawn) - len(below)
    high = sum(bool(side.shares) for side in drawn)  # a side without a value has one row
    is_roomy = left - len(why) >= MIN_ROOMY_CARD_LINES and _has_groups_to_plot(
        session, load
    )  # the plot has its share
    most_rows, most_times_rows = MAX_ROOMY_ROWS if is_roomy else MAX_LEVEL_ROWS, MAX_TIMES_ROWS
    if not is_roomy and not now and left - len(why) >= MIN_ROOMY_CARD_LINES:
        most_rows, most_times_rows = MAX_LONE_ROWS, MAX_LONE_TIMES_ROWS
    deep, each = 0, 1
    if times.sides and left >= times.sides:
        deep, left = 1, left - times.sides
    while high and each < most_rows and left - len(why) >= high:
        each, left = each + 1, left - high
        if is_roomy and left < MIN_COURSE_LINES + 2:
            break
    while deep and deep < most_times_rows and left - len(why) >= times.sides + 1:
        deep, left = deep + 1, left - times.sides
    # of several rows each has its own scale, whose ends it tells
    shares_by_side = [side.shares for side in drawn]
    spread = (
        spread_shares(shares_by_side) if each == 1 else [spread_shares([own])[0] for own in shares_by_side]
    )
    rows = [
        line
        for side, shares in zip(drawn, spread, strict=True)
        for line in side_lines(side, shares, inner, each if side.shares else 1)
    ]
    rows += below
    rows += times.draw_histograms(deep, axis=room - len(rows) > times.sides * deep) if deep else []
    course = _group_plot_on_card(session, load, inner, room - len(rows) - len(why))
    rows += [*why, *course][: max(0, room - len(rows))]
    rows += run_graph_lines(session, inner, room - len(rows)) if now else []
    frame = "accent" if now else "rule"
    head = text_line(name, "title" if now else "strong" if pair_standings else "text")
    card = frame_rows(head, rows, width, height, note=state_line, role=frame)
    target = workload_link(load.id) if load.id in session.blocks else ""
    return [link_line(line, target) for line in card]


def _fit_title_and_state(
    session: RunSession, load: Workload, pair_standings: Sequence[PairStanding], state_line: Line, inner: int
) -> tuple[str, Line]:
    """The load's title and its state so short that both are whole: the card says the rest below."""
    names, states = shorter_titles(session, load), [state_line, _brief_state(state_line, pair_standings)]
    for name, words in product(names, states):
        if len(name) + cell_width(words) + 5 <= inner:
            return name, words
    return shorten_middle(names[-1], inner - cell_width(states[-1]) - 5), states[-1]


def shorter_titles(session: RunSession, load: Workload) -> list[str]:
    """Its title, then with less and less of what stands after a comma, as long as no other load is called so."""
    others = [clean_text(entry.title) for entry in session.planned_workloads if entry.id != load.id]
    names = clause_prefixes(load.title)
    unique_names = [
        entry
        for n, entry in enumerate(names)
        if not n or not any(other.startswith(entry) for other in others)
    ]
    return [mark_if_control(entry, control=load.control) for entry in unique_names]


def _brief_state(state_line: Line, pair_standings: Sequence[PairStanding]) -> Line:
    """`✓ 26.9 × ◂`: the mark, and of a difference its size and direction."""
    mark, role = state_line[0]
    verdict = pair_standings[0].verdict if len(pair_standings) == 1 else None
    if verdict is not None and verdict.is_different and verdict.ratio:
        size = units.format_effect(verdict.ratio, ("◂", "▸"))
        return [(f"✓ {size}", role)]
    ratio = _ratio_if_direction_clear(pair_standings[0]) if len(pair_standings) == 1 else None
    if verdict is None and ratio is not None and mark[:1] not in _MARKS:
        return [(f"{units.format_effect(ratio, ('◂', '▸'))} so far", role)]
    return [(mark[:1], role)] if mark[:1] in _MARKS else []


def side_lines(side: VariantLevels, shares: Sequence[float | None], width: int, height: int) -> list[Line]:
    """Marker and id, the levels so far in `height` rows, and the median with its unit; above it the side's lowest and
    highest level. `shares`: the levels on the scale that is drawn.
    """
    value = "" if side.level is None else str(abbreviate_unit(side.level))
    ends = [format_short(end, VALUE_CELLS - 2) for end in (side.highest, side.lowest) if end is not None]
    ends = ends if len(set(ends)) > 1 else []
    notes = [f"{sign}{end}" for sign, end in zip("↑↓", ends, strict=False)][: height - 1]
    short = len(side.variant) <= 2
    name = fit_line(
        [(f"{side.marker} ", side.role), (clean_text(side.variant), "text")], 4 if short else _NAME + 3
    )
    room = width - cell_width(name) - VALUE_CELLS
    out: list[Line] = []
    drawn = [[(row, side.role)] for row in level_line_rows(shares, room, height)]
    for number, row in enumerate(drawn):
        last = number == height - 1
        dots = ("·" if last else " ") * max(0, room - cell_width(row))
        left = name if last else [(" " * cell_width(name), "text")]
        words, role = (value, "strong") if last else (notes[number] if number < len(notes) else "", "dim")
        out.append(merge_spans([*left, *row, (dots, "rule"), (f"{words:>{VALUE_CELLS}}", role)]))
    return out


def level_line_rows(shares: Sequence[float | None], width: int, height: int) -> list[str]:
    """Return the levels as a line of dots in `height` rows, in one row as columns: a block that is always full is no
    graph.
    """
    if height == 1 or not shares:
        return bar_rows(shares, height) or [""]
    points = [(n + 0.5, math.nan if share is None else share) for n, share in enumerate(shares)]
    cells = min(width, len(shares))
    return dot_rows(points, Scale(0.0, 1.0), len(shares), cells, height)


def _group_plot_on_card(session: RunSession, load: Workload, width: int, room: int) -> list[Line]:
    """Group by group what the sides' ratio is, where a load has the screen for itself."""
    if room < MIN_COURSE_LINES or not _has_groups_to_plot(session, load):
        return []
    name, _ = leading_metric_and_unit(session, load.id)
    ratios = pair_ratios(session, load.id, name)
    return group_plot_lines(session, load.id, ratios, name, width, min(room, MAX_COURSE_LINES))


def _has_groups_to_plot(session: RunSession, load: Workload) -> bool:
    """Return whether there are groups to plot. Before the second one the sides' levels say all."""
    name, _ = leading_metric_and_unit(session, load.id)
    return any(len(pair.values) > 1 for pair in pair_ratios(session, load.id, name))


def _pair_lines(pair_standings: Sequence[PairStanding], width: int) -> list[Line]:
    """The interval in figures, of several pairs with their names and words."""
    out: list[Line] = []
    for standing in pair_standings:
        if standing.name:
            full_line: Line = [
                (f"{standing.name}  ", "text"),
                (standing.words, standing.role),
                (f"  {standing.figures}", "dim"),
            ]
            out.append(crop_line(full_line if cell_width(full_line) <= width else full_line[:2], width))
        elif standing.figures:
            way = _ratio_if_direction_clear(standing)
            figures = f"{standing.figures} {units.effect_word(way)}" if way else standing.figures
            words = f"95 % CI {figures}" if standing.bar else figures
            out.append(crop_line(text_line(words if len(words) <= width else standing.figures, "dim"), width))
    return out


def _ratio_if_direction_clear(standing: PairStanding) -> float | None:
    """Return the ratio where the interval leaves no doubt of its direction and its words do not name it."""
    if standing.verdict is not None:
        return standing.verdict.ratio if standing.verdict.is_different else None
    ci95 = standing.bar.ci95 if standing.bar is not None else None
    return None if ci95 is None or ci95[0] <= 1 <= ci95[1] or not standing.bar else standing.bar.ratio


def _group_count_and_marks(session: RunSession, load: Workload, width: int) -> list[Line]:
    groups = session.groups.get(load.id, ())
    if not groups:
        return []
    again = sum(bool(g.disturbed) for g in groups)
    short = 0 < len(groups) - again < load.min_groups
    head = (
        f"{len(groups) - again} of {load.min_groups} {piece_noun(session)}s"
        if short
        else units.count_noun(len(groups), piece_noun(session))
    )
    head += f", {again} repeated" if again else ""
    marks = group_marks(session, load.id, width - len(head) - 1)
    spans: list[Span] = [(f"{head} ", "dim")]
    spans += [(sign, "warning" if sign == "!" else "ok") for sign in marks]
    return [merge_spans(spans)]


def card_lines(session: RunSession, pairs: Pairs, width: int, height: int) -> list[Line]:
    """As many beside each other as have room; empty where a card for each has none."""
    if not pairs:
        return []
    across = max(1, min(len(pairs), (width + 1) // (MIN_CARD_CELLS + 1)))
    while across > 1 and -(-len(pairs) // across) == -(-len(pairs) // (across - 1)):
        across -= 1  # no card less wide than it need be
    down = -(-len(pairs) // across)
    if height // down < MIN_CARD_LINES:
        return []
    rows = [pairs[row * across : (row + 1) * across] for row in range(down)]
    out: list[Line] = []
    for some, high in zip(rows, _row_heights(session, rows, height, across), strict=True):
        widths = [width // len(some) + (n < width % len(some)) for n in range(len(some))]
        cards = [draw_card(session, *pair, w, high) for pair, w in zip(some, widths, strict=True)]
        out += [merge_spans([span for part in parts for span in part]) for parts in zip(*cards, strict=True)]
    return out


def _row_heights(session: RunSession, rows: Sequence[Pairs], height: int, across: int) -> list[int]:
    """Return the lines of each row of cards: one card as wide as the screen and loads that wait need few, the others
    share the rest.
    """
    fewest: list[int | None] = []
    for some in rows:
        is_waiting = session.ended is None and not any(load.id in session.blocks for load, _ in some)
        is_alone = len(rows) > 1 and len(some) == 1 < across
        fewest.append(MIN_CARD_LINES if is_alone else WAITING_CARD_LINES if is_waiting else None)
    if None not in fewest:
        fewest = [None] * len(rows)
    fair = height // len(rows)
    fixed_heights = [None if high is None else min(high, fair) for high in fewest]
    rest, sharers = height - sum(high or 0 for high in fixed_heights), fixed_heights.count(None)
    out, sharer_number = [], 0
    for high in fixed_heights:
        if high is None:
            high = rest // sharers + (sharer_number < rest % sharers)
            sharer_number += 1
        out.append(high)
    return out


def row_lines(
    session: RunSession, pairs: Pairs, width: int, height: int, *, effects: bool = True
) -> list[Line]:
    """One row a load; round the one under way where there is not room for all. `effects`: with how each stands."""
    has_values = any(load.id in session.blocks for load, _ in pairs)
    most = (
        width
        if not has_values
        else max(14, width * 3 // 10 if effects else width - 2 * (VALUE_CELLS + 2 + _MIN_TRACE_CELLS) - 4)
    )
    names = min(max((len(card_title(load)) for load, _ in pairs), default=0), most)
    under_way = session.workload if session.ended is None else ""
    at = next((n for n, (load, _) in enumerate(pairs) if load.id == under_way), 0)
    room = height if len(pairs) <= height else height - 1
    first = max(0, min(at - room // 2, len(pairs) - room))
    shown = pairs[first : first + room]
    state_lines = [
        crop_line(_state_or_effect(session, *pair), max(16, width // 3)) if effects else [] for pair in shown
    ]
    left = width - max(map(cell_width, state_lines), default=0) - 3
    trace = 0
    if has_values:
        left -= 2 * (VALUE_CELLS + 1)
        trace = max(_MIN_TRACE_CELLS, min(12, (left - names - 1) // 2))
    names = min(names, max(8, left - 2 * trace))  # a name is cut before a value is
    out = [
        _levels_row(session, *pair, words, names, width, trace)
        for pair, words in zip(shown, state_lines, strict=True)
    ]
    if len(pairs) > room:
        out.append(text_line(f"  {len(pairs) - room} more of {len(pairs)} loads", "dim"))
    return out


def _state_or_effect(session: RunSession, load: Workload, pair_standings: Sequence[PairStanding]) -> Line:
    """As on a card; an effect whose direction is clear in place of the count of groups, which a card has beside it."""
    state_line, now = load_state(session, load, pair_standings)
    standing = pair_standings[0] if len(pair_standings) == 1 else None
    ratio = _ratio_if_direction_clear(standing) if standing is not None and standing.verdict is None else None
    if standing is None or ratio is None:
        return state_line
    return [("▶ " if now else "", "accent"), (units.format_effect(ratio), standing.role)]


def spread_shares(sides: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """Return shares of 0..1 over the range of all sides, for lines of one row: there a bar from 0 is always full.

    The middle of the range is half a row. A range below 20 % of the middle counts as 20 %: noise stays a flat line.
    """
    known_shares = [share for shares in sides for share in shares if share is not None]
    if not known_shares:
        return [[*shares] for shares in sides]
    middle = (min(known_shares) + max(known_shares)) / 2
    span = max(max(known_shares) - min(known_shares), MIN_TRACE_RANGE * middle) or 1.0
    return [
        [None if share is None else 0.5 + TRACE_HEIGHT * (share - middle) / span for share in shares]
        for shares in sides
    ]


def _levels_row(
    session: RunSession,
    load: Workload,
    pair_standings: Sequence[PairStanding],
    state_line: Line,
    names: int,
    width: int,
    trace: int,
) -> Line:
    now = load_state(session, load, pair_standings)[1]
    name = next((form for form in shorter_titles(session, load) if len(form) <= names), card_title(load))
    head: Line = [
        ("▶ " if now else "  ", "accent"),
        *fit_line(text_line(name, "strong" if now else "text"), names),
    ]
    body: Line = []
    levels = variant_levels(session, load.id, trace)[:2]
    for side, shares in zip(levels, spread_shares([level.shares for level in levels]), strict=True):
        value = "" if side.level is None else format_short(side.level, VALUE_CELLS - 2)
        (drawn,) = bar_rows(shares, 1)
        body += [
            ("  ", "text"),
            (f"{value:>{VALUE_CELLS - 2}} ", "text"),
            *fit_line([(drawn, side.role)], trace),
        ]
    target = workload_link(load.id) if load.id in session.blocks else ""
    return link_line(split_line([*head, *body], state_line, width), target)


def benchmark_lines(session: RunSession, width: int, most: int) -> list[Line]:
    """Return what a battery measured, two loads beside each other where each has room."""
    pairs = workloads_with_pairs(session) if session.blocks else []
    if not pairs:
        return []
    if len(pairs) <= most or width < 2 * MIN_FIGURE_CELLS:
        return row_lines(session, pairs, width, most, effects=session.ended is None)
    down = -(-len(pairs) // 2)
    left, right = (
        row_lines(session, some, half_column_width(width), most, effects=False)
        for some in (pairs[:down], pairs[down:])
    )
    return side_by_side(left, right, width)
