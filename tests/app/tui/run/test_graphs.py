"""The time series of a run: scale, axis, what is drawn of which run, and no screen that repeats the plan."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.lines import Line
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.widgets.measuring.graphs import (
    Graph,
    dot_rows,
    draw_graphs,
    host_graphs,
    run_graph_lines,
    scale_for,
)
from hostdx.app.tui.widgets.measuring.load_cards import draw_card, level_line_rows
from hostdx.app.tui.widgets.measuring.standing import pairs_of
from hostdx.app.tui.widgets.word_list import read_words
from hostdx.scenarios.contract import events as ev
from tests.fakes.terminals.screen import grid, run_app, settle
from tests.needs import one_always, some_always

MAX_FREE_ROWS = 8
DEMOS = (
    "dstate",
    "fstrim",
    "numa",
    "rpfilter",
    "kernel",
    "workload",
    "storage",
    "box",
    "fullstack",
    "null",
    "iosched",
)


def texts_of(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines]


def lit_cells(rows: list[str]) -> set[tuple[int, int]]:
    return {(y, x) for y, row in enumerate(rows) for x, sign in enumerate(row) if sign != " "}


def feed_at(demo: str, share: float) -> RunFeed:
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    run.playback.seek(run.playback.end * share)
    return run


def test_the_host_has_the_whole_run_and_not_its_last_seconds() -> None:
    session = feed_at("iosched", 1.0).session
    points = host_graphs(session)[0].points
    assert points[-1][0] - points[0][0] > 0.9 * session.time


def test_a_scale_is_the_datas_own_and_noise_stays_flat() -> None:
    steep = scale_for([Graph("x", "a", "B/s", [(0, 300.0), (1, 10_000.0)])])
    assert steep == (300.0, 10_000.0)
    flat = scale_for([Graph("x", "a", "B/s", [(0, 1000.0), (1, 1002.0)])])
    assert flat.high - flat.low == pytest.approx(100.1)
    idle = scale_for([Graph("cpu", "a", "share", [(0, 0.0), (1, 0.01)])])
    assert idle.low == 0.0 and idle.high == pytest.approx(0.05)  # 1 % of the CPUs is no mountain
    assert scale_for([Graph("x", "a", "B", [(0, 0.0)])]) == (0.0, 1.0)
    assert scale_for([Graph("x", "a", "B", [(0, float("nan")), (1, 5.0)])]).high == pytest.approx(5.25)


def test_a_line_goes_from_corner_to_corner_and_has_no_hole() -> None:
    rows = dot_rows(
        [(0.0, 0.0), (9.99, 1.0)], scale_for([Graph("x", "a", "", [(0, 0.0), (9, 1.0)])]), 10.0, 20, 4
    )
    cells = lit_cells(rows)
    assert (3, 0) in cells and (0, 19) in cells
    assert {x for _, x in cells} == set(range(20))
    assert len(cells) < 40  # a line, no area


def test_a_value_that_is_none_leaves_a_gap() -> None:
    scale = scale_for([Graph("x", "a", "", [(0, 0.0), (9, 1.0)])])
    rows = dot_rows([(0.0, 0.5), (2.0, 0.5), (4.0, float("nan")), (8.0, 0.5), (9.9, 0.5)], scale, 10.0, 20, 1)
    assert rows[0][0] != " " and rows[0][10] == " " and rows[0][19] != " "


def test_graphs_of_one_group_share_a_scale_and_zeros_are_left_out() -> None:
    fast, slow = (Graph(n, "a", "B/s", [(0, v), (9, v)], "disk") for n, v in (("fast", 1e9), ("slow", 1e6)))
    lines = texts_of(draw_graphs([fast, slow, Graph("none", "a", "B/s", [(0, 0.0)])], 9.0, 80, 9))
    assert sum("1 GB/s" in line and "┤" in line for line in lines) == 2 and not any(
        "none" in line for line in lines
    )
    led = texts_of(draw_graphs([Graph("none", "a", "B/s", [(0, 0.0)], leads=True)], 9.0, 80, 9))
    assert any("none" in line for line in led)
    assert draw_graphs([fast], 9.0, 80, 2) == []  # less than a graph with its axis


def test_a_checkup_draws_the_part_under_way() -> None:
    session = RunSession()
    began = load_recording(store.resolve_recording("demo:null")).began
    assert began is not None
    session.apply(replace(began, scenario="checkup"))
    session.apply(ev.RunStep(t=1.0, id="null", title="null", state="done"))
    session.apply(ev.RunStep(t=2.0, id="storage", title="storage", state="started"))
    for t in (3.0, 4.0):
        session.apply(ev.SampleTaken(t=t, series="null: reads", variant="", block=0, value=t, unit="IOPS"))
        session.apply(ev.SampleTaken(t=t, series="storage: reads", variant="", block=0, value=t, unit="IOPS"))
    lines = "\n".join(texts_of(run_graph_lines(session, 100, 20)))
    assert "storage: reads" in lines and "null: reads" not in lines


def test_levels_of_several_rows_are_a_line_and_no_slab() -> None:
    rows = level_line_rows([0.5] * 40, 40, 3)
    assert len(rows) == 3 and len(lit_cells(rows)) <= 40  # 120 cells were full
    session = feed_at("rpfilter", 0.6).session
    load, standings = pairs_of(session)[0]
    card = "\n".join(texts_of(draw_card(session, load, standings, 118, 26)))
    assert card.count("↑") == card.count("↓") == 3 and "████" not in card


@pytest.mark.parametrize("demo", some_always(DEMOS[:3], DEMOS))
@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_every_live_view_earns_its_screen(demo: str, size: str, tmp_path: Path) -> None:
    """Forty to seventy of a hundred rows were the question, the plan and a glossary."""
    run = feed_at(demo, 0.2)
    async with run_app(tmp_path, run=run, size=size) as (app, pilot):
        for share in (0.2, 0.6, 0.95):
            run.playback.seek(run.playback.end * share)
            app.show_run("live")
            await settle(pilot)
            rows = grid(app)
            free = [row for row in rows.splitlines() if not row.strip(" │")]
            assert len(free) <= MAX_FREE_ROWS, (share, len(free))
            plan = run.session.plan
            assert plan is not None and not (plan.why and plan.why[:40] in rows)
            assert not any(f"{name}  " in rows and means[:30] in rows for name, means in read_words().items())
