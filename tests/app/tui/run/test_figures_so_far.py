"""What stands on the live screen where no load is under way, and the words of an axis, a legend and a list's head."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.recordings import store
from app.recordings.playback import Playback, mark_text
from app.recordings.reader import load
from app.recordings.session import RunSession
from app.report.figures.interval_chart import LogScale, axis_line
from app.report.headline import find_answer
from app.report.next_steps import next_steps_for
from app.terminal.lines import Line
from app.tui.children.feed import RunFeed
from app.tui.screens.live import has_comparison
from app.tui.widgets.answer import Next
from app.tui.widgets.home.live_line import live_line
from app.tui.widgets.measuring.block_plot import variant_label
from app.tui.widgets.measuring.figures_table import figure_lines
from app.tui.widgets.measuring.loads_panel import LoadsPanel
from app.tui.widgets.measuring.standing import pairs_of, planned_words
from app.tui.widgets.verdict_list import lay_out_columns, list_effects
from scenarios.contention.results import ScalingCurve, ScalingCurves, WorkersLevel
from scenarios.contract import events as ev
from scenarios.contract.finding import Finding, Remedy
from scenarios.contract.plan import Plan, Variant, Workload
from tests.every_case import every_case
from tests.fakes.terminals.screen import grid, keys, opened
from tests.needs import one_always

both = pytest.mark.parametrize("size", one_always("narrow", "wide"))


def words(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line).rstrip() for line in lines]


def sample(series: str, value: float, unit: str, variant: str = "", block: int = 0) -> ev.SampleTaken:
    return ev.SampleTaken(t=float(block), series=series, variant=variant, block=block, value=value, unit=unit)


def test_a_surveys_figures_stand_in_columns_with_the_median_of_their_rounds() -> None:
    session = RunSession()
    for block, rate in enumerate((90.0, 1370.0, 100.0)):
        session.apply(sample("integer", rate, "loops/s", "one core", block))
        session.apply(sample("integer", 2 * rate, "loops/s", "all cores", block))
        session.apply(sample("zlib", 2000.0 + block, "MB/s", "one core", block))
    note, lines = figure_lines(session, 78, 11)
    columns, integer, zlib = words(lines)
    assert words([note]) == ["median of 3 rounds"]
    assert columns.split() == ["one", "core", "all", "cores"]
    assert integer.split("  ")[0] == "integer" and "100 loops/s" in integer and "200 loops/s" in integer
    assert zlib.endswith("2 GB/s")  # never 2 kMB/s, and as the verdict's table says it


def test_figures_of_a_kind_stand_together_by_name_in_whatever_order_they_were_read() -> None:
    session = RunSession()
    read = (
        ("copy, 0 to 1", "MB/s"),
        ("latency, 1 to 1", "ns"),
        ("latency, 0 to 0", "ns"),
        ("copy, 0 to 0", "MB/s"),
    )
    for series, unit in read:
        session.apply(sample(series, 3.0, unit, "one core", 0))
    shown = [line.split("  ")[0] for line in words(figure_lines(session, 78, 11)[1])[1:]]
    assert shown == ["copy, 0 to 0", "copy, 0 to 1", "latency, 0 to 0", "latency, 1 to 1"]


def test_a_plots_title_has_a_whole_name_instead_of_a_torn_label() -> None:
    session = load(store.resolve_recording("demo:numa"))
    assert variant_label(session, "far") == "far" and variant_label(session, "small") == "small pages"
    assert figure_lines(RunSession(), 78, 11) == ([], [])


def test_a_watchs_figures_have_their_course_and_what_has_no_room_is_counted() -> None:
    session = RunSession()
    for series in range(9):
        session.apply(sample(f"figure {series}", 0.25, "share", block=series))
    lines = words(figure_lines(session, 78, 5)[1])
    assert len(lines) == 5 and "25 %" in lines[0] and lines[-1] == "and 5 more in the report"


@both
async def test_a_watch_that_saw_nothing_stuck_says_so_and_draws_no_other_series(
    size: str, tmp_path: Path
) -> None:
    """It showed a scatter of whichever series came last: the I/O pressure, under the question who is stuck."""
    run = RunFeed(store.resolve_recording("demo:dstate"))
    run.playback.seek(4.0)
    async with opened(tmp_path, run=run, size=size) as (app, pilot):
        assert "tasks in D" in grid(app) and "no task was stuck in D" in grid(app) and "psi" not in grid(app)
        run.playback.seek(20.0)
        app.show_run("live")
        await pilot.pause()
        assert "STUCK TASKS" in grid(app)


async def test_a_run_without_findings_is_not_said_to_be_reading_the_host(tmp_path: Path) -> None:
    run = RunFeed(store.resolve_recording("demo:fstrim"))
    run.playback.seek(60.0)
    async with opened(tmp_path, run=run, size="wide") as (app, _):
        assert not run.session.findings and "check" not in grid(app).partition("host")[2].partition("\n")[0]


@every_case("end", [1.15, 10.0, 1000.0, 1e6])
def test_an_axis_has_no_powers_of_ten(end: float) -> None:
    drawn = "".join(part for part, _ in axis_line(60, LogScale(1 / end, end)))
    assert "e+" not in drawn and f"{end:.10g} ×" in drawn


def test_a_legend_says_each_word_once() -> None:
    session = RunSession()
    variants = (("one", "one CPU"), ("A", "/scratch"), ("none", "no rule"), ("bfq", ""))
    plan = Plan(
        scenario="s", title="t", question="q", variants=tuple(Variant(id=i, label=w) for i, w in variants)
    )
    session.apply(ev.Planned(t=0.0, plan=plan))
    assert [variant_label(session, i, 30) for i, _ in variants] == [
        "one CPU",
        "A /scratch",
        "none (no rule)",
        "bfq",
    ]


def test_what_comes_next_in_a_replay_is_named_as_the_plan_names_it() -> None:
    load_ = Workload(id="fsync-4k-qd1", title="synced write 4k QD1", metrics=())
    plan = Plan(scenario="s", title="t", question="q", workloads=(load_,))
    verdict = ev.RunVerdict(t=1.0, workload=load_.id, metric="m", baseline="A", variant="B", verdict="slower")
    found = ev.Found(t=2.0, finding=Finding(id="dstate.frozen", severity="warning", title="it is frozen"))
    play = Playback([ev.Planned(t=0.0, plan=plan), verdict, found])
    play.seek(0.5)
    assert "synced write 4k QD1" in play.next_mark and "it is frozen" in mark_text(found)


def test_nothing_decided_is_never_a_green_headline() -> None:
    """`CPUs and memory: nothing found that slows them`, when no comparison could have seen a factor of 3.6."""
    for name, weight in (("numa", "notice"), ("null", "ok")):
        assert find_answer(load(store.resolve_recording(f"demo:{name}"))).weight == weight


def test_a_battery_names_its_kernel_in_the_headline() -> None:
    said = [
        find_answer(load(store.resolve_recording(f"demo:{n}"))).sentence
        for n in ("kernel-5-10", "kernel-6-1", "kernel")
    ]
    assert len({s.split(":")[0] for s in said}) == 3 and all(s.startswith("kernel ") for s in said)


def test_on_a_wide_screen_the_names_get_the_room_that_the_picture_does_not_need() -> None:
    found = list_effects(load(store.resolve_recording("demo:numa")))
    assert (
        lay_out_columns(found, 116).name > lay_out_columns(found, 100).name
        and lay_out_columns(found, 76).bar >= 8
    )


@both
async def test_what_to_do_stands_on_a_low_screen_too(size: str, tmp_path: Path) -> None:
    run = RunFeed(store.resolve_recording("demo:rpfilter"))
    run.playback.seek_end()
    async with opened(tmp_path, run=run, size=size) as (app, _):
        assert app.screen.query_one(Next).display and "nft -a list chain" in grid(app)


def scaling(*values: ScalingCurve) -> RunSession:
    """A run of `contention` under way."""
    session = began("contention")
    loads = tuple(
        Workload(id=one, title="CPU only", metrics=(), control=True) for one in ("cpu", "create", "sockets")
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
    session = scaling(*([curve] if state != "begun" else []))
    if state == "ended":
        session.apply(ev.RunEnded(t=14.0, status="done"))
    shown = "\n".join(words(LoadsPanel(lambda: session).draw_session(session, 118, 20)))
    assert ("5.4 k" in shown) == (state != "begun")
    assert "not measured" not in shown and "waiting" not in shown and not has_comparison(session)


@both
async def test_what_one_side_alone_was_measured_for_is_counted_in_blocks(size: str, tmp_path: Path) -> None:
    """Its ratio was said to have `0 of 4 groups`, once all of it was measured."""
    run = RunFeed(store.resolve_recording("demo:box"))
    run.playback.seek_end()
    alone = [load for load, found in pairs_of(run.session) if not found]
    assert alone and all(planned_words(run.session, load).endswith(" blocks") for load in alone)
    async with opened(tmp_path, run=run, size=size) as (app, pilot):
        await keys(pilot, "v")
        assert "0 of 4 groups" not in grid(app) and " blocks" in grid(app)


def began(scenario: str) -> RunSession:
    session = RunSession()
    session.apply(ev.Began(t=0.0, schema=ev.SCHEMA, version="1", scenario=scenario, command=[], host="h", wall="",
                           seed=1, pid=1, pid_start=1, boot_id="", options={}))  # fmt: skip
    return session


def stopped(*findings: Finding) -> RunSession:
    session = began("dstate")
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
    said = find_answer(stopped(frozen))
    assert frozen.title in said.sentence and said.weight == "warning"
    assert [step.command for step in next_steps_for(stopped(frozen))] == ["fsfreeze -u /mnt"]
    assert (find_answer(stopped()).weight, find_answer(stopped()).finding) == ("warning", None)
    assert [step.command for step in next_steps_for(stopped())] == ["hostdx run dstate"]


def test_no_command_is_advised_that_lacks_what_the_run_needs() -> None:
    """`hostdx run workload` alone ends in `name a command`."""
    session = stopped()
    assert session.began is not None
    session.began.options.update(cmd="make", variant=["a:", "b: X=1"])
    assert [step.command for step in next_steps_for(session)] == [""]


def test_the_line_of_now_has_room_for_all_that_a_busy_host_says() -> None:
    pulse = ev.Pulse(
        t=0.0, cpu=1.0, load1=15.5, psi_cpu=0.93, psi_io=0.37, psi_memory=0.0, steal=0.0,
        devices={"vda": (1.0e8, 1.05e8, 0.56)},
    )  # fmt: skip
    line = words([live_line(pulse, 2, 78)])[0]
    assert len(line) <= 78 and line.endswith("io 37 %")
