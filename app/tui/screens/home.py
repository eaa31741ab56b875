"""Home: what is this host, what is wrong, what do I press. Follows `triage --events -`, which alone reads the host."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.binding import Binding
from textual.timer import Timer
from textual.widget import Widget

from hostdx.app.run.launch import HOSTDX
from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.questions import all_questions, fill_in_options, list_questions, scenario_for
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.home.findings_panel import LEFT_OVER, FindingsPanel
from hostdx.app.tui.widgets.home.host_glance import Headline
from hostdx.app.tui.widgets.home.host_table import HostTable
from hostdx.app.tui.widgets.home.live_line import PULSE_S, LiveLine
from hostdx.app.tui.widgets.home.next_step import NextStep
from hostdx.app.tui.widgets.home.recordings_line import RecordingsLine
from hostdx.app.tui.widgets.home.scenario_list import ASKED, ScenarioList
from hostdx.app.tui.widgets.panel import Box
from hostdx.app.tui.widgets.picker import BOXED, Picker, Whole, most_lines
from hostdx.scenarios.contract.events import Pulse

MIN_ROWS = 13  # of the list beside the host's table, in borders
ANSWERED = BOXED + 2  # rows of what a scenario answers
MAX_ROWS = len(list_questions()) + 2  # with a scenario or two of a third party
FIRST_PULSES = 2  # drawn at once: the first figures come soon, and the first one is of half a second
REDRAWN_PULSES = 3  # then one drawing for so many pulses: each writes the whole line again, about 900 bytes
REREAD_S = 60.0  # the age of what triage told, from which on it is asked again: it speaks of the last minute
REREAD_ON_RETURN_S = 15.0
WATCH_AFTER_S = 0.1  # the first screen comes first


class HomeScreen(Base):
    DEFAULT_CSS = """
    HomeScreen #top { height: auto; }
    HomeScreen FindingsPanel { height: 1fr; min-height: 3; }
    HomeScreen HostTable { display: none; }
    HomeScreen ScenarioList { height: auto; width: 1fr; }
    HomeScreen.-wide.-high Headline { height: 2; }
    HomeScreen.-wide.-high LiveLine { height: 3; }
    HomeScreen.-wide.-high #top { layout: horizontal; }
    HomeScreen.-wide.-high HostTable { display: block; height: 100%; }
    HomeScreen.-wide.-high ScenarioList { height: 100%; width: 81; }
    HomeScreen.-broad.-high ScenarioList { width: 96; }
    HomeScreen.-wide.-high FindingsPanel { height: auto; min-height: 4; }
    HomeScreen.-wide.-high RecordingsLine { height: 1fr; max-height: 100%; min-height: 4; }
    HomeScreen.-wide.-high.-unrecorded FindingsPanel { height: 1fr; }
    HomeScreen.-wide.-high.-unrecorded RecordingsLine { height: 1; min-height: 1; }
    HomeScreen.-roomy.-advised NextStep, HomeScreen.-high.-advised NextStep { display: block; }
    HomeScreen.-wide.-high NextStep { display: block; height: 3; }
    """
    VERTICAL_BREAKPOINTS = Base.FINER_BREAKPOINTS
    BINDINGS = [
        Binding("u", "undo", "put it back"),
        Binding("slash", "filter", "filter", priority=True),
        Binding("r", "recordings", "recordings"),
        Binding("a", "attach", "follow the run"),
        Binding("f", "facts", "all facts"),
        Binding("R", "again", "read the host again and ask its programs", show=False),
        Binding("q", "back", "quit"),
        Binding("tab", "next_list", "next list", show=False),
        *(Binding(q.key, f"ask('{q.key}')", q.words, show=False) for q in list_questions() if q.key),
    ]
    title_words = "home"
    AUTO_FOCUS = "ScenarioList"
    _pulses: EventChild | None = None
    _soon: Timer | None = None
    _pulse_count = 0

    def compose_head(self) -> Iterable[Widget]:
        yield Headline(self.shell.home_session)

    def compose_body(self) -> Iterable[Widget]:
        session = self.shell.home_session
        yield LiveLine(session)
        with Box(id="top") as top:
            top.styles.height = self._top_rows()
            scenarios = ScenarioList(session)
            scenarios.styles.max_height = self._list_rows()
            yield scenarios
            yield HostTable(session)
        yield Whole(ScenarioList)
        yield FindingsPanel(session)
        yield RecordingsLine()
        yield NextStep()

    def _max_list_rows(self) -> int:
        """Suspects keep five lines, and six are all others': what a container cuts could not be reached."""
        height = self.app.size.height
        margins = 0 if height < 32 else 4
        return max(5, min(MAX_ROWS, height - 11 - most_lines(height) - margins))

    @property
    def _is_framed(self) -> bool:
        width, height = self.app.size
        return width >= 110 and height >= 32

    def _list_rows(self) -> int:
        return self._max_list_rows() + 2 * self._is_framed

    def _top_rows(self) -> int | str:
        """With borders, the list is as high as what is said beside it, with the host's table."""
        if not self._is_framed:
            return "auto"
        listed = (
            len(self.query_one(ScenarioList).build_rows())
            if self.query(ScenarioList)
            else len(list_questions()) + 1
        )
        return max(MIN_ROWS, min(listed, self._max_list_rows())) + 2

    def show(self) -> None:
        """What the suspects need of a high screen, the recordings have the rest."""
        if self.query_one(
            NextStep
        ).has_advice:  # from then on: a line that comes and goes would move the others
            self.add_class("-advised")
        suspects, top = self.query_one(FindingsPanel), self._top_rows()
        self.set_class(not self.shell.recorded, "-unrecorded")
        if isinstance(top, int):
            self.query_one("#top").styles.height = top
        if isinstance(top, int) and self.shell.recorded:
            suspects.styles.max_height = max(4, (self.app.size.height - top - 9 - ANSWERED) * 6 // 10)
        else:
            suspects.styles.max_height = None
        super().show()

    def on_screen_resume(self) -> None:
        self._pulse_count = 0
        self.shell.settled_pulses.clear()
        if self.shell.watches_host:
            self.shell.reread_host_if_old(REREAD_ON_RETURN_S)
            self._soon = self.set_timer(WATCH_AFTER_S, self._watch_pulse)

    def on_screen_suspend(self) -> None:
        """Nothing of ours looks at the host while another screen is on top: a run may be measuring."""
        self._stop_host_pulse()

    def on_unmount(self) -> None:
        self._stop_host_pulse()

    def _stop_host_pulse(self) -> None:
        if self._soon is not None:
            self._soon.stop()
        if self._pulses is not None:
            self._pulses.close()
        self._soon = self._pulses = None

    def _watch_pulse(self) -> None:
        """The host's pulse, from a child: what it reads every few seconds costs a thousandth of a core."""
        self._stop_host_pulse()
        child = self._pulses = EventChild([*HOSTDX, "pulse", "--every", str(PULSE_S), "--events", "-"])

        def take_change() -> None:
            if child.session.pulses:
                self._take_pulse(child.session.pulses[-1])

        child.follow(take_change)

    def _take_pulse(self, pulse: Pulse) -> None:
        shell = self.shell
        if shell.first_pulse is None:
            shell.first_pulse = pulse
        shell.pulses.append(pulse)
        if self._pulse_count:
            shell.settled_pulses.append(pulse)
        self._pulse_count += 1
        shell.reread_host_if_old(REREAD_S)
        if self._pulse_count <= FIRST_PULSES or self._pulse_count % REDRAWN_PULSES == 0:
            self.query_one(LiveLine).redraw()
            self.query_one(FindingsPanel).redraw()
            self.query_one(NextStep).redraw()
            self.query_one(ScenarioList).redraw()
            if self.query_one(NextStep).has_advice:
                self.add_class("-advised")

    def on_resize(self) -> None:
        self.query_one(ScenarioList).styles.max_height = self._list_rows()
        self.query_one("#top").styles.height = self._top_rows()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "undo":
            return bool(self.shell.left)
        return self.shell.running is not None if action == "attach" else True

    def action_next_list(self) -> None:
        self.focus_next(Picker)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.query_one(Whole).redraw()

    def on_picker_chosen(self, event: Picker.Chosen) -> None:
        if event.picker.id == "scenarios" and event.key.startswith(ASKED):
            self.action_ask(event.key.removeprefix(ASKED))
        elif event.picker.id == "scenarios":
            self.shell.open_plan(event.key)
        elif event.key == LEFT_OVER:
            self.action_undo()
        elif (finding := self.shell.home_session().findings.get(event.key)) is not None:
            from hostdx.app.tui.screens.finding import FindingScreen  # not for the first screen

            self.app.push_screen(FindingScreen(finding, self.shell.home_session()))

    def action_ask(self, key: str) -> None:
        """The scenario that answers this complaint, its plan filled in as far as the host tells."""
        session, pulse = self.shell.home_session(), self.shell.first_pulse
        question = next(q for q in all_questions(session.offers) if q.id == key)
        card = scenario_for(question, session)

        def propose_values() -> list[str]:
            return fill_in_options(card, self.shell.home_session(), pulse)

        # whose question names a directory of one's own begins with its path; the whole host finds its own
        names = card.directories in ("first", "busiest") or (
            card.directories == "compared" and card.role != "whole"
        )
        self.shell.open_plan(card.id, propose_values(), propose_values, "dir" if names else "")

    def action_recordings(self) -> None:
        self.shell.open_recordings()

    def action_attach(self) -> None:
        self.shell.open_running_recording()

    def action_facts(self) -> None:
        from hostdx.app.tui.screens.facts import FactsScreen  # not for the first screen

        self.app.push_screen(FactsScreen(self.shell.home_session, of_host=True))

    def action_undo(self) -> None:
        self.shell.offer_undo(asked=True)

    def action_again(self) -> None:
        self.shell.read_host(programs=True)
        self.show()
