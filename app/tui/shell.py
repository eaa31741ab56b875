"""The app: which screen is on top, what it follows, and what the keys of several screens have in common."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual import events
from textual.actions import ActionParseResult
from textual.app import ScreenStackError
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.screen import Screen

from hostdx.app.feature import external_screens, import_and_call, screens_at
from hostdx.app.terminal.failure import COULD_NOT, Failure
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import DIGIT
from hostdx.app.terminal.printable import make_printable
from hostdx.app.terminal.process import TICKS_PER_S, boot_id, process_identity
from hostdx.app.tui import theme
from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.ending import end_on_outside_signals, resume_only_after_suspend
from hostdx.app.tui.own_settings import KeysFromKeymap, read_keymap
from hostdx.app.tui.requests import ShellBase
from hostdx.app.tui.screens.base import MIN_SIZE_CELLS, Base
from hostdx.probes.reading.other_package import load_entry_point
from hostdx.scenarios.contract.card import bundled_cards, options_of_process
from hostdx.scenarios.contract.events import Pulse

if TYPE_CHECKING:
    from hostdx.app.tui.children.feed import RunFeed

TICK_S = 0.25
NOTICED_S = 10.0  # of a run, from which on its end is told
PULSES = 24  # kept for the home screen
SETTLED_PULSES = 2
STARTED_S = 0.3  # after the first event: what can wait until the first screen stands
FOLD_AHEAD_S = 0.05  # of a tick, while nothing moves: so that every later jump is quick
COALESCE_S = 0.04  # triage's events come by the dozen within milliseconds,
DRAWN_EVERY_S = 0.1  # and its checks one by one
# also where the terminal is too small
UNSEEN = frozenset({"back", "quit_now", "interrupt", "redraw", "suspend_process"})
LIVE_EVERY = 2  # ticks: what comes from a run under way is looked at twice a second


class Shell(KeysFromKeymap, ShellBase):
    """`triage`: the child that the home screen follows. `feed`: the recording on the run screens."""

    # ours draws in ASCII too, has no loading indicator and lists every binding
    ENABLE_COMMAND_PALETTE = False
    CSS = "Base { background: $background; color: $foreground; }"
    BINDINGS = [
        Binding("ctrl+p", "palette", "every action", show=False),
        Binding("ctrl+q", "quit_now", "quit", show=False),
        Binding("ctrl+t", "next_theme", "next theme", show=False),
        Binding("ctrl+l", "redraw", "draw the screen again", show=False),
    ]

    def __init__(
        self, *, triage: EventChild | None = None, feed: RunFeed | None = None, ascii_only: bool = False
    ) -> None:
        # empty it asks for nothing (no-color.org), textual takes it as set
        if os.environ.get("NO_COLOR") == "":
            del os.environ["NO_COLOR"]
        poor = "NO_COLOR" in os.environ or not _has_many_colours()
        super().__init__(ansi_color=True if poor else None)
        self.settings_trouble = (
            theme.add_own_themes_or_problem()
        )  # what is wrong with the user's own settings
        for app_theme in theme.list_themes():
            self.register_theme(app_theme)
        self.theme = theme.TERMINAL_NAME if poor else theme.choose_theme()
        # nothing here has any: two widgets a screen
        self._disable_tooltips = self._disable_notifications = True
        self.ascii_only = ascii_only
        self.message = ""
        self.keeps_keys = False  # the keys stand below the message
        self.triage = triage
        self.findings_before: frozenset[str] = frozenset()  # keys of what triage found the time before
        self._feed = feed
        self._was_ended = feed is not None and feed.session.ended is not None
        self._former: list[RunFeed] = []  # of run screens below the one on top
        self._draw_soon = False
        self._offered = False  # triage has begun to tell the scenarios
        self._drawn = 0.0  # when triage's events were drawn last, by the loop's clock
        self._ticks = 0
        self._moved = False  # and not drawn yet
        self._clock = time.monotonic()
        self._has_failed = False
        self._home = feed is None
        self.lists_recordings = False  # opens on the list, over the home screen
        self.first_screen: tuple[str, Path] | None = None  # a feature's, on this folder
        self.pulses: deque[Pulse] = deque(maxlen=PULSES)  # the last ones
        # since home is seen, without the first, whose load is that of home itself: what lasts stands in both
        self.settled_pulses: deque[Pulse] = deque(maxlen=SETTLED_PULSES)
        # since the host was read: what is proposed does not flip with each
        self.first_pulse: Pulse | None = None

    # What the screens read

    @property
    def is_feed_moving(self) -> bool:
        """Events or time come by themselves; what is dear to draw may wait a second."""
        return self._feed is not None and self._feed.playback.playing

    @property
    def triage_error(self) -> str:
        return clean_text(self.triage.error) if self.triage is not None else ""

    @property
    def is_too_small(self) -> bool:
        """Nothing but that is shown: no key may act on what nobody sees."""
        return isinstance(self.screen, Base) and (
            self.size.width < MIN_SIZE_CELLS[0] or self.size.height < MIN_SIZE_CELLS[1]
        )

    # Life

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        if (
            self.is_too_small
            and self._parse_action(action, default_namespace or self, namespaces)[1] not in UNSEEN
        ):
            return False
        return await super().run_action(action, default_namespace, namespaces)

    def _handle_exception(self, error: Exception) -> None:
        """A screen that was just coming gets no parts when the app goes, and a key may find no screen: no mistakes."""
        if not (self._exit and isinstance(error, NoMatches | ScreenStackError)):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """A mistake of ours: one line, and its traceback in a file. Textual would print every variable's value."""
        from hostdx.app.bug_report import save_traceback_and_get_line

        self._return_code = COULD_NOT
        if self._has_failed:  # another panel met the same before the app was closed
            return
        self._has_failed = True
        line = save_traceback_and_get_line(
            self._exception or RuntimeError("the screen failed because of a bug in hostdx")
        )
        self._exit_renderables.append(Text(make_printable(f"hostdx: {line}")))
        self._close_messages_no_wait()

    def get_default_screen(self) -> Screen[object]:
        from hostdx.app.tui.screens.home import HomeScreen

        # a run screen is pushed over an empty one: the lowest screen cannot be switched for another
        return HomeScreen() if self._home else Screen()

    def on_mount(self) -> None:
        # the runner is left alone (law 2)
        if end_on_outside_signals(lambda status: self.exit(None, return_code=status)):
            resume_only_after_suspend()
        try:
            self.set_keymap(read_keymap())
        except ValueError as why:
            self.settings_trouble = "; ".join(filter(None, (clean_text(str(why)), self.settings_trouble)))
        if self.triage is not None:
            self.watch_triage()
        self.set_interval(TICK_S, self._advance_and_poll_feed)
        self.set_timer(STARTED_S, self._after_first_screen)
        if self._home:
            if self.lists_recordings:
                self.call_after_refresh(self.open_recordings)
            if self.first_screen is not None:
                target, folder = self.first_screen
                self.call_after_refresh(import_and_call, target, self, folder)
        else:
            self.push_screen(self._screen_of_run())

    def _after_first_screen(self) -> None:
        """The first screen stands."""
        if self.settings_trouble:
            self.show_message(self.settings_trouble)
        if not gc.isenabled():  # `open_app` put it off: what was imported until now is never looked through
            gc.freeze()
            gc.enable()
        if self.triage is None and self.watches_host:
            self.read_host()
        if self._home:
            self.look_for_recordings_and_offer_undo()

    def refresh_css(self, animate: bool = True) -> None:
        """The theme of the start: with the first screen the style sheet is parsed once, not thrice."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def watch_triage(self) -> None:
        child = self.triage
        assert child is not None
        loop = asyncio.get_running_loop()

        def take_change() -> None:
            if not self._draw_soon:
                self._draw_soon = True
                due = self._drawn + DRAWN_EVERY_S - loop.time()
                if child.session.offers and not self._offered:  # what can be chosen is waited for
                    self._offered, due = True, 0.0
                wait = max(COALESCE_S, due)
                loop.call_later(0.0 if child.ended else wait, draw_screen)

        def draw_screen() -> None:
            self._draw_soon = False
            self._drawn = loop.time()
            self.draw()

        child.follow(take_change)

    def _advance_and_poll_feed(self) -> None:
        self._ticks += 1
        now = time.monotonic()
        passed, self._clock = now - self._clock, now
        feed = self._feed
        if feed is None:
            if self._ticks % 20 == 0 and self._is_on_home():
                self.look_for_runs()
            return
        paced = feed.playback.speed <= 1  # as it was: what goes faster is drawn more often
        changed = feed.playback.advance_time(passed) or self._moved
        self._moved = changed and paced and self._ticks % LIVE_EVERY != 0
        if self._moved:
            return
        if self._ticks % LIVE_EVERY == 0:
            growing = feed.is_growing
            try:
                changed = feed.poll() or changed
                if growing and feed.session.ended is not None:
                    self._ring_and_notify_end(feed)
            except Failure as why:
                self.show_message(why.text)
                feed.dead = changed = True
            self.watch_runner()
        if changed:
            self.refresh_after_move()
        elif not feed.playback.live:
            end = now + FOLD_AHEAD_S
            while feed.playback.fold_checkpoint() and time.monotonic() < end:
                pass

    def _ring_and_notify_end(self, feed: RunFeed) -> None:
        """A bell, and a notice (OSC 9) from terminals that know it: who started a run of minutes looks elsewhere."""
        from hostdx.app.report.headline import find_headline_answer

        if feed.session.time >= NOTICED_S and self._driver is not None:
            self._driver.write(
                f"\x07\x1b]9;hostdx: {clean_text(find_headline_answer(feed.session).sentence)}\x07"
            )

    def _is_on_home(self) -> bool:
        return self._home and len(self.screen_stack) == 1

    def draw(self) -> None:
        """Draws what changed on the screen that is seen (a question on the last line does not hide it)."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Base):
                if screen.is_mounted:  # one that was just pushed draws all of it when its parts are there
                    screen.show()
                return

    def refresh_after_move(self) -> None:
        """After the cursor moved: at the end of a run the verdict is shown, before it the blocks; and all is drawn."""
        from hostdx.app.tui.screens.run import RunScreen

        ended = self.run_feed.session.ended is not None
        if ended != self._was_ended:
            self._was_ended = ended
            self.message = ""
            if isinstance(self.screen, RunScreen):
                self.show_run("verdict" if ended else "live")
                return
        self.draw()

    def _screen_of_run(self, which: str = "") -> Base:
        from hostdx.app.report.numbers import is_imported
        from hostdx.app.tui.screens.live import LiveScreen
        from hostdx.app.tui.screens.verdict import VerdictScreen

        if which == "inside":
            from hostdx.app.tui.screens.command_timeline import InsideScreen

            return InsideScreen()
        for screen in screens_at("run"):
            if screen.name == which:
                return cast("Base", import_and_call(screen.target))
        if is_imported(self.run_feed.session):  # nothing of it was ever under way
            return VerdictScreen()
        which = which or ("verdict" if self.run_feed.session.ended is not None else "live")
        return VerdictScreen() if which == "verdict" else LiveScreen()

    def show_run(self, which: str = "") -> None:
        """Show the live or the verdict screen, `inside` or a feature's by its name.

        It takes the place of the run screen or plan that is on top.
        """
        from hostdx.app.tui.screens.before.plan import PlanScreen
        from hostdx.app.tui.screens.run import RunScreen

        screen = self._screen_of_run(which)
        if isinstance(self.screen, RunScreen | PlanScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def switch_to_feed(self, feed: RunFeed, *, on_top: bool = False) -> None:
        """Show `feed` and close the former one. `on_top`: the former is kept and come back to, as is a verdict whose
        next step was started from a plan.
        """
        from hostdx.app.tui.screens.before.plan import PlanScreen
        from hostdx.app.tui.screens.run import RunScreen

        planned = isinstance(self.screen, PlanScreen) and any(
            isinstance(s, RunScreen) for s in self.screen_stack
        )
        if self._feed is not None and (on_top or planned):
            self._former.append(self._feed)
        elif self._feed is not None:
            self._feed.close()
        self._feed = feed
        self._was_ended = feed.session.ended is not None
        if on_top:
            self.push_screen(self._screen_of_run())
        else:
            self.show_run()

    def _return_to_former_feed(self) -> None:
        """The run whose screen is seen again."""
        from hostdx.app.tui.screens.run import RunScreen

        if self._former and isinstance(self.screen, RunScreen) and self._feed is not None:
            self._feed.close()
            self._feed = self._former.pop()
            self._was_ended = self._feed.session.ended is not None
            self.refresh_after_move()

    @property
    def is_last_screen(self) -> bool:
        """Back from here would end the program."""
        return len(self.screen_stack) <= (1 if self._home else 2)

    def go_back(self) -> None:
        from hostdx.app.tui.screens.run import RunScreen

        if not self.is_last_screen:
            left = self.screen
            self.pop_screen()
            self.message = ""
            if isinstance(left, RunScreen):
                self._return_to_former_feed()
            if self._is_on_home():
                self.look_for_runs()
        else:
            self.exit(0)

    # Keys that work everywhere

    def show_message(self, words: str, *, keeps_keys: bool = False) -> None:
        """Until the next key, in place of the keys or above them."""
        self.message, self.keeps_keys = words, keeps_keys
        self.draw()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and event is not self._newest_key:  # it may come by here twice
            self._newest_key, self.answered_message = event, self.message
        if isinstance(event, events.Key) and self.message:
            self.message = ""
            self.call_after_refresh(self.draw)
        if isinstance(event, events.Key) and event.key == "escape" and self.screen.selections:
            self.screen.clear_selection()
            return
        if isinstance(event, events.Key) and isinstance(self.screen, Base) and self.screen.keeps_key(event):
            return
        await super().on_event(event)

    def show_keys(self, about: Screen[object], *, as_palette: bool = False) -> None:
        from hostdx.app.tui.screens.keys import KeysScreen

        if not isinstance(about, KeysScreen):
            self.push_screen(KeysScreen(about, as_palette=as_palette))

    def open_link(self, target: str) -> None:
        """Open what a panel's row, bar or point stands for (`targets.py`)."""
        from hostdx.app.tui.screens.load import LoadScreen

        kind, _, name = target.partition(":")
        if kind == "load":
            self.push_screen(LoadScreen(lambda: self.run_feed.session, name))
        elif kind == "process":
            self._open_watch_plan(name)
        elif target.startswith(DIGIT):
            self.call_later(self.screen.run_action, f"digit({name})")

    def _open_watch_plan(self, pid: str) -> None:
        """Open the plan that watches it. A recording of another host or boot names a process that is not here."""
        began = self.run_feed.session.began if self._feed is not None else None
        if began is not None and began.boot_id != boot_id():
            self.show_message(
                f"process {pid} ran on {clean_text(began.host)} before its last boot, or elsewhere"
            )
            return
        start = process_identity(int(pid)).start
        if began is not None and start > began.pid_start + (self.run_feed.session.time + 1) * TICKS_PER_S:
            self.show_message(
                f"process {pid} of this run has ended; the number belongs to a newer process now"
            )
        elif not start:
            self.show_message(f"process {pid} has ended")
        else:
            card = next(card for card in bundled_cards() if card.process_option)
            self.open_plan(card.id, options_of_process(int(pid), start))

    def action_scenario(self, id: str) -> None:
        self.open_plan(id)

    def action_recorded(self, name: str) -> None:
        from hostdx.app.recordings.store import resolve_recording

        self.open_recording(resolve_recording(name))

    def action_undo_left(self) -> None:
        self.offer_undo(asked=True)

    def action_use_theme(self, name: str) -> None:
        self.theme = name

    def action_external_screen(self, name: str) -> None:
        """Open a screen of another package; where it cannot be made, why is said."""
        entry = next(entry for entry in external_screens() if entry.name == name)
        try:
            self.push_screen(cast("Callable[[], Screen[None]]", load_entry_point(entry))())
        except Exception as error:  # another package's code raises what it likes
            self.show_message(f"{name}: {type(error).__name__}: {error}")

    def action_palette(self) -> None:
        if isinstance(self.screen, Base):
            self.show_keys(self.screen, as_palette=True)

    def action_quit_now(self) -> None:
        self.exit(0)

    def action_interrupt(self) -> None:
        """Ctrl-C copies what the mouse has selected. Else, on a run under way, it is asked what is meant: elsewhere
        it would have stopped the run."""
        from hostdx.app.tui.screens.ask import ChoiceScreen
        from hostdx.app.tui.screens.run import RunScreen

        if selected_text := self.screen.get_selected_text():
            self.screen.clear_selection()
            self.copy(selected_text, "the selection")
            return
        if self._feed is None or not self._feed.is_growing or not isinstance(self.screen, RunScreen):
            self.exit(0)
            return
        ways = {"s": "stop it and undo everything", "q": "quit, leave it running"}

        def take_choice(key: str | None) -> None:
            if key == "s":
                self.stop_now()
            elif key == "q":
                self.exit(0)

        self.push_screen(ChoiceScreen("The run goes on.", ways, "Esc continues watching"), take_choice)

    def action_next_theme(self) -> None:
        names = [t.name for t in theme.list_themes()]
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        theme.save_theme_choice(self.theme)
        self.show_message(f"theme {self.theme}")

    def action_redraw(self) -> None:
        self.refresh(layout=True)
        self.screen.refresh(layout=True)


def _has_many_colours() -> bool:
    """Return whether more than the terminal's own 16 colours can be counted on."""
    term = os.environ.get("TERM", "")
    return "256" in term or "direct" in term or os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
