"""What a verdict advises stands on it at every size: on the smallest one the first command to paste."""

import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from hostdx.app.recordings import store
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.lines import Line
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.details import pid_to_measure, scenario_argv
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.answer import Next, advised_steps
from hostdx.app.tui.widgets.home.findings_panel import FindingsPanel
from hostdx.app.tui.widgets.word_list import read_words as terms
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.events import ScenarioOffer
from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.contract.plan import Option
from tests.every_case import every_case
from tests.fakes.terminals import screen as screens
from tests.fakes.terminals.screen import grid, keys, run_app

ADVISING = ["rpfilter", "null", "numa", "kernel"]
HIGH = ["box", "storage", "dstate", "io500"]


def ended_feed(demo: str) -> RunFeed:
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    run.playback.seek_end()
    return run


def texts_of(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines]


async def on_screens(
    demos: Sequence[str], size: str, place: Path
) -> AsyncIterator[tuple[str, Shell, Pilot[int]]]:
    """Each demo's verdict, in one app: to start one costs more than what is looked at."""
    async with run_app(place, run=ended_feed(demos[0]), size=size) as (app, pilot):
        for demo in demos:
            app.switch_to_feed(ended_feed(demo))
            await screens.settle(pilot)
            yield demo, app, pilot


async def test_on_a_high_screen_what_to_do_stands_below_the_answer(tmp_path: Path) -> None:
    """A picture beside the answer of `box` pushed the steps and the findings off the screen."""
    wrong = []
    async for demo, app, _ in on_screens(HIGH, "wide", tmp_path):
        rows = grid(app)
        if "─ FINDINGS ─" not in rows or ("─ NEXT ─" in rows) != bool(advised_steps(ended_feed(demo))):
            wrong.append(demo)
    assert wrong == []


async def test_on_a_low_screen_stand_the_first_command_and_the_first_finding(tmp_path: Path) -> None:
    async for demo, app, pilot in on_screens(ADVISING, "narrow", tmp_path):
        first = advised_steps(ended_feed(demo))[0].commands[0]
        lines = grid(app).splitlines()
        assert "… …" not in grid(app), demo  # a sentence cut twice: `(OLD:… …`
        # it says where a sentence goes on: not `21 % faster; not  Enter`
        entered = [row for row in lines if row.endswith("  Enter")]
        assert all(re.search(r"[.…]\s+Enter$", row) for row in entered), demo
        at = next(n for n, line in enumerate(lines) if line.startswith(" NEXT "))
        below = [line.strip() for line in lines[at + 1 : at + 6]]
        assert any(line and first.startswith(line[:20]) for line in below), demo
        widget = app.screen.query_one(FindingsPanel)
        assert app.screen.find_widget(widget).visible_region.height >= 2, demo
        widget.focus()
        await keys(pilot, *["j"] * (len(widget.build_rows()) - 1))
        assert " ▸ " in grid(app), demo  # the cursor is seen on the last of them


async def test_what_to_do_appears_on_a_verdict_that_is_open_when_the_run_ends(tmp_path: Path) -> None:
    run = ended_feed("null")
    async with run_app(tmp_path, run=run, size="narrow") as (app, pilot):
        run.playback.seek(1.0)
        app.show_run("verdict")
        await screens.settle(pilot)
        assert not app.screen.query_one(Next).display
        run.playback.seek_end()
        app.draw()
        await screens.settle(pilot)
        assert app.screen.query_one(Next).display


async def test_c_copies_the_next_step_where_no_finding_has_a_remedy(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=ended_feed("null"), size="narrow") as (app, pilot):
        texts: list[str] = []
        app.copy_to_clipboard = texts.append  # type: ignore[method-assign]
        await keys(pilot, "c")
        assert texts and texts[0].endswith("\nhostdx run checkup")


async def test_a_digit_opens_the_plan_of_the_next_step_and_q_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screens.fake_plan(monkeypatch, "storage")
    monkeypatch.setattr(Shell, "read_host", lambda _self: None)
    async with run_app(tmp_path, run=ended_feed("null"), size="wide") as (app, pilot):
        before = app.screen
        await keys(pilot, "1")
        assert isinstance(app.screen, PlanScreen) and app.screen.offer.id == "checkup"
        await keys(pilot, "q")
        assert app.screen is before


OFFER = ScenarioOffer(
    t=0.0,
    id="storage",
    title="",
    question="",
    takes_s=1.0,
    options=(
        Option(name="dir", kind="path", help="", multiple=True),
        Option(name="budget", kind="number", help=""),
        Option(name="order", kind="text", help=""),
    ),
)


@every_case(
    ("commands", "opens"),
    [
        (["hostdx run storage"], True),
        (["hostdx run storage --dir=/a --dir /b=c --budget=90"], True),
        (["hostdx run storage --dir=/a --order=latin"], False),
        (["hostdx run storage --pid PID"], True),  # which one is asked
        (["hostdx run storage --pid 17"], False),  # it has no such option
        (["hostdx run storage --dir=DIRECTORY"], False),
        (["hostdx run other --dir=/a"], False),  # nobody told yet what it takes
        (["hostdx run --dir=/a"], False),
        (["modprobe null_blk", "hostdx run storage"], False),
        ([], False),
    ],
)
def test_a_digit_opens_no_other_run_than_the_one_beside_it(commands: list[str], opens: bool) -> None:
    assert (
        bool(scenario_argv(Remedy(title="do it", commands=tuple(commands)), [OFFER], lambda _: "")) is opens
    )


def run_on(host: str, finding: Finding | None = None, **options: Json) -> RunSession:
    session = RunSession()
    session.apply(ev.Began(t=0.0, schema=ev.SCHEMA, version="1", scenario="storage", command=[], host=host, wall="",
                           seed=1, pid=1, pid_start=1, boot_id="", options=options))  # fmt: skip
    if finding is not None:
        session.apply(ev.Found(t=0.0, finding=finding))
    return session


def test_a_process_that_is_known_is_not_asked_for() -> None:
    own, parent, unused_pid = os.getpid(), os.getppid(), 1 << 30
    waits = Finding(id="a.b", severity="notice", title="", prove="storage", prove_options=("--pid", str(own)))
    none, of_pid = run_on("h"), run_on("h", waits)
    assert pid_to_measure("storage", none, of_pid) == str(own) and pid_to_measure("numa", none, of_pid) == ""
    assert pid_to_measure("storage", run_on("h", pid=[parent]), of_pid) == str(parent)
    assert pid_to_measure("storage", run_on("h", pid=[unused_pid]), of_pid) == ""  # it has ended
    assert (
        pid_to_measure("storage", run_on("another", pid=[parent]), none) == ""
    )  # a number of another machine
    step = Remedy(title="", commands=("hostdx run storage --pid PID",))
    offer = msgspec.structs.replace(
        OFFER, options=(*OFFER.options, Option(name="pid", kind="integer", help=""))
    )
    assert scenario_argv(step, [offer], lambda _: "17") == ["storage", "--pid", "17"]
    assert scenario_argv(step, [offer], lambda _: "") == ["storage"]


async def test_below_the_keys_stand_the_words_that_a_verdict_uses(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=ended_feed("storage"), size="narrow") as (app, pilot):
        await keys(pilot, "question_mark", "tab")
        rows = grid(app)
        for _ in terms():
            await keys(pilot, "down")
            rows += grid(app)
        for word in ("group", "margin", "this stack", "QD1, QD16"):
            assert any(line.strip(" ▸").startswith(word) for line in rows.splitlines()), word
        before = app.screen
        await keys(pilot, "enter")  # a word does nothing
        assert app.screen is before
    assert all(len(name) <= 13 and len(means) <= 62 for name, means in terms().items())


@pytest.mark.parametrize("demo", ["fstrim", "iosched", "storage"])
async def test_after_a_resize_stands_what_a_start_at_that_size_shows(demo: str, tmp_path: Path) -> None:
    """Four to five rows stayed empty, while steps and findings were hidden."""
    async with run_app(tmp_path, run=ended_feed(demo), size="narrow") as (app, pilot):
        await screens.settle(pilot)
        first, steps = grid(app), app.screen.query_one(Next).shown_steps
        note = "".join(texts_of([app.screen.query_one(Next)._key_line(steps)]))
        hidden = len(advised_steps(ended_feed(demo))) - len(steps)
        assert (str(hidden) in note.partition(": o")[0]) == (hidden > 0)
    async with run_app(tmp_path, run=ended_feed(demo), size="wide") as (app, pilot):
        await screens.settle(pilot)
        await pilot.resize_terminal(*screens.SIZES["narrow"])
        await screens.settle(pilot)
        assert app.screen.query_one(Next).shown_steps == steps
        assert grid(app) == first


async def test_a_list_of_one_row_says_how_many_are_out_of_sight(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=ended_feed("storage"), size="narrow") as (app, pilot):
        await screens.settle(pilot)
        suspects = app.screen.query_one(FindingsPanel)
        (row,) = texts_of(suspects.draw(78, 2))[1:]
        assert re.search(rf"\b{len(suspects.shown_rows) - 1}\b", row[40:])
