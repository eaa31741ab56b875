"""What a verdict advises stands on it at every size: on the smallest one the first command to paste."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.lines import Line, cells
from app.recording import store
from app.report.next_steps import to_do
from app.tui.children.feed import RunFeed
from app.tui.details import commands_of, finding_lines, to_do_lines
from app.tui.screens.verdict import VerdictScreen, advice
from app.tui.widgets.home.findings_panel import Suspects, _said, subject_words
from app.tui.widgets.measuring.group_plot import GroupPlot, ValuesPlot
from app.tui.widgets.verdict_list import VerdictList
from app.tui.widgets.word_list import WORDS
from scenarios.finding import Remedy
from tests.fakes.terminals.screen import grid, keys, opened

ADVISING = ["storage", "rpfilter", "dstate", "null", "iosched", "numa", "fstrim", "kernel"]


def ended(demo: str) -> RunFeed:
    run = RunFeed(store.resolve(f"demo:{demo}"))
    run.playback.finish()
    return run


def words(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines]


@pytest.mark.parametrize("demo", ADVISING)
async def test_on_a_low_screen_stand_the_first_command_and_the_first_finding(
    demo: str, tmp_path: Path
) -> None:
    run = ended(demo)
    first = advice(run)[0].commands[0]
    async with opened(tmp_path, run=run, size="narrow") as (app, pilot):
        shown = grid(app).splitlines()
        at = next(n for n, line in enumerate(shown) if line.startswith(" WHAT TO DO "))
        assert shown[at + 2].strip() and first.startswith(shown[at + 2].strip()[:20])
        found = app.screen.query_one(Suspects)
        assert app.screen.find_widget(found).visible_region.height >= 2
        found.focus()
        await keys(pilot, *["j"] * (len(found.rows()) - 1))
        assert " ▸ " in grid(app)  # the cursor is seen on the last of them


async def test_c_copies_the_next_step_where_no_finding_has_a_remedy(tmp_path: Path) -> None:
    async with opened(tmp_path, run=ended("null"), size="narrow") as (app, pilot):
        copied: list[str] = []
        app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        await keys(pilot, "c")
        assert copied and copied[0].endswith("\nhostdx run checkup")


@pytest.mark.parametrize("width", [58, 78, 118])
def test_a_step_is_shown_whole_or_counted(width: int) -> None:
    steps = [
        Remedy(title="do this", commands=("first --with " + "x" * 90, "second"), warning="it hurts"),
        Remedy(title="or that", commands=("third", "fourth")),
    ]
    brief = to_do_lines(steps, width, room=0, brief=True)
    assert all(cells(line) <= width for line in brief) and len(brief) <= 4
    shown = "\n".join(words(brief))
    assert (
        "first --with" in shown
        and "and 1 more" in shown
        and "mind the risk" in shown
        and "third" not in shown
    )
    whole = "\n".join(words(to_do_lines(steps, width, room=20)))
    assert "second" in whole and "fourth" in whole and "it hurts" in whole
    tight = "\n".join(words(to_do_lines(steps, width, room=4)))
    assert "second" in tight and "and 1 more  " in tight and "third" not in tight
    assert to_do_lines([], width, room=20) == []


def test_the_answer_to_the_run_comes_before_what_a_rule_says_of_the_host() -> None:
    """`trim the other disk` is no answer to `this disk is 94 times slower`."""
    told = to_do(ended("storage").playback.session)
    assert told[0].commands == ("hostdx run storage --pid PID",) and len(told) > 1
    assert commands_of(told).startswith("# Measure how long your job really waits")


async def test_the_headline_is_not_said_once_more_as_a_finding(tmp_path: Path) -> None:
    for size in ("narrow", "wide"):
        async with opened(tmp_path, run=ended("dstate"), size=size) as (app, _):
            listed = next(line for line in grid(app).splitlines() if "▲ warning" in line)
            assert "why: " in listed and "thawed" not in listed


async def test_a_table_of_variants_is_headed_as_one_and_a_low_one_keeps_its_loads_whole(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, run=ended("rpfilter"), size="narrow") as (app, _):
        assert "variant  none  with it" in grid(app)
    async with opened(tmp_path, run=ended("storage"), size="narrow") as (app, _):
        assert isinstance(app.screen, VerdictScreen)
        shown = grid(app)
        assert all(e.name in shown for e in app.screen.query_one(VerdictList).entries())


@pytest.mark.parametrize("width", [78, 118, 198])
def test_from_160_cells_on_what_to_do_stands_beside_the_evidence(width: int) -> None:
    finding = next(f for f in ended("rpfilter").playback.session.worst_first if f.remedy)
    lines = words(finding_lines(finding, width))
    assert all(len(line) <= width for line in lines)
    head = next(n for n, line in enumerate(lines) if "WHAT TO DO" in line)
    evidence = next(n for n, line in enumerate(lines) if "EVIDENCE" in line)
    assert (evidence == 0) == (width == 198) and (evidence < head)
    shown = " ".join(" ".join(lines).split())
    for word in ("nft delete rule", "REFERENCES", "to undo"):
        assert word in shown
    assert "mtu 9000" in shown and "…" not in shown  # no command is cut


def test_a_load_has_its_title_wherever_a_finding_is_about_it() -> None:
    session = ended("storage").playback.session
    (found,) = (f for f in session.worst_first if f.subject == "sda read-1m-qd8")
    assert subject_words(session, found) == "sda, stream read 1M x8"
    titles = {"read-1m-qd8": "stream read 1M x8"}
    assert "(" not in _said(found, titles)  # the title says both already
    assert _said(found, {}).endswith("(sda read-1m-qd8)")


async def test_below_the_keys_stand_the_words_that_a_verdict_uses(tmp_path: Path) -> None:
    async with opened(tmp_path, run=ended("storage"), size="narrow") as (app, pilot):
        await keys(pilot, "question_mark")
        shown = grid(app)
        await keys(pilot, "tab", "G")
        shown += grid(app)
        for word in ("group", "margin", "this stack", "QD1, QD16"):
            assert any(line.strip(" ▸").startswith(word) for line in shown.splitlines()), word
        before = app.screen
        await keys(pilot, "enter")  # a word does nothing
        assert app.screen is before
    assert all(len(word.name) <= 13 and len(word.means) <= 62 for word in WORDS)


async def test_what_a_battery_is_for_stands_on_a_high_screen_above_its_smaller_findings(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, run=ended("kernel"), size="wide") as (app, _):
        assert "hostdx compare OLD -- demo:kernel" in grid(app)
    async with opened(tmp_path, run=ended("dstate"), size="wide") as (app, _):
        assert grid(app).count("fsfreeze -u") == 1  # in the finding below


async def test_the_same_blocks_are_not_drawn_twice(tmp_path: Path) -> None:
    async with opened(tmp_path, run=ended("fstrim"), size="wide") as (app, _):
        assert grid(app).count("each synced: MB/s") == 1
        assert (
            not app.screen.query_one(ValuesPlot).display and app.screen.query_one(GroupPlot).size.height > 12
        )
    async with opened(tmp_path, run=ended("null"), size="wide") as (app, _):
        assert app.screen.query_one(ValuesPlot).display


async def test_grey_groups_are_explained(tmp_path: Path) -> None:
    for size in ("wide", "huge"):
        async with opened(tmp_path, run=ended("rpfilter"), size=size) as (app, _):
            assert "grey: after it was decided" in grid(app)
            assert grid(app).count("nft delete rule") == 1  # what to do stands there once


async def test_an_import_has_no_time_line(tmp_path: Path) -> None:
    async with opened(tmp_path, run=ended("box"), size="narrow") as (app, _):
        assert "imported" in grid(app) and "00:00" not in grid(app)
