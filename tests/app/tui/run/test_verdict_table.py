"""The verdict's table, the plot of its groups and the live outlook: what they say is what the recording holds."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import msgspec
import pytest

from app.recordings import store
from app.recordings.progress import find_next_analysis, share_done, time_left
from app.recordings.reader import load, read_events
from app.recordings.session import RunSession
from app.report.figures.interval_chart import LogScale, bar_line
from app.terminal.lines import cell_width
from app.tui.children.feed import RunFeed
from app.tui.screens.groups import GroupsScreen
from app.tui.screens.verdict import VerdictScreen
from app.tui.widgets.answer import headline_lines, trust_lines
from app.tui.widgets.home.findings_panel import _load_titles, _subject_words
from app.tui.widgets.measuring.block_plot import plot_lines
from app.tui.widgets.measuring.group_plot import PlotSubject, group_plot_lines, pair_ratios
from app.tui.widgets.measuring.standing import list_standings
from app.tui.widgets.on_top import on_top_lines
from app.tui.widgets.verdict_list import (
    ColumnWidths,
    VerdictList,
    effect_of,
    lay_out_columns,
    list_effects,
    name_cell,
    shown_values,
)
from probes import units
from scenarios.contract import events as ev
from scenarios.dstate.results import InD, StuckTask
from tests.every_case import every_case
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import feed, grid, keys, opened


@pytest.fixture(scope="module")
def storage() -> RunSession:
    return load(RECORDINGS / "storage-loop.jsonl")


def test_the_table_is_sorted_by_size_and_each_side_fits_its_effect(storage: RunSession) -> None:
    """The medians are of the groups that the verdict rests on: their ratio is the effect that stands beside them."""
    found = list_effects(storage)
    judged = [e for e in found if e.measured and e.verdict is not None and not e.verdict.control]
    decided = [e for e in judged if e.role in ("critical", "ok")]
    sizes = [abs(math.log(e.ratio or 1)) for e in decided]
    assert len(decided) > 3 and sizes == sorted(sizes, reverse=True)
    assert found[-1].verdict is not None and found[-1].verdict.control
    iops = [e for e in decided if e.right.unit == "k IOPS"]
    assert len(iops) == 3
    for entry in iops:
        left, right = (float(side.number) for side in (entry.left, entry.right))
        assert entry.ci95 is not None and entry.ci95[0] <= right / left <= entry.ci95[1]


@every_case("demo", ["demo:storage", "demo:rpfilter", "demo:iosched"])
@every_case("width", [58, 76, 96, 130, 200])
def test_no_width_cuts_the_effects_words(demo: str, width: int) -> None:
    found = list_effects(load(store.resolve_recording(demo)))
    at = lay_out_columns(found, width)
    whole = at.name + sum(
        2 + c for c in (at.left.total_cells, at.right.total_cells, at.bar, at.size, at.interval) if c
    )
    assert whole <= width
    wide = width >= 96
    assert at.size == max(len(effect_of(e, wide=wide)) for e in found if e.measured)
    assert not wide or all(effect_of(e, wide=wide) == e.size for e in found)


@every_case("demo", [d for d in store.list_demos() if d != "demo:trend"])
@every_case("width", [78, 118])
def test_no_unit_is_cut(demo: str, width: int) -> None:
    found = list_effects(load(store.resolve_recording(demo)))
    at: ColumnWidths = lay_out_columns(found, width)
    for entry in found:
        for value, column in zip(
            shown_values(entry, wide=width >= 96, shares_unit=at.shares_unit),
            (at.left, at.right),
            strict=True,
        ):
            assert cell_width([(value.unit, "dim")]) <= column.unit


@every_case("width", [78, 118, 160])
@every_case("demo", ["storage", "numa", "iosched", "rpfilter"])
def test_no_two_rows_look_alike(demo: str, width: int) -> None:
    found = list_effects(load(store.resolve_recording(f"demo:{demo}")))
    at = lay_out_columns(found, width)
    shown = ["".join(part for part, _ in name_cell(e.name, at)) for e in found]
    assert len(set(shown)) == len(shown)


def test_the_margin_shines_through_an_interval_that_reaches_into_it() -> None:
    scale = LogScale(0.5, 2.0)
    line = bar_line(1.0, (0.9, 1.2), 61, scale, margin=0.05)
    roles = {role for _, role in line}
    assert "strong@band" in roles and "strong" in roles
    drawn = "".join(part for part, _ in line)
    assert "┄" in drawn and "─" in drawn
    beyond = bar_line(0.7, (0.65, 0.75), 61, scale, margin=0.05)
    assert "strong@band" not in {role for _, role in beyond} and "░" in "".join(p for p, _ in beyond)


@pytest.mark.parametrize("size", [(60, 8), (100, 30)])
def test_groups_are_drawn_with_the_margin_as_a_band_and_units_on_both_axes(
    storage: RunSession, size: tuple[int, int]
) -> None:
    chosen = PlotSubject("fsync-4k-qd1", "IOPS", ("A", "B"))
    found = pair_ratios(storage, *chosen)
    assert [len(c.values) for c in found] == [48] and found[0].counted == 12
    lines = group_plot_lines(storage, chosen.workload, found, chosen.metric, *size)
    assert len(lines) == size[1] and all(cell_width(line) <= size[0] for line in lines)
    shown = "\n".join("".join(part for part, _ in line) for line in lines)
    assert "1 ×┤" in shown and " group" in shown and "synced write 4k QD1" in shown
    marks = [(part, role) for line in lines[1:-2] for part, role in line if set(part) & set("▀▄█")]
    assert {role for _, role in marks} <= {"b", "dim", "b@band", "dim@band"}
    assert any(role == "dim" for _, role in marks)  # what came after the decision
    assert any(role == "shade@band" for line in lines for _, role in line)


def test_a_red_sign_stands_first_and_in_the_headline(storage: RunSession) -> None:
    session = load(RECORDINGS / "storage-loop.jsonl")
    session.groups = {
        name: [
            ev.Group(t=g.t, workload=name, index=g.index, order=g.order, disturbed="rsync") for g in groups
        ]
        for name, groups in session.groups.items()
    }
    trust = trust_lines(session, 200)
    assert trust[0][0][1] == "critical" and "disturbed" in trust[0][0][0]
    words = " ".join("".join(p for p, _ in line) for line in headline_lines(session, 200))
    assert "Do not trust this run" in words


def test_time_left_is_of_the_whole_run_and_falls(storage: RunSession) -> None:
    one = feed("storage", 10.0)
    first = time_left(one.session)
    one.playback.seek(40.0)
    second, share = time_left(one.session), share_done(one.session)
    assert first is not None and second is not None and second < first
    assert share is not None and 0 < share < 1
    one.playback.seek_end()
    assert time_left(one.session) is None and time_left(RunSession()) is None


def test_the_next_look_is_a_planned_one_and_decides_only_beyond_the_margin() -> None:
    session = RunSession()
    for n in range(4):
        session.apply(ev.Group(t=2.0 * (n + 1), workload="w", index=n, order="ABBA"))

    def estimate(low: float, high: float) -> ev.RunningEstimate:
        return ev.RunningEstimate(
            t=8.0, workload="w", metric="IOPS", baseline="A", variant="B", groups=4, ratio=(low + high) / 2,
            ci95=(low, high), planned_groups=30,
        )  # fmt: skip

    clear = find_next_analysis(session, estimate(0.7, 0.8), 0.05)
    assert clear is not None and clear.groups == 6 and clear.decides and clear.seconds > 0
    told = find_next_analysis(session, msgspec.structs.replace(estimate(0.7, 0.8), next_look=8), 0.05)
    assert told is not None and told.groups == 8  # of places, which the planned groups alone do not tell
    vague = find_next_analysis(session, estimate(0.8, 1.1), 0.05)
    assert vague is not None and not vague.decides


def test_stuck_tasks_stand_longest_first_and_their_seconds_go_on() -> None:
    session = RunSession()
    tasks = (
        StuckTask(
            now=True, pid=7, tid=7, comm="dd", seconds=3.0, wchan="io_schedule", cause="disk", subject="sda",
            where="/mnt (sda)",
        ),
        StuckTask(
            now=False, pid=8, tid=8, comm="[b]touch\x1b[2J", seconds=9.0, wchan=None, cause="frozen", subject="",
            where="",
        ),
    )  # fmt: skip
    session.apply(InD(t=10.0, value=tasks))
    session.apply(ev.Note(t=22.0, text="later"))
    shown = ["".join(part for part, _ in line) for line in on_top_lines(session, 100, 10)]
    assert "1 now, 2 in all" in shown[0]
    assert "dd" in shown[2] and "15 s" in shown[2] and "/mnt (sda)" in shown[2]
    assert "9 s" in shown[3] and "\x1b" not in shown[3]
    assert on_top_lines(RunSession(), 100, 10) == []


async def test_a_row_is_chosen_with_j_and_k_and_enter_opens_its_groups(tmp_path: Path) -> None:
    async with opened(tmp_path, run=feed("storage"), size="wide") as (app, pilot):
        table = app.screen.query_one(VerdictList)
        first = table.selected_key
        await keys(pilot, "j")
        second = table.selected_key
        assert table.has_focus and second != first
        await keys(pilot, "k", "j", "enter")
        assert isinstance(app.screen, GroupsScreen)
        assert second.startswith(app.screen.shown_verdict.workload)
        await keys(pilot, "w")
        assert app.raw_values
        await keys(pilot, "w", "escape")
        assert isinstance(app.screen, VerdictScreen) and not app.raw_values
        assert "Enter: its groups" in grid(app)


def at(path: Path, seconds: float) -> RunSession:
    run = RunFeed(path)
    run.playback.seek(seconds)
    return run.session


def test_estimates_of_one_pair_are_told_apart_by_their_metric() -> None:
    path = store.resolve_recording("demo:workload")
    first = min(event.t for event in read_events(path) if isinstance(event, ev.RunVerdict))
    found = list_standings(at(path, first - 0.1), "command")
    assert len(found) > 1 and len({e.name for e in found}) == len(found)


@every_case("demo", store.list_demos())
def test_no_finding_is_about_an_id_of_ours(demo: str) -> None:
    session = load(store.resolve_recording(demo))
    ids = {w.id for w in session.plan.workloads if w.id != w.title} if session.plan else set()
    assert not ids & {_subject_words(f.subject, _load_titles(session)) for f in session.findings.values()}


def test_values_beside_a_plot_are_those_of_a_load_under_way(storage: RunSession) -> None:
    """Afterwards the table has one figure for each side, and the last block's would be another."""
    last = storage.blocks["cpu"][-1].values
    legend = "".join(part for part, _ in plot_lines(storage, 200, 20, "cpu")[0])
    assert not any(units.format_prefixed(value).strip() in legend for value in last.values())


async def test_a_wide_screen_shows_the_values_under_the_ratios(tmp_path: Path) -> None:
    run = RunFeed(RECORDINGS / "storage-loop.jsonl")
    run.playback.seek_end()
    async with opened(tmp_path, run=run, size="huge") as (app, _):
        assert app.screen.query_one("#values").size.height > 10


def test_the_time_left_of_the_demos_is_near_the_truth() -> None:
    """`86 %, at most 61 s` stood at half of a run; 51 % of its demo's seconds were off by half, 35 % over all demos."""
    off = []
    for name in store.list_demos():
        run = RunFeed(store.resolve_recording(name))
        end, wrong = run.playback.end, []
        for part in range(4, 20):
            run.playback.seek(end * part / 20)
            if (left := time_left(run.session)) is not None:
                wrong.append(abs(left - (end - run.playback.time)) / (end - run.playback.time))
        off += [statistics.median(wrong)] if wrong else []
    assert len(off) > 8 and statistics.median(off) <= 0.25


def test_a_thousand_belongs_to_its_number_where_a_unit_stands_once() -> None:
    """`4.81` stood beside `4.83 k ops/s`, and `3.19 k IOPS` above it."""
    for demo in ("storage", "null", "iosched"):
        found = [e for e in list_effects(load(store.resolve_recording(f"demo:{demo}"))) if e.measured]
        at = lay_out_columns(found, 78)
        for entry in found:
            left, right = shown_values(entry, wide=False, shares_unit=at.shares_unit)
            assert left.unit[:2].strip() == right.unit[:2].strip() or not right.unit.startswith("k ")
            assert at.shares_unit or not right.unit or left.unit


def test_an_axis_far_from_one_is_broken_and_has_the_interval_as_a_band() -> None:
    """A dozen dots lay in the lowest eighth of the plot, because 1 had to be seen."""
    session = load(store.resolve_recording("demo:storage"))
    verdict = next(v for v in session.verdicts.values() if v.workload == "read-1m-qd8")
    pairs = pair_ratios(session, verdict.workload, verdict.metric)
    _, *lines = group_plot_lines(session, verdict.workload, pairs, verdict.metric, 80, 24)
    signs = [{sign for words, role in line if role != "dim" for sign in words} for line in lines[:21]]
    gaps = [n for n, line in enumerate(lines[:21]) if any("≈" in words for words, _ in line)]
    assert gaps == [1] and "░" in signs[0]
    band = [n for n, drawn in enumerate(signs) if "▒" in drawn]
    (estimate,) = (n for n, drawn in enumerate(signs) if "─" in drawn)
    assert band[0] < estimate < band[-1]
    dots = [n for n, drawn in enumerate(signs) if drawn & set("▀▄█")]
    assert len(dots) >= 6  # spread over the plot
