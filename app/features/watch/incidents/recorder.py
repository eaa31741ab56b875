"""The recorder: a look every ten seconds, half a minute of close looks where something stands out."""

import math
import select
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from hostdx.app.features.watch.incidents.book import MAX_BOOK_BYTES, BookWriter, book_folder
from hostdx.app.features.watch.timer import install_unit_actions, quote_unit_command
from hostdx.app.terminal.invocation import own_command
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.host_looks import (
    BlockedTasksLook,
    HostLook,
    LookState,
    look_at_blocked_tasks,
    look_between_states,
    read_look_state,
)
from hostdx.probes.units import format_size
from hostdx.scenarios.analysis.incidents.looks import is_alarm
from hostdx.scenarios.contract.plan import Plan

LOOK_S = 10.0
CLOSE_S, CLOSE_STEP_S = 30.0, 0.25
# from the end of one period of close looks to the next: while the alarm lasts, and once a look in between was quiet
REST_S, SHORT_REST_S = 300.0, 60.0
# Documentation/accounting/psi.rst: a tenth of two seconds; windows of whole 2 s need no right from Linux 6.5 on
TRIGGER = b"some 200000 2000000"


class PressureWaiter(Protocol):
    """Waits, at most so many seconds; True where pressure ended the wait."""

    def __call__(self, seconds: float) -> bool: ...


class PressureTriggers:
    """The kernel's own triggers for I/O and memory, where it has them and lets us."""

    def __init__(self, folder: Path = Path("/proc/pressure")) -> None:
        self._poll = select.poll()
        self._files = []
        for name in ("io", "memory"):
            with suppress(OSError):
                file = (folder / name).open("r+b", buffering=0)
                self._files.append(file)
                file.write(TRIGGER + b"\0")
                self._poll.register(file, select.POLLPRI)

    def wait(self, seconds: float) -> bool:
        """A trigger that the kernel has taken back (POLLERR) is no pressure."""
        until_s = time.monotonic() + seconds
        events = self._poll.poll(seconds * 1000)
        if any(event & select.POLLERR for _, event in events):
            self.close()
            time.sleep(max(0.0, until_s - time.monotonic()))
        return any(event & select.POLLPRI for _, event in events)

    def close(self) -> None:
        for file in self._files:
            with suppress(OSError, KeyError):
                self._poll.unregister(file)
            file.close()
        self._files.clear()


class IncidentRecorder:
    """Waiting, the clock (monotonic, in seconds) and the readers are given by tests."""

    def __init__(
        self,
        book: BookWriter,
        wait: PressureWaiter,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        read: Callable[[], LookState] | None = None,
        compare: Callable[[LookState, LookState], HostLook] | None = None,
        look: Callable[[], BlockedTasksLook] | None = None,
    ) -> None:
        host = Host()
        self._book, self._wait, self._sleep, self._clock = book, wait, sleep, clock
        self._read = read or (lambda: read_look_state(host))
        self._compare = compare or (lambda before, after: look_between_states(host, before, after))
        self._look = look or (lambda: look_at_blocked_tasks(host))
        self._close_until_s = -math.inf
        self._next_close_s, self._rest_s = 0.0, REST_S

    def record(self, max_looks: int | None = None) -> None:
        """Until it is killed, or so many looks."""
        before = self._read()
        next_look_s = self._clock() + LOOK_S
        while max_looks is None or max_looks > 0:
            self._wait_for_look_or_pressure(next_look_s)
            now_s = self._clock()
            if now_s >= next_look_s:
                after = self._read()
                look = self._compare(before, after)
                self._book.append(look)
                before, next_look_s = after, max(next_look_s + LOOK_S, now_s)
                max_looks = None if max_looks is None else max_looks - 1
                if is_alarm(look):
                    self._begin_close_looks_if_rested(now_s)
                else:
                    self._rest_s = SHORT_REST_S
            if self._next_close_s <= now_s < self._close_until_s:
                self._book.append(self._look())
                self._next_close_s = now_s + CLOSE_STEP_S

    def _wait_for_look_or_pressure(self, next_look_s: float) -> None:
        """For the next look, or the next close look, or for pressure."""
        now_s = self._clock()
        if now_s < self._close_until_s:
            self._sleep(max(0.0, min(next_look_s, self._next_close_s) - now_s))
        elif self._wait(max(0.0, next_look_s - now_s)):
            self._begin_close_looks_if_rested(self._clock())
            if self._clock() >= self._close_until_s:  # looked closely a short time ago: pressure ends no wait
                self._sleep(max(0.0, next_look_s - self._clock()))

    def _begin_close_looks_if_rested(self, now_s: float) -> None:
        if now_s - self._close_until_s >= self._rest_s:
            self._close_until_s, self._next_close_s, self._rest_s = now_s + CLOSE_S, now_s, REST_S


# The recorder as a service: a systemd unit, installed as a change that stays until it is removed.
NAME = "hostdx-incidents.service"
NICE = 5
REMOVE = "hostdx watch --incidents --remove"


class IncidentService(msgspec.Struct, frozen=True):
    """The service that runs `hostdx watch --incidents`."""

    remove_command: str = REMOVE
    cron_line: str = ""
    install_arguments: tuple[str, ...] = ("--incidents", "--install")
    installed_text: str = f"installed: `{REMOVE}` removes it, `hostdx incident` reads the book"

    @property
    def files(self) -> dict[str, str]:
        return {NAME: self.unit_text}

    @property
    def record_command(self) -> tuple[str, ...]:
        return (*own_command(), "watch", "--incidents")

    @property
    def unit_text(self) -> str:
        text = Path(__file__).with_name(NAME).read_text("utf-8")
        return text.format(command=quote_unit_command(self.record_command), nice=NICE)

    def install_plan(self) -> Plan:
        """Return what installing it changes, and what it does then."""
        return Plan(
            scenario="watch",
            title="the incident book: a look at this host every ten seconds",
            question="What happened at a time of the last days, and who did it?",
            actions=install_unit_actions(
                self.files,
                enabled=NAME,
                risk=f"a process runs all the time, with at most 5 % of one CPU; the book takes at most "
                f"{format_size(MAX_BOOK_BYTES)} of {book_folder()}",
            ),
            rights=("root",),
            sentences=(
                f"runs {shlex.join(self.record_command)} at low priority",
                f"keeps process names, users and control groups in {book_folder()}, which only root reads",
                f"stays until `{REMOVE}`",
            ),
        ).with_digest()
