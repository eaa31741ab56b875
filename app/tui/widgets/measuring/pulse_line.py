"""The host's own pulse while it is measured: so that a disturbance is seen, and whose it was."""

from app.glyphs import spark
from app.lines import Line, cells, text
from app.recording.session import Session
from probes import units
from scenarios import events as ev

_TRACE = 12  # pulses drawn: they move once a second, and every cell that changes is paid for
_QUIET = 1e5  # B/s of others' I/O below which it is called none
_IN_TURN = 3  # pulses in which others' I/O must show before it is called theirs
_IN_TURN_S = 10.0  # and no longer ago
_SKEW = 0.05  # the device's counters and ours are not read in the same instant
_WRITEBACK_S = 35.0  # dirty_expire_centisecs' 30 s and a flusher's round: as long what we wrote may come back
_STEAL = 0.05  # of the time, from which on it is worth a warning
_STACKED = ("loop", "dm-", "md", "bcache", "drbd", "rbd", "zd")


def others(session: Session) -> float | None:
    """B/s of the last pulse that were not ours, on the device where they are most; None where nobody can tell.

    Only what the pulses before showed as well: in one alone our own may seem others', for the device's counters and
    ours are not read in the same instant, and those of a worker that has just ended are gone.
    Told only for the one device that carries our files. Not told: with several of them or none, where our traffic is
    counted together; for a command of the user's, whose traffic nobody counts apart; for what lies below or above a
    stacked device, which carries our traffic once more; for writes while we write, because the file system's own (its
    journal, what it writes back later) belong to nobody.
    """
    last = list(session.pulses)[-_IN_TURN:]
    found = [_foreign(session, pulse) for pulse in last if last[-1].t - pulse.t < _IN_TURN_S]
    now = found[-1] if found else None
    return 0.0 if now is not None and 0.0 in found else now


def _foreign(session: Session, pulse: ev.Pulse) -> float | None:
    if session.plan is not None and session.plan.commands:
        return None
    if not pulse.ours and session.plan is not None and not session.plan.writes:
        most = max((read + written for read, written, _ in pulse.devices.values()), default=0.0)
        # a run without files of its own: it watches, or measures something else
        return most if most > _QUIET else 0.0
    if len(pulse.ours) != 1:
        return None
    (own, (read, written)) = next(iter(pulse.ours.items()))
    rates = pulse.devices.get(own)
    if rates is None:
        return None
    foreign_reads = max(0.0, rates[0] - read)
    if foreign_reads < _QUIET + _SKEW * read:
        foreign_reads = 0.0
    foreign_writes = max(0.0, rates[1] - written)
    wrote = any(
        sum(w for _, w in p.ours.values()) > 0 for p in session.pulses if pulse.t - p.t < _WRITEBACK_S
    )
    if wrote and foreign_writes > _QUIET:
        return None
    worst = foreign_reads + foreign_writes
    for name, (there_read, there_written, _) in pulse.devices.items():
        if name == own or name.startswith(own):  # its partitions repeat it
            continue
        if own.startswith((*_STACKED, name)) or name.startswith(_STACKED):
            if there_read + there_written > _QUIET:
                return None
            continue
        worst = max(worst, there_read + there_written)
    return worst if worst > _QUIET else 0.0


def _devices(session: Session) -> list[str]:
    """The run's own devices as the plan names them, where it names several."""
    named = [
        name.strip() for w in (session.plan.writes if session.plan else ()) for name in w.device.split(",")
    ]
    return [name for name in dict.fromkeys(named) if name in session.pulses[-1].devices]


def pulse_lines(session: Session, width: int, most: int = 2, *, named: bool = True) -> list[Line]:
    """As many lines as it takes, at most `most`; `named`: nothing above says that it is the host's."""
    if not session.pulses:
        return [text("host   no pulse yet" if named else "no pulse yet", "dim")]
    recent = list(session.pulses)[-_TRACE:]
    last = recent[-1]
    items: list[Line] = [[("host " if named else "", "dim"), ("load ", "dim"), (f"{last.load1:.1f}", "text")]]
    items.append([("cpu ", "dim"), *_trace([p.cpu for p in recent]), (f" {last.cpu * 100:.0f} %", "text")])
    busiest = max(last.devices, key=lambda d: last.devices[d][2], default="")
    if busiest:
        uses = [p.devices.get(busiest, (0, 0, 0))[2] for p in recent]
        items.append(
            [
                (f"{busiest} ", "dim"),
                *_trace(uses),
                (f" {last.devices[busiest][2] * 100:.0f} % busy", "text"),
            ]
        )
    if last.psi_io is not None:
        # then tasks of ours wait, as they should
        loaded = session.plan is not None and session.plan.workloads
        role = "warning" if last.psi_io > 0.5 and not loaded else "text"
        items.append([("io pressure ", "dim"), (f"{last.psi_io * 100:.0f} %", role)])
    own = _devices(session)
    if len(own) > 1:  # whose the traffic is cannot be told, only where it goes
        for name in own[:4]:
            rate = last.devices[name][0] + last.devices[name][1]
            items.append([(f"{name} ", "dim"), (units.rate(rate), "text")])
    if last.devices:
        foreign = others(session)
        if foreign is None:
            items.append([("others' I/O not known", "dim")])
        elif foreign:
            items.append([("others' I/O ", "dim"), (units.rate(foreign), "warning")])
        else:
            items.append([("others' I/O ", "dim"), ("none", "text")])
    if last.steal >= 0.005:
        role = "warning" if last.steal >= _STEAL else "text"
        items.append([("steal ", "dim"), (f"{last.steal * 100:.0f} %", role)])
    rows: list[Line] = [[]]
    for item in items:
        gap = 3 if rows[-1] else 0
        if rows[-1] and cells(rows[-1]) + gap + cells(item) > width:
            rows.append([("     " if named else "", "text")])
            gap = 0
        rows[-1] += [(" " * gap, "text"), *item]
    return rows[:most]


def _trace(shares: list[float]) -> Line:
    return [("".join(spark(s) for s in shares), "accent")]
