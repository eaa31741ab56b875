"""What the screens ask the app to do: open, start, stop, follow, save, copy. Each is said on the last line."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from app import launch, state
from app.child import EventChild
from app.failure import Failure
from app.session import Session
from app.tui.glyphs import clean
from app.tui.hostdx import Outcome, hostdx
from scenarios.events import Offer
from scenarios.finding import Finding
from scenarios.plan import Plan

if TYPE_CHECKING:
    import subprocess

    from app.follow import RunFeed

RECENT_S = 30  # a run under way writes a pulse every second
STOP_AGAIN_S = 5.0


class Errands(App[int]):
    """The lower half of `Shell`, apart for length: it decides what is opened, `Shell` how it is shown."""

    triage: EventChild | None
    _feed: RunFeed | None

    def __init__(self, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.running_words = ""
        self.running: Path | None = None
        self.left_over = 0
        self.recorded = 0
        self._runner: subprocess.Popen[bytes] | None = None
        self._stop_asked = -STOP_AGAIN_S

    def say(self, words: str) -> None:
        raise NotImplementedError

    def draw(self) -> None:
        raise NotImplementedError

    def open_feed(self, feed: RunFeed) -> None:
        raise NotImplementedError

    def watch_triage(self) -> None:
        raise NotImplementedError

    @property
    def feed(self) -> RunFeed:
        assert self._feed is not None
        return self._feed

    def home_session(self) -> Session:
        return self.triage.session if self.triage is not None else Session()

    # Looking around

    def look_around(self) -> None:
        """Once after the start: earlier recordings, runs under way, and whether a killed run left changes behind."""
        self.look_for_runs()
        try:
            left = any(p.is_file() for p in state.journal_dir().iterdir())
        except OSError:
            left = False
        if left:
            self.offer_undo()

    def look_for_runs(self) -> None:
        """Only what was written to in the last half minute is opened: there may be thousands."""
        from app import recordings

        directory = state.recordings_dir()
        names = recordings.names()
        self.recorded = len(names)
        self.running, self.running_words = None, ""
        recent = []
        for name in names:
            try:
                if time.time() - (directory / name).stat().st_mtime < RECENT_S:
                    recent.append(name)
            except OSError:
                continue
        for name in sorted(recent, reverse=True)[:3]:
            found = recordings.examined(directory / name)
            if found.state == "running":
                self.running = found.path
                self.running_words = f"{clean(found.scenario)} running for {found.seconds:.0f} s"
                self.recorded -= 1
                break
        self.draw()

    def read_host(self) -> None:
        """Triage once more."""
        if self.triage is not None:
            self.triage.close()
        self.triage = EventChild([*launch.HOSTDX, "triage", "--events", "-"])
        self.watch_triage()

    # Opening

    def open_plan(self, scenario: str, argv: Sequence[str] = ()) -> None:
        from app.tui.option_values import given
        from app.tui.screens.plan import PlanScreen

        offers = self.home_session().offers
        offer = next((o for o in offers if o.id == scenario), None)
        if offer is None:
            offer = Offer(t=0.0, id=scenario, title=scenario, question="", takes_s=0.0)
        if offer.blocked:
            asked = f". It would answer: {clean(offer.question)}" if offer.question else ""
            self.say(f"{clean(offer.id)} cannot run here: {clean(offer.blocked)}{asked}")
            return
        self.push_screen(PlanScreen(offer, given(argv, offer.options)))

    def open_finding(self, finding: Finding) -> None:
        from app.tui.screens.finding import FindingScreen

        self.push_screen(FindingScreen(finding))

    def open_facts(self, session: Session | None = None) -> None:
        from app.tui.screens.facts import FactsScreen

        self.push_screen(FactsScreen(session if session is not None else self.home_session()))

    def open_recordings(self) -> None:
        from app.tui.screens.recordings import RecordingsScreen

        self.push_screen(RecordingsScreen())

    def open_recording(self, path: Path, *, live: bool) -> None:
        """From the end where it is under way or was asked for; a finished one opens on its verdict."""
        from app.follow import RunFeed

        try:
            feed = RunFeed(path)
        except Failure as why:
            self.say(clean(why.text))
            return
        feed.playback.finish(live=live and feed.growing)
        self.open_feed(feed)

    def replay(self, path: Path) -> None:
        """From the start, playing. Raises Failure."""
        from app.follow import RunFeed

        feed = RunFeed(path)
        feed.playback.playing = True
        self.open_feed(feed)

    def attach_running(self) -> None:
        if self.running is None:
            self.say("no run is under way")
            return
        self.open_recording(self.running, live=True)

    # Running

    def start_run(self, scenario: str, argv: Sequence[str], plan: Plan) -> None:
        from app.follow import RunFeed

        try:
            path = launch.new_recording(scenario)
            self._runner = launch.start(scenario, argv, digest=plan.digest, recording=path)
        except (Failure, OSError) as why:
            self.say(f"it could not be started: {clean(str(why))}")
            return
        self.open_feed(RunFeed(path, live=True, awaited=True))

    def watch_runner(self) -> None:
        """A runner that was refused at once leaves no recording: its last words are shown instead."""
        if self._runner is None or self._runner.poll() is None:
            return
        self._runner = None
        words = self.feed.refused()
        if words and not self.feed.playback.events:
            self.feed.dead = True
            if len(self.screen_stack) > 1:
                self.pop_screen()
            self.say(f"not run: {clean(words.removeprefix('hostdx: '))}")

    def stop_run(self) -> None:
        now = time.monotonic()
        if now - self._stop_asked > STOP_AGAIN_S:
            self._stop_asked = now
            self.say("s once more stops the run and undoes everything; any other key lets it go on")
        elif self.feed.stop():
            self.say("stopping: everything is undone first, within 2 s")
        else:
            self.say("there is nothing to stop: the runner is gone")

    def parting_words(self) -> str:
        """What is said on the way out: that a run goes on without us."""
        feed = self._feed
        if feed is None or not feed.playback.events or not feed.growing:
            return ""
        began = feed.playback.events[0]
        return f"{getattr(began, 'scenario', 'the run')} goes on; `hostdx attach` follows it"

    # Reports

    def open_report(self, path: Path) -> None:
        from app.tui.screens.report import ReportScreen

        def show(outcome: Outcome) -> None:
            if outcome.error:
                self.say(f"no report: {clean(outcome.error)}")
            else:
                self.message = ""
                self.push_screen(ReportScreen(path.name, outcome.output))

        self.say("writing the report")
        hostdx(self, ["report", str(path), "--format", "md"], show)

    def save_report(self, path: Path) -> None:
        def save(outcome: Outcome) -> None:
            if outcome.error:
                self.say(f"no report: {clean(outcome.error)}")
            else:
                self.save_text(path.name, outcome.output)

        hostdx(self, ["report", str(path), "--format", "md"], save)

    def save_text(self, name: str, text: str) -> None:
        """Into the current directory, else beside the recordings; never over another file."""
        stem = name.removesuffix(".gz").removesuffix(".jsonl")
        for directory in (Path.cwd(), state.state_dir() / "reports"):
            try:
                if directory != Path.cwd():
                    state.private(directory)
                self.say(f"saved {clean(str(_written(directory, stem, text)))}")
                return
            except (OSError, Failure) as why:
                trouble = why
        self.say(f"not saved: {clean(str(trouble))}")

    def copy(self, text: str, what: str) -> None:
        if not text:
            self.say("there is nothing to copy")
            return
        self.copy_to_clipboard(text)
        self.say(f"{what}: sent to the terminal's clipboard (OSC 52), where the terminal allows it")

    # Undo

    def offer_undo(self, asked: bool = False) -> None:
        from app.tui.screens.undo import UndoScreen, open_entries

        def show(outcome: Outcome) -> None:
            lines = open_entries(outcome.output)
            self.left_over = len(lines)
            if lines:
                self.push_screen(UndoScreen(lines))
            elif asked:
                self.say(clean(outcome.error) or "nothing is left over")

        hostdx(self, ["undo", "--dry-run"], show)


def _written(directory: Path, stem: str, text: str) -> Path:
    for number in range(1, 1000):
        path = directory / (f"hostdx-{stem}.md" if number == 1 else f"hostdx-{stem}-{number}.md")
        try:
            if path.is_file() and not path.is_symlink() and path.read_text("utf-8", "replace") == text:
                return path
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return path
        except FileExistsError:
            continue
    raise OSError("a thousand reports of that name are there already")
