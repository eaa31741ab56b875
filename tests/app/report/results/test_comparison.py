"""A comparison and a timeline in a report."""

import random
from pathlib import Path

import pytest

from hostdx.app.report.forms import html, markdown
from hostdx.app.report.results.command_timeline import FIELDS
from hostdx.app.report.results.comparison import comparison_document, headline_text
from hostdx.app.report.results.comparison_doubts import smallest_called_ratios
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.command_timeline import InsideScreen
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.verdict import VerdictScreen
from hostdx.probes.imports.model import Better, ImportedMeasure, ImportResult
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.analysis.compare.effects import certain_log_difference, effects_between
from hostdx.scenarios.analysis.compare.run_summary import RunSummary
from hostdx.scenarios.analysis.compare.snapshot import summarise_import
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams.stories import write
from tests.fakes.streams.takes import boots, summary
from tests.fakes.terminals.screen import grid, keys, run_app

LOADS = [f"syscall-{n}" for n in range(8)]


def test_a_control_that_moved_is_said() -> None:
    rng = random.Random(1)
    a, b = boots(rng, LOADS, 3, "a", deviation=0.01), boots(rng, LOADS, 3, "b", deviation=0.01, syscall_1=0.5)
    for run in (*a, *b):
        run.loads.update({key: type(load)(load.title, load.metric, True) for key, load in run.loads.items()})
    assert "The control changed" in markdown.render_markdown(comparison_document(compare_recordings(a, b)))


def test_host_text_is_data_in_every_format() -> None:
    facts = {("kernel", "release"): "<script>alert(1)</script>`x`"}
    recordings = compare_recordings([summary({"a": 1.0})], [summary({"a": 1.0}, name="b", facts=facts)])
    assert "<script>" not in html.render_html(comparison_document(recordings))
    text = markdown.render_markdown(comparison_document(recordings))
    assert text.count("<script>") == text.count("\\<script>") > 0


def test_the_title_says_what_tells_the_sides_apart() -> None:
    old = {("kernel", "release"): "6.1.0", ("kernel", "parameters"): "none"}
    new = old | {("kernel", "parameters"): "mitigations=off"}
    recordings = compare_recordings(
        [summary({"x": 1.0}, facts=old)], [summary({"x": 1.0}, name="b", facts=new)]
    )
    assert comparison_document(recordings).lead[0] == "6.1.0, none (A) against 6.1.0, mitigations=off (B)"


def test_what_is_called_lies_beyond_what_two_runs_may_differ_by() -> None:
    """Of loads and of their means: whatever a single run of each side calls slower passes the limit that is told."""
    rates = {f"fsync-{n}": 1000.0 for n in range(4)} | {f"syscall-{n}": 1000.0 for n in range(4)}
    called = set()
    for factor in (0.95, 0.8, 0.6, 0.4, 0.1):
        a = summary(rates, within=1e-8)
        b = summary({load: rate * factor for load, rate in rates.items()}, name="b", boot="b", within=1e-8)
        result = compare_recordings([a], [b])
        limits = smallest_called_ratios(result)
        assert set(limits) == {"storage", "system calls"}
        for effect in (*result.effects, *result.groups):
            assert not effect.is_slower or effect.ratio < limits[effect.group]
            called.add((effect.loads > 1, effect.verdict))
    assert called == {(mean, word) for mean in (True, False) for word in ("slower", "inconclusive")}


def test_the_firmest_difference_is_the_clearest() -> None:
    wide, narrow = (
        effects_between(
            [summary({"syscall": 1000.0}, within=within)],
            [summary({"syscall": rate}, name="b", boot="b", within=within)],
            margin=0.05,
        )[0]
        for rate, within in ((600.0, 1e-2), (800.0, 1e-8))
    )
    assert wide.ratio < narrow.ratio
    assert 0 < certain_log_difference(wide) < certain_log_difference(narrow)


def test_a_change_of_memory_stands_in_the_headline() -> None:
    def make_summary(name: str, mib: float) -> RunSummary:
        figures: dict[Better, tuple[str, float, str]] = {
            "more": ("rate", 1000.0, "1/s"),
            "less": ("max pss", mib * 2**20, "B"),
        }
        measures = [
            ImportedMeasure(workload="other", metric=metric, value=value, unit=unit, better=better)
            for better, (metric, value, unit) in figures.items()
        ]
        return summarise_import(ImportResult(kind="prmon", tool="prmon", measures=tuple(measures)), name)

    text = headline_text(compare_recordings([make_summary("a", 977)], [make_summary("b", 586)]))
    assert "1 of 1 figures of memory less" in text and "40 % less" in text
    assert "none of 1 load" in text


CPU, PSS, THREADS, READ, WRITTEN, HEAT, CLOCK = FIELDS
MIB = 1 << 20


def run(t: float, variant: str, number: int, seconds: int, cpus: float) -> list[ev.AnyEvent]:
    """Samples of a run that began at `t`."""
    return [
        ev.ProcessTreeSample(
            t=t + s,
            variant=variant,
            run=number,
            at_s=float(s),
            values={
                "PSS": s * MIB,
                "CPU": s * cpus,
                "threads": 2,
                "processes": 1,
                "read": 0,
                "written": s * 5e6,
            },
        )
        for s in range(1, seconds + 1)
    ]


def block(t: float, variant: str, seconds: float, phase: ev.Phase = "steady", **rest: object) -> ev.Block:
    values = {"wall": seconds} if not rest.pop("failed", False) else {}
    return ev.Block(
        t=t,
        workload="command",
        variant=variant,
        group=0,
        index=0,
        seconds=seconds,
        values=values,
        phase=phase,
    )


def make_story(a: str = "A", b: str = "B") -> list[ev.AnyEvent]:
    """A warm-up and a failed run of A that do not count, one run of A, two of B, and one of A under way."""
    return [
        ev.Began(
            t=0.0,
            schema=ev.SCHEMA,
            version="0",
            scenario="workload",
            command=["run"],
            host="h",
            wall="2026-11-01T00:00:00Z",
            seed=1,
            pid=1,
            pid_start=1,
            boot_id="b",
        ),
        *run(0.0, a, 1, 4, 9.0),
        block(4.2, a, 4.2, "warmup"),
        *run(5.0, a, 2, 4, 9.0),
        block(9.2, a, 4.2, failed=True),
        *run(10.0, a, 3, 4, 0.5),
        block(14.2, a, 4.2),
        *run(15.0, b, 1, 8, 1.0),
        block(23.2, b, 8.2),
        *run(24.0, b, 2, 8, 2.0),
        block(32.2, b, 8.2),
        *run(33.0, a, 4, 3, 0.25),
    ]


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_the_curves_on_the_screen_live_and_after_the_end(size: str, tmp_path: Path) -> None:
    events = make_story()
    feed = RunFeed(write(tmp_path / "r.jsonl", [*events, ev.RunEnded(t=40.0, status="done")]))
    feed.playback.seek(30.0)
    async with run_app(tmp_path, run=feed, size=size) as (app, pilot):
        assert isinstance(app.screen, LiveScreen)
        await keys(pilot, "i")
        assert isinstance(app.screen, InsideScreen)
        rows = grid(app)
        assert "CPUs busy, median over the runs" in rows
        quarters = rows.partition("1st quarter")[2].splitlines()
        assert [row.split()[-1] for row in quarters[:3]] == ["runs", "1", "2"]
        await keys(pilot, "j")
        assert "memory (PSS), median" in grid(app) and "8 MiB" in grid(app)
        await keys(pilot, "k", "k", "k", "k")
        assert "written, median" in grid(app) and "5 MB/s" in grid(app)
        await keys(pilot, "Z")
        assert isinstance(app.screen, VerdictScreen)
        await keys(pilot, "i", "escape")
        assert isinstance(app.screen, VerdictScreen)
