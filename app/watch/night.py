"""One night: whether it is measured at all, the battery, the retest, what is kept, what it says.

A night is lost for itself only: a full disk, a kill or a power cut leave an unfinished recording at most, and what
such a night left on the disk is undone before the next one measures.
"""

import os
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec

from app import locks
from app.failure import Failure
from app.recording import baselines
from app.recording.nights import Nights
from app.run.execution import Execution, Request
from app.undo import killed_ending, undo
from app.undo.journal import Busy
from app.watch.battery import Wanted, battery, options
from app.watch.fleet_nights import FleetNights, fleet_nights
from app.watch.openmetrics import write
from probes.host import Host
from probes.number_text import real
from probes.types import Absent
from probes.units import percent
from scenarios import events as ev
from scenarios.nights.history import History

SAME_NIGHT = timedelta(hours=12)
# Of the last five minutes some task waited for the resource so long: a job is at work that would be disturbed, and
# would disturb (Documentation/accounting/psi.rst).
MOST_PRESSURE = {"cpu": 0.25, "io": 0.20, "memory": 0.05}
MOST_LOAD = 0.5  # runnable tasks a CPU over five minutes, on kernels without pressure figures


# Runs the battery into a recording; the words say why it is not to be run, which the recording then says.
Measure: TypeAlias = Callable[[Path, str], ev.RunEnded]


class Tonight(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a night. `skipped`: why nothing was measured."""

    recordings: tuple[Path, ...]
    history: History
    skipped: str = ""
    failed: str = ""
    removed: int = 0


def folder() -> Path:
    return baselines.directory() / baselines.WATCH


def night(
    wanted: Wanted,
    measure: Measure,
    complain: Callable[[str], None],
    *,
    busy: Callable[[], str],
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Tonight:
    """Raises Failure: another night is under way, or there is no room for a recording."""
    nights = Nights(folder())
    lock = locks.Lock("watch", "a night of the watch", "watch", f"{now():%H:%M:%S} UTC")
    try:
        undo_killed(complain)
        if said := _had(nights, now()):
            return Tonight(recordings=(), history=nights.history(), skipped=said)
        made = [nights.next_name(f"{now():%Y%m%dT%H%M%SZ}", again=False)]
        ended = measure(made[0], busy())
        if ended.status == "done" and nights.history().retest:
            made.append(nights.next_name(f"{now():%Y%m%dT%H%M%SZ}", again=True))
            measure(made[1], busy())
        removed = 0
        try:
            removed = len(nights.prune(wanted.keep))
            nights.refresh()
        except (OSError, Failure) as why:
            complain(f"watch: {why}; the nights are kept, their index is made again later")
        fleet = fleet_nights(wanted.fleet) if wanted.fleet else FleetNights()
        history = nights.history(fleet.others)
        for trouble in filter(None, (*nights.troubles, fleet.trouble)):
            complain(trouble)
        if wanted.textfile:
            write(history, Path(wanted.textfile), ended.status)
        reason = ended.reason or ""
        return Tonight(
            recordings=tuple(made),
            history=history,
            skipped=reason if ended.status == "skipped" else "",
            failed=reason or ended.status if ended.status in ("failed", "interrupted") else "",
            removed=removed,
        )
    finally:
        lock.release()


def _had(nights: Nights, now: datetime) -> str:
    """Measured already: a timer and a hand, or a clock that was set back over the hour. By the last night only: what a
    wrong clock wrote earlier says nothing."""
    last = next((run for run in reversed(nights.runs()) if run.state == "measured"), None)
    if last is None:
        return ""
    try:
        wall = datetime.fromisoformat(last.wall.replace("Z", "+00:00"))
    except ValueError:
        return ""
    if wall.tzinfo is None or abs(now - wall) >= SAME_NIGHT:
        return ""
    return f"this night was measured already, at {last.wall}"


def undo_killed(complain: Callable[[str], None]) -> None:
    """What killed nights left: a private directory. The watch's own only, whatever else is in the journals."""
    found, _ = undo.leftovers()
    for one in found:
        ours = Path(one.header.recording).parent == folder()
        if not ours or one.living or not one.open:
            continue
        try:
            done = killed_ending.undone(one.path)
        except (Busy, Failure):
            continue
        for each in done:
            if each.outcome.state == "failed":
                complain(f"watch: {each.entry.action.title}: {each.outcome.reason}")


def busy(host: Host) -> str:
    """Why the host is not to be measured now; empty where it may be."""
    told = False
    for resource, most in MOST_PRESSURE.items():
        share = _waited(host, resource)
        told = told or share is not None
        if share is not None and share > most:
            return f"others keep the host busy: tasks waited for {resource} {percent(share)} of the last five minutes"
    load = host.text("/proc/loadavg", 128)
    if told or isinstance(load, Absent):
        return ""
    words = load.split()
    five = real(words[1]) if len(words) > 1 else None
    cpus = os.cpu_count() or 1
    if five is not None and five > MOST_LOAD * cpus:
        return f"others keep the host busy: a load of {five:g} over five minutes on {cpus} CPUs"
    return ""


def _waited(host: Host, resource: str) -> float | None:
    """The share of the last five minutes in which some task waited for it."""
    text = host.text(f"/proc/pressure/{resource}", 1024)
    if isinstance(text, Absent):
        return None
    for word in text.partition("\n")[0].split():
        name, _, value = word.partition("=")
        if name == "avg300":
            found = real(value)
            return found / 100 if found is not None else None
    return None


def measured(
    wanted: Wanted, command: list[str], show: Callable[[ev.AnyEvent], None], complain: Callable[[str], None]
) -> Measure:
    """The battery on this host."""
    scenario = battery()

    def measure(recording: Path, blocked: str) -> ev.RunEnded:
        request = Request(
            options=options(wanted), declared=scenario.options, command=command, recording=str(recording)
        )
        with closing(Host()) as host:
            return Execution(scenario, host, request, show, complain, blocked=blocked).outcome()

    return measure
