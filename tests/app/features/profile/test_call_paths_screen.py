"""Call paths on the screen: the cursor, zoom, search, and what differs told by more than a colour."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.profile.flame import merge_unnamed_addresses
from hostdx.app.features.profile.icicle import CallPathsScreen, Icicle
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.verdict import VerdictScreen
from hostdx.scenarios.analysis.profile.results import CallNode, CallPaths, PathTree
from hostdx.scenarios.contract import events as ev
from tests.app.report.results.test_comparison import make_story, write
from tests.fakes.terminals.screen import grid, keys, run_app
from tests.needs import one_always

HOSTILE = "[bold]x\x1b[31m"


def node(name: str, up: int, baseline_s: float, variant_s: float, differs: bool = False) -> CallNode:
    more = variant_s - baseline_s
    return CallNode(
        name=name, up=up, baseline_s=baseline_s, variant_s=variant_s, difference_s=more,
        ci95_s=(more - 0.1, more + 0.1), differs=differs,
    )  # fmt: skip


def make_tree(variant: str = "B") -> PathTree:
    nodes = (
        node("on a CPU", -1, 1.0, 1.0), node("main", 0, 0.7, 0.7), node(HOSTILE, 0, 0.3, 0.3),
        node("waiting", -1, 0.2, 1.2, True), node("fsync", 3, 0.0, 1.0, True),
        node("jbd2_log_wait_commit", 4, 0.0, 0.9, True), node("read", 3, 0.2, 0.2),
    )  # fmt: skip
    return PathTree(baseline="A", variant=variant, groups=5, kernel=True, waits=True, lost=0, nodes=nodes)


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_the_icicle_is_walked_zoomed_and_searched(size: str, tmp_path: Path) -> None:
    calls = CallPaths(t=39.0, value=(make_tree(), make_tree("C")))
    feed = RunFeed(write(tmp_path / "r.jsonl", [*make_story(), calls, ev.RunEnded(t=40.0, status="done")]))
    async with run_app(tmp_path, run=feed, size=size) as (app, pilot):
        await keys(pilot, "Z")
        assert isinstance(app.screen, VerdictScreen)
        await keys(pilot, "z")
        assert isinstance(app.screen, CallPathsScreen)
        icicle = app.screen.query_one(Icicle)
        rows = grid(app)
        assert "+waiting" in rows and "+fsync" in rows and "▏main" in rows and "\x1b" not in rows
        assert icicle.shown_tree.nodes[icicle.at].name == "waiting", "the widest of the first row"
        await keys(pilot, "down", "down")
        assert icicle.shown_tree.nodes[icicle.at].name == "jbd2_log_wait_commit"
        await keys(pilot, "up", "enter")
        assert "fsync" in grid(app) and "main" not in grid(app)
        await keys(pilot, "down", "enter", "backspace", "backspace", "backspace")
        assert icicle.root == -1 and "main" in grid(app)
        await keys(pilot, "left", "left", "slash", *"read", "enter")
        assert icicle.shown_tree.nodes[icicle.at].name == "read"
        await keys(pilot, "right_square_bracket", "down", "escape")
        assert isinstance(app.screen, VerdictScreen)


async def test_a_foreign_tree_without_nodes_is_survived(tmp_path: Path) -> None:
    empty = PathTree(baseline="A", variant="B", groups=2, kernel=False, waits=False, lost=0, nodes=())
    calls = CallPaths(t=39.0, value=(empty,))
    feed = RunFeed(write(tmp_path / "r.jsonl", [*make_story(), calls, ev.RunEnded(t=40.0, status="done")]))
    async with run_app(tmp_path, run=feed, size="narrow") as (app, pilot):
        await keys(pilot, "Z", "z", "down", "left", "enter", "backspace", "up")
        assert isinstance(app.screen, CallPathsScreen)


def test_addresses_of_one_library_are_one_frame() -> None:
    lib, other = "[libcrypto.so.3+0x1f]", "[libc.so.6+0x9]"
    nodes = (
        node("main", -1, 1.0, 2.0), node(lib, 0, 0.3, 0.6, True), node("[libcrypto.so.3+0x2a]", 0, 0.2, 0.4),
        node("[libcrypto.so.3+0x3b]", 1, 0.1, 0.2), node("memcpy", 3, 0.1, 0.1), node(other, 0, 0.1, 0.1),
    )  # fmt: skip
    merged = merge_unnamed_addresses(msgspec.structs.replace(make_tree(), nodes=nodes)).nodes
    assert [(n.up, round(n.baseline_s, 9), round(n.variant_s, 9)) for n in merged] == [
        (-1, 1.0, 2.0), (0, 0.5, 1.0), (1, 0.1, 0.1), (0, 0.1, 0.1),
    ]  # fmt: skip
    assert merged[1].differs and merged[1].ci95_s == pytest.approx((0.3, 0.7))
    assert merged[1].name.startswith("libcrypto.so.3 (3 ") and merged[3].name == other


async def test_a_box_that_calls_nothing_is_not_zoomed_into_and_names_stand_beside(tmp_path: Path) -> None:
    calls = CallPaths(t=39.0, value=(make_tree(),))
    feed = RunFeed(write(tmp_path / "r.jsonl", [*make_story(), calls, ev.RunEnded(t=40.0, status="done")]))
    async with run_app(tmp_path, run=feed, size="wide") as (app, pilot):
        await keys(pilot, "Z", "z")
        icicle = app.screen.query_one(Icicle)
        names = "".join(
            part for line in icicle._callee_lines(icicle._boxes[icicle.at], 9, 38) for part, _ in line
        )
        assert "fsync" in names and "read" in names
        await keys(pilot, "down", "down", "enter")
        assert icicle.shown_tree.nodes[icicle.at].name == "jbd2_log_wait_commit" and icicle.root == -1
