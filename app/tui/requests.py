"""What the screens ask the app to do: open, start, stop, follow, save, copy. Each is said on the last line."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from textual import events
from textual.app import App

from hostdx.app import state
from hostdx.app.recordings.session import RunSession
from hostdx.app.run import launch
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.printable import make_lines_printable
from hostdx.app.tui.children.event_child import TIMEOUT_S, CommandOutcome, EventChild, run_hostdx
from hostdx.app.tui.commands import FORM_CHOICES, EarlierResults, ReportForm
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract.events import ScenarioOffer
from hostdx.scenarios.contract.plan import Plan

if TYPE_CHECKING:
    import subprocess

    from textual.screen import Screen

    from hostdx.app.tui.children.feed import RunFeed
    from hostdx.app.undo.change_report import UndoneChange

RECENT_S = 30  # a run under way writes a pulse every second
LAST_MINUTE_S = 60.0  # which triage speaks of
STOP_AGAIN_S = (
    5.0  # by the palette, whose keys take the question away; by its key as long as the question stands
)
STOP_QUESTION = "press s again to stop the run and undo its changes; any other key continues"
MAX_REPORT_BYTES = 64 << 20


class ShellBase(App[int]):
    """The lower half of `Shell`, apart for length: it decides what is opened, `Shell` how it is shown."""

    triage: EventChild | None
    findings_before: frozenset[str]
    _feed: RunFeed | None

    def __init__(self, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.running_words = ""
        self.running: Path | None = None
        self.left: list[UndoneChange] = []
        self._journals: tuple[str, ...] = ()
        self.recorded, self.has_looked_for_runs = 0, False
        self.earlier_results = EarlierResults()
        self._asked_for = -1  # ended recordings, when `known` was asked for
        self.watches_host = False  # the home screen asks children for what it shows
        self._rereading: EventChild | None = None  # of triage, whose end is waited for
        self._host_read_s, self._asked_programs = (
            time.monotonic(),
            False,
        )  # when triage was asked last, and how
        self._own_run_ended_at = 0.0  # the clock's time, of the newest recording that has ended; 0: none
        self._runner: subprocess.Popen[bytes] | None = None
        self._stop_asked = -STOP_AGAIN_S
        self._newest_key: events.Key | None = None
        self.answered_message = ""  # the line that stood on the screen when the last key was pressed
        self.report_directory: Path | None = None  # where reports are saved, if the admin chose one
        self.raw_values = False  # plots show each side's values instead of one over the other

    def show_message(self, words: str, *, keeps_keys: bool = False) -> None:
        raise NotImplementedError

    def draw(self) -> None:
        raise NotImplementedError

    def switch_to_feed(self, feed: RunFeed, *, on_top: bool = False) -> None:
        raise NotImplementedError

    def watch_triage(self) -> None:
        raise NotImplementedError

    @property
    def run_feed(self) -> RunFeed:
        assert self._feed is not None
        return self._feed

    def home_session(self) -> RunSession:
        return self.triage.session if self.triage is not None else RunSession()

    def run_command_then(
        self, argv: Sequence[str], refused: str, then: Callable[[str], None], timeout_s: float = TIMEOUT_S
    ) -> None:
        """`then` takes what a command prints; where it fails `refused` and why are said."""

        def take_outcome(outcome: CommandOutcome) -> None:
            if outcome.error:
                self.show_message(f"{refused}: {outcome.error.removeprefix(f'{argv[0]}: ')}")
            else:
                then(outcome.output)

        run_hostdx(self, argv, take_outcome, timeout_s)

    # Looking around

    def look_for_recordings_and_offer_undo(self) -> None:
        """Once after the start: earlier recordings, runs under way, and whether a killed run left changes behind."""
        self._journals = _journal_names()
        self.look_for_runs()
        if self._journals:
            self.offer_undo()

    def _read_earlier_results(self) -> None:
        def take_examples(outcome: CommandOutcome) -> None:
            if not outcome.error:
                self.earlier_results = msgspec.json.decode(outcome.output, type=EarlierResults)
                self.draw()

        run_hostdx(self, ["recordings", "--examples"], take_examples)

    def look_for_runs(self) -> None:
        """Only what was written to in the last half minute is opened: there may be thousands."""
        from hostdx.app.recordings import store as recordings

        directory = state.recordings_dir()
        names = recordings.recording_file_names()
        before = self.recorded, self.running, self.running_words
        self.recorded = len(names)
        self.running, self.running_words = None, ""
        recent = []
        newest = 0.0
        for name in names:
            try:
                written = (directory / name).stat().st_mtime
            except OSError:
                continue
            newest = max(newest, written)
            if time.time() - written < RECENT_S:
                recent.append(name)
        for name in sorted(recent, reverse=True)[:3]:
            recording = recordings.examine_recording(directory / name)
            if recording.state == "running":
                self.running = recording.path
                left = recording.planned_s - recording.seconds
                until = (
                    f"about {format_duration(left)} left"
                    if left > 0
                    else f"running for {format_duration(recording.seconds)}"
                )
                self.running_words = f"{clean_text(recording.scenario)}, {until}"
                self.recorded -= 1
                break
        self._own_run_ended_at = newest if self.running is None else 0.0
        if self.watches_host and self.recorded != self._asked_for:
            self._asked_for = self.recorded
            self._read_earlier_results()
        journals = _journal_names()
        if self.running is None and journals != self._journals:  # a run under way has one, too
            self._journals = journals
            self._look_for_undoable_changes()
        first_look, self.has_looked_for_runs = not self.has_looked_for_runs, True
        if first_look or before != (
            self.recorded,
            self.running,
            self.running_words,
        ):  # an idle screen costs no bytes
            self.draw()

    def _look_for_undoable_changes(self) -> None:
        """What a run that was killed meanwhile has left changed."""
        from hostdx.app.tui.screens.undo import LOOK, parse_undoable_changes

        def take_changes(outcome: CommandOutcome) -> None:
            self.left = parse_undoable_changes(outcome)
            self.draw()

        run_hostdx(self, LOOK, take_changes)

    def read_host(self, *, programs: bool = False) -> None:
        """Triage once more. `programs`: what programs of this host say counts, too."""
        if self.triage is not None:
            self.findings_before = frozenset(self.triage.session.findings)
            self.triage.close()
        self.close_rereading()
        options = ["--programs"] if programs else []
        self.triage = EventChild([*launch.HOSTDX, "triage", *options, "--events", "-"])
        self._host_read_s, self._asked_programs = time.monotonic(), programs
        self.watch_triage()

    @property
    def own_run_ended_s(self) -> float | None:
        """Seconds from the end of a run of hostdx to the reading of the host, whose last minute has that run in it.

        None where the reading has nothing of a run.
        """
        read_at = time.time() - self.host_reading_age_s
        before_s = read_at - self._own_run_ended_at
        return before_s if 0.0 <= before_s < LAST_MINUTE_S else None

    @property
    def host_reading_age_s(self) -> float:
        return time.monotonic() - self._host_read_s

    def reread_host_if_old(self, max_age_s: float) -> None:
        """Triage once more where it told longer ago; what it told stays on the screen until the new reading has ended.

        Programs are not asked again without a key, because one may wake a disk: then the reading keeps its age.
        """
        is_busy = self.triage is None or not self.triage.ended or self._rereading is not None
        if is_busy or self._asked_programs or not self.watches_host or self.host_reading_age_s < max_age_s:
            return
        child = self._rereading = EventChild([*launch.HOSTDX, "triage", "--events", "-"])
        begin_s = time.monotonic()

        def take_change() -> None:
            if not child.ended:
                return
            self._rereading = None
            self._host_read_s = begin_s
            if not child.error:
                self.triage = child
                self.draw()

        child.follow(take_change)

    def close_rereading(self) -> None:
        if self._rereading is not None:
            self._rereading.close()
            self._rereading = None

    # Opening

    def open_plan(
        self,
        scenario: str,
        argv: Sequence[str] = (),
        propose: Callable[[], Sequence[str]] | None = None,
        ask: str = "",
    ) -> None:
        """`propose` gives the options anew, as triage tells more of the host; `ask` names an option that is asked for
        first of all."""
        from hostdx.app.tui.option_values import may_be_scenario_id, parse_proposable_options
        from hostdx.app.tui.screens.before.plan import PlanScreen

        if not may_be_scenario_id(scenario):
            self.show_message(f"{scenario} is no scenario's name")
            return
        offers = self.home_session().offers
        offer = known_offer = next((o for o in offers if o.id == scenario), None)
        if offer is None:
            offer = ScenarioOffer(t=0.0, id=scenario, title=scenario, question="", takes_s=0.0)
        if offer.blocked:
            asked = f". It would answer: {clean_text(offer.question)}" if offer.question else ""
            self.show_message(f"{offer.id} cannot run here: {offer.blocked}{asked}")
            return
        if known_offer is None:
            propose = propose or (lambda: argv)
            if self.triage is None:  # a replay: which options there are, it tells
                self.read_host()
        self.push_screen(
            PlanScreen(offer, parse_proposable_options(argv, offer.options), propose=propose, ask=ask)
        )

    def open_recordings(self) -> None:
        from hostdx.app.tui.screens.recordings import RecordingsScreen

        self.push_screen(RecordingsScreen())

    def open_recording(self, path: Path, *, on_top: bool = False, plays: bool = False) -> None:
        """From the end where it is under way; a finished one opens on its verdict. `on_top`: see `switch_to_feed`.

        `plays`: from the first block, playing.
        """
        from hostdx.app.tui.children.feed import RunFeed

        try:
            feed = RunFeed(path)
        except Failure as why:
            self.show_message(why.text)
            return
        if plays:
            feed.playback.play_from_first_measured()
        else:
            feed.playback.seek_end(live=feed.is_growing)
        self.switch_to_feed(feed, on_top=on_top)

    def open_running_recording(self) -> None:
        if self.running is None:
            self.show_message("no run is under way")
            return
        self.open_recording(self.running)

    # Running

    def start_run(self, scenario: str, argv: Sequence[str], plan: Plan) -> None:
        from hostdx.app.tui.children.feed import RunFeed

        try:
            path = launch.new_recording_path(scenario)
            self._runner = launch.start_runner(scenario, argv, digest=plan.digest, recording=path)
        except (Failure, OSError) as why:
            self.show_message(f"it could not be started: {why}")
            return
        self.switch_to_feed(RunFeed(path, live=True, awaited=True))

    def watch_runner(self) -> None:
        """A runner that was refused at once leaves no recording: its last words are shown instead."""
        if self._runner is None or self._runner.poll() is None:
            return
        self._runner = None
        words = self.run_feed.refusal_text()
        if words and not self.run_feed.playback.events:
            self.run_feed.dead = True
            if len(self.screen_stack) > 1:
                self.pop_screen()
            self.show_message(f"not run: {words.removeprefix('hostdx: ')}")

    def stop_run(self) -> None:
        now = time.monotonic()
        if self.answered_message != STOP_QUESTION and now - self._stop_asked > STOP_AGAIN_S:
            self._stop_asked = now
            self.show_message(STOP_QUESTION)
        else:
            self.stop_now()

    def stop_now(self) -> None:
        why = self.run_feed.stop()
        self.show_message(
            f"not stopped: {why}" if why else "stopping: everything is undone first, within 2 s"
        )

    def parting_words(self) -> str:
        """Return what is said on the way out: that a run goes on without us."""
        feed = self._feed
        if feed is None or not feed.playback.events or not feed.is_growing:
            return ""
        began = feed.playback.events[0]
        return f"{clean_text(getattr(began, 'scenario', 'the run'))} goes on; `hostdx attach` follows it"

    def import_file(self, path: Path, then: Callable[[], None]) -> None:
        """Another tool's result, read by a child: `then` once there is a recording of it."""

        def finish_import(output: str) -> None:
            self.show_message(output.splitlines()[0] if output else f"imported {path}")
            then()

        self.show_message(f"importing {path}")
        self.run_command_then(["import", "--", str(path)], "not imported", finish_import)

    def toggle_raw(self) -> None:
        self.raw_values = not self.raw_values
        self.show_message(
            "the values of each variant" if self.raw_values else "one variant over the other, by group"
        )

    # Reports

    def open_report(self, path: Path) -> None:
        self.show_message("writing the report")
        argv = ["report", str(path), "--format", "document"]
        self.show_report(argv, path.name, "report", _one_page_report_argv(path))

    def open_comparison(self, a: Sequence[Path], b: Sequence[Path]) -> None:
        self.show_message("comparing")
        left, right = ["compare", *map(str, a)], ["--", *map(str, b)]
        page = [*left, "--format", "md", "--one-page", *right]
        title = f"comparison-{_side_name(a)}-{_side_name(b)}"
        self.show_report([*left, "--format", "document", *right], title, "comparison", page)

    def show_report(self, argv: Sequence[str], title: str, noun: str, page_argv: Sequence[str] = ()) -> None:
        """Show the report that this command of hostdx prints as JSON. `noun`: what is missing where it fails.

        `page_argv`: the command of hostdx that prints it on one page, where it has one.
        """
        from hostdx.app.tui.screens.report import ReportScreen
        from hostdx.scenarios.contract.results.document import ReportDocument

        def make_screen(output: str) -> Screen[object]:
            document = msgspec.json.decode(output, type=ReportDocument)
            return ReportScreen(title, document, tuple(page_argv), _argv_for_html(argv))

        self._push_screen_of_output(argv, f"no {noun}", make_screen)

    def open_explanation(self, scenario: str, is_wanted: Callable[[], bool] = lambda: True) -> None:
        from hostdx.app.tui.screens.explain import ExplainScreen

        argv = ["explain", "--markdown", scenario]
        self._push_screen_of_output(argv, "no page", lambda page: ExplainScreen(scenario, page), is_wanted)

    def _push_screen_of_output(
        self,
        argv: Sequence[str],
        failure_prefix: str,
        make_screen: Callable[[str], Screen[object]],
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Open the screen that is made of what a command prints, unless somebody went on meanwhile."""
        asking = self.screen

        def show(output: str) -> None:
            if self.screen is asking and is_wanted():
                self.message = ""
                self.push_screen(make_screen(output))

        self.run_command_then(argv, failure_prefix, show)

    def save_report(self, path: Path, form: ReportForm) -> None:
        page = ["--one-page"] if form in ("page", "page-html") else []
        kind = "html" if form in ("html", "page-html") else "md"
        self.save_printed(["report", str(path), "--format", kind, *page], path.name, form)

    def save_printed(self, argv: Sequence[str], name: str, form: ReportForm) -> None:
        """Save what this command of hostdx prints, in this form, under the name of its recording."""
        choice = next(choice for choice in FORM_CHOICES if choice.form == form)
        self.show_message("writing the report to a file")
        self.run_command_then(
            argv, "no report", lambda text: self.save_text(name, text, choice.suffix, choice.words)
        )

    def report_target(self, name: str) -> str:
        """Return where a report of this name will be saved, without what its form adds to the name."""
        directories = self._report_directories()
        directory = next((d for d in directories if os.access(d, os.W_OK)), directories[-1])
        return str(directory / f"hostdx-{_file_stem(name)}")

    def save_text(self, name: str, text: str, suffix: str = ".md", note: str = "") -> None:
        """Into the chosen or the current directory, else beside the recordings; never over another file.

        `note`: the part of the message that tells this text from others, with its length.
        """
        own, in_own_state = self._report_directories()
        for directory in (own, in_own_state):
            try:
                if directory == in_own_state:
                    state.make_private_dir(directory)
                length = f"{text.count(chr(10))} lines: " if suffix.endswith(".md") else ""
                words = f"  ({length}{note})" if note else ""
                path = _write_report_once(directory, _file_stem(name), text, suffix)
                self.show_message(f"saved {path}{words}", keeps_keys=True)
                return
            except (OSError, Failure) as why:
                trouble = why
        self.show_message(f"not saved: {trouble}")

    def _report_directories(self) -> tuple[Path, Path]:
        return self.report_directory or Path.cwd(), state.state_dir() / "reports"

    def copy(self, text: str, content_name: str) -> None:
        if not text:
            self.show_message("there is nothing to copy")
            return
        self.copy_to_clipboard(make_lines_printable(text))
        self.show_message(
            f"{content_name}: sent to the terminal's clipboard (OSC 52), where the terminal allows it"
        )

    # Undo

    def offer_undo(self, asked: bool = False) -> None:
        from hostdx.app.tui.screens.undo import LOOK, UndoScreen, parse_all_changes, parse_undoable_changes

        def show(outcome: CommandOutcome) -> None:
            self.left = parse_undoable_changes(outcome)
            kept_changes = [change for change in parse_all_changes(outcome) if change.on_purpose]
            if outcome.error and asked and not self.left:
                self.show_message(outcome.error)
            elif asked or (self.left and self._newest_key is None):  # its keys are for who has read it
                self.push_screen(UndoScreen(self.left, kept_changes))
            else:
                self.draw()

        run_hostdx(self, LOOK, show)


def _argv_for_html(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command that prints what this one prints for a screen, as HTML."""
    at = argv.index("--format") + 1
    return (*argv[:at], "html", *argv[at + 1 :])


def _one_page_report_argv(path: Path) -> list[str]:
    return ["report", str(path), "--format", "md", "--one-page"]


def _file_stem(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".jsonl").replace(" ", "-")


def _side_name(paths: Sequence[Path]) -> str:
    """Return the first recording of a side of a comparison by its name, and how many more there are."""
    more = f"-and-{len(paths) - 1}-more" if len(paths) > 1 else ""
    return f"{_file_stem(paths[0].name)}{more}"


def _journal_names() -> tuple[str, ...]:
    try:
        return tuple(sorted(p.name for p in state.journal_dir().iterdir() if p.is_file()))
    except OSError:
        return ()


def _write_report_once(directory: Path, stem: str, text: str, suffix: str) -> Path:
    for number in range(1, 1000):
        path = directory / (f"hostdx-{stem}{suffix}" if number == 1 else f"hostdx-{stem}-{number}{suffix}")
        try:
            same = path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_REPORT_BYTES
            if same and read_trusted_file(path, MAX_REPORT_BYTES).decode("utf-8", "replace") == text:
                return path
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return path
        except FileExistsError:
            continue
    raise OSError("a thousand reports with that name exist already")
