"""What the live and the verdict screen share: a recording with time under control, and the way between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.feature import screens_at
from hostdx.app.recordings.progress import time_left_s
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.headline import stop_for_others_guard
from hostdx.app.report.numbers import is_imported
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    line_with_key_names,
    split_line,
    text_line,
    tinted_line,
)
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.ask import AskScreen
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.measuring.transport import speed_words
from hostdx.app.tui.widgets.panel import Panel
from hostdx.probes import units
from hostdx.scenarios.contract.action import Action


def seconds_of(words: str) -> float:
    """`90`, `1:30`, `1:02:03`, in seconds. Raises ValueError."""
    total = 0.0
    parts = words.strip().split(":")
    if not 1 <= len(parts) <= 3:
        raise ValueError(words)
    for part in parts:
        value = float(part)
        if not 0 <= value < 1e7:
            raise ValueError(words)
        total = total * 60 + value
    return total


def _not_a_time_reason(words: str) -> str:
    try:
        seconds_of(words)
    except ValueError:
        return "write seconds, 1:30 or 1:02:03"
    return ""


def actions_not_undone(session: RunSession) -> list[Action]:
    """Settings of the host that the run has changed and not put back so far; a trim is none."""
    return [
        e.action
        for e in session.actions.values()
        if e.state == "applied" and e.action.needs_consent and not e.action.irreversible
    ]


def _still_changed_lines(feed: RunFeed, width: int) -> list[Line]:
    """Return what is not as it was, as long as it is so; in red once nobody is there to put it back."""
    actions = actions_not_undone(feed.session) if feed.session.ended is None else []
    if not actions:
        return []
    action = actions[0]
    now, before = clean_text(action.new or "changed"), clean_text(action.old or "as before")
    more = f" and {len(actions) - 1} more" if len(actions) > 1 else ""
    change_text = f"{clean_text(action.title)}: {now} (was {before}){more}"
    if feed.dead and feed.playback.is_at_end:
        alert: Line = [(f" ! STILL CHANGED  {change_text}", "critical")]
        for words in (" puts it back now ", " puts it back "):
            key = line_with_key_names(f"   [u]{words}", "strong")
            if cell_width(alert) + cell_width(key) < width:
                break
        return [tinted_line(split_line(alert, key, width), width, "critical")]
    left_s = time_left_s(feed.session)
    after = units.format_duration(left_s) if left_s else ""
    in_words = [f"put back at the end, in ≈ {after} ", f"back at the end, ≈ {after} "] if after else []
    for number, when in enumerate([*in_words, "back at the end "]):
        head: Line = [(f" ▲ {'CHANGED' if number else 'CHANGED NOW'}  {change_text}", "warning")]
        back = text_line(when, "strong")
        if cell_width(head) + cell_width(back) < width:
            break
    return [tinted_line(split_line(head, back, width), width, "warning")]


def _activity_words(session: RunSession) -> str:
    """Return what the run does now. It names the load that the list marks as the one under way."""
    words, load = session.activity_text or "starting", session.find_workload(session.workload)
    step = session.find_workload(session.current_step_id)
    if load is None or load == step or not session.blocks:
        return words
    if step is not None:  # told of the load before or after
        return load.title
    return f"{load.title}, {words}" if session.scenario_card.role == "battery" else words


MIN_GAP_CELLS = 3  # between the two halves of the line at the top


class RunHead(Panel):
    """Which scenario, which of its three steps, and how the run stands."""

    DEFAULT_CSS = "RunHead { height: auto; max-height: 2; }"

    def __init__(self, step: str) -> None:
        super().__init__(id="head")
        self._step = step

    def draw(self, width: int, height: int) -> list[Line]:
        feed = self.shell.run_feed
        session = feed.session
        host = f"  on {session.began.host}" if session.began else ""
        left: Line = [(f" {session.scenario_name} › ", "dim"), (self._step, "title"), (host, "dim")]
        if is_imported(session):
            right: Line = [("imported ", "ok")]
        elif session.ended is not None:
            stopped = stop_for_others_guard(session) is not None
            role = "warning" if stopped or session.ended.status != "done" else "ok"
            right = [
                ("stopped" if stopped else session.ended.status, role),
                (f" after {units.format_duration(session.time)} ", "dim"),
            ]
        elif feed.dead and feed.playback.is_at_end:
            right = [("the runner is gone: it was killed, or the host went down ", "warning")]
        else:
            right = [(_activity_words(session), "text"), (" ", "text")]
        if cell_width(left) + cell_width(right) + MIN_GAP_CELLS > width:
            left = left[:2]
        return [tinted_line(split_line(left, right, width), width, "bar"), *_still_changed_lines(feed, width)]


# of a recording with a course: an import has none
TIMED = frozenset({"freeze", "play", "step_group", "jump", "go", "first", "last", "speed", "live"})


class RunScreen(Base):
    BINDINGS = [
        Binding("space", "freeze", "freeze view"),  # while the run goes on
        Binding("space", "play", "play, pause"),
        Binding("t", "step_group(1)", "next event", show=False, id="step(1)"),
        Binding("T", "step_group(-1)", "previous event", show=False, id="step(-1)"),
        Binding("n", "jump(1)", "next step or finding", show=False),
        Binding("N", "jump(-1)", "previous step or finding", show=False),
        Binding("colon", "go", "go to a time", show=False, priority=True),
        Binding("0", "first", "to the start", show=False),
        Binding("Z", "last", "to the end, or back to live", show=False),
        Binding("plus,equals_sign", "speed(1)", "faster", show=False),
        Binding("minus", "speed(-1)", "slower", show=False),
        Binding("o", "report", "report"),
        Binding("f", "facts", "facts read", show=False),
        Binding("w", "raw", "raw values", show=False),
        Binding("i", "inside", "inside a run", show=False),
        *(
            Binding(screen.key, f"feature({screen.name!r})", screen.title, show=False)
            for screen in screens_at("run")
        ),
    ]

    step_words: ClassVar[str] = ""

    def compose_head(self) -> Iterable[Widget]:
        yield RunHead(self.step_words)

    @property
    def run_feed(self) -> RunFeed:
        return self.shell.run_feed

    def current_session(self) -> RunSession:
        return self.shell.run_feed.session

    def is_added_to_footer(self, action: str) -> bool:
        """Replay's own keys stand in the footer where there is something to replay."""
        if action == "inside" or action.startswith("feature("):
            name, *words = re.findall(r"\w+", action)
            return bool(self.check_action(name, tuple(words)))
        return (
            not self.run_feed.is_growing
            and action in ("jump(1)", "first", "speed(1)")
            and not is_imported(self.current_session())
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in TIMED and is_imported(self.current_session()):
            return False
        if action in ("freeze", "play"):
            return self.run_feed.is_growing == (action == "freeze")
        if action == "feature":
            tags = {screen.name: screen.result_tag for screen in screens_at("run")}
            return self.current_session().has_result_tagged(tags[str(parameters[0])])
        return action != "inside" or bool(self.current_session().inside)

    def action_freeze(self) -> None:
        self.action_play()

    def action_play(self) -> None:
        self.run_feed.playback.toggle()
        self._refresh_after_seek()

    def action_raw(self) -> None:
        self.shell.toggle_raw()

    def action_step_group(self, direction: int) -> None:
        self.run_feed.playback.step_group(direction)
        self._refresh_after_seek()

    def action_jump(self, direction: int) -> None:
        self.run_feed.playback.jump_to_mark(direction)
        self._refresh_after_seek()

    def action_first(self) -> None:
        self.run_feed.playback.pause_at_start()
        self._refresh_after_seek()

    def action_last(self) -> None:
        self.run_feed.playback.seek_end(live=self.run_feed.is_growing)
        self._refresh_after_seek()

    def action_speed(self, direction: int) -> None:
        play = self.run_feed.playback
        play.change_speed(direction)
        if play.is_at_end and not play.playing:  # the line of the transport does not name it there
            self.shell.show_message(f"speed {speed_words(play.speed)}; space plays it from the start")
        else:
            self.show()

    def action_go(self) -> None:
        def seek_time(words: str | None) -> None:
            if words is not None:
                self.run_feed.playback.playing = False
                self.run_feed.playback.seek(seconds_of(words))
                self._refresh_after_seek()

        hint = "seconds, 1:30 or 1:02:03 from the start of the run"
        self.app.push_screen(AskScreen("go to", hint=hint, check=_not_a_time_reason), seek_time)

    def _refresh_after_seek(self) -> None:
        self.shell.refresh_after_move()

    @property
    def recording_of_report(self) -> Path | None:
        return self.run_feed.path

    def action_inside(self) -> None:
        self.shell.show_run("inside")

    def action_feature(self, name: str) -> None:
        self.shell.show_run(name)

    def action_facts(self) -> None:
        from hostdx.app.tui.screens.facts import FactsScreen  # not for every run: with the report's tables

        self.app.push_screen(FactsScreen(lambda: self.run_feed.session))


class RunPartScreen(RunScreen):
    """A part of a run in place of the live or the verdict screen, to which it goes back."""

    def action_back(self) -> None:
        self.shell.show_run()

    def action_clear(self) -> None:
        self.action_back()
