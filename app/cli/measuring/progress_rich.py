"""Progress drawn by rich: what is measured now, the running estimate, time left. Text from the host is never markup."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import IO, cast

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from hostdx.app.cli.measuring.progress import QuietProgress, UnrepeatedEvents, time_left_suffix
from hostdx.app.recordings.session import RunSession, compared_pair_key
from hostdx.app.report.wording import interval_text, ratio_text, workload_title
from hostdx.app.terminal import output
from hostdx.app.terminal.printable import make_printable
from hostdx.scenarios.contract import events as ev


class NonBlockingStderr:
    """stderr as rich sees it: what a paused terminal does not take at once is lost, and the run goes on."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        output.draw_on_stderr(text)
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return sys.stderr.isatty()

    def fileno(self) -> int:
        return sys.stderr.fileno()


REDRAWN = (ev.Pulse, ev.Progress, ev.RunningEstimate, ev.RunStep, ev.RunEnded)


class DrawnProgress(QuietProgress):
    """Redrawn when an event says something new, at most about once a second: drawing must not disturb the run."""

    def __init__(self) -> None:
        self._session = RunSession()
        self._notable = UnrepeatedEvents(self._session)
        self._console = Console(file=cast("IO[str]", NonBlockingStderr()), highlight=False)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> DrawnProgress:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):  # a terminal that was closed meanwhile
            self._live.stop()

    def show_problem(self, text: str) -> None:
        with suppress(OSError):
            self._console.print(Text(make_printable(f"hostdx: {text}")))

    def show(self, event: ev.AnyEvent) -> None:
        self._session.apply(event)
        line = self._notable.line_for_event(event)
        if line:
            self._console.print(Text(make_printable(line)), soft_wrap=True)
        if isinstance(event, REDRAWN):
            self._live.start()  # not before: there may be a question to ask on this terminal first
            self._live.update(self._render_group(), refresh=True)

    def _render_group(self) -> Group:
        session = self._session
        parts: list[Text | ProgressBar] = []
        now = session.progress
        if now is not None and session.ended is None:
            parts.append(
                Text(
                    make_printable(now.text + time_left_suffix(now.seconds_left)),
                    no_wrap=True,
                    overflow="ellipsis",
                )
            )
            if now.done is not None:
                parts.append(ProgressBar(total=1.0, completed=now.done, width=40))
        for estimate in list(session.estimates.values())[-3:]:
            if compared_pair_key(estimate) not in session.verdicts:
                parts.append(
                    Text(make_printable(self._estimate_text(estimate)), no_wrap=True, overflow="ellipsis")
                )
        return Group(*parts)

    def _estimate_text(self, estimate: ev.RunningEstimate) -> str:
        title = workload_title(self._session, estimate.workload)
        number = f"{ratio_text(estimate.ratio)} ({interval_text(estimate.ci95)})"
        sides = f"{estimate.variant} against {estimate.baseline}"
        return f"  {title}, {estimate.metric}: {sides} {number}, {estimate.groups} groups"
