"""All effects of a run so far in one chart, the document's own; beside it what has too few groups for an interval."""

import math

from hostdx.app.recordings.progress import find_next_analysis
from hostdx.app.recordings.session import RunSession, compared_pair_key
from hostdx.app.report.figures.interval_chart import (
    MAX_BAR_CELLS,
    LogScale,
    axis_line,
    bar_line,
    interval_lines,
    scale_for_bars,
)
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    fit_line,
    frame_rows,
    link_line,
    shorten_middle,
    text_line,
    workload_link,
)
from hostdx.app.tui.widgets.measuring.load_cards import card_title
from hostdx.app.tui.widgets.measuring.standing import margin_of, planned_words, workloads_with_pairs
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.scenarios.contract.results.document import Bar, Intervals

MAX_ROWS = 14


def forest_lines(session: RunSession, width: int, height: int) -> list[Line]:
    """A row a pair in the plan's order; where there is not room for all, those under way and the largest effects."""
    rows: list[tuple[str, str, Bar | None, str]] = []
    for load, load_standings in workloads_with_pairs(session):
        target = workload_link(load.id) if load.id in session.blocks else ""
        rows += [
            (
                f"{card_title(load)} {standing.name}".strip(),
                _without_measuring_word(standing.words),
                standing.bar,
                target,
            )
            for standing in load_standings
        ]
        rows += (
            []
            if load_standings
            else [(card_title(load), _without_measuring_word(planned_words(session, load)), None, target)]
        )
    if len(rows) > height - 1:
        drawn = sorted(
            (r for r in rows if r[2] is not None), key=lambda r: -abs(math.log(r[2].ratio if r[2] else 1))
        )
        kept_rows = [*drawn, *(r for r in rows if r[2] is None)][: max(1, height - 2)]
        left_out = len(rows) - len(kept_rows)
        rows = [row for row in rows if row in kept_rows]
    else:
        left_out = 0
    bars = [bar for _, _, bar, _ in rows if bar is not None]
    margin = margin_of(session)
    longest = max((cell_width(text_line(words)) for _, words, *_ in rows), default=0)
    names = min(max((len(name) for name, *_ in rows), default=0), max(8, width - longest - 21))
    chart = interval_lines(Intervals(tuple(bars), margin), width, names=names, sizes=longest)
    scale = scale_for_bars(bars)
    room = max(9, min(MAX_BAR_CELLS, width - names - longest - 4))
    out = chart[:1] or [[(" " * (names + 2), "text"), *axis_line(room, scale)]]
    below = iter(chart[1:])
    for name, words, bar, target in rows:
        line = next(below) if bar is not None else _waiting_line(name, words, names, room, scale, margin)
        out.append(link_line(line, target))
    return [*out, *([text_line(f"and {left_out} more: v", "dim")] if left_out else [])][:height]


def _without_measuring_word(words: str) -> str:
    """Return the count alone: the card of the load under way says that it is being measured."""
    return words.removeprefix("measuring, ")


def _waiting_line(name: str, words: str, names: int, room: int, scale: LogScale, margin: float) -> Line:
    """A row without an interval: where it will stand."""
    ground = bar_line(None, None, room, scale, margin=margin)
    empty: Line = [(sign.replace(" ", "·"), "shade@band" if "@" in role else "rule") for sign, role in ground]
    return [
        *fit_line(text_line(shorten_middle(name, names), "dim"), names),
        ("  ", "text"),
        *empty,
        (f"  {words}", "dim"),
    ]


def describe_outlook(session: RunSession) -> str:
    """When the next interim analysis comes, and whether it would decide as things stand."""
    about = [e for e in session.estimates.values() if e.workload == session.workload]
    furthest = max((e.groups for e in about), default=0)
    # one that is not estimated any more has been decided; its verdict comes with the others', at the load's end
    open_ones = [e for e in about if e.groups == furthest and compared_pair_key(e) not in session.verdicts]
    done_groups = sum(not g.disturbed for g in session.groups.get(session.workload, ()))
    following = [
        look for e in open_ones if (look := find_next_analysis(session, e, margin_of(session))) is not None
    ]
    following = [look for look in following if look.groups > done_groups]  # not one that is being taken
    if not following or session.ended is not None:
        return ""
    first = min(following, key=lambda look: look.seconds)
    when = f"in {max(1, round(first.seconds))} s"
    if all(look.decides for look in following):
        return f"the next analysis, {when}, would decide it"
    return f"next analysis after {first.groups} groups, {when}"


class Forest(SessionPanel):
    """B over A of every load; its height is that of all its rows, so that nothing moves as they come."""

    DEFAULT_CSS = "Forest { width: 1fr; }"
    ID = "effects"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        rows = forest_lines(session, width - 4, height - 2)
        note = text_line(describe_outlook(session), "strong")
        title = "EFFECT" if session.ended is not None else "EFFECT SO FAR"
        return frame_rows([(f"{title}  ", "title"), ("95 % CI", "dim")], rows, width, height, note=note)
