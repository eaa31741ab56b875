"""Around the verdict's table: the answer in one sentence, how it came about, what to do next, the finding chosen."""

from collections.abc import Sequence

from hostdx.app.recordings import store
from hostdx.app.recordings.answers import ranked_items
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.figures.verdict_table import notes_on_values as values_beside
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.next_steps import list_remedies
from hostdx.app.report.validity import list_trust_signs
from hostdx.app.report.wording import describe_left_out_events
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    frame_rows,
    line_with_key_names,
    ruled_head,
    split_line,
    text_line,
    tinted_line,
    wrap_text,
)
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.details import (
    finding_lines,
    limit_lines,
    next_step_lines,
    scenario_argv,
    sign_lines,
    sign_lines_that_fit,
)
from hostdx.app.tui.widgets.home.checkup_lines import KEYS, checkup_lines
from hostdx.app.tui.widgets.home.findings_panel import FindingsPanel
from hostdx.app.tui.widgets.measuring.graphs import run_graph_lines, trace_lines
from hostdx.app.tui.widgets.measuring.load_cards import benchmark_lines
from hostdx.app.tui.widgets.measuring.loads_panel import (
    MAX_TRACE_LINES,
    about_lines,
    about_parts,
    whole_parts,
    with_graphs_or_steps,
)
from hostdx.app.tui.widgets.measuring.run_bar import legend_line
from hostdx.app.tui.widgets.on_top import imported_lines, lay_out_section_on_top, section_on_top_lines
from hostdx.app.tui.widgets.panel import Panel
from hostdx.app.tui.widgets.verdict_list import VerdictList
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.experiment.wording import explain_verdict

MIN_ROOMY_LINES = 48  # lines of a screen that has room for what a load stands for
MAX_NEXT_LINES = 12  # lines of trust, and of what comes next
MAX_LINES_WITHOUT_TRACE = 2  # lines that are too few for a picture
MAX_FREE_LINES = 5  # lines that a finding may leave free
MAX_EXPLAINED_ROWS = 6  # rows of a table on a low screen: Enter has how each came about
LOW_LINES = 1  # of how a verdict came about, on a low screen; Enter shows all of it


HIGH_LINES = 32  # of a screen
MAX_HEADLINE_LINES, MAX_LOW_HEADLINE_LINES = 6, 4  # on a low screen the table says the rest


def headline_lines(
    session: RunSession, width: int, screen_height: int = HIGH_LINES, *, growing: bool = False
) -> list[Line]:
    """The sentence, on the tint of its severity."""
    most = MAX_HEADLINE_LINES if screen_height >= HIGH_LINES else MAX_LOW_HEADLINE_LINES
    run_answer = find_headline_answer(session, is_running=growing)
    edge = (" ▌ ", f"{run_answer.weight}@{run_answer.weight}")
    rows = limit_lines(wrap_text(run_answer.sentence, width - 4, "strong"), most, width - 4)
    out = [tinted_line([edge, *row], width, run_answer.weight) for row in rows]
    ended = session.ended
    reached = any(not v.has_no_groups for v in session.verdicts.values())
    if ended is not None and ended.status != "done" and reached:
        why = (
            f"▲ {ended.status}: {clean_text(ended.reason or 'no reason given')}; verdicts reached before that "
            "are valid."
        )
        out += wrap_text(why, width - 2, "warning", indent=1)
    return out


def doubt_lines(session: RunSession, width: int, *, brief: bool = False) -> list[Line]:
    """Return what else must be known to read the table, the worst first; `brief`: one line, the first mere note that
    is whole on it, else cut with an ellipsis.
    """
    doubts: list[tuple[str, str]] = []
    for event in session.actions.values():
        declared = event.state == "kept" and event.action.irreversible  # a trim: it was said beforehand
        if event.state in ("failed", "kept") and not declared:
            doubts.append((f"! not undone: {event.action.title}: {event.reason}", "critical"))
    if more := describe_left_out_events(session):
        doubts.append((more, "warning"))
    differs = session.plan.differs if session.plan else ()
    if differs and session.verdicts:
        names = "; ".join(clean_text(d) for d in differs)
        doubts.append((f"Also different: {names}.", "dim"))
    doubts += [(values, "dim") for values in values_beside(session)]
    if brief:
        fitting = [doubt for doubt in doubts if doubt[1] == doubts[0][1] == "dim" and len(doubt[0]) <= width]
        return [crop_line(text_line(words, role), width) for words, role in (fitting or doubts)[:1]]
    return [line for words, role in doubts for line in wrap_text(words, width, role)]


class Headline(Panel):
    DEFAULT_CSS = "Headline { height: auto; max-height: 6; }"

    def draw(self, width: int, height: int) -> list[Line]:
        feed = self.shell.run_feed
        is_growing = feed.is_growing or not feed.playback.is_at_end
        high = self.screen.size.height
        return headline_lines(feed.session, width, high, growing=is_growing)


def _load_purpose_lines(session: RunSession, workload: str, width: int) -> list[Line]:
    """Return what the load stands for: `4k QD16` is a word of those who measure disks."""
    load = session.find_workload(workload)
    return wrap_text(load.why, width, "dim", indent=2) if load is not None and load.why else []


def _parts_that_fit_lines(name: str, why: Sequence[str], width: int, most: int | None) -> list[Line]:
    """Return how it came about, on `most` lines as many of its parts as are whole there; Enter shows the rest."""
    for count in range(len(why), 0, -1):
        out = wrap_text(f"{name}: {'; '.join(why[:count])}.", width, "dim")
        more = count < len(why)
        if most is None or (len(out) <= most and cell_width(out[-1]) + 6 * more <= width):
            return [*out[:-1], split_line(out[-1], text_line("Enter", "key"), width)] if more else out
    return [
        *out[:most][:-1],
        split_line([*out[(most or 1) - 1], (" …", "dim")], text_line("Enter", "key"), width),
    ]


class VerdictDetails(Panel):
    """Of the row under the cursor, how it came about; then whether the run can be trusted."""

    DEFAULT_CSS = "VerdictDetails { height: auto; max-height: 100%; }"
    free = 0  # lines that a low screen has left for it
    most = 0  # lines there that leave some to the steps and the findings

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.has_borders:
            return self.detail_lines(width)
        rows = self.detail_lines(width - 4)
        title, note = self._title_and_note(width - 4)
        return frame_rows(title, rows, width, len(rows) + 2 if self.has_auto_height else height, note=note)

    def _title_and_note(self, width: int) -> tuple[Line, Line]:
        session = self.shell.run_feed.session
        if ranked_items(session):
            return text_line("ANSWER", "title"), KEYS
        if not self.screen.query_one(VerdictList).build_rows():
            if section := lay_out_section_on_top(session, width, self._max_lines):
                return section.title, section.note
            if session.blocks:
                return text_line("FIGURES", "title"), _medians_of_variants(session, width - 12)
        return text_line("CAN IT BE TRUSTED?", "title"), []

    @property
    def _max_lines(self) -> int:
        return self.screen.size.height // (3 if self.screen.has_class("-beside") else 2)

    def detail_lines(self, width: int) -> list[Line]:
        session = self.shell.run_feed.session
        low = not self.has_borders
        out = checkup_lines(session, width, (self.screen.size.height - 5) * 7 // 10, headed=low)
        free = self.free
        entry = self.screen.query_one(VerdictList).selected_effect()
        signs = sign_lines(list_trust_signs(session), width)
        if entry is not None and entry.verdict is not None and entry.measured:
            verdict = entry.verdict
            inner = f"95 % CI {entry.interval}" if entry.interval and not verdict.explain else ""
            why = [
                *filter(None, (inner, clean_text(verdict.reason or ""), clean_text(explain_verdict(verdict))))
            ]
            many = low and len(self.screen.query_one(VerdictList).effect_rows()) > MAX_EXPLAINED_ROWS
            if why and not many:
                lines = _parts_that_fit_lines(entry.name, why, width, LOW_LINES + free if low else None)
                out, free = [*out, *lines], free - max(0, len(lines) - LOW_LINES)
                if self.screen.size.height >= MIN_ROOMY_LINES:
                    out += _load_purpose_lines(session, verdict.workload, width)
        compared = bool(self.screen.query_one(VerdictList).build_rows())
        if low or compared:
            left = max(1, self.most - len(out)) if low else len(signs) + self._max_lines + 1
            if len(signs) > left:  # the red ones come first
                signs = [
                    *sign_lines_that_fit(list_trust_signs(session), width, left - 1),
                    line_with_key_names("[o] shows the rest"),
                ]
            out += [
                *signs,
                *section_on_top_lines(session, width, min(self._max_lines + 1, left - len(signs))),
            ]
        else:
            section = lay_out_section_on_top(session, width, self._max_lines)
            lines = section.rows if section else benchmark_lines(session, width, self._max_lines)
            free = MAX_NEXT_LINES - len(lines) - len(signs)
            out += [*trace_lines(session, width, free), *lines, *signs]
        doubts, brief = doubt_lines(session, width), doubt_lines(session, width, brief=True)
        doubts = doubts if not low or len(doubts) <= free else brief
        filling = free - len(doubts) + len(brief) if low else 0
        out += [*doubts, *self._filling_lines(session, width, filling, compared=compared)]
        drawn = imported_lines(session, width, self.screen.size.height)
        high = len(out) + len(drawn) + len(self.screen.query_one(VerdictList).build_rows())
        if compared and (low or high > self.screen.size.height // 2):
            return out  # the steps and the findings stand below; the report has the picture
        return [*out, *(drawn if out else drawn[1:])]

    def _filling_lines(self, session: RunSession, width: int, most: int, *, compared: bool) -> list[Line]:
        """Return what is drawn where rows are left on a low screen, then what the run is about."""
        if most <= MAX_LINES_WITHOUT_TRACE:
            return []
        out = [] if compared else trace_lines(session, width, min(MAX_TRACE_LINES, most))
        out = out if out or compared else _figure_lines(session, width, most)
        left = most - len(out)
        is_watch = session.samples and not session.blocks
        if is_watch and left > MAX_LINES_WITHOUT_TRACE:
            head = ruled_head(text_line("OVER THE RUN", "title"), [], width)
            return [*out, head, *run_graph_lines(session, width, left - 1)]
        if left > MAX_LINES_WITHOUT_TRACE and (about := whole_parts(about_parts(session, width), left - 1)):
            out += [ruled_head(text_line("THIS RUN", "title"), [], width), *about]
        return [*out, *run_graph_lines(session, width, most - len(out))]


class Next(Panel):
    """One to three steps, each with what it costs; its digit opens the plan of a run, and copies what no plan holds."""

    DEFAULT_CSS = "Next { height: auto; max-height: 14; display: none; }"
    free = 0  # lines that a low screen has left for it

    def draw(self, width: int, height: int) -> list[Line]:
        steps = self.shown_steps
        note = [] if ranked_items(self.shell.run_feed.session) else self._key_line(steps)
        if not self.has_borders:
            rows = next_step_lines(steps, width - 2, 2 + self.free)
            return [
                ruled_head(text_line("NEXT", "title"), note, width),
                *([("  ", "text"), *row] for row in rows),
            ]
        room = MAX_NEXT_LINES if self.has_auto_height else height - 2
        rows = next_step_lines(steps, width - 4, room)
        return frame_rows("NEXT", rows, width, len(rows) + 2 if self.has_auto_height else height, note=note)

    @property
    def shown_steps(self) -> tuple[Remedy, ...]:
        """Those that there is room for: no digit acts on what nobody sees."""
        return advised_steps(self.shell.run_feed)[: None if self.has_borders else 1 + self.free // 2]

    def _key_line(self, steps: Sequence[Remedy]) -> Line:
        offers = self.shell.home_session().offers
        plans = [bool(scenario_argv(step, offers, lambda _name: "")) for step in steps]
        out: Line = []
        for kind, words in ((True, " open plan   "), (False, " copy it   ")):
            pairs = zip(steps, plans, strict=True)
            if digits := [
                str(n) for n, (remedy, plan) in enumerate(pairs, 1) if plan is kind and remedy.commands
            ]:
                out += [(", ".join(digits), "key"), (words, "dim")]
        hidden = len(advised_steps(self.shell.run_feed)) - len(steps)
        more: Line = [(f"{hidden} more: ", "dim"), ("o", "key"), ("   ", "text")] if hidden > 0 else []
        return [*more, *out, ("c", "key"), (" copy all", "dim")] if out else more


def _figure_lines(session: RunSession, width: int, height: int) -> list[Line]:
    """Return what a battery measured, below a head of its own."""
    rows = benchmark_lines(session, width, height - 1)
    return (
        [ruled_head(text_line("FIGURES", "title"), _medians_of_variants(session, width - 12), width), *rows]
        if rows
        else []
    )


def _medians_of_variants(session: RunSession, width: int) -> Line:
    """Whose the columns are."""
    several = len(session.planned_variants) > 1
    return crop_line(
        [("medians", "dim"), *([("   ", "text"), *legend_line(session, width)] if several else [])], width
    )


def advised_steps(feed: RunFeed) -> tuple[Remedy, ...]:
    return list_remedies(feed.session, store.shortest_name(feed.path))


class Preview(Panel):
    """On a high screen, the finding under the cursor without opening it, where no groups are to be drawn."""

    DEFAULT_CSS = "Preview { height: 1fr; display: none; }"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self.shell.run_feed.session
        finding = session.findings.get(self.screen.query_one(FindingsPanel).selected_key)
        if finding is None:
            about = with_graphs_or_steps(session, about_lines(session, width - 4), width - 4, height - 2)
            return frame_rows("THIS RUN", about, width, height)
        rows = finding_lines(finding, session, width - 4)
        if len(rows) < height - MAX_FREE_LINES:
            rows += [text_line(""), *about_lines(session, width - 4)][: height - 2 - len(rows)]
            rows = with_graphs_or_steps(session, rows, width - 4, height - 2)
        if len(rows) > height - 2:
            rows = [*rows[: height - 3], line_with_key_names("[Enter] shows all of it")]
        return frame_rows("THE FINDING", rows, width, height)
