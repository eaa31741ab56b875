"""What others did on the measured disk, from the pulses and the guards together: the one source for every view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance

_QUIET = 1e5  # B/s of others' I/O below which it is called none
_IN_TURN = 3  # pulses in which others' I/O must show before it is called theirs
_IN_TURN_S = 10.0  # and no longer ago
_SKEW = 0.05  # the device's counters and ours are not read in the same instant
_WRITEBACK_S = 35.0  # dirty_expire_centisecs' 30 s and a flusher's round: as long what we wrote may come back
_STACKED = ("loop", "dm-", "md", "bcache", "drbd", "rbd", "zd")


class OthersIO(NamedTuple):
    """What others moved, in `unit`, as it was known `age_s` seconds ago; `culprit`: whose it was, by the guards."""

    figure: float
    unit: str = "B/s"
    age_s: float = 0.0
    culprit: str = ""


def other_programs_io(session: RunSession) -> OthersIO | None:
    """By the last pulse, else the guards' last figure with its age; None where neither knows it."""
    now = foreign_bytes_per_s_now(session)
    if now is not None:
        return OthersIO(now)
    t, disturbance = max(_times_and_io_disturbances(session), key=lambda each: each[0], default=(0.0, None))
    if disturbance is None or disturbance.figure is None:
        return None
    culprit_name = disturbance.culprit.label if disturbance.culprit is not None else ""
    return OthersIO(disturbance.figure, disturbance.unit or "B/s", session.time - t, culprit_name)


def _times_and_io_disturbances(session: RunSession) -> Iterator[tuple[float, Disturbance]]:
    """When the guards told of others' I/O."""
    for watched in session.watched:
        yield from ((watched.t, disturbance) for disturbance in watched.told if _is_foreign_io(disturbance))
    for guard in session.guards:
        if guard.disturbance is not None and _is_foreign_io(guard.disturbance):
            yield guard.t, guard.disturbance


def _is_foreign_io(disturbance: Disturbance) -> bool:
    return disturbance.kind == "device" and disturbance.figure is not None


def foreign_bytes_per_s_now(session: RunSession) -> float | None:
    """B/s of the last pulse that were not ours, on the device where they are most; None where nobody can tell.

    Only what the pulses before showed as well: in one alone our own may seem others', for the device's counters and
    ours are not read in the same instant, and those of a worker that has just ended are gone.
    Told only for the one device that carries our files. Not told: with several of them or none, where our traffic is
    counted together; for a command of the user's, whose traffic nobody counts apart; for what lies below or above a
    stacked device, which carries our traffic once more; for writes while we write, because the file system's own (its
    journal, what it writes back later) belong to nobody.
    """
    last = list(session.pulses)[-_IN_TURN:]
    foreign_rates = [_foreign_rate(session, pulse) for pulse in last if last[-1].t - pulse.t < _IN_TURN_S]
    now = foreign_rates[-1] if foreign_rates else None
    return 0.0 if now is not None and 0.0 in foreign_rates else now


def _foreign_rate(session: RunSession, pulse: ev.Pulse) -> float | None:
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
