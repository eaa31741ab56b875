"""What to press now: by what the host waits for, by the worst suspect, else the three keys one needs first."""

from app.glyphs import SIGNS, clean
from app.lines import Line, crop, framed, text
from app.tui.widgets.home.live_line import SPEAKS
from app.tui.widgets.panel import Panel
from probes import units

_KEYS = (
    ("1", "why is this host slow?  "),
    ("2", "which directory is faster?  "),
    ("r", "look at recorded runs"),
)


class NextStep(Panel):
    """Only where there is room for borders."""

    DEFAULT_CSS = "NextStep { height: 3; display: none; }"

    def __init__(self) -> None:
        super().__init__(id="next-step")

    def draw(self, width: int, height: int) -> list[Line]:
        return framed(text("NEXT STEP", "title"), [], [crop(self._words(), width - 4)], width, height)

    def _words(self) -> Line:
        pulse = self.shell.pulse
        waits = (
            []
            if pulse is None
            else [(pulse.psi_cpu or 0.0, "a CPU", "6"), (pulse.psi_io or 0.0, "a disk", "2")]
        )
        share, what, key = max(waits, default=(0.0, "", ""))
        ways: Line = [(key, "key"), (" finds out who, ", "text"), ("1", "key"), (" checks all", "text")]
        if share >= SPEAKS:
            return [(f"▲ tasks wait for {what} {units.percent(share)} of the time: ", "warning"), *ways]
        loud = [f for f in self.shell.home_session().worst_first if f.severity in ("critical", "warning")]
        ways = [("Tab", "key"), (" and ", "text"), ("Enter", "key"), (" show it", "text")]
        if loud and self.shell.recorded:
            return [(f"{SIGNS[loud[0].severity]} {clean(loud[0].title)}: ", loud[0].severity), *ways]
        return [span for name, said in _KEYS for span in ((f"{name} ", "key"), (said, "text"))]
