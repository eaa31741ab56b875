"""The host while it is measured: its pulse, and who disturbed, what was changed and put back, newest last."""

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    crop_line,
    frame_rows,
    link_line,
    process_target,
    text_line,
    wrap_text,
)
from hostdx.app.tui.widgets.measuring.pulse_line import pulse_lines
from hostdx.app.tui.widgets.measuring.transport import format_clock
from hostdx.app.tui.widgets.measuring.variants import variant_marks
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.scenarios.contract.events import ActionEvent


def remark_lines(session: RunSession, width: int, most: int) -> list[Line]:
    rows: list[tuple[float, Line]] = []
    for guard in session.guards:
        role: str = guard.severity
        culprit = guard.disturbance.culprit if guard.disturbance is not None else None
        target = process_target(culprit.pid if culprit is not None else None)
        rows.append((guard.t, link_line([(f"{SIGNS[role]} ", role), (guard.guard_sentence, "text")], target)))
    for event in session.actions.values():
        changed = event.action.kind == "attribute"
        if not changed and event.state in ("applied", "reverted"):
            continue  # a private directory of its own is no news
        state = "done, cannot be undone" if _is_lasting(event) else event.state
        change_text = f"{state}: {clean_text(event.action.title)}"
        if changed and event.state == "applied":
            change_text += f", {clean_text(event.action.old or '?')} → {clean_text(event.action.new or '?')}"
        elif changed and event.state == "reverted":
            change_text += f", back to {clean_text(event.action.old or '?')}"
        role = "critical" if event.state == "failed" else "notice"
        rows.append(
            (
                event.t,
                [
                    (f"{SIGNS[role]} ", role),
                    (change_text + (f": {event.reason}" if event.state == "failed" else ""), "text"),
                ],
            )
        )
    rows += [(n.t, [("  ", "dim"), (n.text, "text")]) for n in session.notes]
    rows.sort(key=lambda row: row[0])
    out: list[Line] = []
    for t, line in reversed(rows[-most:]):
        sign, (words, role) = line[:-1], line[-1]
        folded = wrap_text(words, width - 8, role)
        if len(folded) + len(out) > most:  # the newest is shown as far as it goes, an older one whole or not
            if out:
                break
            folded = [*folded[: most - 1], crop_line([*folded[most - 1], ("  " * width, role)], width - 8)]
        head: Line = [(f"{format_clock(t)} ", "dim"), *sign]
        rest: list[Line] = [[(" " * 8, "text"), *row] for row in folded[1:]]
        out = [[*head, *folded[0]], *rest, *out]
    return out


def _is_lasting(event: ActionEvent) -> bool:
    return event.state == "kept" and event.action.irreversible


class HostPanel(SessionPanel):
    ID = "host"

    def draw(self, width: int, height: int) -> list[Line]:
        session, inner, room = self._session(), width - 4, height - 2
        remarks = remark_lines(session, inner, room // 2 if room > 2 else 1)
        pulse = pulse_lines(session, inner, max(1, room - len(remarks)), has_label=False)
        if len(pulse) + len(remarks) < room:
            remarks = remark_lines(session, inner, room - len(pulse))
        again = session.disturbed_groups
        note = text_line(f"{again} measured again" if again else "", "warning")
        sides = [
            crop_line(
                [(f"{mark} ", role), (clean_text(v.label), "text"), (f"  {clean_text(v.detail)}", "dim")],
                inner,
            )
            for v in session.planned_variants
            for mark, role in [variant_marks(session)[v.id]]
            if v.detail
        ]
        loud = [finding for finding in session.worst_first if finding.severity in ("critical", "warning")]
        sides += [
            crop_line([(f"{SIGNS[f.severity]} ", f.severity), (clean_text(f.title), "text")], inner)
            for f in loud[:2]
        ]
        pulse += sides[: max(0, room - len(pulse) - len(remarks))]
        rest = [BLANK] * (room - len(pulse) - len(remarks))
        return frame_rows("HOST", [*pulse, *rest, *remarks], width, height, note=note)
