"""The host's own pulse while it is measured: so that a disturbance is seen, and whose it was."""

from __future__ import annotations

from collections.abc import Callable

from app.plot import si
from app.session import Session
from app.tui.glyphs import clean, spark
from app.tui.lines import Line, cells, text
from app.tui.widgets.panel import Panel

_TRACE = 12  # pulses drawn: they move once a second, and every cell that changes is paid for
_QUIET = 1e5  # B/s of others' I/O below which it is called none


def _foreign(session: Session) -> dict[str, float]:
    """Device to B/s that were not ours in the last pulse."""
    pulse = session.pulses[-1]
    out = {}
    for name, (read, write, _) in pulse.devices.items():
        ours = sum(pulse.ours.get(name, (0.0, 0.0)))
        out[name] = max(0.0, read + write - ours)
    return out


def pulse_lines(session: Session, width: int, most: int = 2) -> list[Line]:
    """As many lines as it takes, at most `most`."""
    if not session.pulses:
        return [text("host   no pulse yet", "dim")]
    recent = list(session.pulses)[-_TRACE:]
    last = recent[-1]
    items: list[Line] = [[("host ", "dim"), (f"load {last.load1:.1f}", "text")]]
    items.append([("cpu ", "dim"), *_trace([p.cpu for p in recent]), (f" {last.cpu * 100:.0f} %", "text")])
    busiest = max(last.devices, key=lambda d: last.devices[d][2], default="")
    if busiest:
        uses = [p.devices.get(busiest, (0, 0, 0))[2] for p in recent]
        items.append(
            [
                (f"{clean(busiest)} ", "dim"),
                *_trace(uses),
                (f" {last.devices[busiest][2] * 100:.0f} %", "text"),
            ]
        )
    if last.psi_io is not None:
        role = "warning" if last.psi_io > 0.5 else "text"
        items.append([("io pressure ", "dim"), (f"{last.psi_io * 100:.0f} %", role)])
    foreign = {d: rate for d, rate in _foreign(session).items() if rate > _QUIET}
    if last.devices:
        if foreign:
            worst = max(foreign, key=lambda d: foreign[d])
            items.append([("others' I/O ", "dim"), (f"{clean(worst)} {si(foreign[worst])}B/s", "warning")])
        else:
            items.append([("others' I/O ", "dim"), ("none", "text")])
    if last.steal >= 0.005:
        items.append([("steal ", "dim"), (f"{last.steal * 100:.0f} %", "warning")])
    rows: list[Line] = [[]]
    for item in items:
        gap = 3 if rows[-1] else 0
        if rows[-1] and cells(rows[-1]) + gap + cells(item) > width:
            rows.append([("     ", "text")])
            gap = 0
        rows[-1] += [(" " * gap, "text"), *item]
    return rows[:most]


def _trace(shares: list[float]) -> Line:
    return [("".join(spark(s) for s in shares), "accent")]


class PulseLine(Panel):
    DEFAULT_CSS = "PulseLine { height: 2; }"

    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="pulse")
        self._session = session

    def draw(self, width: int, height: int) -> list[Line]:
        return pulse_lines(self._session(), width, height)
