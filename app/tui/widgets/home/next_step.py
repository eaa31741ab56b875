"""What to press now: by what the host waits for, by the worst suspect, else the three keys one needs first."""

from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import Line, crop_line, frame_rows
from hostdx.app.tui.widgets.home.live_line import SPEAKS
from hostdx.app.tui.widgets.panel import Panel

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
        """Return whether the host waits for something now, so that a small screen has a line for what to do."""
        return self._wait_share_for_what_and_key()[0] >= SPEAKS

    def _wait_share_for_what_and_key(self) -> tuple[float, str, str]:
        """Return the share of the time that tasks wait, for what, and the key of the scenario that shows who."""
        pulse = self.shell.latest_pulse
        if pulse is None:
            return 0.0, "", ""
        return max((pulse.psi_cpu or 0.0, "a CPU", "6"), (pulse.psi_io or 0.0, "a disk", "2"))

    def _advice_line(self) -> Line:
        share, resource, key = self._wait_share_for_what_and_key()
        ways: Line = [
            ("press ", "text"),
            (key, "key"),
            (" to see who, ", "text"),
            ("1", "key"),
            (" checks the whole host", "text"),
        ]
        if share >= SPEAKS:  # how much of the time stands in NOW, and of the last minute among the suspects
            return [(f"▲ tasks wait for {resource} now: ", "warning"), *ways]
        loud = [f for f in self.shell.home_session().worst_first if f.severity in ("critical", "warning")]
        ways = [("Tab", "key"), (" and ", "text"), ("Enter", "key"), (" open it", "text")]
        if loud and self.shell.recorded:
            return [(f"{SIGNS[loud[0].severity]} {clean_text(loud[0].title)}: ", loud[0].severity), *ways]
        return [span for name, meaning in _KEYS for span in ((f"{name} ", "key"), (meaning, "text"))]
