"""What the live screen is about: every load; without any, what is read or watched, and what the plan says of it."""

import shlex
from collections.abc import Iterable, Iterator
from functools import partial

from app.glyphs import clean
from app.lines import BLANK, Line, framed, text, wrapped
from app.recording.session import Session
from app.tui.widgets.fact_words import value_words
from app.tui.widgets.home.checkup_lines import checkup_lines
from app.tui.widgets.measuring.figures_table import figures
from app.tui.widgets.measuring.levels import MOST_WAITING
from app.tui.widgets.measuring.load_cards import Pairs, card, card_lines, row_lines
from app.tui.widgets.measuring.standing import pairs_of
from app.tui.widgets.on_top import on_top, trace_lines
from app.tui.widgets.panel import PacedPanel
from app.tui.widgets.word_list import word_lines

MOST_TRACE = 9  # lines of what a watch draws
FEW = 3  # loads whose cards have room for what the plan says


def about_lines(session: Session, width: int) -> list[Line]:
    return [line for part in about_parts(session, width) for line in part]


def about_parts(session: Session, width: int) -> Iterator[list[Line]]:
    """The plan in plain words and what it draws, then words that come up, then the facts read, the newest first."""
    plan, began = session.plan, session.began
    if plan is None and began is not None:
        if session.ended is None:
            words = f"{clean(began.scenario)} reads the host before it measures anything"
            yield [text(words, "strong"), BLANK]
        yield wrapped(clean(shlex.join(began.command)), width, "accent", hang=2)
    if plan is not None:
        yield wrapped(clean(plan.question), width, "strong")
        if plan.why:
            yield wrapped(clean(plan.why), width)
        for sentence in plan.sentences:
            yield wrapped(f"· {clean(sentence)}", width, "dim", hang=2)
        yield [text(clean(row), "dim") for row in plan.picture]
    yield from ([line] for line in (BLANK, *word_lines(width)))
    for fact in reversed(session.facts.values()):
        said = f"{fact.label}  {value_words(fact.value, fact.unit)}"
        yield wrapped(said, width, "dim", hang=2)[:1]


def whole_parts(parts: Iterable[list[Line]], most: int) -> list[Line]:
    """As many as fit into so many lines, none of them cut off."""
    out: list[Line] = []
    for part in parts:
        if len(out) + len(part) <= most:
            out += part
    return out


def read_panel(session: Session, width: int, height: int) -> list[Line]:
    """Of a run that loads nothing, or has not begun to: what it reads, what was found, and what it is about."""
    inner, room = width - 4, height - 2
    about = about_lines(session, inner)
    found = on_top(session, inner, room // 2 if session.card.trace else room)
    title, note = text("WHAT IS ABOUT TO BE MEASURED", "title"), BLANK
    out: list[Line] = []
    if trace := session.card.trace:
        below = found.rows if found is not None else [text(trace.nothing, "dim")]
        high = min(MOST_TRACE, room - len(below) - len(about) - 2)
        drawn = trace_lines(session, inner, max(2, high))
        out = [*drawn, BLANK, *below] if drawn else []
        title, note = (found.title, found.note) if found is not None else (text("SO FAR", "title"), BLANK)
    elif session.samples:
        title = text("SO FAR", "title")
        note, out = figures(session, inner, room)
    elif found is not None:
        title, note = found.title, found.note
        out = [*found.rows, *(found.charts if len(found.rows) + len(found.charts) <= room else ())]
    rows = [*out, *([BLANK] if out else []), *about]
    return framed(title, note, rows[:room], width, height)


class LoadsPanel(PacedPanel):
    DEFAULT_CSS = "LoadsPanel { height: 1fr; min-height: 5; }"
    ID = "loads"

    def shows(self, session: Session) -> object:
        return len(session.verdicts)

    def made(self, session: Session, width: int, height: int) -> list[Line]:
        if found := checkup_lines(session, width - 4, height - 2):
            rows = [*found, BLANK, *about_lines(session, width - 4)][: height - 2]
            return framed(text("SO FAR", "title"), BLANK, rows, width, height)
        pairs = pairs_of(session)
        if not pairs or not session.card.compares or (session.samples and not session.workload):
            return read_panel(session, width, height)
        more = partial(about_lines, session) if len(pairs) < FEW else None
        # a card has nothing to show before the first block, where nobody can tell which of many variants it will have
        empty = len(session.variants) > MOST_WAITING and any(one.id not in session.blocks for one, _ in pairs)
        cards = [] if empty else card_lines(session, pairs, width, height, more)
        return cards or self._rows(session, pairs, width, height)

    def _rows(self, session: Session, pairs: Pairs, width: int, height: int) -> list[Line]:
        """A row each; the load under way below them, as far as there is room."""
        most = max(3, min(len(pairs), height - 9)) + 2
        table = framed(text("LOADS", "title"), text("levels and effect", "dim"),
                       row_lines(session, pairs, width - 4, most - 2), width, most)  # fmt: skip
        below = height - most
        now = next((one for one in pairs if one[0].id == session.workload), pairs[0])
        about = partial(about_lines, session)
        return [*table, *(card(session, *now, width, below, about) if below > 3 else [BLANK] * below)]
