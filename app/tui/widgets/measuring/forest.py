"""All effects of a run so far in one chart, the document's own; beside it what has too few groups for an interval."""

import math

from app.lines import Line, cells, framed, pad, shortened, text
from app.recording.progress import next_look
from app.recording.session import Session, pair
from app.report.figures.interval_chart import MOST_BAR, Scale, axis, bar_line, interval_lines, scale_of
from app.tui.widgets.measuring.load_cards import title
from app.tui.widgets.measuring.standing import margin_of, pairs_of, planned_words
from app.tui.widgets.panel import SessionPanel
from scenarios.results.document import Bar, Intervals

MOST_ROWS = 14


def forest_lines(session: Session, width: int, height: int) -> list[Line]:
    """A row a pair in the plan's order; where there is not room for all, those under way and the largest effects."""
    rows: list[tuple[str, str, Bar | None]] = []
    for load, found in pairs_of(session):
        rows += [(f"{title(load)} {one.name}".strip(), one.words, one.bar) for one in found]
        rows += [] if found else [(title(load), planned_words(session, load), None)]
    if len(rows) > height - 1:
        drawn = sorted(
            (r for r in rows if r[2] is not None), key=lambda r: -abs(math.log(r[2].ratio if r[2] else 1))
        )
        kept = [*drawn, *(r for r in rows if r[2] is None)][: max(1, height - 2)]
        left_out = len(rows) - len(kept)
        rows = [row for row in rows if row in kept]
    else:
        left_out = 0
    bars = [bar for _, _, bar in rows if bar is not None]
    margin = margin_of(session)
    longest = max((cells(text(words)) for _, words, _ in rows), default=0)
    names = min(max((len(name) for name, _, _ in rows), default=0), max(8, width - longest - 21))
    chart = interval_lines(Intervals(tuple(bars), margin), width, names=names, sizes=longest)
    scale = scale_of(bars)
    room = max(9, min(MOST_BAR, width - names - longest - 4))
    out = chart[:1] or [[(" " * (names + 2), "text"), *axis(room, scale)]]
    below = iter(chart[1:])
    for name, words, bar in rows:
        out.append(next(below) if bar is not None else _waiting(name, words, names, room, scale, margin))
    return [*out, *([text(f"and {left_out} more: v", "dim")] if left_out else [])][:height]


def _waiting(name: str, words: str, names: int, room: int, scale: Scale, margin: float) -> Line:
    """A row without an interval: where it will stand."""
    ground = bar_line(None, None, room, scale, margin=margin)
    empty: Line = [(sign.replace(" ", "·"), "shade@band" if "@" in role else "rule") for sign, role in ground]
    return [*pad(text(shortened(name, names), "dim"), names), ("  ", "text"), *empty, (f"  {words}", "dim")]


def outlook(session: Session) -> str:
    """When the next look comes, and whether it would decide as things stand."""
    about = [e for e in session.estimates.values() if e.workload == session.workload]
    furthest = max((e.groups for e in about), default=0)
    # one that is not estimated any more has been decided; its verdict comes with the others', at the load's end
    open_ones = [e for e in about if e.groups == furthest and pair(e) not in session.verdicts]
    taken = sum(not g.disturbed for g in session.groups.get(session.workload, ()))
    following = [look for e in open_ones if (look := next_look(session, e, margin_of(session))) is not None]
    following = [look for look in following if look.groups > taken]  # not one that is being taken
    if not following or session.ended is not None:
        return ""
    first = min(following, key=lambda look: look.seconds)
    when = f"in {max(1, round(first.seconds))} s"
    if all(look.decides for look in following):
        return f"the next look, {when}, would decide it"
    return f"next look after {first.groups} groups, {when}"


class Forest(SessionPanel):
    """B over A of every load; its height is that of all its rows, so that nothing moves as they come."""

    DEFAULT_CSS = "Forest { width: 1fr; }"
    ID = "effects"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        rows = forest_lines(session, width - 4, height - 2)
        note = text(outlook(session), "strong")
        title = "EFFECT" if session.ended is not None else "EFFECT SO FAR"
        return framed([(f"{title}  ", "title"), ("95 % CI", "dim")], note, rows, width, height)
