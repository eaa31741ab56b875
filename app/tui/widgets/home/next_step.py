"""What to press now: by what the host waits for, by the worst suspect, else the three keys one needs first."""

from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import Line, crop_line, frame_rows
from hostdx.app.tui.questions import list_questions
from hostdx.app.tui.widgets.home.live_line import FULL, SPEAKS
from hostdx.app.tui.widgets.home.scenario_list import ran_recently
from hostdx.app.tui.widgets.panel import Panel
from hostdx.probes.units import count_noun

CPU_KEY = "6"  # of the question who uses the CPUs
_KEYS = (
    ("1", "why is this host slow?  "),
    ("2", "which directory is faster?  "),
    ("r", "look at recorded runs"),
)


class NextStep(Panel):
    """In borders where there is room for them, else a line; on the lowest screens there is none."""

    DEFAULT_CSS = "NextStep { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__(id="next-step")

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.has_borders:
            return [crop_line([("NEXT STEP  ", "title"), *self._advice_line()], width)]
        return frame_rows("NEXT STEP", [crop_line(self._advice_line(), width - 4)], width, height)

    @property
    def has_advice(self) -> bool:
        """Return whether there is something to do now, so that a small screen has a line for it."""
        return (
            bool(self.shell.left)
            or self._longest_wait_share_and_resource()[0] >= SPEAKS
            or self._are_cpus_full
        )

    def _longest_wait_share_and_resource(self) -> tuple[float, str]:
        """Return the share of the time that tasks wait, and for what, as far as it lasts."""
        pulses = self.shell.settled_pulses
        if not pulses:
            return 0.0, ""
        return max(
            (min(p.psi_cpu or 0.0 for p in pulses), "a CPU"), (min(p.psi_io or 0.0 for p in pulses), "a disk")
        )

    @property
    def _are_cpus_full(self) -> bool:
        pulses = self.shell.settled_pulses
        return bool(pulses) and min(p.cpu for p in pulses) >= FULL

    def _waiting_line(self, resource: str) -> Line:
        """How much of the time stands in NOW, and of the last minute among the suspects. No `resource`: all CPUs are
        in use, and nobody waits for one."""
        head: Line = [(f"▲ tasks wait for {resource} now: ", "warning")]
        if not resource:
            head = [("· all CPUs are in use now: ", "notice")]
        checkup_words: Line = [("1", "key"), (" checks the whole host", "text")]
        if resource == "a disk":
            return [*head, ("1", "key"), (" shows who, and checks the whole host", "text")]
        card = next(question.cards[0] for question in list_questions() if question.key == CPU_KEY)
        last = self.shell.earlier_results.last.get(card.id)
        if last is None or not ran_recently(last):
            return [*head, ("press ", "text"), (CPU_KEY, "key"), (" to see who, ", "text"), *checkup_words]
        last_answer = f", it said at {clean_text(last.wall[11:16])}: {clean_text(last.result)}"
        return [
            *head,
            *checkup_words,
            (", ", "text"),
            (CPU_KEY, "key"),
            (" looks again", "text"),
            (last_answer, "dim"),
        ]

    def _advice_line(self) -> Line:
        if self.shell.left:
            words = f"! {count_noun(len(self.shell.left), 'change')} of a run that was killed: press "
            return [(words, "critical"), ("u", "key"), (" to put it back", "text")]
        share, resource = self._longest_wait_share_and_resource()
        if share >= SPEAKS:
            return self._waiting_line(resource)
        if self._are_cpus_full:
            return self._waiting_line("")
        loud = [f for f in self.shell.home_session().worst_first if f.severity in ("critical", "warning")]
        ways = [("Tab", "key"), (" and ", "text"), ("Enter", "key"), (" open it", "text")]
        if loud and self.shell.recorded:
            return [(f"{SIGNS[loud[0].severity]} {clean_text(loud[0].title)}: ", loud[0].severity), *ways]
        return [span for name, meaning in _KEYS for span in ((f"{name} ", "key"), (meaning, "text"))]
