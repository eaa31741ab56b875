"""The host while it is measured: its pulse, and who disturbed, what was changed and put back, newest last."""

from hostdx.app.recordings.interference import other_programs_io
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import SIGNS, clean_text, spark_cell
from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    cell_width,
    crop_line,
    frame_rows,
    link_line,
    process_link,
    text_line,
    wrap_text,
)
from hostdx.app.tui.widgets.measuring.transport import format_clock
from hostdx.app.tui.widgets.measuring.variants import variant_marks
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.probes import units

# The host's own pulse while it is measured: so that a disturbance is seen, and whose it was.
OTHERS_IO = "others' I/O "
_TRACE = 12  # pulses drawn: they move once a second, and every cell that changes is paid for
_STEAL = 0.05  # of the time, from which on it is worth a warning


def _planned_devices(session: RunSession) -> list[str]:
    """The run's own devices as the plan names them, where it names several."""
    device_names = [
        name.strip() for w in (session.plan.writes if session.plan else ()) for name in w.device.split(",")
    ]
    return [name for name in dict.fromkeys(device_names) if name in session.pulses[-1].devices]


def pulse_lines(session: RunSession, width: int, most: int = 2) -> list[Line]:
    """As many lines as it takes, at most `most`."""
    if not session.pulses:
        return [text_line("waiting for the first reading", "dim")]
    recent = list(session.pulses)[-_TRACE:]
    last = recent[-1]
    items: list[Line] = [[("load ", "dim"), (f"{last.load1:.1f}", "text")]]
    items.append(
        [("cpu ", "dim"), *_sparkline([p.cpu for p in recent]), (f" {last.cpu * 100:.0f} %", "text")]
    )
    busiest = max(last.devices, key=lambda d: last.devices[d][2], default="")
    if busiest:
        uses = [p.devices.get(busiest, (0, 0, 0))[2] for p in recent]
        items.append(
            [
                (f"{busiest} ", "dim"),
                *_sparkline(uses),
                (f" {last.devices[busiest][2] * 100:.0f} % busy", "text"),
            ]
        )
    if last.psi_io is not None:
        # then tasks of ours wait, as they should
        loaded = session.plan is not None and session.plan.workloads
        role = "warning" if last.psi_io > 0.5 and not loaded else "text"
        items.append([("io pressure ", "dim"), (f"{last.psi_io * 100:.0f} %", role)])
    own = _planned_devices(session)
    if len(own) > 1:  # whose the traffic is cannot be told, only where it goes
        for name in own[:4]:
            rate = last.devices[name][0] + last.devices[name][1]
            items.append([(f"{name} ", "dim"), (units.format_rate(rate), "text")])
    if last.devices:
        foreign = other_programs_io(session)  # left out where nobody knows it
        if foreign is not None:
            age = f" {units.format_duration(foreign.age_s)} ago" if foreign.age_s >= 1 else ""
            amount = str(units.metric_quantity(foreign.figure, foreign.unit))
            shown = (amount, "warning") if foreign.figure else ("none", "text")
            items.append([(OTHERS_IO, "dim"), shown, (age, "dim")])
    if last.steal >= 0.005:
        role = "warning" if last.steal >= _STEAL else "text"
        items.append([("steal ", "dim"), (f"{last.steal * 100:.0f} %", role)])
    rows: list[Line] = [[]]
    for item in items:
        gap = 3 if rows[-1] else 0
        if rows[-1] and cell_width(rows[-1]) + gap + cell_width(item) > width:
            rows.append([])
            gap = 0
        rows[-1] += [(" " * gap, "text"), *item]
    return rows[:most]


def _sparkline(shares: list[float]) -> Line:
    return [("".join(spark_cell(s) for s in shares), "accent")]


def remark_lines(session: RunSession, width: int, most: int) -> list[Line]:
    rows: list[tuple[float, Line]] = []
    for guard in session.guards:
        role: str = guard.severity
        culprit = guard.disturbance.culprit if guard.disturbance is not None else None
        target = process_link(culprit.pid if culprit is not None else None)
        rows.append((guard.t, link_line([(f"{SIGNS[role]} ", role), (guard.guard_sentence, "text")], target)))
    for event in session.actions.values():
        changed = event.action.kind == "attribute"
        if not changed and event.state in ("applied", "reverted"):
            continue  # a private directory of its own is no news
        is_lasting = event.state == "kept" and event.action.irreversible
        state = "done, cannot be undone" if is_lasting else event.state
        change_text = f"{state}: {clean_text(event.action.title)}"
        if changed and event.state == "applied":
            change_text += f", {clean_text(event.action.old or '?')} → {clean_text(event.action.new or '?')}"
        elif changed and event.state == "reverted":
            change_text += f", back to {clean_text(event.action.old or '?')}"
        elif event.state == "failed":
            change_text += f": {event.reason}"
        role = "critical" if event.state == "failed" else "notice"
        rows.append((event.t, [(f"{SIGNS[role]} ", role), (change_text, "text")]))
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


class HostPanel(SessionPanel):
    ID = "host"

    def draw(self, width: int, height: int) -> list[Line]:
        session, inner, room = self._session(), width - 4, height - 2
        remarks = remark_lines(session, inner, room // 2 if room > 2 else 1)
        pulse = pulse_lines(session, inner, max(1, room - len(remarks)))
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
