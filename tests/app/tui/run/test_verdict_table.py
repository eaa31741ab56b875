"""The verdict's table, the plot of its groups and the live outlook: what they say is what the recording holds."""

from pathlib import Path

import pytest

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.validity import list_trust_signs
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.details import sign_lines
from hostdx.app.tui.screens.groups import GroupsScreen
from hostdx.app.tui.screens.verdict import VerdictScreen
from hostdx.app.tui.widgets.answer import headline_lines
from hostdx.app.tui.widgets.measuring.group_plot import PairRatios, group_plot_lines, pair_ratios
from hostdx.app.tui.widgets.verdict_list import VerdictList, effect_text, lay_out_columns, list_effects
from hostdx.scenarios.contract import events as ev
from tests.every_case import every_case
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import feed, grid, keys, run_app


@pytest.fixture(scope="module")
def storage() -> RunSession:
    return load_recording(RECORDINGS / "storage-loop.jsonl")


@every_case("demo", ["demo:storage", "demo:rpfilter", "demo:iosched"])
@every_case("width", [58, 76, 96, 130, 200])
def test_no_width_cuts_the_effects_words(demo: str, width: int) -> None:
    effects = list_effects(load_recording(store.resolve_recording(demo)))
    at = lay_out_columns(effects, width)
    total_cells = at.name + sum(
        2 + c for c in (at.left.total_cells, at.right.total_cells, at.bar, at.size, at.interval) if c
    )
    assert total_cells <= width
    wide = width >= 96
    assert at.size == max(len(effect_text(e, wide=wide)) for e in effects if e.measured)
    assert not wide or all(effect_text(e, wide=wide) == e.size for e in effects)


def test_a_red_sign_stands_first_and_in_the_headline(storage: RunSession) -> None:
    session = load_recording(RECORDINGS / "storage-loop.jsonl")
    session.groups = {
        name: [
            ev.Group(t=g.t, workload=name, index=g.index, order=g.order, disturbed="rsync") for g in groups
        ]
        for name, groups in session.groups.items()
    }
    trust = sign_lines(list_trust_signs(session), 200)
    assert trust[0][0][1] == "critical" and "disturbed" in trust[0][0][0]
    words = " ".join("".join(p for p, _ in line) for line in headline_lines(session, 200))
    assert "Do not trust this run" in words


async def test_a_row_is_chosen_with_j_and_k_and_enter_opens_its_groups(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=feed("storage"), size="wide") as (app, pilot):
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
        assert "Enter: groups" in grid(app)


async def test_a_wide_screen_shows_the_values_under_the_ratios(tmp_path: Path) -> None:
    run = RunFeed(RECORDINGS / "storage-loop.jsonl")
    run.playback.seek_end()
    async with run_app(tmp_path, run=run, size="huge") as (app, _):
        assert app.screen.query_one("#values").size.height > 10


@every_case("log", [700.0, -700.0])
def test_a_plot_draws_the_farthest_ratios_that_a_recording_may_hold(log: float) -> None:
    """The axis reaches further out than its values, where an exponential overflows."""
    session = load_recording(store.resolve_recording("demo:storage"))
    pairs = [PairRatios("a", "b", [0.0, log])]
    assert len(group_plot_lines(session, "read-1m-qd8", pairs, "iops", 80, 24)) == 24


def test_an_axis_far_from_one_is_broken_and_has_the_interval_as_a_band() -> None:
    """A dozen dots lay in the lowest eighth of the plot, because 1 had to be seen."""
    session = load_recording(store.resolve_recording("demo:storage"))
    verdict = next(v for v in session.verdicts.values() if v.workload == "read-1m-qd8")
    pairs = pair_ratios(session, verdict.workload, verdict.metric)
    _, *lines = group_plot_lines(session, verdict.workload, pairs, verdict.metric, 80, 24)
    signs = [{sign for words, role in line if role != "dim" for sign in words} for line in lines[:21]]
    gaps = [n for n, line in enumerate(lines[:21]) if any("≈" in words for words, _ in line)]
    assert gaps == [1] and "░" in signs[0]
    band = [n for n, row in enumerate(signs) if "▒" in row]
    (estimate,) = (n for n, row in enumerate(signs) if "─" in row)
    assert band[0] < estimate < band[-1]
    dots = [n for n, row in enumerate(signs) if row & set("▀▄█")]
    assert len(dots) >= 6  # spread over the plot
