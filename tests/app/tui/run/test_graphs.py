"""Graphs, panels of a load and figures during a run."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.next_steps import next_steps_for
from hostdx.app.terminal.lines import Line, link_in_style, process_link, workload_link
from hostdx.app.terminal.process import process_identity
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.groups import GroupsScreen
from hostdx.app.tui.screens.live import LiveScreen, has_comparison
from hostdx.app.tui.screens.load import LoadScreen, load_lines, raw_lines
from hostdx.app.tui.widgets.home.live_line import pulse_strip
from hostdx.app.tui.widgets.measuring.graphs import (
    Graph,
    dot_rows,
    draw_graphs,
    host_graphs,
    run_graph_lines,
    scale_for,
)
from hostdx.app.tui.widgets.measuring.host_panel import HostPanel
from hostdx.app.tui.widgets.measuring.loads_panel import LoadsPanel, figure_lines
from hostdx.app.tui.widgets.measuring.variants import variant_label
from hostdx.app.tui.widgets.word_list import read_words
from hostdx.scenarios.contention.results import ScalingCurve, ScalingCurves, WorkersLevel
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from hostdx.scenarios.contract.events import Guard
from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.contract.plan import Plan, Variant, Workload
from tests.every_case import every_case
from tests.fakes.terminals.screen import grid, keys, run_app, settle
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


def plain_lines_of(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line).rstrip() for line in lines]


def sample(series: str, value: float, unit: str, variant: str = "", block: int = 0) -> ev.SampleTaken:
    return ev.SampleTaken(t=float(block), series=series, variant=variant, block=block, value=value, unit=unit)


def test_a_plots_title_has_a_whole_name_instead_of_a_torn_label() -> None:
    session = load_recording(store.resolve_recording("demo:numa"))
    assert variant_label(session, "far") == "far" and variant_label(session, "small") == "small pages"
    assert figure_lines(RunSession(), 78, 11) == ([], [])


def test_a_watchs_figures_have_their_course_and_what_has_no_room_is_counted() -> None:
    session = RunSession()
    for series in range(9):
        session.apply(sample(f"figure {series}", 0.25, "share", block=series))
    lines = plain_lines_of(figure_lines(session, 78, 5)[1])
    assert len(lines) == 5 and "25 %" in lines[0] and lines[-1] == "and 5 more in the report"


def scaling_session(*values: ScalingCurve) -> RunSession:
    """A run of `contention` under way."""
    session = begin_session("contention")
    loads = tuple(
        Workload(id=load, title="CPU only", metrics=(), control=True) for load in ("cpu", "create", "sockets")
    )
    plan = Plan(
        scenario="contention",
        title="t",
        question="q",
        workloads=loads,
        variants=(Variant(id="A", label="xfs"), Variant(id="B", label="ext4")),
    )
    session.apply(ev.Planned(t=0.0, plan=plan))
    if values:
        session.apply(ScalingCurves(t=7.0, value=values))
    return session


@every_case("state", ["begun", "under way", "ended"])
def test_what_compares_no_sides_shows_its_own_figures_and_no_effect(state: str) -> None:
    """All its loads were `to come` until the end, and `not measured` from then on, beside a chart of no effect."""
    level = WorkersLevel(workers=1, rate=5.4e3, ci95=None, queued=0.0, system_share=0.1, switches=0.0)
    curve = ScalingCurve(load="create", title="create", side="xfs", serial=False, groups=1, levels=(level,), steps=(),
                  scales_to=None, stops_after=None, usl=None, waits=())  # fmt: skip
    session = scaling_session(*([curve] if state != "begun" else []))
    if state == "ended":
        session.apply(ev.RunEnded(t=14.0, status="done"))
    text = "\n".join(plain_lines_of(LoadsPanel(lambda: session).draw_session(session, 118, 20)))
    assert ("5.4 k" in text) == (state != "begun")
    assert "not measured" not in text and "waiting" not in text and not has_comparison(session)


def begin_session(scenario: str) -> RunSession:
    session = RunSession()
    session.apply(ev.Began(t=0.0, schema=ev.SCHEMA, version="1", scenario=scenario, command=[], host="h", wall="",
                           seed=1, pid=1, pid_start=1, boot_id="", options={}))  # fmt: skip
    return session


def stopped_run(*findings: Finding) -> RunSession:
    session = begin_session("dstate")
    for finding in findings:
        session.apply(ev.Found(t=1.0, finding=finding))
    session.apply(ev.RunEnded(t=14.0, status="interrupted", reason="stopped by request"))
    return session


def test_a_watch_that_was_stopped_still_says_what_it_found_and_what_to_do() -> None:
    frozen = Finding(
        id="dstate.frozen",
        severity="warning",
        confidence="measured",
        title="touch waits for /mnt to be thawed",
        remedy=(Remedy(title="thaw it", commands=("fsfreeze -u /mnt",)),),
    )
    answer = find_headline_answer(stopped_run(frozen))
    assert frozen.title in answer.sentence and answer.weight == "warning"
    assert [step.command for step in next_steps_for(stopped_run(frozen))] == ["fsfreeze -u /mnt"]
    assert (find_headline_answer(stopped_run()).weight, find_headline_answer(stopped_run()).finding) == (
        "warning",
        None,
    )
    assert [step.command for step in next_steps_for(stopped_run())] == ["hostdx run dstate"]


def test_the_line_of_now_has_room_for_all_that_a_busy_host_says() -> None:
    pulse = ev.Pulse(
        t=0.0, cpu=1.0, load1=15.5, psi_cpu=0.93, psi_io=0.37, psi_memory=0.0, steal=0.0,
        devices={"vda": (1.0e8, 1.05e8, 0.56)},
    )  # fmt: skip
    line = plain_lines_of([pulse_strip([pulse], 74)])[0]
    assert len(line) <= 74 and line.endswith("disk 37 %")


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_enter_on_the_live_view_opens_the_load_under_way_and_esc_returns(
    size: str, tmp_path: Path
) -> None:
    run = feed_at("storage", 0.6)
    async with run_app(tmp_path, run=run, size=size) as (app, pilot):
        await keys(pilot, "enter")
        screen = app.screen
        assert isinstance(screen, LoadScreen) and screen.workload == run.session.workload
        rows = grid(app)
        assert "p50" in rows and "┤" in rows and all(name in rows for name in ("A  ", "B  "))
        first = screen.workload
        await keys(pilot, "k")
        assert screen.workload != first and screen.workload in run.session.blocks
        await keys(pilot, "escape")
        await settle(pilot)
        assert isinstance(app.screen, LiveScreen)


async def test_before_the_first_block_there_is_nothing_to_open(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=feed_at("storage", 0.05), size="wide") as (app, pilot):
        await keys(pilot, "enter")
        assert isinstance(app.screen, LiveScreen)


async def test_a_verdicts_groups_lead_to_the_whole_load(tmp_path: Path) -> None:
    run = feed_at("storage", 1.0)
    run.playback.seek_end()
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        await keys(pilot, "enter")
        groups = app.screen
        assert isinstance(groups, GroupsScreen)
        await keys(pilot, "enter")
        assert isinstance(app.screen, LoadScreen) and app.screen.workload == groups.shown_verdict.workload
        await keys(pilot, "escape")
        assert app.screen is groups


def test_the_raw_values_are_counted_and_the_newest_stands_first() -> None:
    session = feed_at("iosched", 0.6).session
    workload = next(iter(session.blocks))
    blocks = [b for b in session.blocks[workload] if b.variant == "bfq"]
    line = "".join(part for part, _ in raw_lines(session, workload, 100)[1 if blocks else 0])
    assert f"{len(blocks)} values" in "".join(
        "".join(p for p, _ in row) for row in raw_lines(session, workload, 100)
    )
    assert "," in line
    assert (
        len(load_lines(session, workload, 100, 20)) <= 20
        and len(load_lines(session, "no such", 100, 20)) == 1
    )


async def test_a_card_is_opened_by_a_click_and_by_tab_and_enter(tmp_path: Path) -> None:
    run = feed_at("storage", 0.6)
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        panel = app.screen.query_one(LoadsPanel)
        other = next(target for target in panel.targets if target != workload_link(run.session.workload))
        y = next(n for n, line in enumerate(panel._raw) if other in {link_in_style(role) for _, role in line})
        x = [link_in_style(role) for part, role in panel._raw[y] for _ in part].index(other)
        await pilot.click(LoadsPanel, offset=(x + 5, y + 2))
        await settle(pilot)
        assert isinstance(app.screen, LoadScreen) and workload_link(app.screen.workload) == other
        await keys(pilot, "escape", "tab", "up", "up", "up", "up", "up", "up", "enter")
        assert isinstance(app.screen, LoadScreen) and workload_link(app.screen.workload) == panel.targets[0]


ME = process_identity()
WATCHED = ("cpuwatch", ("--pid", str(ME.pid), "--started", str(ME.start)))


@pytest.mark.parametrize(
    ("boot", "run_began_ticks", "pid", "argv"),
    [
        (ME.boot_id, ME.start, ME.pid, [WATCHED]),
        (ME.boot_id, 1, ME.pid, []),  # the number belongs to a newer process
        (ME.boot_id, ME.start, 1 << 30, []),  # no such process any more
        ("another", ME.start, ME.pid, []),
    ],
    ids=("the same", "a newer one", "ended", "another boot"),
)
async def test_a_process_that_disturbed_is_watched_from_its_row(
    boot: str,
    run_began_ticks: int,
    pid: int,
    argv: list[tuple[str, Sequence[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On this boot its plan opens with the process filled in, if it is the one that the run saw."""
    culprit = InterferenceCulprit(name="rsync", pid=pid, rate=1.0, unit="CPUs")
    run = feed_at("storage", 0.6)
    session = run.session
    assert session.began is not None
    session.began = msgspec.structs.replace(session.began, boot_id=boot, pid_start=run_began_ticks)
    session.guards.append(Guard(t=1e9, kind="cpu", disturbance=Disturbance("cpu", culprit, 0.5)))
    async with run_app(tmp_path, run=run, size="wide") as (app, _):
        assert process_link(pid) in app.screen.query_one(HostPanel).targets
        calls: list[tuple[str, Sequence[str]]] = []
        monkeypatch.setattr(app, "open_plan", lambda scenario, options: calls.append((scenario, options)))
        app.open_link(process_link(pid))
        assert calls == argv
