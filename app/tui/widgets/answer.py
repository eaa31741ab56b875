"""Around the verdict's table: the answer in one sentence, how it came about, what to do next, the finding chosen."""

from collections.abc import Sequence

from app.glyphs import clean
from app.lines import Line, cells, crop, framed, grounded, ruled, split, text, wrapped
from app.recording import store
from app.recording.answers import items
from app.recording.session import Session
from app.report.figures.verdict_table import beside as values_beside
from app.report.headline import answer
from app.report.next_steps import to_do
from app.report.validity import trust
from app.report.wording import beyond_bounds
from app.tui.children.feed import RunFeed
from app.tui.details import finding_lines, next_lines, planned, sign_lines
from app.tui.widgets.home.checkup_lines import KEYS, checkup_lines
from app.tui.widgets.home.findings_panel import Suspects
from app.tui.widgets.measuring.load_cards import battery_lines
from app.tui.widgets.measuring.loads_panel import MOST_TRACE, about_lines, about_parts, whole_parts
from app.tui.widgets.measuring.run_bar import legend
from app.tui.widgets.on_top import imported_lines, on_top, on_top_lines, trace_lines
from app.tui.widgets.panel import Panel
from app.tui.widgets.verdict_list import VerdictList
from scenarios.experiment.wording import explain_verdict
from scenarios.finding import Remedy

ROOMY = 48  # lines of a screen that has room for what a load stands for
MOST_NEXT = 12  # lines of trust, and of what comes next
MOST_TRACE_LEFT = 2  # lines that are too few for a picture
MOST_FREE = 5  # lines that a finding may leave free
MANY = 6  # rows of a table on a low screen: Enter has how each came about
LOW_LINES = 1  # of how a verdict came about, on a low screen; Enter shows all of it


def headline_lines(session: Session, width: int, *, growing: bool = False) -> list[Line]:
    """The sentence, on the tint of its severity."""
    said = answer(session, growing=growing)
    edge = (" ▌ ", f"{said.weight}@{said.weight}")
    rows = wrapped(said.sentence, width - 4, "strong")
    out = [grounded([edge, *row], width, said.weight) for row in rows]
    ended = session.ended
    reached = any(not v.has_no_groups for v in session.verdicts.values())
    if ended is not None and ended.status != "done" and reached:
        why = (
            f"▲ {ended.status}: {clean(ended.reason or 'no reason given')}; verdicts reached before that "
            "are valid."
        )
        out += wrapped(why, width - 2, "warning", indent=1)
    return out


def trust_lines(session: Session, width: int) -> list[Line]:
    return sign_lines(trust(session), width)


def doubt_lines(session: Session, width: int, *, brief: bool = False) -> list[Line]:
    """What else must be known to read the table, the worst first; `brief`: one line, the first mere note that is whole
    on it, else cut with an ellipsis."""
    said: list[tuple[str, str]] = []
    for event in session.actions.values():
        declared = event.state == "kept" and event.action.irreversible  # a trim: it was said beforehand
        if event.state in ("failed", "kept") and not declared:
            said.append((f"! not undone: {event.action.title}: {event.reason}", "critical"))
    if more := beyond_bounds(session):
        said.append((more, "warning"))
    differs = session.plan.differs if session.plan else ()
    if differs and session.verdicts:
        names = "; ".join(clean(d) for d in differs)
        said.append((f"This stack, as these differ too: {names}.", "dim"))
    said += [(values, "dim") for values in values_beside(session)]
    if brief:
        whole = [one for one in said if one[1] == said[0][1] == "dim" and len(one[0]) <= width]
        return [crop(text(words, role), width) for words, role in (whole or said)[:1]]
    return [line for words, role in said for line in wrapped(words, width, role)]


class Headline(Panel):
    DEFAULT_CSS = "Headline { height: auto; max-height: 6; }"

    def draw(self, width: int, height: int) -> list[Line]:
        feed = self.shell.feed
        return headline_lines(feed.session, width, growing=feed.growing or not feed.playback.at_end)


def _load_lines(session: Session, workload: str, width: int) -> list[Line]:
    """What the load stands for: `4k QD16` is a word of those who measure disks."""
    load = session.load(workload)
    return wrapped(clean(load.why), width, "dim", indent=2) if load is not None and load.why else []


def _why_lines(name: str, why: Sequence[str], width: int, most: int | None) -> list[Line]:
    """How it came about, on `most` lines as many of its parts as are whole there; Enter shows the rest."""
    for count in range(len(why), 0, -1):
        out = wrapped(f"{name}: {'; '.join(why[:count])}.", width, "dim")
        more = count < len(why)
        if most is None or (len(out) <= most and cells(out[-1]) + 6 * more <= width):
            return [*out[:-1], split(out[-1], text("Enter", "key"), width)] if more else out
    return [*out[:most][:-1], split([*out[(most or 1) - 1], (" …", "dim")], text("Enter", "key"), width)]


class VerdictDetails(Panel):
    """Of the row under the cursor, how it came about; then whether the run can be trusted."""

    DEFAULT_CSS = "VerdictDetails { height: auto; max-height: 100%; }"
    free = 0  # lines that a low screen has left for it
    most = 0  # lines there that leave some to the steps and the findings

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.boxed:
            return self.rows(width)
        rows = self.rows(width - 4)
        title, note = self._title(width - 4)
        return framed(title, note, rows, width, len(rows) + 2 if self.natural else height)

    def _title(self, width: int) -> tuple[Line, Line]:
        session = self.shell.feed.session
        if items(session):
            return text("ANSWER", "title"), KEYS
        if not self.screen.query_one(VerdictList).rows():
            if found := on_top(session, width, self._most):
                return found.title, found.note
            if session.blocks:
                return text("FIGURES", "title"), _sides(session, width - 12)
        return text("CAN IT BE TRUSTED?", "title"), []

    @property
    def _most(self) -> int:
        return self.screen.size.height // (3 if self.screen.has_class("-beside") else 2)

    def rows(self, width: int) -> list[Line]:
        session = self.shell.feed.session
        low = not self.boxed
        out = checkup_lines(session, width, (self.screen.size.height - 5) * 7 // 10, headed=low)
        free = self.free
        entry = self.screen.query_one(VerdictList).entry()
        signs = trust_lines(session, width)
        if entry is not None and entry.verdict is not None and entry.measured:
            verdict = entry.verdict
            inner = f"95 % CI {entry.interval}" if entry.interval and not verdict.explain else ""
            why = [*filter(None, (inner, clean(verdict.reason or ""), clean(explain_verdict(verdict))))]
            many = low and len(self.screen.query_one(VerdictList).entries()) > MANY
            if why and not many:
                told = _why_lines(entry.name, why, width, LOW_LINES + free if low else None)
                out, free = [*out, *told], free - max(0, len(told) - LOW_LINES)
                if self.screen.size.height >= ROOMY:
                    out += _load_lines(session, verdict.workload, width)
        compared = bool(self.screen.query_one(VerdictList).rows())
        if low or compared:
            left = max(1, self.most - len(out)) if low else len(signs) + self._most + 1
            if len(signs) > left:  # the red ones come first
                told = [row for sign in trust(session) for row in sign_lines([sign], width)[:1]]
                signs = [*told[: left - 1], text("the rest of it: o", "dim")]
            out += [*signs, *on_top_lines(session, width, min(self._most + 1, left - len(signs)))]
        else:
            found = on_top(session, width, self._most)
            told = found.rows if found else battery_lines(session, width, self._most)
            free = MOST_NEXT - len(told) - len(signs)
            out += [*trace_lines(session, width, free), *told, *signs]
        doubts, brief = doubt_lines(session, width), doubt_lines(session, width, brief=True)
        doubts = doubts if not low or len(doubts) <= free else brief
        filling = free - len(doubts) + len(brief) if low else 0
        out += [*doubts, *self._filling(session, width, filling, compared=compared)]
        drawn = imported_lines(session, width, self.screen.size.height)
        high = len(out) + len(drawn) + len(self.screen.query_one(VerdictList).rows())
        if compared and (low or high > self.screen.size.height // 2):
            return out  # the steps and the findings stand below; the report has the picture
        return [*out, *(drawn if out else drawn[1:])]

    def _filling(self, session: Session, width: int, most: int, *, compared: bool) -> list[Line]:
        """What is drawn where rows are left on a low screen, then what the run is about."""
        if most <= MOST_TRACE_LEFT:
            return []
        out = [] if compared else trace_lines(session, width, min(MOST_TRACE, most))
        out = out if out or compared else _figures(session, width, most)
        left = most - len(out)
        if left > MOST_TRACE_LEFT and (about := whole_parts(about_parts(session, width), left - 1)):
            out += [ruled(text("THIS RUN", "title"), [], width), *about]
        return out


class Next(Panel):
    """One to three steps, each with what it costs; its digit opens the plan of a run, and copies what no plan holds."""

    DEFAULT_CSS = "Next { height: auto; max-height: 14; display: none; }"
    free = 0  # lines that a low screen has left for it

    def draw(self, width: int, height: int) -> list[Line]:
        steps = self.steps
        note = [] if items(self.shell.feed.session) else self._keys(steps)
        if not self.boxed:
            rows = next_lines(steps, width - 2, 2 + self.free)
            return [ruled(text("NEXT", "title"), note, width), *([("  ", "text"), *row] for row in rows)]
        room = MOST_NEXT if self.natural else height - 2
        rows = next_lines(steps, width - 4, room)
        return framed(text("NEXT", "title"), note, rows, width, len(rows) + 2 if self.natural else height)

    @property
    def steps(self) -> tuple[Remedy, ...]:
        """Those that there is room for: no digit acts on what nobody sees."""
        return advice(self.shell.feed)[: None if self.boxed else 1 + self.free // 2]

    def _keys(self, steps: Sequence[Remedy]) -> Line:
        offers = self.shell.home_session().offers
        plans = [bool(planned(step, offers, lambda _name: "")) for step in steps]
        out: Line = []
        for kind, words in ((True, " open plan   "), (False, " copy it   ")):
            told = zip(steps, plans, strict=True)
            if digits := [str(n) for n, (one, plan) in enumerate(told, 1) if plan is kind and one.commands]:
                out += [(", ".join(digits), "key"), (words, "dim")]
        return [*out, ("c", "key"), (" copy all", "dim")] if out else []


def _figures(session: Session, width: int, height: int) -> list[Line]:
    """What a battery measured, below a head of its own."""
    rows = battery_lines(session, width, height - 1)
    return [ruled(text("FIGURES", "title"), _sides(session, width - 12), width), *rows] if rows else []


def _sides(session: Session, width: int) -> Line:
    """Whose the columns are."""
    several = len(session.variants) > 1
    return crop([("medians", "dim"), *([("   ", "text"), *legend(session, width)] if several else [])], width)


def advice(feed: RunFeed) -> tuple[Remedy, ...]:
    return to_do(feed.session, store.argument(feed.path))


class Preview(Panel):
    """On a high screen, the finding under the cursor without opening it, where no groups are to be drawn."""

    DEFAULT_CSS = "Preview { height: 1fr; display: none; }"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self.shell.feed.session
        finding = session.findings.get(self.screen.query_one(Suspects).selected)
        if finding is None:
            return framed(text("THIS RUN", "title"), [], about_lines(session, width - 4), width, height)
        rows = finding_lines(finding, session, width - 4)
        if len(rows) < height - MOST_FREE:
            rows += [text(""), *about_lines(session, width - 4)][: height - 2 - len(rows)]
        if len(rows) > height - 2:
            rows = [*rows[: height - 3], text("Enter shows all of it", "dim")]
        return framed(text("THE FINDING", "title"), [], rows, width, height)
