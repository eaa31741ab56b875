"""What the live screen is about: every load; without any, what is read or watched, and what the plan says of it."""

import shlex
from collections.abc import Iterable, Iterator
from functools import partial

from app.recordings.session import RunSession
from app.terminal.glyphs import clean_text
from app.terminal.lines import BLANK, Line, frame_rows, text_line, wrap_text
from app.tui.widgets.fact_words import value_words
from app.tui.widgets.home.checkup_lines import checkup_lines
from app.tui.widgets.measuring.figures_table import figure_lines
from app.tui.widgets.measuring.levels import MAX_WAITING_VARIANTS
from app.tui.widgets.measuring.load_cards import Pairs, card_lines, draw_card, row_lines
from app.tui.widgets.measuring.standing import pairs_of
from app.tui.widgets.on_top import on_top, trace_lines
from app.tui.widgets.panel import PacedPanel
from app.tui.widgets.word_list import word_lines

MAX_TRACE_LINES = 9  # lines of what a watch draws
MAX_LARGE_CARDS = 3  # loads whose cards have room for what the plan says


def about_lines(session: RunSession, width: int) -> list[Line]:
    return [line for part in about_parts(session, width) for line in part]


def about_parts(session: RunSession, width: int) -> Iterator[list[Line]]:
    """The plan in plain words and what it draws, then words that come up, then the facts read, the newest first."""
    plan, began = session.plan, session.began
    if plan is None and began is not None:
        if session.ended is None:
            words = f"{clean_text(began.scenario)} reads the host before it measures anything"
            yield [text_line(words, "strong"), BLANK]
        yield wrap_text(clean_text(shlex.join(began.command)), width, "accent", hang=2)
    if plan is not None:
        yield wrap_text(clean_text(plan.question), width, "strong")
        if plan.why:
            yield wrap_text(clean_text(plan.why), width)
        for sentence in plan.sentences:
            yield wrap_text(f"· {clean_text(sentence)}", width, "dim", hang=2)
        yield [text_line(clean_text(row), "dim") for row in plan.picture]
    yield from ([line] for line in (BLANK, *word_lines(width)))
    for fact in reversed(session.facts.values()):
        fact_text = f"{fact.label}  {value_words(fact.value, fact.unit)}"
        yield wrap_text(fact_text, width, "dim", hang=2)[:1]


def whole_parts(parts: Iterable[list[Line]], most: int) -> list[Line]:
    """As many as fit into so many lines, none of them cut off."""
    out: list[Line] = []
    for part in parts:
        if len(out) + len(part) <= most:
            out += part
    return out


def read_panel(session: RunSession, width: int, height: int) -> list[Line]:
    """Of a run that loads nothing, or has not begun to: what it reads, what was found, and what it is about."""
    inner, room = width - 4, height - 2
    about = about_lines(session, inner)
    section = on_top(session, inner, room // 2 if session.scenario_card.trace else room)
    title, note = text_line("WHAT IS ABOUT TO BE MEASURED", "title"), BLANK
    out: list[Line] = []
    if trace := session.scenario_card.trace:
        below = section.rows if section is not None else [text_line(trace.nothing, "dim")]
        high = min(MAX_TRACE_LINES, room - len(below) - len(about) - 2)
        drawn = trace_lines(session, inner, max(2, high))
        out = [*drawn, BLANK, *below] if drawn else []
        title, note = (
            (section.title, section.note) if section is not None else (text_line("SO FAR", "title"), BLANK)
        )
    elif session.samples:
        title = text_line("SO FAR", "title")
        note, out = figure_lines(session, inner, room)
    elif section is not None:
        title, note = section.title, section.note
        out = [*section.rows, *(section.charts if len(section.rows) + len(section.charts) <= room else ())]
    rows = [*out, *([BLANK] if out else []), *about]
    return frame_rows(title, note, rows[:room], width, height)


class LoadsPanel(PacedPanel):
    DEFAULT_CSS = "LoadsPanel { height: 1fr; min-height: 5; }"
    ID = "loads"

    def redraw_key(self, session: RunSession) -> object:
        return len(session.verdicts)

    def draw_session(self, session: RunSession, width: int, height: int) -> list[Line]:
        if ranked := checkup_lines(session, width - 4, height - 2):
            rows = [*ranked, BLANK, *about_lines(session, width - 4)][: height - 2]
            return frame_rows(text_line("SO FAR", "title"), BLANK, rows, width, height)
        pairs = pairs_of(session)
        if not pairs or not session.scenario_card.compares or (session.samples and not session.workload):
            return read_panel(session, width, height)
        more = partial(about_lines, session) if len(pairs) < MAX_LARGE_CARDS else None
        # a card has nothing to show before the first block, where nobody can tell which of many variants it will have
        empty = len(session.planned_variants) > MAX_WAITING_VARIANTS and any(
            load.id not in session.blocks for load, _ in pairs
        )
        cards = [] if empty else card_lines(session, pairs, width, height, more)
        return cards or self._table_and_card(session, pairs, width, height)

    def _table_and_card(self, session: RunSession, pairs: Pairs, width: int, height: int) -> list[Line]:
        """A row each; the load under way below them, as far as there is room."""
        most = max(3, min(len(pairs), height - 9)) + 2
        table = frame_rows(text_line("LOADS", "title"), text_line("levels and effect", "dim"),
                       row_lines(session, pairs, width - 4, most - 2), width, most)  # fmt: skip
        below = height - most
        now = next((pair for pair in pairs if pair[0].id == session.workload), pairs[0])
        about = partial(about_lines, session)
        return [*table, *(draw_card(session, *now, width, below, about) if below > 3 else [BLANK] * below)]
