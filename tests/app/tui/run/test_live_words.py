"""What the live screen says of the bundled runs, second by second, and the plan on a broad screen."""

import re
from pathlib import Path

import pytest

from hostdx.app.recordings import store
from hostdx.app.recordings.playback import Playback
from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.lines import Line
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.widgets.measuring.forest import describe_outlook
from hostdx.app.tui.widgets.measuring.group_plot import WAY, PlotSubject, group_plot_lines, pair_ratios
from hostdx.app.tui.widgets.measuring.variants import leading_metric_and_unit
from tests.every_case import every_case
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import fake_plan, grid, keys, run_app, wait_plan

RUNS = ("storage", "rpfilter", "iosched", "null", "workload")


def session_at(demo: str, seconds: float) -> RunSession:
    play = Playback()
    play.extend(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    play.seek(seconds)
    return play.session


def text_of(lines: list[Line]) -> str:
    return "\n".join("".join(part for part, _ in line).rstrip() for line in lines)


@every_case("demo", RUNS)
def test_the_next_look_is_never_one_that_is_over(demo: str) -> None:
    """`12 of at most 48 groups … next interim look after 10 groups`: of a pair that had been decided before."""
    play = Playback()
    play.extend(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    count = 0
    for second in range(int(play.end)):
        play.seek(float(second))
        session = play.session
        match = re.search(r"after (\d+) groups", describe_outlook(session))
        if match:
            count += 1
            counted = [g for g in session.groups.get(session.workload, ()) if not g.disturbed]
            assert int(match[1]) > len(counted), second
    assert count or demo == "null"


@every_case("width", [58, 78, 118, 198])
@every_case("demo", ["storage", "rpfilter", "iosched"])
def test_a_plot_of_ratios_always_says_which_way_is_slower(demo: str, width: int) -> None:
    session = session_at(demo, {"storage": 60.0, "rpfilter": 12.0, "iosched": 300.0}[demo])
    chosen = PlotSubject(session.workload, leading_metric_and_unit(session, session.workload)[0])
    ratios = pair_ratios(session, *chosen)
    title, *_, foot = group_plot_lines(session, chosen.workload, ratios, chosen.metric, width, 12)
    assert text_of([title]).count(ratios[0].baseline) == 1 and ("…" not in text_of([title]) or width == 58)
    assert WAY in text_of([foot]) and "group" in text_of([foot])


async def test_a_plan_on_a_broad_screen_has_its_steps_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_plan(monkeypatch, "storage")
    async with run_app(tmp_path, triage="triage", size="huge") as (app, pilot):
        app.open_plan("storage")
        await wait_plan(app, pilot)
        first = grid(app).splitlines()[1]
        assert "Is one of these disks slower" in first[:111] and first[111:].strip() == "STEPS"
        assert "fio" in "".join(row[111:] for row in grid(app).splitlines())
        await keys(pilot, "x")
        assert grid(app).splitlines()[1].strip() == "STEPS"
        await keys(pilot, "x")
        assert isinstance(app.screen, PlanScreen) and "compares" in grid(app)
        await pilot.resize_terminal(120, 40)
        await keys(pilot)
        assert "STEPS" not in grid(app).splitlines()[1]


async def test_a_run_that_was_killed_is_not_playing_and_has_no_time_left(tmp_path: Path) -> None:
    lines = (RECORDINGS / "storage.jsonl").read_text("utf-8").splitlines(keepends=True)
    (path := tmp_path / "killed.jsonl").write_text("".join(lines[: len(lines) * 2 // 3]), "utf-8")
    run = RunFeed(path)
    run.playback.seek_end()
    assert run.dead
    async with run_app(tmp_path / "state", run=run) as (app, _pilot):
        screen = grid(app)
    assert " left" not in screen and "cut off after" in screen and "▶ 1×" not in screen
