"""Verdict: the answer in one sentence, the table of effects, whether to trust it, what to do, and the findings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from app.lines import half
from app.recording import store
from app.recording.answers import items
from app.tui.details import (
    PLACEHOLDER,
    commands_of,
    named_process,
    next_lines,
    planned,
)
from app.tui.screens.run import RunScreen
from app.tui.widgets.answer import MOST_NEXT, Headline, Next, Preview, VerdictDetails, advice, headline_lines
from app.tui.widgets.home.findings_panel import Suspects
from app.tui.widgets.measuring.group_plot import GroupPlot, PlotSubject, ValuesPlot, pair_ratios
from app.tui.widgets.measuring.transport import Transport
from app.tui.widgets.on_top import on_top
from app.tui.widgets.panel import Box
from app.tui.widgets.picker import Picker
from app.tui.widgets.verdict_list import VerdictList
from scenarios.finding import Remedy

MOST_FOLDED = 1.5  # rows of a table in half of the width, as a multiple of those in all of it
MOST_ROWS = 1000
AROUND = 3  # lines of head, transport and keys
MOST_TABLE, LEAST_FOUND = 13, 4  # lines of the table, and of the findings with their border
LEAST_PART, LEAST_ABOUT = 3, 3  # lines of the steps and of the findings, with their heads, and of the rest
MOST_LOW_TABLE, MOST_FOUND, MOST_LOW_FOUND = 10, 9, 4  # on a low screen, as the rules below have it


class VerdictScreen(RunScreen):
    DEFAULT_CSS = """
    VerdictScreen #parts { layout: vertical; height: 1fr; }
    VerdictScreen #left { height: auto; max-height: 100%; }
    VerdictScreen #middle { height: auto; }
    VerdictScreen.-wide.-high.-beside #middle { layout: horizontal; }
    VerdictScreen.-wide.-high.-beside VerdictDetails { width: 1fr; height: 1fr; max-height: 100%; }
    VerdictScreen.-wide.-high.-beside Next { width: 1fr; height: 1fr; max-height: 100%; }
    VerdictScreen VerdictList { max-height: 60%; }
    VerdictScreen.-todo VerdictList { max-height: 10; }
    VerdictScreen.-todo Next { display: block; }
    VerdictScreen Suspects { height: auto; min-height: 2; max-height: 9; }
    VerdictScreen.-figures Suspects { max-height: 4; }
    VerdictScreen.-high.-figures Suspects { max-height: 9; }
    VerdictScreen GroupPlot { display: none; height: 1fr; min-height: 9; }
    VerdictScreen.-high.-compared GroupPlot { display: block; }
    VerdictScreen.-high.-compared #left { max-height: 76%; }
    VerdictScreen.-high.-compared VerdictList { max-height: 13; }
    VerdictScreen.-high.-compared Suspects { min-height: 4; }
    VerdictScreen.-full VerdictList { max-height: 9 !important; }
    VerdictScreen.-full #left { height: 1fr; max-height: 100% !important; }
    VerdictScreen #right { display: none; }
    VerdictScreen.-full #right { display: none !important; }
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
    VerdictScreen.-high.-unmeasured #left { height: 1fr; max-height: 100%; width: 100%; }
    VerdictScreen.-high.-unmeasured #preview { display: block; }
    VerdictScreen.-unmeasured #right { display: none !important; }
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
                    yield VerdictDetails(id="about")
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
        self.query_one(Transport).display = self.session().card.role != "import"  # nothing of it was live
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
        self.set_class(
            compared and not any(e.measured for e in self.query_one(VerdictList).entries()), "-unmeasured"
        )
        figures = not compared and bool(self.session().blocks)  # as wide as the screen
        tabled = compared and on_top(self.session(), self.app.size.width, self.app.size.height) is not None
        beside_it = self.has_class("-todo") and not items(self.session()) and not figures and not tabled
        self.set_class(figures, "-figures")
        middle = self.query_one("#middle")
        about = self.query_one(VerdictDetails)
        about.display = compared or bool(about.rows(self.app.size.width))
        beside_it = beside_it and about.display and (compared or not self._cramped())
        self.set_class(beside_it, "-beside")
        if beside_it and about.boxed:
            inner = (self.app.size.width * (62 if self.has_class("-broad") else 100) // 100 - 2) // 2 - 4
            need = max(len(about.rows(inner)), len(next_lines(advice(self.feed), inner, MOST_NEXT)))
            middle.styles.height = min(MOST_NEXT, max(4, need), max(4, self._room() - 2)) + 2
        else:
            middle.styles.height = "auto"
        self.set_class(tabled and about.boxed and not self.has_class("-broad") and self._full(), "-full")
        self._share_out()
        self._pair()

    def _full(self) -> bool:
        """What stands above the groups leaves them no room; Enter shows them."""
        width, about = self.app.size.width - 6, self.query_one(VerdictDetails)
        steps = next_lines(advice(self.feed), width, MOST_NEXT)
        table = min(MOST_TABLE, len(self.query_one(VerdictList).rows()) + 3)
        room = self.app.size.height - len(headline_lines(self.session(), self.app.size.width)) - AROUND
        taken = table + len(about.rows(width)) + 2 + bool(steps) * (len(steps) + 2) + LEAST_FOUND
        return taken > room * 76 // 100

    def _cramped(self) -> bool:
        """A result's table would be high in half of the width."""
        width = self.app.size.width
        there = [on_top(self.session(), room, MOST_ROWS) for room in (half(width) - 4, width - 6)]
        rows = [len(one.rows) if one is not None else 0 for one in there]
        return rows[0] > max(MOST_NEXT, MOST_FOLDED * rows[1])

    def _share_out(self) -> None:
        """On a low screen: what the parts leave free goes to the steps, then to how the verdict came about."""
        about, steps = self.query_one(VerdictDetails), self.query_one(Next)
        about.free = steps.free = 0
        about.most = self.app.size.height
        if about.boxed:
            return
        size, found = self.app.size, self.query_one(Suspects)
        table = self.query_one(VerdictList)
        most_found = MOST_LOW_FOUND if self.has_class("-figures") else MOST_FOUND
        parts = [(about, size.height), (steps, MOST_NEXT + 2), (found, most_found)]
        listed = [(table, MOST_LOW_TABLE)] if table.rows() else []
        parts += listed
        least = [*listed, (found, LEAST_PART), *([(steps, LEAST_PART)] if self.has_class("-todo") else [])]

        def taken() -> int:
            return sum(min(most, len(part.draw(size.width - 2, size.height))) for part, most in parts)

        room = size.height - len(headline_lines(self.session(), size.width)) - AROUND
        others = sum(min(most, len(part.draw(size.width - 2, size.height))) for part, most in least)
        about.most = max(LEAST_ABOUT, room - others)
        free = max(0, room - taken())
        low = 4 if self.has_class("-figures") else free // 2  # what nothing else shows has its picture, too
        steps.free = free if table.rows() else min(low, free)
        about.free = max(0, room - taken())

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
        self.set_class(chosen is None or not pair_ratios(self.session(), *chosen), "-unpaired")

    def _chosen(self) -> PlotSubject | None:
        entry = self.query_one(VerdictList).entry()
        verdict = entry.verdict if entry is not None and entry.measured else None
        if verdict is None:
            return None
        return PlotSubject(verdict.workload, verdict.metric, (verdict.baseline, verdict.variant))

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
        for panel in (*self.query(Preview), self.query_one(VerdictDetails), *self.query(GroupPlot)):
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
