"""Runs, reports and verdict tables on the screen."""

import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from textual import events

from hostdx.app.recordings.reader import load_recording
from hostdx.app.report.forms.cells import document_lines
from hostdx.app.report.full_report import make_report_document
from hostdx.app.run import launch
from hostdx.app.terminal.lines import cell_width, wrap_text
from hostdx.app.terminal.process import read_start_ticks
from hostdx.app.tui import requests
from hostdx.app.tui.children.event_child import CommandOutcome, EventChild
from hostdx.app.tui.screens.ask import AskScreen, ChoiceScreen
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.report import ReportScreen
from hostdx.app.tui.screens.undo import UndoScreen
from hostdx.app.tui.screens.verdict import VerdictScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.keybar import KeyBar
from hostdx.scenarios.contract.results.document import (
    Bullets,
    Code,
    Heading,
    Mono,
    Paragraph,
    ReportDocument,
    ReportSection,
    Strong,
    Table,
)
from tests.every_case import every_case
from tests.fakes.streams.stories import write
from tests.fakes.streams.story import storage
from tests.fakes.terminals.screen import child_of, grid, keys, run_app, settle, wait, wait_plan
from tests.needs import one_always

both = pytest.mark.parametrize("size", one_always("narrow", "wide"))

DOCUMENT = msgspec.json.encode(
    ReportDocument(
        "Is it the disk?", ("no",), (ReportSection("Numbers", (Table(("a", "b"), (("1", Mono("2")),)),)),)
    )
).decode()


@both
async def test_a_run_is_started_followed_left_and_stopped(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of("storage"))
    code = (
        "import sys,signal,time\n"
        "path=sys.argv[sys.argv.index('--recording')+1]\n"
        'signal.signal(signal.SIGINT, lambda *a: (open(path,\'a\').write(\'{"type":"end","t":1.5,"status":'
        '"interrupted","reason":"stopped (Ctrl-C)","exit":130}\\n\'), sys.exit(130)))\n'
        "from hostdx.app.terminal.process import process_identity\n"
        "me=process_identity()\n"
        "held=open(path,'w')\n"
        "held.write(open(sys.argv[1]).read().replace('4194304',str(me.pid)).replace('\"pid_start\":1,',"
        "f'\"pid_start\":{me.start},').replace('0'*8+'-0000-0000-0000-'+'0'*12, me.boot_id))\n"
        "held.flush()\n"
        "time.sleep(60)\n"
    )
    cut = write(tmp_path / "cut.jsonl", storage(cut="live")[:9])
    monkeypatch.setattr(launch, "HOSTDX", (sys.executable, "-c", code, str(cut), "hostdx.app.cli"))
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.open_plan("storage")
        await wait_plan(app, pilot)
        await keys(pilot, "enter")
        assert isinstance(app.screen, LiveScreen)
        for _ in range(1000):
            await pilot.pause(0.01)
            if app.run_feed.playback.events:
                break
        runner = app.run_feed.playback.events[0].pid  # type: ignore[union-attr]
        assert os.getsid(runner) == runner
        await keys(pilot, "q")
        assert isinstance(app.screen, HomeScreen)
        app.look_for_runs()
        await settle(pilot)
        assert "a follows it" in grid(app) and "storage" in grid(app)
        await keys(pilot, "a")
        assert isinstance(app.screen, LiveScreen) and app.run_feed.playback.live and "● live" in grid(app)
        await keys(pilot, "space")
        assert not app.run_feed.playback.live and "Z returns to live" in grid(app)
        await keys(pilot, "Z", "s")
        assert "press s again" in grid(app) and read_start_ticks(runner) is not None
        await keys(pilot, "s")
        for _ in range(1000):
            await pilot.pause(0.01)
            if app.run_feed.session.ended is not None and isinstance(app.screen, VerdictScreen):
                break
        await settle(pilot)
        assert "interrupted" in grid(app)


async def test_a_runner_refused_at_once_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of("storage"))
    monkeypatch.setattr(
        launch, "HOSTDX", ("sh", "-c", "echo 'hostdx: run storage: someone else measures' >&2; exit 3")
    )
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.open_plan("storage")
        await wait_plan(app, pilot)
        await keys(pilot, "enter")
        for _ in range(1000):
            await pilot.pause(0.01)
            if app.message:
                break
        assert "not run: run storage: someone else measures" in grid(app)
        assert isinstance(app.screen, HomeScreen)


@both
async def test_recordings_reports_and_saving(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "hostdx" / "recordings" / "20261120T140210Z-storage-abc123.jsonl", storage())
    older = write(
        tmp_path / "hostdx" / "recordings" / "20261119T140210Z-storage-dead00.jsonl", storage(cut="live")
    )
    os.utime(older, (1e9, 1e9))
    monkeypatch.setattr(
        "hostdx.app.tui.children.event_child.HOSTDX",
        (
            "sh",
            "-c",
            "case $* in *one-page*) printf 'one page';; *md*) printf '# Is it the disk?\\n';; "
            f"*) printf %s '{DOCUMENT}';; esac",
            "sh",
        ),
    )
    monkeypatch.chdir(tmp_path)
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "r")
        assert isinstance(app.screen, RecordingsScreen)
        rows = grid(app)
        assert "▲ killed" in rows
        await keys(pilot, "o")
        await wait(pilot, lambda: isinstance(app.screen, ReportScreen))
        assert "Is it the disk?" in grid(app)
        await keys(pilot, "c")
        assert app.clipboard.startswith("# Is it the disk?")
        await keys(pilot, "m")
        report = tmp_path / "hostdx-20261120T140210Z-storage-abc123.md"
        assert report.read_text().startswith("# Is it the disk?") and "saved" in grid(app)
        report.write_text("somebody's notes")
        await keys(pilot, "m")
        assert report.read_text() == "somebody's notes"
        assert (tmp_path / "hostdx-20261120T140210Z-storage-abc123-2.md").exists()
        await keys(pilot, "escape", "m")
        await wait(pilot, lambda: "saved" in app.message)
        await keys(pilot, "slash", *"killed", "enter")
        await keys(pilot, "slash", *["backspace"] * 6, *"dead", "enter", "enter")
        assert isinstance(app.screen, LiveScreen) and "the runner is gone" in grid(app)
        await keys(pilot, "o")
        await wait(pilot, lambda: isinstance(app.screen, ReportScreen))
        await keys(pilot, "escape", "v", "m")
        await wait(pilot, lambda: "saved" in app.message)
        await keys(pilot, "M")
        await wait(pilot, lambda: [page.read_text() for page in tmp_path.glob("*-page.md")] == ["one page"])
        await keys(pilot, "escape")
        assert isinstance(app.screen, RecordingsScreen)
        await keys(pilot, "R", "slash", *["backspace"] * 4, "enter", "home", "0")
        assert isinstance(app.screen, LiveScreen) and app.run_feed.playback.playing


async def test_two_marked_recordings_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):
        name = f"2026112{number}T140210Z-storage-abc12{number}.jsonl"
        written = write(tmp_path / "hostdx" / "recordings" / name, storage())
        os.utime(written, (1e9 + number, 1e9 + number))
    script = f"echo \"$@\" > asked; printf %s '{DOCUMENT}'"
    monkeypatch.setattr("hostdx.app.tui.children.event_child.HOSTDX", ("sh", "-c", script, "sh"))
    monkeypatch.chdir(tmp_path)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        await keys(pilot, "r", "C")
        assert "mark two recordings" in app.message
        await keys(pilot, "space", "down", "space")
        assert "A storage" in grid(app) and "B storage" in grid(app)
        await keys(pilot, "C")
        await wait(pilot, lambda: isinstance(app.screen, ReportScreen))
        words = (tmp_path / "asked").read_text().split()
        await keys(pilot, "M")
        await wait(pilot, lambda: bool(list(tmp_path.glob("*-page.md"))))
        page = (tmp_path / "asked").read_text().split()
        await keys(pilot, "B")
        both = "20261121T140210Z-storage-abc121", "20261122T140210Z-storage-abc122"
        name = f"hostdx-comparison-{both[1]}-{both[0]}"
        await wait(pilot, lambda: (tmp_path / f"{name}.html").exists())
        html = (tmp_path / "asked").read_text().split()
        (tmp_path / f"{name}-page.html").write_text("somebody's notes")
        await keys(pilot, "E")
        assert isinstance(app.screen, ChoiceScreen)
        await keys(pilot, "h")
        await wait(pilot, lambda: (tmp_path / f"{name}-2-page.html").exists())
        assert (tmp_path / f"{name}-page.html").read_text() == "somebody's notes"
        page_html = (tmp_path / "asked").read_text().split()
        (tmp_path / "mail").mkdir()
        await keys(pilot, "E", "d")
        app.screen.post_message(events.Paste(str(tmp_path / "nowhere")))
        await keys(pilot, "enter")
        assert isinstance(app.screen, AskScreen)  # there is no such directory
        await keys(pilot, *["backspace"] * len("nowhere"), *"mail", "enter", "h")
        await wait(pilot, lambda: (tmp_path / "mail" / f"{name}-page.html").exists())
        await pilot.pause()
        assert app.message and "E" in {key for _, _, key in app.screen.query_one(KeyBar)._spots}
    assert [word.replace("html", "md") for word in page_html] == page
    assert words[0] == "compare" and words[1].endswith("abc122.jsonl")
    assert html == [word.replace("document", "html") for word in words]
    assert [word for word in page if word != "--one-page"] == [
        word.replace("document", "md") for word in words
    ]
    assert words[2:5] == ["--format", "document", "--"] and words[5].endswith("abc121.jsonl")


def leave_change_of_killed_run(directory: Path, monkeypatch: pytest.MonkeyPatch, before: str = "") -> None:
    """`before`: what the shell does before it lists the change."""
    (directory / "hostdx" / "journal").mkdir(parents=True)
    (directory / "hostdx" / "journal" / "j.jsonl").write_text("{}\n")
    text = 'echo \'{"schema": "hostdx/1", "changes": [{"title": "scheduler of sda", %s}]}\''
    looks, acts = text % '"state": "open", "would": "write back"', text % '"state": "reverted"'
    script = f'if [ "$2" = --dry-run ]; then {before}{looks}; else touch done; {acts}; fi'
    monkeypatch.setattr("hostdx.app.tui.children.event_child.HOSTDX", ("sh", "-c", script, "sh"))
    monkeypatch.chdir(directory)


async def test_the_undo_page_does_not_open_under_the_fingers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_change_of_killed_run(tmp_path, monkeypatch, "while [ ! -e go ]; do sleep 0.02; done; ")
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        await keys(pilot, "down")
        (tmp_path / "go").touch()
        await wait(pilot, lambda: bool(app.left))
        await pilot.pause()
        assert isinstance(app.screen, HomeScreen)


async def test_a_left_over_change_is_offered_to_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_change_of_killed_run(tmp_path, monkeypatch)
    reads: list[int] = []
    monkeypatch.setattr(Shell, "read_host", lambda self: reads.append(1))
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        await wait(pilot, lambda: isinstance(app.screen, UndoScreen))
        assert "scheduler of sda" in grid(app) and not (tmp_path / "done").exists()
        await keys(pilot, "n")
        assert "1 change not undone" in grid(app)
        await keys(pilot, "u")
        await wait(pilot, lambda: isinstance(app.screen, UndoScreen))
        await keys(pilot, "y")
        await wait(pilot, lambda: "✓ scheduler of sda: reverted" in grid(app))
        assert (tmp_path / "done").exists() and reads == [1]
        assert "y undo" not in grid(app) and "Nothing is left to undo." in grid(app)
        await keys(pilot, "escape")
        assert "not undone" not in grid(app)


async def test_reading_the_host_again_asks_its_programs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def start_child(argv: list[str]) -> EventChild:
        started.append(argv)
        return child_of("triage")

    async with run_app(tmp_path, triage="triage") as (_, pilot):
        monkeypatch.setattr(requests, "EventChild", start_child)
        await keys(pilot, "R")
    assert ["--programs" in argv for argv in started] == [True]


async def test_a_file_is_imported_from_the_recordings_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def import_twice(
        _shell: object, argv: list[str], then: Callable[[CommandOutcome], None], _timeout: float
    ) -> None:
        calls.append(list(argv))
        then(
            CommandOutcome("", "import: x: is empty; import another")
            if len(calls) == 1
            else CommandOutcome("x: IO500", "")
        )

    async with run_app(tmp_path, triage="triage") as (app, pilot):
        monkeypatch.setattr(requests, "run_hostdx", import_twice)
        await keys(pilot, "r", "I", "slash", "x", "enter")
        assert "not imported: x: is empty; import another" in grid(app)
        write(tmp_path / "hostdx" / "recordings" / "import-io500-1.jsonl", storage())
        await keys(pilot, "I", "slash", "x", "enter")
        assert calls == [["import", "--", "/x"]] * 2
        assert "x: IO500" in grid(app) and "1 recorded here" in grid(app)


DRAWN = ("Picture", "Chart", "Histogram", "Gallery", "Tiles")
DEMOS = Path(__file__).parents[4] / "app" / "recordings" / "demos"
WIDE = ReportDocument(
    "漢字 " * 30,
    ("the answer", Mono("a-path-that-is-longer-than-any-line/" * 5)),
    (
        ReportSection(
            "Table", (Table(("name", "value"), (("long " * 20, Mono("x" * 90)), ("", "1")), frozenset({1})),)
        ),
        ReportSection(
            "Rest",
            (
                Heading("h" * 70),
                Paragraph((Strong("now"), "then")),
                Bullets((("b " * 50,),)),
                Code(("c" * 99,)),
            ),
        ),
    ),
)


def count_letters(document: ReportDocument) -> Counter[str]:
    """Every letter of every text in it, in any order; a drawing is cut at the edge, not folded."""
    parts: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            parts.extend(value)
        elif isinstance(value, dict) and value.get("type") not in DRAWN:
            for key, inner in value.items():
                if key not in ("type", "language", "right", "role", "drawn"):
                    walk(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                walk(inner)

    walk(msgspec.to_builtins(document))
    return Counter(re.sub(r"\W", "", "".join(parts)).lower())


@every_case("width", [40, 57, 78, 118])
@every_case("demo", ["storage", "rpfilter", "dstate", ""])
def test_words_survive_the_folding(demo: str, width: int) -> None:
    document = make_report_document(load_recording(DEMOS / f"{demo}.jsonl"), demo) if demo else WIDE
    decoded = msgspec.json.decode(msgspec.json.encode(document), type=ReportDocument)
    assert decoded == document
    lines = document_lines(document, width)
    assert max(cell_width(line) for line in lines) <= width
    text = "".join(part for line in lines for part, _ in line)
    missing = count_letters(document) - Counter(re.sub(r"\W", "", text).lower())
    assert not missing, missing


def test_a_number_keeps_its_unit_and_a_name_its_parts_at_the_end_of_a_line() -> None:
    """`2.5 to 75.2` ended a headline, and ` ×` began the next one."""
    rows = ["".join(part for part, _ in row) for row in wrap_text("is 2.5 to 75.2 × slower", 14)]
    assert rows == ["is 2.5 to", "75.2 × slower"]
    rows = ["".join(part for part, _ in row) for row in wrap_text("ext4_buffered_write_iter", 20)]
    assert rows == ["ext4_buffered_write_", "iter"]
    rows = ["".join(part for part, _ in row) for row in wrap_text("it does 3.05 M", 12)]
    assert rows == ["it does", "3.05 M"]
