"""What the host does now, in one line: load, CPUs, the busiest disk, and what tasks wait for."""

from collections.abc import Sequence

from hostdx.app.terminal.glyphs import spark_cell
from hostdx.app.terminal.lines import Line, cell_width, crop_line, frame_rows, text_line
from hostdx.app.tui.widgets.panel import SessionPanel
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev

NOW = "NOW  "
WIDE = 100  # cells
PULSE_S = 3  # between two looks of the host: what each figure is of
TRACE = 8  # pulses drawn
STOLEN = 0.01  # a share of time that a hypervisor took
WAITED = 0.33  # a share of waiting that makes a host slow
FULL = 0.95  # of all CPUs: what starts now takes from the others
SPEAKS = 0.10  # a share of waiting that a person notices, as triage has it


def pulse_strip(pulses: Sequence[ev.Pulse], width: int) -> Line:
    """Each figure with as much of its last course as fits: green, yellow from a tenth of the time waited on, red from a
    third on."""
    traces = range(TRACE if width >= WIDE else 0, -1, -1)
    lines = (_host_figures_line(pulses, trace) for trace in traces)
    return crop_line(
        next((line for line in lines if cell_width(line) <= width), _host_figures_line(pulses, 0)), width
    )


def _host_figures_line(pulses: Sequence[ev.Pulse], trace: int) -> Line:
    """`trace`: the pulses drawn of each figure; 0 where only the last ones have room."""
    last = pulses[-1]
    disk = max(last.devices, key=lambda name: (last.devices[name][2], name), default="")
    figures: list[tuple[str, list[float | None], float]] = [
        ("cpu", [p.cpu for p in pulses], 2 * WAITED),
        ("stolen", [p.steal if p.steal >= STOLEN else None for p in pulses], STOLEN),
        (disk, [p.devices.get(disk, (0.0, 0.0, 0.0))[2] for p in pulses], 2 * WAITED),
        ("tasks wait: cpu", [p.psi_cpu for p in pulses], SPEAKS),
        ("disk", [p.psi_io for p in pulses], SPEAKS),
        ("memory", [p.psi_memory if (p.psi_memory or 0.0) >= SPEAKS else None for p in pulses], SPEAKS),
    ]
    line: Line = [("load ", "dim"), (f"{last.load1:.1f}", "text")]
    for name, shares, high in figures:
        if not name or (now := shares[-1]) is None:
            continue
        role = "ok" if now < high else "warning" if now < max(WAITED, 1.3 * high) else "critical"
        # a trace is as wide from the first pulse on, so that nothing right of it moves
        drawn = "".join(map(spark_cell, shares[-trace:])).ljust(trace) if trace else ""
        line += [("   " if trace else "  ", "text"), (f"{name} ", "dim"), (drawn, role)]
        line.append((f" {now * 100:.0f} %" if trace else f"{now * 100:.0f} %", "text" if trace else role))
        if name == disk:
            line.append((f" {units.format_rate(sum(last.devices[disk][:2]))}", "dim"))
    return line


class LiveLine(SessionPanel):
    """Nothing moves here but the cells that changed, every few seconds: an idle home screen costs next to no bytes."""

    DEFAULT_CSS = "LiveLine { height: 1; }"
    ID = "live-line"

    def _of_which_time(self) -> str:
        """Home's own start or return is in the first pulse: two CPUs are half busy with it."""
        own = "" if self.shell.settled_pulses or not self.shell.watches_host else ", hostdx itself in it"
        return f"of the last {PULSE_S} s{own}"

    def draw(self, width: int, height: int) -> list[Line]:
        framed = self.has_borders and height > 2
        if self.shell.pulses:
            line = pulse_strip(self.shell.pulses, width - 4 if framed else width - len(NOW))
        else:
            line = text_line("…" if self.shell.watches_host else "", "dim")
        if framed:
            return frame_rows("NOW", [line], width, height, note=text_line(self._of_which_time(), "dim"))
        return [[(NOW, "title"), *line]] if line[0][0] else [line]
