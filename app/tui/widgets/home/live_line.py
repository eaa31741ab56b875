"""What the host does now, in one line: load, CPUs, the busiest disk, and what tasks wait for."""

from collections.abc import Sequence

from hostdx.app.terminal.glyphs import spark_cell
from hostdx.app.terminal.lines import Line, crop_line, frame_rows, text_line
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev

WIDE = 100  # cells
TRACE = 8  # pulses drawn
WAITED = 0.33  # a share of waiting that makes a host slow
SPEAKS = 0.10  # a share of waiting that a person notices, as triage has it


def live_line(pulse: ev.Pulse, threads: int | None, width: int) -> Line:
    """On a narrow screen without the number of CPUs, and without memory as long as nothing waits for it."""
    cpus = f" on {threads} CPUs" if threads and width >= WIDE else ""
    separator = "   " if width >= WIDE else "  "
    line: Line = [
        ("NOW  ", "title"),
        ("load ", "dim"),
        (f"{pulse.load1:.1f}", "text"),
        (f"{cpus}{separator}", "dim"),
    ]
    line += [("cpu ", "dim"), (f"{pulse.cpu * 100:.0f} %", "text")]
    if pulse.steal >= 0.01:
        line += [(f"{separator}stolen ", "dim"), (f"{pulse.steal * 100:.0f} %", "warning")]
    if pulse.devices:
        name = max(pulse.devices, key=lambda n: (pulse.devices[n][2], n))
        read, written, used = pulse.devices[name]
        line += [
            (f"{separator}{name} ", "dim"),
            (f"{units.format_rate(read + written)}", "text"),
            (f" {used * 100:.0f} % busy", "dim"),
        ]
    waits = (("cpu", pulse.psi_cpu), ("io", pulse.psi_io), ("memory", pulse.psi_memory))
    shown_waits = [
        (resource, share)
        for resource, share in waits
        if share is not None and (resource != "memory" or share >= SPEAKS or width >= WIDE)
    ]
    if shown_waits:
        line.append((f"{separator}waiting ", "dim"))
        for number, (resource, share) in enumerate(shown_waits):
            gap = "  " if number else ""
            line += [
                (f"{gap}{resource} ", "dim"),
                (f"{share * 100:.0f} %", "warning" if share >= SPEAKS else "text"),
            ]
    return line


def pulse_strip(pulses: Sequence[ev.Pulse], width: int) -> Line:
    """Each figure with its last course: green, yellow from a tenth of the time waited on, red from a third on."""
    last = pulses[-1]
    disk = max(last.devices, key=lambda name: (last.devices[name][2], name), default="")
    figures: list[tuple[str, list[float | None], float]] = [("cpu", [p.cpu for p in pulses], 2 * WAITED)]
    figures += [
        ("cpu waits", [p.psi_cpu for p in pulses], SPEAKS),
        (disk, [p.devices.get(disk, (0.0, 0.0, 0.0))[2] for p in pulses], 2 * WAITED),
        ("disk waits", [p.psi_io for p in pulses], SPEAKS),
        ("memory", [p.psi_memory for p in pulses], SPEAKS),
    ]
    figures = [figure for figure in figures if figure[0] and figure[1][-1] is not None]
    line: Line = [("load ", "dim"), (f"{last.load1:.1f}", "text")]
    for name, shares, high in figures:
        now = shares[-1] or 0.0
        role = "ok" if now < high else "warning" if now < max(WAITED, 1.3 * high) else "critical"
        drawn = "".join(spark_cell(share) for share in shares[-TRACE:])
        line += [("   ", "text"), (f"{name} ", "dim"), (drawn, role), (f" {now * 100:.0f} %", "text")]
        if name == disk:
            line.append((f" {units.format_rate(sum(last.devices[disk][:2]))}", "dim"))
    return crop_line(line, width)


class LiveLine(SessionPanel):
    """Nothing moves here but the cells that changed, every few seconds: an idle home screen costs next to no bytes."""

    DEFAULT_CSS = "LiveLine { height: 1; }"
    ID = "live-line"

    def draw(self, width: int, height: int) -> list[Line]:
        pulse = self.shell.latest_pulse
        if pulse is None:
            waits = "…" if self.shell.watches_host else ""
            if self.has_borders and height > 2:
                return frame_rows("NOW", [text_line(waits, "dim")], width, height)
            return [text_line(waits and f"NOW  {waits}", "dim")]
        fact = self._session().facts.get("cpu threads")
        threads = fact.value if fact is not None and isinstance(fact.value, int) else None
        if not self.has_borders or height < 3:
            return [crop_line(live_line(pulse, threads, width), width)]
        return frame_rows("NOW", [pulse_strip(self.shell.pulses, width - 4)], width, height)
