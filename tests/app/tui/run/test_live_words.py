"""What the live screen says of the bundled runs, second by second, and the plan on a broad screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.recordings import store
from app.recordings.playback import Playback
from app.recordings.reader import read_events
from app.recordings.session import RunSession
from app.report.figures.plot import _axis_ticks, nice_axis
from app.terminal.lines import Line
from app.tui.children.feed import RunFeed
from app.tui.screens.before.plan import PlanScreen
from app.tui.widgets.measuring.block_plot import leading_metric, plot_lines
from app.tui.widgets.measuring.figures_table import figure_lines
from app.tui.widgets.measuring.forest import describe_outlook, forest_lines
from app.tui.widgets.measuring.group_plot import WAY, PlotSubject, group_plot_lines, pair_ratios
from app.tui.widgets.measuring.host_panel import remark_lines
from app.tui.widgets.measuring.pulse_line import pulse_lines
from app.tui.widgets.measuring.run_bar import step_rows
from app.tui.widgets.measuring.standing import list_standings, pairs_of
from app.tui.widgets.word_list import read_words as terms
from probes import units
from scenarios.contract.verdict.verdict import Word
from scenarios.experiment.wording import effect_cells
from tests.every_case import every_case
from tests.fakes.terminals.screen import grid, keys, opened, planned, ready

RUNS = ("storage", "rpfilter", "iosched", "null", "workload")


def at(demo: str, seconds: float) -> RunSession:
    play = Playback()
    play.extend(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    play.seek(seconds)
    return play.session


def words(lines: list[Line]) -> str:
    return "\n".join("".join(part for part, _ in line).rstrip() for line in lines)


@pytest.mark.parametrize("width", [76, 116])
def test_no_figure_of_a_survey_is_cut_in_its_columns(width: int) -> None:
    """At 80 cells the last of three columns was left out behind an ellipsis."""
    columns, *rows = words(figure_lines(at("numa", 14.0), width, 11)[1]).splitlines()
    assert len(columns) <= width and not any(row.endswith("…") for row in (columns, *rows))


def test_a_load_counts_its_groups_up_to_one_number() -> None:
    """`3 of 8 groups` stood over `3 of 6 groups`."""
    session = at("rpfilter", 8.0)
    (load,) = session.planned_workloads
    found = list_standings(session, load.id)
    assert found and all(one.words.endswith(f" of {load.min_groups}") for one in found)


@every_case("demo", RUNS)
def test_the_next_look_is_never_one_that_is_over(demo: str) -> None:
    """`12 of at most 48 groups … next interim look after 10 groups`: of a pair that had been decided before."""
    play = Playback()
    play.extend(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    seen = 0
    for second in range(int(play.end)):
        play.seek(float(second))
        session = play.session
        said = re.search(r"after (\d+) groups", describe_outlook(session))
        if said:
            seen += 1
            taken = [g for g in session.groups.get(session.workload, ()) if not g.disturbed]
            assert int(said[1]) > len(taken), second
    assert seen or demo == "null"


@every_case("demo", [*RUNS, "fstrim", "numa", "dstate"])
def test_one_step_is_under_way_and_head_and_plot_are_of_its_load(demo: str) -> None:
    """Undecided loads wait for a second turn; all of them had the sign of the one that went on."""
    play = Playback()
    play.extend(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    for tenth in range(int(10 * play.end)):
        play.seek(tenth / 10)
        session = play.session
        steps = words(step_rows(session, 400, 9))
        going = session.at_step
        begun = [step.id for step in session.steps.values() if step.state == "started"]
        assert steps.count("▸") == bool(begun), tenth
        if session.workload in begun and going in begun:
            assert going == session.workload, tenth


def test_a_pair_that_was_decided_before_the_others_says_so() -> None:
    session = at("fullstack", 45.0)
    decided = [row.words.endswith("decided") for row in list_standings(session, "out")]
    assert any(decided) and not all(decided)
    assert "decided" in words(forest_lines(session, 66, 9))


@every_case("width", [58, 66, 78, 118])
def test_no_effect_is_cut_in_half(width: int) -> None:
    session = at("storage", 140.0)
    shown = words(forest_lines(session, width, 12))
    decided = [verdict for verdict in session.verdicts.values() if verdict.verdict is not Word.UNDECIDED]
    assert len(decided) > 2 and all(effect_cells(verdict)[0] in shown for verdict in decided)


@every_case("demo", RUNS)
def test_no_interval_before_there_are_groups_enough_for_one(demo: str) -> None:
    """An axis went from `1000000 × slower` to `faster 10000 ×` at three groups."""
    play = Playback(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    for second in range(int(play.end)):
        play.seek(float(second))
        for load, found in pairs_of(play.session):
            for one in found:
                taken = [e.groups for e in play.session.estimates.values() if e.workload == load.id]
                if one.verdict is None and one.bar is not None and not one.words.endswith("decided"):
                    assert max(taken) >= load.min_groups, second
        assert not re.search(r"[1-9]0000", words(forest_lines(play.session, 76, 12))), second


def test_one_pair_is_said_once_and_in_the_words_of_its_verdict() -> None:
    """`too early to say` stood over `no material difference`, for one load at one moment."""
    session = at("storage", 137.0)
    assert len(session.verdicts) > 3
    for workload, _, _, _ in session.verdicts:
        (one,) = list_standings(session, workload)
        assert one.verdict is not None and one.words == effect_cells(one.verdict)[0]


@every_case("width", [58, 78, 118, 198])
@every_case("demo", ["storage", "rpfilter", "iosched"])
def test_a_plot_of_ratios_always_says_which_way_is_slower(demo: str, width: int) -> None:
    session = at(demo, {"storage": 60.0, "rpfilter": 12.0, "iosched": 300.0}[demo])
    chosen = PlotSubject(session.workload, leading_metric(session, session.workload)[0])
    found = pair_ratios(session, *chosen)
    title, *_, foot = group_plot_lines(session, chosen.workload, found, chosen.metric, width, 12)
    assert words([title]).count(found[0].baseline) == 1 and ("…" not in words([title]) or width == 58)
    assert WAY in words([foot]) and "group" in words([foot])


@pytest.mark.parametrize(
    ("demo", "second", "name"), [("fstrim", 100.0, "before anything"), ("workload", 50.0, "disk")]
)
def test_the_sides_of_a_plot_are_named_whole_and_their_values_have_units(
    demo: str, second: float, name: str
) -> None:
    session = at(demo, second)
    head = words(plot_lines(session, 78, 12, session.workload)[:2])
    assert name in head and "…" not in head
    assert re.search(r"[0-9] (k )?(IOPS|s)\b", head)


@every_case("top", [1.0, 1.5, 14.0, 15.0, 28.0, 45.0, 70.0, 990.0, 14_200.0, 7.2e6])
@every_case("most", [3, 5])
def test_an_axis_is_labelled_with_what_stands_there(top: float, most: int) -> None:
    """11.25 was labelled 11.2, and 3.75 is nobody's idea of a step."""
    ticks = _axis_ticks(nice_axis([0.0, top]), most)
    assert 3 <= len(ticks) <= 6
    for tick in ticks:
        label = units.format_prefixed(tick).split()
        factor = {"k": 1e3, "M": 1e6}.get(label[1] if len(label) > 1 else "", 1.0)
        assert float(label[0]) * factor == pytest.approx(tick)
        assert len(label[0].replace(".", "").strip("0")) <= 2


def test_waiting_is_no_warning_while_we_load_the_disk_ourselves() -> None:
    loading = at("storage", 40.0)
    line = [span for row in pulse_lines(loading, 198) for span in row]
    said = f"{loading.pulses[-1].psi_io:.0%}".replace("%", " %")
    assert (said, "text") in line and "busy" in words([line])
    watched = at("dstate", 15.0)
    pulse = watched.pulses[-1]
    watched.pulses[-1] = type(pulse)(t=pulse.t, psi_io=0.63, cpu=0.1, load1=1.0)
    assert ("63 %", "warning") in [span for row in pulse_lines(watched, 198) for span in row]


def test_a_trim_is_done_and_not_kept() -> None:
    said = words(remark_lines(at("fstrim", 100.0), 120, 5))
    assert "done, cannot be undone: trim /mnt/image" in said and "kept" not in said


def test_a_figures_name_is_whole_where_there_is_room() -> None:
    said = words(figure_lines(at("numa", 30.0), 118, 11)[1])
    assert "SHA-256" in said and "…" not in said


async def test_a_plan_on_a_broad_screen_has_its_steps_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(monkeypatch, "storage")
    async with opened(tmp_path, triage="triage", size="huge") as (app, pilot):
        app.open_plan("storage")
        await ready(app, pilot)
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


async def test_the_help_has_the_screens_own_keys_first_and_the_words(tmp_path: Path) -> None:
    async with opened(tmp_path, triage="triage") as (app, pilot):
        await keys(pilot, "question_mark")
        shown = grid(app)
        assert shown.index("recordings") < shown.index("WORDS") and "page up" not in shown
        for term, said in list(terms().items())[:5]:
            assert f"{term} " in shown and said in shown  # whole, at 80 cells
        await keys(pilot, "tab", "end")
        assert list(terms().values())[-1] in grid(app) and "Enter" not in grid(app).splitlines()[-1]
        await keys(pilot, "escape", "ctrl+p")
        assert "WORDS" not in grid(app)


async def test_a_finding_of_a_run_under_way_has_its_title(tmp_path: Path) -> None:
    """Also where it is the answer above: `why: dd (123): 3 s` alone did not tell what of."""
    feed = RunFeed(store.resolve_recording("demo:dstate"))
    feed.playback.seek(15.0)
    async with opened(tmp_path, run=feed, size="wide") as (app, pilot):
        assert "2 tasks wait for" in grid(app) and "why" not in grid(app)
        await keys(pilot, "Z")
        shown = grid(app)
        assert shown.count("2 tasks wait for") >= 2 and re.search(r"dd \(\d+\)", shown)
