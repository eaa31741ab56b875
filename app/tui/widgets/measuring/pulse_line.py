"""The host's own pulse while it is measured: so that a disturbance is seen, and whose it was."""

from hostdx.app.recordings.interference import others_io
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import spark_cell
from hostdx.app.terminal.lines import Line, cell_width, text_line
from hostdx.probes import units

OTHERS_IO = "others' I/O "
_TRACE = 12  # pulses drawn: they move once a second, and every cell that changes is paid for
_STEAL = 0.05  # of the time, from which on it is worth a warning


def _own_devices(session: RunSession) -> list[str]:
    """The run's own devices as the plan names them, where it names several."""
    device_names = [
        name.strip() for w in (session.plan.writes if session.plan else ()) for name in w.device.split(",")
    ]
    return [name for name in dict.fromkeys(device_names) if name in session.pulses[-1].devices]


def pulse_lines(session: RunSession, width: int, most: int = 2, *, has_label: bool = True) -> list[Line]:
    """As many lines as it takes, at most `most`; `named`: nothing above says that it is the host's."""
    if not session.pulses:
        return [
            text_line(
                "host   waiting for the first reading" if has_label else "waiting for the first reading",
                "dim",
            )
        ]
    recent = list(session.pulses)[-_TRACE:]
    last = recent[-1]
    items: list[Line] = [
        [("host " if has_label else "", "dim"), ("load ", "dim"), (f"{last.load1:.1f}", "text")]
    ]
    items.append(
        [("cpu ", "dim"), *_trace_spans([p.cpu for p in recent]), (f" {last.cpu * 100:.0f} %", "text")]
    )
    busiest = max(last.devices, key=lambda d: last.devices[d][2], default="")
    if busiest:
        uses = [p.devices.get(busiest, (0, 0, 0))[2] for p in recent]
        items.append(
            [
                (f"{busiest} ", "dim"),
                *_trace_spans(uses),
                (f" {last.devices[busiest][2] * 100:.0f} % busy", "text"),
            ]
        )
    if last.psi_io is not None:
        # then tasks of ours wait, as they should
        loaded = session.plan is not None and session.plan.workloads
        role = "warning" if last.psi_io > 0.5 and not loaded else "text"
        items.append([("io pressure ", "dim"), (f"{last.psi_io * 100:.0f} %", role)])
    own = _own_devices(session)
    if len(own) > 1:  # whose the traffic is cannot be told, only where it goes
        for name in own[:4]:
            rate = last.devices[name][0] + last.devices[name][1]
            items.append([(f"{name} ", "dim"), (units.format_rate(rate), "text")])
    if last.devices:
        foreign = others_io(session)  # left out where nobody knows it
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
            rows.append([("     " if has_label else "", "text")])
            gap = 0
        rows[-1] += [(" " * gap, "text"), *item]
    return rows[:most]


def _trace_spans(shares: list[float]) -> Line:
    return [("".join(spark_cell(s) for s in shares), "accent")]
