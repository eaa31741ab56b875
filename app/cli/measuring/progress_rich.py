"""Progress drawn by rich: what is measured now, the running estimate, time left. Text from the host is never markup."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import IO, cast

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from app import output
from app.cli.measuring.progress import Notable, Quiet, left
from app.printable import printable
from app.recording.session import Session, pair
from app.report.wording import interval, ratio, workload_title
from scenarios import events as ev


class Unhurried:
    """stderr as rich sees it: what a paused terminal does not take at once is lost, and the run goes on."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        output.draw(text)
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return sys.stderr.isatty()

    def fileno(self) -> int:
        return sys.stderr.fileno()


REDRAWN = (ev.Pulse, ev.Progress, ev.RunningEstimate, ev.RunStep, ev.RunEnded)


class Drawn(Quiet):
    """Redrawn when an event says something new, at most about once a second: drawing must not disturb the run."""

    def __init__(self) -> None:
        self._session = Session()
        self._notable = Notable(self._session)
        self._console = Console(file=cast("IO[str]", Unhurried()), highlight=False)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Drawn:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):  # a terminal that was closed meanwhile
            self._live.stop()

    def complain(self, text: str) -> None:
        with suppress(OSError):
            self._console.print(Text(printable(f"hostdx: {text}")))

    def show(self, event: ev.AnyEvent) -> None:
        self._session.apply(event)
        line = self._notable.line(event)
        if line:
            self._console.print(Text(printable(line)), soft_wrap=True)
        if isinstance(event, REDRAWN):
            self._live.start()  # not before: there may be a question to ask on this terminal first
            self._live.update(self._drawn(), refresh=True)

    def _drawn(self) -> Group:
        session = self._session
        parts: list[Text | ProgressBar] = []
        now = session.progress
        if now is not None and session.ended is None:
            parts.append(
                Text(printable(now.text + left(now.seconds_left)), no_wrap=True, overflow="ellipsis")
            )
            if now.done is not None:
                parts.append(ProgressBar(total=1.0, completed=now.done, width=40))
        for estimate in list(session.estimates.values())[-3:]:
            if pair(estimate) not in session.verdicts:
                parts.append(Text(printable(self._estimate(estimate)), no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    def _estimate(self, estimate: ev.RunningEstimate) -> str:
        what = workload_title(self._session, estimate.workload)
        number = f"{ratio(estimate.ratio)} ({interval(estimate.ci95)})"
        sides = f"{estimate.variant} against {estimate.baseline}"
        return f"  {what}, {estimate.metric}: {sides} {number}, {estimate.groups} groups"
