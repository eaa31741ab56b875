"""Verdict: the answer in one sentence, the table of effects, whether to trust it, what to do, and the findings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings import store
from hostdx.app.recordings.answers import ranked_items
from hostdx.app.terminal.lines import half_column_width
from hostdx.app.tui.details import (
    PLACEHOLDER,
    commands_text,
    next_step_lines,
    pid_to_measure,
    scenario_argv,
)
from hostdx.app.tui.screens.base import SAVE_BINDINGS
from hostdx.app.tui.screens.finding import FindingScreen
from hostdx.app.tui.screens.groups import GroupsScreen
from hostdx.app.tui.screens.run import RunScreen
from hostdx.app.tui.widgets.answer import (
    MAX_NEXT_LINES,
    Headline,
    Next,
    Preview,
    VerdictDetails,
    advised_steps,
    headline_lines,
)
from hostdx.app.tui.widgets.home.findings_panel import FindingsPanel
from hostdx.app.tui.widgets.measuring.group_plot import GroupPlot, PlotSubject, ValuesPlot, pair_ratios
from hostdx.app.tui.widgets.measuring.transport import Transport
from hostdx.app.tui.widgets.on_top import lay_out_section_on_top
from hostdx.app.tui.widgets.panel import Box
from hostdx.app.tui.widgets.picker import Picker
from hostdx.app.tui.widgets.verdict_list import VerdictList
from hostdx.scenarios.contract.finding import Remedy

MAX_FOLD_RATIO = 1.5  # rows of a table in half of the width, as a multiple of those in all of it
MAX_ROWS = 1000
AROUND = 3  # lines of head, transport and keys
MAX_TABLE_LINES, MIN_FINDINGS_LINES = 13, 4  # lines of the table, and of the findings with their border
# lines of the steps and of the findings, with their heads, and of the rest
MIN_PART_LINES, MIN_ABOUT_LINES = (3, 3)
# on a low screen, as the rules below have it
MAX_LOW_TABLE_LINES, MAX_FINDINGS_LINES, MAX_LOW_FINDINGS_LINES = (10, 9, 4)


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
    VerdictScreen FindingsPanel { height: auto; min-height: 2; max-height: 9; }
    VerdictScreen.-figures FindingsPanel { max-height: 4; }
    VerdictScreen.-high.-figures FindingsPanel { max-height: 9; }
    VerdictScreen GroupPlot { display: none; height: 1fr; min-height: 9; }
    VerdictScreen.-high.-compared GroupPlot { display: block; }
    VerdictScreen.-high.-compared #left { max-height: 76%; }
    VerdictScreen.-high.-compared VerdictList { max-height: 13; }
    VerdictScreen.-high.-compared FindingsPanel { min-height: 4; }
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
        *SAVE_BINDINGS,
        Binding("c", "copy", "copy commands"),
        Binding("slash", "filter", "filter", show=False, priority=True),
        Binding("q", "back", "back"),
        *(Binding(str(n), f"digit({n})", "the next step, or that run", show=False) for n in range(1, 10)),
    ]
    title_words = "verdict"
    late_in_footer = ("live", "play")  # at the end, what can be kept of the answer comes first
    step_words = "verdict"

    def compose_head(self) -> Iterable[Widget]:
        yield from super().compose_head()
        yield Headline(id="headline")

    def compose_body(self) -> Iterable[Widget]:
        with Box(id="parts"):
            with Box(id="left"):
                yield VerdictList(self.current_session)
                with Box(id="middle"):
                    yield VerdictDetails(id="about")
                    yield Next(id="todo")
                yield FindingsPanel(
                    self.current_session, id="found", title="FINDINGS", empty="none", answered=True
                )
                yield Preview(id="preview")
            with Box(id="right"):
                yield GroupPlot(self.current_session, self._plot_subject)
                yield ValuesPlot(self.current_session, self._plot_subject)
            yield Preview(id="aside")
        yield Transport(lambda: self.run_feed)

    def on_mount(self) -> None:
        self._set_layout_classes()
        # nothing of it was live
        self.query_one(Transport).display = self.current_session().scenario_card.role != "import"
        table = self.query_one(VerdictList)
        (table if table.build_rows() else self.query_one(FindingsPanel)).focus()

    def show(self) -> None:
        self._set_layout_classes()
        super().show()

    def on_resize(self) -> None:
        """Share the lines anew, once the screen has the classes of its new size."""
        self.call_after_refresh(self.show)

    def _set_layout_classes(self) -> None:
        """Set all classes, then let Textual style what stands on the screen once."""
        before = self.classes
        compared = bool(self.query_one(VerdictList).build_rows())
        self.set_class(bool(advised_steps(self.run_feed)), "-todo", update=False)
        self.set_class(compared, "-compared", update=False)
        self.set_class(not compared, "-uncompared", update=False)
        is_measured = any(e.measured for e in self.query_one(VerdictList).effect_rows())
        self.set_class(compared and not is_measured, "-unmeasured", update=False)
        figures = not compared and bool(self.current_session().blocks)  # as wide as the screen
        tabled = (
            compared
            and lay_out_section_on_top(self.current_session(), self.app.size.width, self.app.size.height)
            is not None
        )
        beside_it = (
            self.has_class("-todo")
            and not ranked_items(self.current_session())
            and not figures
            and not tabled
        )
        self.set_class(figures, "-figures", update=False)
        middle = self.query_one("#middle")
        about = self.query_one(VerdictDetails)
        about.display = compared or bool(about.detail_lines(self.app.size.width))
        beside_it = beside_it and about.display and (compared or not self._is_half_width_too_narrow())
        self.set_class(beside_it, "-beside", update=False)
        if beside_it and about.has_borders:
            inner = (self.app.size.width * (62 if self.has_class("-broad") else 100) // 100 - 2) // 2 - 4
            need = max(
                len(about.detail_lines(inner)),
                len(next_step_lines(advised_steps(self.run_feed), inner, MAX_NEXT_LINES)),
            )
            middle.styles.height = min(MAX_NEXT_LINES, max(4, need), max(4, self._middle_height() - 2)) + 2
        else:
            middle.styles.height = "auto"
        has_little_room = about.has_borders and not self.has_class("-broad")
        self.set_class(tabled and has_little_room and self._has_no_room_for_groups(), "-full", update=False)
        self._mark_unpaired(update=False)
        if self.classes != before:
            self.update_node_styles()
        self._give_free_lines_to_parts()

    def _has_no_room_for_groups(self) -> bool:
        """True where there is no room for the groups; Enter shows them."""
        width, about = self.app.size.width - 6, self.query_one(VerdictDetails)
        steps = next_step_lines(advised_steps(self.run_feed), width, MAX_NEXT_LINES)
        table = min(MAX_TABLE_LINES, len(self.query_one(VerdictList).build_rows()) + 3)
        room = self.app.size.height - len(headline_lines(self.current_session(), *self.app.size)) - AROUND
        used_lines = (
            table + len(about.detail_lines(width)) + 2 + bool(steps) * (len(steps) + 2) + MIN_FINDINGS_LINES
        )
        return used_lines > room * 76 // 100

    def _is_half_width_too_narrow(self) -> bool:
        """A result's table would be high in half of the width."""
        width = self.app.size.width
        there = [
            lay_out_section_on_top(self.current_session(), room, MAX_ROWS)
            for room in (half_column_width(width) - 4, width - 6)
        ]
        rows = [len(table.rows) if table is not None else 0 for table in there]
        return rows[0] > max(MAX_NEXT_LINES, MAX_FOLD_RATIO * rows[1])

    def _give_free_lines_to_parts(self) -> None:
        """On a low screen: what the parts leave free goes to the steps, then to how the verdict came about."""
        about, steps = self.query_one(VerdictDetails), self.query_one(Next)
        about.free = steps.free = 0
        about.most = self.app.size.height
        if about.has_borders:
            return
        size, suspects = self.app.size, self.query_one(FindingsPanel)
        table = self.query_one(VerdictList)
        most_found = MAX_LOW_FINDINGS_LINES if self.has_class("-figures") else MAX_FINDINGS_LINES
        parts = [(about, size.height), (steps, MAX_NEXT_LINES + 2), (suspects, most_found)]
        listed = [(table, MAX_LOW_TABLE_LINES)] if table.build_rows() else []
        parts += listed
        least = [
            *listed,
            (suspects, MIN_PART_LINES),
            *([(steps, MIN_PART_LINES)] if self.has_class("-todo") else []),
        ]

        def count_used_lines() -> int:
            return sum(min(most, len(part.draw(size.width - 2, size.height))) for part, most in parts)

        room = size.height - len(headline_lines(self.current_session(), *size)) - AROUND
        others = sum(min(most, len(part.draw(size.width - 2, size.height))) for part, most in least)
        about.most = max(MIN_ABOUT_LINES, room - others)
        free = max(0, room - count_used_lines())
        low = 4 if self.has_class("-figures") else free // 2  # what nothing else shows has its picture, too
        steps.free = free if table.build_rows() else min(low, free)
        about.free = max(0, room - count_used_lines())

    def _middle_height(self) -> int:
        """Lines of the middle that leave some to the findings below it."""
        size = self.app.size
        table = self.query_one(VerdictList)
        high = size.height - len(headline_lines(self.current_session(), *size)) - AROUND
        if not table.build_rows():
            return high // 2
        return high * 76 // 100 - min(MAX_TABLE_LINES, len(table.build_rows()) + 3) - MIN_FINDINGS_LINES

    def _mark_unpaired(self, update: bool = True) -> None:
        """Where there are no groups the raw values stand in their place, and not once more below."""
        chosen = self._plot_subject()
        self.set_class(
            chosen is None or not pair_ratios(self.current_session(), *chosen), "-unpaired", update=update
        )

    def _plot_subject(self) -> PlotSubject | None:
        entry = self.query_one(VerdictList).selected_effect()
        verdict = entry.verdict if entry is not None and entry.measured else None
        if verdict is None:
            return None
        return PlotSubject(verdict.workload, verdict.metric, (verdict.baseline, verdict.variant))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "copy":
            return bool(self._all_remedies())
        if action == "digit":
            number = parameters[0]
            several = isinstance(number, int) and number <= len(self.query_one(Next).shown_steps)
            return several or self._recording_of_part(number) is not None
        return super().check_action(action, parameters)

    def _recording_of_part(self, rank: object) -> Path | None:
        """The recording of a checkup's part, by its number; a foreign recording names none of ours."""
        names = [
            Path(item.recording).name
            for item in ranked_items(self.current_session())
            if item.rank == rank and item.recording
        ]
        return next((p for p in store.list_part_recordings(self.run_feed.path) if p.name in names), None)

    def action_digit(self, number: int) -> None:
        path = self._recording_of_part(number)
        if path is not None:
            self.shell.open_recording(path, on_top=True)
            return
        step = self.query_one(Next).shown_steps[number - 1]
        home = self.shell.home_session()
        if argv := scenario_argv(
            step, home.offers, lambda name: pid_to_measure(name, self.current_session(), home)
        ):
            asks = any(command.endswith(f" --pid {PLACEHOLDER}") for command in step.commands[:1])
            has_pid = any(word.startswith("--pid") for word in argv)
            self.shell.open_plan(argv[0], argv[1:], ask="pid" if asks and not has_pid else "")
        else:
            self.shell.copy(commands_text([step]), "the commands")

    def on_picker_chosen(self, event: Picker.Chosen) -> None:
        if event.picker.id == "verdicts":
            self._open_groups(event.key)
            return
        finding = self.current_session().findings.get(event.key)
        if finding is not None:
            self.app.push_screen(FindingScreen(finding, self.current_session()))

    def _open_groups(self, key: str) -> None:
        measured = [
            e for e in self.query_one(VerdictList).effect_rows() if e.verdict is not None and e.measured
        ]
        at = next((n for n, e in enumerate(measured) if e.key == key), None)
        if at is None:
            entry = self.query_one(VerdictList).selected_effect()
            self.shell.show_message(f"{entry.name}: {entry.size}" if entry is not None else "nothing to open")
            return
        verdicts = [e.verdict for e in measured if e.verdict is not None]
        self.app.push_screen(GroupsScreen(self.current_session(), verdicts, at))

    def on_picker_moved(self) -> None:
        self._mark_unpaired()
        for panel in (*self.query(Preview), self.query_one(VerdictDetails), *self.query(GroupPlot)):
            panel.redraw()

    def action_live(self) -> None:
        self.shell.show_run("live")

    def action_copy(self) -> None:
        self.shell.copy(commands_text(self._all_remedies()), "the commands")

    def _all_remedies(self) -> tuple[Remedy, ...]:
        """Return what is advised, then the other remedies of what was found."""
        remedies = [remedy for f in self.current_session().worst_first for remedy in f.remedy]
        first = advised_steps(self.run_feed)
        return (*first, *(remedy for remedy in remedies if remedy not in first))
