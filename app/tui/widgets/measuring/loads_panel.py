"""What the live screen is about: every load; without any, what is read or watched, drawn over the whole run."""

import shlex
import statistics
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rich.cells import cell_len

from hostdx.app.recordings.answers import ranked_items
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms.cells import table_lines
from hostdx.app.terminal.glyphs import clean_text, spark_cell
from hostdx.app.terminal.lines import BLANK, Line, crop_line, frame_rows, shorten_middle, text_line, wrap_text
from hostdx.app.tui.widgets.home.checkup_lines import checkup_lines
from hostdx.app.tui.widgets.home.host_table import value_words
from hostdx.app.tui.widgets.measuring.graphs import (
    MAX_SAMPLE_GRAPHS,
    MIN_GRAPH_LINES,
    format_value,
    run_graph_lines,
)
from hostdx.app.tui.widgets.measuring.levels import MAX_WAITING_VARIANTS
from hostdx.app.tui.widgets.measuring.load_cards import Pairs, card_lines, draw_card, row_lines
from hostdx.app.tui.widgets.measuring.run_bar import step_lines
from hostdx.app.tui.widgets.measuring.standing import workloads_with_pairs
from hostdx.app.tui.widgets.on_top import lay_out_section_on_top
from hostdx.app.tui.widgets.panel import PacedPanel
from hostdx.app.tui.widgets.word_list import word_lines
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import Cell, Table, Toned, plain_text

# What a survey or a watch has read so far, a line a figure: where no load is under way there are no blocks to draw.
_TRACE = 24  # values drawn
_MIN_NAME_CELLS, _MAX_VALUE_CELLS = 16, 44


def _trace_text(samples: Sequence[ev.SampleTaken]) -> str:
    """Return the last values, a cell each; as wide from the first one on, so that nothing right of it moves."""
    values = [s.value for s in samples[-_TRACE:]]
    most = max(*values, 0.0) or 1.0
    return "".join(spark_cell(value / most) for value in values).ljust(_TRACE)


def figure_lines(session: RunSession, width: int, most: int) -> tuple[Line, list[Line]]:
    """Return how often it was read, and at most `most` lines. A figure of several variants has a column each, the
    median so far.
    """
    if not session.samples or most < 2:
        return [], []
    read_series = {name: samples for name, samples in session.samples.items() if samples}
    columns = list(dict.fromkeys(s.variant for samples in read_series.values() for s in samples))
    rounds = max(
        len([s for s in samples if s.variant == samples[0].variant]) for samples in read_series.values()
    )
    note = units.count_noun(rounds, "reading") if columns == [""] else f"median of {rounds} rounds"
    rows = _order_by_kind(read_series)
    room = most - (columns != [""])
    newest = sorted(rows, key=lambda row: row[1][-1].t)[-(room - 1) :]
    shown = rows if len(rows) <= room else [row for row in rows if row in newest]
    cells: list[tuple[Cell, ...]]
    if columns == [""]:
        heads, right = ["", ""], frozenset[int]()
        cells = [
            (Toned(_trace_text(samples), "accent"), _median_text(samples[-1:], "")) for _, samples in shown
        ]
    else:
        heads, right = list(map(clean_text, columns)), frozenset(range(1, len(columns) + 1))
        cells = [tuple(_median_text(samples, variant) for variant in columns) for _, samples in shown]
    others = [max(map(cell_len, map(plain_text, column))) for column in zip(heads, *cells, strict=True)]
    names = max(_MIN_NAME_CELLS, width - sum(others) - 2 * len(others))
    named_rows = [(shorten_middle(name, names), *row) for (name, _), row in zip(shown, cells, strict=True)]
    table = Table(("", *heads), tuple(named_rows), right)
    out = [crop_line(line, width) for line in table_lines(table, width)][columns == [""] :]
    if left_out := len(rows) - len(shown):
        out = [*out[: most - 1], text_line(f"and {left_out} more in the report", "dim")]
    return text_line(note, "dim"), out


def _order_by_kind(read_series: dict[str, list[ev.SampleTaken]]) -> list[tuple[str, list[ev.SampleTaken]]]:
    """Figures of one unit and the same variants stand together by name: a survey reads them in a drawn order."""
    kinds = {
        name: (samples[0].unit, frozenset(s.variant for s in samples))
        for name, samples in read_series.items()
    }
    first = {kind: place for place, kind in reversed(list(enumerate(kinds.values())))}
    return sorted(read_series.items(), key=lambda row: (first[kinds[row[0]]], row[0]))


def _median_text(samples: Sequence[ev.SampleTaken], variant: str) -> str:
    own = [s for s in samples if s.variant == variant]
    return (
        format_value(statistics.median(s.value for s in own), own[-1].unit, _MAX_VALUE_CELLS) if own else ""
    )


MAX_TRACE_LINES = 9  # lines of what a watch draws
MIN_GRAPHS_LINES = 5  # lines that the graphs of the run keep beside a list of causes


def about_lines(session: RunSession, width: int) -> list[Line]:
    return [line for part in about_parts(session, width) for line in part]


def about_parts(session: RunSession, width: int) -> Iterator[list[Line]]:
    """The plan in plain words and what it draws, then the facts read, the newest first: for a run that has ended."""
    plan, began = session.plan, session.began
    if plan is None and began is not None:
        if session.ended is None:
            words = f"{clean_text(began.scenario)} reads the host before it measures anything"
            yield [text_line(words, "strong"), BLANK]
        yield wrap_text(shlex.join(began.command), width, "accent", hang=2)
    if plan is not None:
        yield wrap_text(plan.question, width, "strong")
        if plan.why:
            yield wrap_text(plan.why, width)
        for sentence in plan.sentences:
            yield wrap_text(f"· {clean_text(sentence)}", width, "dim", hang=2)
        yield [text_line(row, "dim") for row in plan.picture]
    is_watch = plan is not None and not plan.workloads
    # in the first second nothing else is known
    if not session.pulses and session.ended is None:
        yield from ([line] for line in (BLANK, *word_lines(width)))
    if not is_watch:  # whose facts are of the host, and not of what was watched
        yield from ([line] for line in fact_lines(session, width))


def fact_lines(session: RunSession, width: int) -> Iterator[Line]:
    """A line a fact that was read of the host, the newest first."""
    for fact in reversed(session.facts.values()):
        is_path = fact.subject == "sysctl"  # named as the kernel names it
        label = fact.label if is_path else f"{fact.subject} {fact.name.replace('_', ' ')}".lstrip()
        yield wrap_text(f"{label}: {value_words(fact.value, fact.unit)}", width, "dim", hang=2)[0]


def whole_parts(parts: Iterable[list[Line]], most: int) -> list[Line]:
    """As many as fit into so many lines, none of them cut off."""
    out: list[Line] = []
    for part in parts:
        if len(out) + len(part) <= most:
            out += part
    return out


def reading_run_panel(session: RunSession, width: int, height: int) -> list[Line]:
    """Of a run that loads nothing, or has not begun to: what it has found, and what it reads over the whole run."""
    inner, room = width - 4, height - 2
    section = lay_out_section_on_top(session, inner, room // 2 if session.scenario_card.trace else room)
    title, note = text_line("SO FAR", "title"), BLANK
    out: list[Line] = []
    if trace := session.scenario_card.trace:
        out = section.rows if section is not None else [text_line(trace.nothing, "dim")]
        title, note = (section.title, section.note) if section is not None else (title, note)
    elif session.samples:
        note, out = figure_lines(session, inner, room)
        if _are_all_samples_drawn(session, room):
            out = []
    elif section is not None:
        title, note = section.title, section.note
        out = [*section.rows, *(section.charts if len(section.rows) + len(section.charts) <= room else ())]
    return frame_rows(title, with_graphs_or_steps(session, out, inner, room), width, height, note=note)


def _are_all_samples_drawn(session: RunSession, room: int) -> bool:
    """Return whether the graphs show all that was read: then a table of it would draw every curve twice."""
    is_watched = all(not sample.variant for samples in session.samples.values() for sample in samples[-1:])
    has_room = room > MIN_GRAPH_LINES * len(session.samples)
    return is_watched and has_room and len(session.samples) <= MAX_SAMPLE_GRAPHS


def preparing_panel(session: RunSession, width: int, height: int) -> list[Line]:
    """Before the first block: the loads of a battery, else what is written to each side's disk or was read of the host;
    below it what the host does.
    """
    inner, room = width - 4, height - 2
    is_writing = bool(session.plan is not None and session.plan.writes and "prepare" in session.began_at)
    rows: list[Line] = []
    if session.scenario_card.role == "battery":
        rows = row_lines(session, workloads_with_pairs(session), inner, max(3, room - MIN_GRAPHS_LINES - 1))
    elif not is_writing:
        rows = list(islice(fact_lines(session, inner), room // 2))
    rows = with_graphs_or_steps(session, rows, inner, room, writing=is_writing)
    title = "WRITING THE TEST FILES" if is_writing else "BEFORE THE FIRST FIGURES"
    prepared = session.steps.get("prepare")
    if is_writing and prepared is not None and prepared.state != "started":
        title = "THE FIRST LOAD HAS BEGUN" if session.workload else "THE TEST FILES ARE WRITTEN"
    note = text_line(units.count_noun(len(session.planned_workloads), "load") + " to come", "dim")
    return frame_rows(title, rows, width, height, note=note)


def with_graphs_or_steps(
    session: RunSession, rows: list[Line], width: int, room: int, *, writing: bool = False
) -> list[Line]:
    """Return `rows`, and below them the run's time series in the lines that are left.

    Before the first reading of the host there is no series: then the run's steps, and what it is about.
    """
    gap = [BLANK] if rows else []
    graphs = run_graph_lines(session, width, room - len(rows) - len(gap), writing=writing)
    if graphs or session.ended is not None:
        return [*rows, *gap, *graphs][:room]
    return [
        *rows,
        *gap,
        *([*step_lines(session.plan, width), BLANK] if session.plan is not None else ()),
        *about_lines(session, width),
    ][:room]


class LoadsPanel(PacedPanel):
    DEFAULT_CSS = "LoadsPanel { height: 1fr; min-height: 5; }"
    ID = "loads"

    def redraw_key(self, session: RunSession) -> object:
        return len(session.verdicts)

    def draw_session(self, session: RunSession, width: int, height: int) -> list[Line]:
        if session.scenario_card.role == "whole" or ranked_items(session):
            return self._causes_panel(session, width, height)
        pairs = workloads_with_pairs(session)
        if not pairs or not session.scenario_card.compares or (session.samples and not session.workload):
            return reading_run_panel(session, width, height)
        if not session.blocks and session.ended is None:
            return preparing_panel(session, width, height)
        # a card has nothing to show before the first block, where nobody can tell which of many variants it will have
        empty = len(session.planned_variants) > MAX_WAITING_VARIANTS and any(
            load.id not in session.blocks for load, _ in pairs
        )
        cards = [] if empty else card_lines(session, pairs, width, height)
        return cards or self._table_and_card(session, pairs, width, height)

    def _causes_panel(self, session: RunSession, width: int, height: int) -> list[Line]:
        """The causes so far, worst first; below them what the part under way measures, and the host over the run."""
        inner, room = width - 4, height - 2
        ranked = checkup_lines(session, inner, max(3, room - MIN_GRAPHS_LINES - 1))
        rows = with_graphs_or_steps(session, ranked, inner, room)
        return frame_rows("SO FAR", rows, width, height)

    def _table_and_card(self, session: RunSession, pairs: Pairs, width: int, height: int) -> list[Line]:
        """A row each; the load under way below them, as far as there is room."""
        most = max(3, min(len(pairs), height - 9)) + 2
        rows = row_lines(session, pairs, width - 4, most - 2)
        labels = ", ".join(clean_text(variant.id) for variant in session.planned_variants[:2])
        note = "levels" if session.scenario_card.role == "battery" else f"levels of {labels}, and the effect"
        table = frame_rows("LOADS", rows, width, most, note=text_line(note, "dim"))
        below = height - most
        now = next((pair for pair in pairs if pair[0].id == session.workload), pairs[0])
        return [*table, *(draw_card(session, *now, width, below) if below > 3 else [BLANK] * below)]
