"""The host while it is measured: its pulse, and who disturbed, what was changed and put back, newest last."""

from app.glyphs import SIGNS, clean
from app.lines import BLANK, Line, crop, framed, text
from app.tui.widgets.measuring.block_plot import variants
from app.tui.widgets.measuring.event_log import remark_lines
from app.tui.widgets.measuring.pulse_line import pulse_lines
from app.tui.widgets.panel import SessionPanel


class HostPanel(SessionPanel):
    ID = "host"

    def draw(self, width: int, height: int) -> list[Line]:
        session, inner, room = self._session(), width - 4, height - 2
        remarks = remark_lines(session, inner, room // 2 if room > 2 else 1)
        pulse = pulse_lines(session, inner, max(1, room - len(remarks)), named=False)
        if len(pulse) + len(remarks) < room:
            remarks = remark_lines(session, inner, room - len(pulse))
        again = session.disturbed_groups
        note = text(f"{again} measured again" if again else "", "warning")
        sides = [
            crop([(f"{mark} ", role), (clean(v.label), "text"), (f"  {clean(v.detail)}", "dim")], inner)
            for v in session.variants
            for mark, role in [variants(session)[v.id]]
            if v.detail
        ]
        loud = [one for one in session.worst_first if one.severity in ("critical", "warning")]
        sides += [
            crop([(f"{SIGNS[f.severity]} ", f.severity), (clean(f.title), "text")], inner) for f in loud[:2]
        ]
        pulse += sides[: max(0, room - len(pulse) - len(remarks))]
        rest = [BLANK] * (room - len(pulse) - len(remarks))
        return framed(text("HOST", "title"), note, [*pulse, *rest, *remarks], width, height)
