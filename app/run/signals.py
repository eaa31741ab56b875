"""Stopping a run: what Ctrl-C and SIGTERM do, and what they must not break."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from hostdx.app.terminal import failure

T = TypeVar("T")
STOPS = (signal.SIGINT, signal.SIGTERM)
PROMISED_S = 2.0  # a stop takes at most so long, or it is said why not
NUDGE_S = 5.0  # a scenario that swallowed the first cancellation gets another


class StopRequests:
    """Remembers the first signal and cancels the scenario's task; a second signal changes nothing."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.late: Callable[[], None] = lambda: None  # called where stopping takes longer than was promised
        self.over = False
        self._task: asyncio.Future[Any] | None = None

    @property
    def exit_status(self) -> int:
        return failure.TERMINATED if self.signal == signal.SIGTERM else failure.INTERRUPTED

    @property
    def stop_reason(self) -> str:
        return "terminated (SIGTERM)" if self.signal == signal.SIGTERM else "stopped by request"

    def watch_task(self, task: asyncio.Future[Any]) -> None:
        self._task = task
        if self.signal is not None:
            task.cancel()

    def request_stop(self, signal_number: int) -> None:
        if self.signal is not None:
            return
        self.signal = signal_number
        self._cancel_again_and_again()
        if self._task is not None:
            asyncio.get_running_loop().call_later(PROMISED_S, self._call_late_if_not_over)

    def _call_late_if_not_over(self) -> None:
        if not self.over:
            self.late()

    def _cancel_again_and_again(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            asyncio.get_running_loop().call_later(NUDGE_S, self._cancel_again_and_again)


class StoppedOutsideRun(BaseException):
    """A signal before the run began, or while its result is printed. Nothing is changed then."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raise_on_stop_signals() -> Iterator[None]:
    """Within it, SIGINT and SIGTERM raise Stopped until an event loop takes them over."""

    def raise_stopped(number: int, _frame: FrameType | None) -> None:
        raise StoppedOutsideRun(number)

    with handle_signals_by(raise_stopped):
        yield


@contextmanager
def handle_signals_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Within it, SIGINT and SIGTERM are this handler's."""
    before = {number: signal.signal(number, handler) for number in STOPS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def hold_back_signals() -> Iterator[None]:
    """Within it, signals wait: what is being undone is undone to its end."""
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def finish_despite_cancel(
    work: Awaitable[T], hurry: Callable[[], None] = lambda: None
) -> tuple[T, bool]:
    """The work's result whatever happens meanwhile, and whether a cancellation came in: the caller passes it on.

    `hurry` is called when one comes in.
    """
    task = asyncio.ensure_future(work)
    stopped = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            stopped = True
            hurry()
    return task.result(), stopped
