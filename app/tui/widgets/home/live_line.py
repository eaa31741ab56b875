"""What the host does now, in one line: load, CPUs, the busiest disk, and what tasks wait for."""

from __future__ import annotations

from app.lines import Line, crop, text
from app.tui.widgets.panel import SessionPanel
from probes import units
from scenarios import events as ev

WIDE = 100  # cells
SPEAKS = 0.10  # a share of waiting that a person notices, as triage has it


def live_line(pulse: ev.Pulse, threads: int | None, width: int) -> Line:
    """On a narrow screen without the number of CPUs, and without memory as long as nothing waits for it."""
    cpus = f" on {threads} CPUs" if threads and width >= WIDE else ""
    apart = "   " if width >= WIDE else "  "
    line: Line = [
        ("NOW  ", "title"),
        ("load ", "dim"),
        (f"{pulse.load1:.1f}", "text"),
        (f"{cpus}{apart}", "dim"),
    ]
    line += [("cpu ", "dim"), (f"{pulse.cpu * 100:.0f} %", "text")]
    if pulse.steal >= 0.01:
        line += [(f"{apart}stolen ", "dim"), (f"{pulse.steal * 100:.0f} %", "warning")]
    if pulse.devices:
        name = max(pulse.devices, key=lambda n: (pulse.devices[n][2], n))
        read, written, used = pulse.devices[name]
        line += [
            (f"{apart}{name} ", "dim"),
            (f"{units.rate(read + written)}", "text"),
            (f" {used * 100:.0f} % busy", "dim"),
        ]
    waits = (("cpu", pulse.psi_cpu), ("io", pulse.psi_io), ("memory", pulse.psi_memory))
    told = [
        (what, share)
        for what, share in waits
        if share is not None and (what != "memory" or share >= SPEAKS or width >= WIDE)
    ]
    if told:
        line.append((f"{apart}waiting ", "dim"))
        for number, (what, share) in enumerate(told):
            gap = "  " if number else ""
            line += [
                (f"{gap}{what} ", "dim"),
                (f"{share * 100:.0f} %", "warning" if share >= SPEAKS else "text"),
            ]
    return line


class LiveLine(SessionPanel):
    """Nothing moves here but the cells that changed, every few seconds: an idle home screen costs next to no bytes."""

    DEFAULT_CSS = "LiveLine { height: 1; }"
    ID = "live-line"

    def draw(self, width: int, height: int) -> list[Line]:
        pulse = self.shell.pulse
        if pulse is None:
            return [text("NOW  …" if self.shell.watches_host else "", "dim")]
        fact = self._session().facts.get("cpu threads")
        threads = fact.value if fact is not None and isinstance(fact.value, int) else None
        return [crop(live_line(pulse, threads, width), width)]
