"""Verdict: the answer in one sentence, the table of effects, whether to trust it, what to do, and the findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from app.glyphs import clean
from app.lines import Line, crop, framed, grounded, ruled, split, text, wrapped
from app.recording import store
from app.recording.session import Session
from app.report.figures.verdict_table import beside as values_beside
from app.report.headline import answer
from app.report.next_steps import to_do
from app.report.results.checkup import items
from app.report.trust import trust
from app.report.wording import beyond_bounds
from app.tui.children.feed import RunFeed
from app.tui.details import (
    PLACEHOLDER,
    commands_of,
    finding_lines,
    named_process,
    next_lines,
    planned,
    sign_lines,
)
from app.tui.screens.run import RunScreen
from app.tui.widgets.home.checkup_lines import checkup_lines
from app.tui.widgets.home.findings_panel import Suspects
from app.tui.widgets.imported import imported_lines
from app.tui.widgets.measuring.group_plot import Chosen, GroupPlot, ValuesPlot, courses
from app.tui.widgets.measuring.load_cards import battery_lines
from app.tui.widgets.measuring.loads_panel import about_lines
from app.tui.widgets.measuring.transport import Transport
from app.tui.widgets.on_top import on_top, on_top_lines, trace_lines
from app.tui.widgets.panel import Box, Panel
from app.tui.widgets.picker import Picker
from app.tui.widgets.verdict_list import VerdictList
from scenarios.experiment.wording import explanation
from scenarios.finding import Remedy

ROOMY = 48  # lines of a screen that has room for what a load stands for
ENOUGH = 28  # lines of a screen that has room for every step's title and command
MOST_NEXT = 12  # lines of trust, and of what comes next
AROUND = 3  # lines of head, transport and keys
MOST_TABLE, LEAST_FOUND = 13, 4  # lines of the table, and of the findings with their border
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
    reached = any(not v.unmeasured for v in session.verdicts.values())
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
    """What else must be known to read the table, the worst first; `brief`: one line, cut with an ellipsis."""
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
    if values := values_beside(session):
        said.append((values, "dim"))
    if brief:
        return [crop(text(words, role), width) for words, role in said[:1]]
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


class About(Panel):
    """Of the row under the cursor, how it came about; then whether the run can be trusted."""

    DEFAULT_CSS = "About { height: auto; max-height: 100%; }"

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.boxed:
            return self.rows(width)
        rows = self.rows(width - 4)
        title, note = self._title(width - 4)
        return framed(title, note, rows, width, len(rows) + 2 if self.natural else height)

    def _title(self, width: int) -> tuple[Line, Line]:
        session = self.shell.feed.session
        if items(session):
            return text("ANSWER", "title"), []
        if not self.screen.query_one(VerdictList).rows():
            if found := on_top(session, width, self._most):
                return found.title, found.note
            if session.blocks:
                return text("FIGURES", "title"), text("medians of each side", "dim")
        return text("CAN IT BE TRUSTED?", "title"), []

    @property
    def _most(self) -> int:
        return self.screen.size.height // 3

    def rows(self, width: int) -> list[Line]:
        session = self.shell.feed.session
        out = checkup_lines(session, width, (self.screen.size.height - 5) * 7 // 10, keys=True)
        entry = self.screen.query_one(VerdictList).entry()
        low = not self.boxed
        signs = trust_lines(session, width)
        if entry is not None and entry.verdict is not None and entry.measured:
            verdict = entry.verdict
            inner = f"95 % CI {entry.interval}" if entry.interval and not verdict.explain else ""
            why = "; ".join(filter(None, (inner, clean(verdict.reason or ""), clean(explanation(verdict)))))
            many = low and len(self.screen.query_one(VerdictList).entries()) > MANY
            if why and not many:
                said = wrapped(f"{entry.name}: {why}.", width, "dim")
                out += said[:LOW_LINES] if low else said
                if self.screen.size.height >= ROOMY:
                    out += _load_lines(session, verdict.workload, width)
                if low and len(said) > LOW_LINES:
                    out[-1] = split(out[-1], text("Enter", "key"), width)
        if low or self.screen.query_one(VerdictList).rows():
            out += [*signs, *on_top_lines(session, width, self._most + 1)]
        else:
            found = on_top(session, width, self._most)
            told = found.rows if found else battery_lines(session, width, self._most)
            free = MOST_NEXT - len(told) - len(signs)
            out += [*trace_lines(session, width, free), *told, *signs]
        out += doubt_lines(session, width, brief=low)
        return [*out, *imported_lines(session, width, self.screen.size.height)]


class Next(Panel):
    """One to three steps, each with what it costs; its digit opens the plan of a run, and copies what no plan holds."""

    DEFAULT_CSS = "Next { height: auto; max-height: 14; display: none; }"

    def draw(self, width: int, height: int) -> list[Line]:
        steps = self.steps
        note = [] if items(self.shell.feed.session) else self._keys(steps)
        if not self.boxed:
            rows = next_lines(steps, width - 2, 2 * len(steps))
            return [ruled(text("NEXT", "title"), note, width), *([("  ", "text"), *row] for row in rows)]
        room = MOST_NEXT if self.natural else height - 2
        rows = next_lines(steps, width - 4, room)
        return framed(text("NEXT", "title"), note, rows, width, len(rows) + 2 if self.natural else height)

    @property
    def steps(self) -> tuple[Remedy, ...]:
        """Those that there is room for: no digit acts on what nobody sees."""
        return advice(self.shell.feed)[: None if self.boxed or self.screen.size.height >= ENOUGH else 1]

    def _keys(self, steps: Sequence[Remedy]) -> Line:
        offers = self.shell.home_session().offers
        plans = [bool(planned(step, offers, lambda _name: "")) for step in steps]
        out: Line = []
        for kind, words in ((True, " open plan   "), (False, " copy it   ")):
            if digits := [str(n) for n, plan in enumerate(plans, 1) if plan is kind]:
                out += [(", ".join(digits), "key"), (words, "dim")]
        return [*out, ("c", "key"), (" copy all", "dim")]


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


class VerdictScreen(RunScreen):
    DEFAULT_CSS = """
    VerdictScreen #parts { layout: vertical; height: 1fr; }
    VerdictScreen #left { height: auto; max-height: 100%; }
    VerdictScreen #middle { height: auto; }
    VerdictScreen.-wide.-high.-beside #middle { layout: horizontal; }
    VerdictScreen.-wide.-high.-beside About { width: 1fr; height: 1fr; max-height: 100%; }
    VerdictScreen.-wide.-high.-beside Next { width: 1fr; height: 1fr; max-height: 100%; }
    VerdictScreen VerdictList { max-height: 60%; }
    VerdictScreen.-todo VerdictList { max-height: 10; }
    VerdictScreen.-todo Next { display: block; }
    VerdictScreen Suspects { height: auto; min-height: 2; max-height: 9; }
    VerdictScreen GroupPlot { display: none; height: 1fr; min-height: 9; }
    VerdictScreen.-high.-compared GroupPlot { display: block; }
    VerdictScreen.-high.-compared #left { max-height: 76%; }
    VerdictScreen.-high.-compared VerdictList { max-height: 13; }
    VerdictScreen.-high.-compared Suspects { min-height: 4; }
    VerdictScreen #right { display: none; }
    VerdictScreen.-high.-compared #right { display: block; height: 1fr; }
    VerdictScreen ValuesPlot, VerdictScreen #aside { display: none; }
    VerdictScreen.-broad.-compared #left { max-height: 100%; height: 1fr; }
    VerdictScreen.-high.-uncompared #left { height: 1fr; }
    VerdictScreen.-high.-uncompared Preview { display: block; }
    VerdictScreen.-uncompared VerdictList { display: none; }
    VerdictScreen.-broad.-compared #parts { layout: horizontal; }
    VerdictScreen.-broad.-high.-compared Preview { display: block; min-height: 4; }
    VerdictScreen.-broad.-compared #left { width: 62%; padding: 0 1 0 0; }
    VerdictScreen.-broad.-compared VerdictList { max-height: 40%; }
    VerdictScreen.-broad.-compared #right { display: block; width: 38%; height: 100%; }
    VerdictScreen.-broad.-compared GroupPlot { display: block; }
    VerdictScreen.-broad.-high.-compared ValuesPlot { display: block; height: 1fr; }
    VerdictScreen.-unpaired ValuesPlot { display: none !important; }
    VerdictScreen.-broad.-uncompared #parts { layout: horizontal; }
    VerdictScreen.-broad.-uncompared #left { width: 50%; padding: 0 1 0 0; }
    VerdictScreen.-broad.-high.-uncompared #preview { display: none; }
    VerdictScreen.-broad.-uncompared #aside { display: block; width: 50%; height: 100%; }
    """
    BINDINGS = [
        Binding("v", "live", "live view"),
        Binding("m", "save", "save report"),
        Binding("c", "copy", "copy commands"),
        Binding("slash", "filter", "filter", show=False, priority=True),
        Binding("q", "back", "back"),
        *(Binding(str(n), f"digit({n})", "the next step, or that run", show=False) for n in range(1, 10)),
    ]
    title_words = "verdict"
    step_words = "verdict"

    def head(self) -> Iterable[Widget]:
        yield from super().head()
        yield Headline(id="headline")

    def body(self) -> Iterable[Widget]:
        with Box(id="parts"):
            with Box(id="left"):
                yield VerdictList(self.session)
                with Box(id="middle"):
                    yield About(id="about")
                    yield Next(id="todo")
                yield Suspects(self.session, id="found", title="FINDINGS", empty="none", answered=True)
                yield Preview(id="preview")
            with Box(id="right"):
                yield GroupPlot(self.session, self._chosen)
                yield ValuesPlot(self.session, self._chosen)
            yield Preview(id="aside")
        yield Transport(lambda: self.feed)

    def on_mount(self) -> None:
        self._arrange()
        table = self.query_one(VerdictList)
        (table if table.rows() else self.query_one(Suspects)).focus()

    def show(self) -> None:
        self._arrange()
        super().show()

    def _arrange(self) -> None:
        compared = bool(self.query_one(VerdictList).rows())
        self.set_class(bool(advice(self.feed)), "-todo")
        self.set_class(compared, "-compared")
        self.set_class(not compared, "-uncompared")
        figures = not compared and bool(self.session().blocks)  # as wide as the screen
        beside_it = self.has_class("-todo") and not items(self.session()) and not figures
        self.set_class(beside_it, "-beside")
        middle = self.query_one("#middle")
        if beside_it and self.query_one(About).boxed:
            half = (self.app.size.width * (62 if self.has_class("-broad") else 100) // 100 - 2) // 2 - 4
            need = max(
                len(self.query_one(About).rows(half)), len(next_lines(advice(self.feed), half, MOST_NEXT))
            )
            middle.styles.height = min(MOST_NEXT, max(4, need), max(4, self._room() - 2)) + 2
        else:
            middle.styles.height = "auto"
        self._pair()

    def _room(self) -> int:
        """Lines of the middle that leave some to the findings below it."""
        size = self.app.size
        table = self.query_one(VerdictList)
        high = size.height - len(headline_lines(self.session(), size.width)) - AROUND
        if not table.rows():
            return high // 2
        return high * 76 // 100 - min(MOST_TABLE, len(table.rows()) + 3) - LEAST_FOUND

    def _pair(self) -> None:
        """Where there are no groups the raw values stand in their place, and not once more below."""
        chosen = self._chosen()
        self.set_class(chosen is None or not courses(self.session(), *chosen), "-unpaired")

    def _chosen(self) -> Chosen | None:
        entry = self.query_one(VerdictList).entry()
        verdict = entry.verdict if entry is not None and entry.measured else None
        if verdict is None:
            return None
        return Chosen(verdict.workload, verdict.metric, (verdict.baseline, verdict.variant))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "copy":
            return bool(self._remedies())
        if action == "digit":
            number = parameters[0]
            several = isinstance(number, int) and number <= len(self.query_one(Next).steps)
            return several or self._part(number) is not None
        return super().check_action(action, parameters)

    def _part(self, rank: object) -> Path | None:
        """The recording of a checkup's part, by its number; a foreign recording names none of ours."""
        names = [
            Path(one.recording).name for one in items(self.session()) if one.rank == rank and one.recording
        ]
        return next((p for p in store.parts(self.feed.path) if p.name in names), None)

    def action_digit(self, number: int) -> None:
        path = self._part(number)
        if path is not None:
            self.shell.open_recording(path, over=True)
            return
        step = self.query_one(Next).steps[number - 1]
        home = self.shell.home_session()
        if argv := planned(step, home.offers, lambda name: named_process(name, self.session(), home)):
            asks = any(command.endswith(f" --pid {PLACEHOLDER}") for command in step.commands[:1])
            known = any(word.startswith("--pid") for word in argv)
            self.shell.open_plan(argv[0], argv[1:], ask="pid" if asks and not known else "")
        else:
            self.shell.copy(commands_of([step]), "the commands")

    def on_picker_chosen(self, event: Picker.Chosen) -> None:
        if event.picker.id == "verdicts":
            self._open_groups(event.key)
            return
        finding = self.session().findings.get(event.key)
        if finding is not None:
            self.shell.open_finding(finding, self.session())

    def _open_groups(self, key: str) -> None:
        told = [e for e in self.query_one(VerdictList).entries() if e.verdict is not None and e.measured]
        at = next((n for n, e in enumerate(told) if e.key == key), None)
        if at is None:
            entry = self.query_one(VerdictList).entry()
            self.shell.say(f"{entry.name}: {entry.size}" if entry is not None else "nothing to open")
            return
        self.shell.open_groups(self.session(), [e.verdict for e in told if e.verdict is not None], at)

    def on_picker_moved(self) -> None:
        self._pair()
        for panel in (*self.query(Preview), self.query_one(About), *self.query(GroupPlot)):
            panel.redraw()

    def action_live(self) -> None:
        self.shell.show_run("live")

    def action_save(self) -> None:
        self.shell.save_report(self.feed.path)

    def action_copy(self) -> None:
        self.shell.copy(commands_of(self._remedies()), "the commands")

    def _remedies(self) -> tuple[Remedy, ...]:
        """What is advised, then the other remedies of what was found."""
        found = [one for f in self.session().worst_first for one in f.remedy]
        first = advice(self.feed)
        return (*first, *(one for one in found if one not in first))
