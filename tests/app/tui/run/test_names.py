"""Names of loads are whole wherever there is room for what tells them apart, and a state beside them is short."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.recordings import store
from app.recordings.session import RunSession
from app.report.wording import delta_text
from app.tui.children.feed import RunFeed
from app.tui.widgets.measuring.load_cards import draw_card, shorter_titles
from app.tui.widgets.measuring.standing import pairs_of
from scenarios.contract import events as ev
from tests.every_case import every_case
from tests.fakes.terminals.screen import grid, opened
from tests.needs import one_always


@every_case("demo", ["storage", "fstrim", "null", "rpfilter"])
def test_no_card_of_a_wide_screen_tears_the_name_of_its_load(demo: str) -> None:
    """`random re…QD16 ── ▶ 4 of 8 groups` stood over a third of all cards."""
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    for part in range(1, 11):
        run.playback.seek(run.playback.end * part / 10)
        for load, found in pairs_of(run.session):
            edge = "".join(words for words, _ in draw_card(run.session, load, found, 38, 9)[0])
            assert "…" not in edge, edge
            assert any(name in edge for name in shorter_titles(run.session, load))


async def test_a_battery_says_whose_its_columns_are(tmp_path: Path) -> None:
    run = RunFeed(store.resolve_recording("demo:kernel"))
    run.playback.seek_end()
    async with opened(tmp_path, run=run, size="wide") as (app, _):
        head = next(row for row in grid(app).splitlines() if "FIGURES" in row)
        assert all(variant.label in head for variant in run.session.planned_variants)


@pytest.mark.parametrize("demo", ["io500", "trend"])
@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_the_findings_of_an_import_stand_below_its_pictures(
    demo: str, size: str, tmp_path: Path
) -> None:
    """The box took the rows of all findings, whose frame had no lower edge."""
    run = RunFeed(store.resolve_recording(f"demo:{demo}"))
    run.playback.seek_end()
    async with opened(tmp_path, run=run, size=size) as (app, _):
        rows = grid(app).splitlines()
        at = next(n for n, row in enumerate(rows) if "FINDINGS" in row)
        assert "▲" in rows[at + 1]
        assert size == "narrow" or any(row.strip().startswith("╰") for row in rows[at:])


def test_a_difference_has_the_digits_of_the_values_beside_it() -> None:
    """`+1220 ns` stood over `3.46` and `4.65 µs`, and a finding said 1216."""
    said = ev.RunVerdict(
        t=0.0,
        workload="w",
        metric="m",
        baseline="A",
        variant="B",
        verdict="slower",
        delta=1216.4,
        delta_unit="ns/packet",
    )
    assert delta_text(RunSession(), said) == "+1.22 µs/packet"
