"""Inside the runs: which runs count, rates of sums, the variants over each other; table, drawing and SVG."""

from pathlib import Path

import pytest

from hostdx.app.report.results.command_timeline import FIELDS
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.command_timeline import InsideScreen
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.verdict import VerdictScreen
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams.stories import write
from tests.fakes.terminals.screen import grid, keys, run_app

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
