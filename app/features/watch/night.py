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

from hostdx.app import locks
from hostdx.app.features.watch.battery import NightSettings, load_benchmark_scenario, night_options
from hostdx.app.features.watch.fleet_nights import FleetNights, read_fleet_nights
from hostdx.app.features.watch.nights import NightsFolder
from hostdx.app.features.watch.openmetrics import write_openmetrics
from hostdx.app.recordings import baselines
from hostdx.app.run.execution import RunExecution, RunRequest
from hostdx.app.terminal.failure import Failure
from hostdx.app.undo import killed_ending, undo
from hostdx.app.undo.journal import JournalLocked
from hostdx.probes.number_text import parse_real
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.probes.units import format_percent
from hostdx.scenarios.analysis.nights.history import HostHistory
from hostdx.scenarios.contract import events as ev

SAME_NIGHT = timedelta(hours=12)
# Of the last five minutes some task waited for the resource so long: a job is at work that would be disturbed, and
# would disturb (Documentation/accounting/psi.rst).
MAX_PRESSURE = {"cpu": 0.25, "io": 0.20, "memory": 0.05}
MAX_LOAD_PER_CPU = 0.5  # runnable tasks a CPU over five minutes, on kernels without pressure figures


# Runs the battery into a recording; the words say why it is not to be run, which the recording then says.
Measure: TypeAlias = Callable[[Path, str], ev.RunEnded]


class NightOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a night. `skipped`: why nothing was measured."""

    recordings: tuple[Path, ...]
    history: HostHistory
    skipped: str = ""
    failed: str = ""
    removed: int = 0


def nights_folder() -> Path:
    return baselines.baselines_dir() / baselines.WATCH


def measure_night(
    settings: NightSettings,
    measure: Measure,
    complain: Callable[[str], None],
    *,
    why_busy: Callable[[], str],
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> NightOutcome:
    """Raises Failure: another night is under way, or there is no room for a recording."""
    nights = NightsFolder(nights_folder())
    lock = locks.LockFile("watch", "a night of the watch", "watch", f"{now():%H:%M:%S} UTC")
    try:
        undo_killed_nights(complain)
        if skip_reason := _measured_already_reason(nights, now()):
            return NightOutcome(recordings=(), history=nights.read_history(), skipped=skip_reason)
        recordings = [nights.next_recording_path(f"{now():%Y%m%dT%H%M%SZ}", again=False)]
        ended = measure(recordings[0], why_busy())
        if ended.status == "done" and nights.read_history().retest:
            recordings.append(nights.next_recording_path(f"{now():%Y%m%dT%H%M%SZ}", again=True))
            measure(recordings[1], why_busy())
        removed = 0
        try:
            removed = len(nights.prune_nights(settings.keep))
            nights.write_index()
        except (OSError, Failure) as why:
            complain(f"watch: {why}; the nights are kept, their index is made again later")
        fleet = read_fleet_nights(settings.fleet) if settings.fleet else FleetNights()
        history = nights.read_history(fleet.others)
        for trouble in filter(None, (*nights.troubles, fleet.trouble)):
            complain(trouble)
        if settings.textfile:
            write_openmetrics(history, Path(settings.textfile), ended.status)
        reason = ended.reason or ""
        return NightOutcome(
            recordings=tuple(recordings),
            history=history,
            skipped=reason if ended.status == "skipped" else "",
            failed=reason or ended.status if ended.status in ("failed", "interrupted") else "",
            removed=removed,
        )
    finally:
        lock.release_lock()


def _measured_already_reason(nights: NightsFolder, now: datetime) -> str:
    """Measured already: a timer and a hand, or a clock that was set back over the hour. By the last night only: what a
    wrong clock wrote earlier says nothing."""
    last = next((run for run in reversed(nights.read_runs()) if run.state == "measured"), None)
    if last is None:
        return ""
    try:
        wall = datetime.fromisoformat(last.wall.replace("Z", "+00:00"))
    except ValueError:
        return ""
    if wall.tzinfo is None or abs(now - wall) >= SAME_NIGHT:
        return ""
    return f"this night was measured already, at {last.wall}"


def undo_killed_nights(complain: Callable[[str], None]) -> None:
    """What killed nights left: a private directory. The watch's own only, whatever else is in the journals."""
    all_leftovers, _ = undo.find_leftovers()
    for leftover in all_leftovers:
        is_own = Path(leftover.header.recording).parent == nights_folder()
        if not is_own or leftover.living or not leftover.is_open:
            continue
        try:
            done = killed_ending.undo_killed_run(leftover.path)
        except (JournalLocked, Failure):
            continue
        for each in done:
            if each.outcome.state == "failed":
                complain(f"watch: {each.entry.action.title}: {each.outcome.reason}")


def busy_reason(host: Host) -> str:
    """Return why the host is not to be measured now; empty where it may be."""
    has_pressure = False
    for resource, most in MAX_PRESSURE.items():
        share = _five_minute_pressure(host, resource)
        has_pressure = has_pressure or share is not None
        if share is not None and share > most:
            return (
                f"others keep the host busy: tasks waited for {resource} {format_percent(share)} of "
                "the last five minutes"
            )
    load = host.read_file_text("/proc/loadavg", 128)
    if has_pressure or isinstance(load, Absent):
        return ""
    words = load.split()
    five = parse_real(words[1]) if len(words) > 1 else None
    cpus = os.cpu_count() or 1
    if five is not None and five > MAX_LOAD_PER_CPU * cpus:
        return f"others keep the host busy: a load of {five:g} over five minutes on {cpus} CPUs"
    return ""


def _five_minute_pressure(host: Host, resource: str) -> float | None:
    """The share of the last five minutes in which some task waited for it."""
    text = host.read_file_text(f"/proc/pressure/{resource}", 1024)
    if isinstance(text, Absent):
        return None
    for word in text.partition("\n")[0].split():
        name, _, value = word.partition("=")
        if name == "avg300":
            percentage = parse_real(value)
            return percentage / 100 if percentage is not None else None
    return None


def make_night_measure(
    settings: NightSettings,
    command: list[str],
    show: Callable[[ev.AnyEvent], None],
    complain: Callable[[str], None],
) -> Measure:
    """The battery on this host."""
    scenario = load_benchmark_scenario()

    def measure(recording: Path, blocked: str) -> ev.RunEnded:
        request = RunRequest(
            options=night_options(settings),
            declared=scenario.options,
            command=command,
            recording=str(recording),
        )
        with closing(Host()) as host:
            return RunExecution(scenario, host, request, show, complain, blocked=blocked).run_to_end()

    return measure
