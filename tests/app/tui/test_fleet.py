"""The screens of a fleet and of a history."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.fleet import screen as fleet_screen
from hostdx.app.features.fleet.node_names import node_set_matcher
from hostdx.app.features.fleet.screen import FleetScreen
from hostdx.app.features.fleet.table import NodePicker
from hostdx.app.features.watch.report import nights_document
from hostdx.app.features.watch.screen import HistoryScreen, LoadList
from hostdx.app.tui.children.event_child import CommandOutcome
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.report import ReportScreen
from hostdx.app.tui.shell import Shell
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.analysis.nights.history import HostHistory
from hostdx.scenarios.analysis.peers.judge import judge_fleet
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement, MissingNode
from hostdx.scenarios.analysis.peers.screen import screen_nodes
from tests.app.features.fleet.test_reading import HOSTILE
from tests.fakes.many_nodes import Nodes, table_of
from tests.fakes.streams.golden import compare_golden
from tests.fakes.terminals.screen import feed, grid, keys, run_app, settle
from tests.scenarios.analysis.nights.test_history import fold_nights, run_at, steady


def plant_fleet(count: int = 60, *, retest: bool = True, hostile: bool = False) -> FleetJudgement:
    nodes = Nodes(count, 3, measures=6)
    odd = "node0007"
    nodes.slow([odd], 0.8)
    nodes.slow([f"node{n:04}" for n in range(20, 40)], 0.7, 4)

    def facts(name: str) -> dict[FactKey, Json]:
        return {
            ("cpu", "governor"): "powersave" if name == odd else "performance", ("x", "serial"): name,
            ("bios", "version"): "1.0" if 20 <= int(name[4:]) < 40 else "2.1",
        }  # fmt: skip

    first = nodes.all()
    rounds = nodes.rounds(screen_nodes(first)) if retest else []
    missing = [
        MissingNode(node="node0060", state="hung", reason="its shell is in D state"),
        MissingNode(node=HOSTILE if hostile else "node0061", state="unreachable", reason="No route to host"),
    ]
    files = {name: f"/no/such/{name}.jsonl" for name in nodes.levels}
    return judge_fleet(
        first,
        table_of(list(nodes.levels), facts),
        nodes.loads,
        rounds,
        missing=missing,
        measurement_names=["kernel"],
        files=files,
    )


async def push_screen(app: Shell, judgement: FleetJudgement) -> FleetScreen:
    screen = FleetScreen(Path("/srv/answers"), judgement)
    await app.push_screen(screen)
    return screen


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_grids(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await push_screen(app, plant_fleet())
        await settle(pilot)
        compare_golden(f"fleet-{size}", grid(app))
        await keys(pilot, "right", "right", "right", "right", "S")
        await settle(pilot)
        compare_golden(f"fleet-two-groups-{size}", grid(app))
        await keys(pilot, "escape")
        await push_screen(app, plant_fleet(retest=False))
        await settle(pilot)
        compare_golden(f"fleet-suspects-{size}", grid(app))


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_hostile_names_draw_nothing_but_cells(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size, ascii_only=True) as (app, pilot):
        await push_screen(app, plant_fleet(hostile=True))
        await keys(pilot, "end")
        rows = grid(app)
        assert rows.isascii() and "\x1b" not in rows and "\x07" not in rows


async def test_keys_sort_filter_and_choose_a_measure(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        screen = await push_screen(app, plant_fleet())
        await settle(pilot)
        picker = screen.query_one(NodePicker)
        assert picker.shown_rows[0].key == "node0007"
        await keys(pilot, "S", "S")
        assert [row.key for row in picker.shown_rows[:2]] == ["node0000", "node0001"]
        await keys(pilot, *(["left"] * 3), *(["right"] * 50))
        assert screen.current_view().at == 5
        picker.filter = "node[0010-0012],node0007"
        assert [row.key for row in picker.shown_rows] == ["node0007", "node0010", "node0011", "node0012"]
        picker.filter = "odd"
        assert [row.key for row in picker.shown_rows] == ["node0007"]
        await keys(pilot, "escape")
        assert picker.filter == "" and len(picker.shown_rows) == 62


async def test_enter_opens_the_nodes_own_recording(tmp_path: Path) -> None:
    source = feed("storage").path
    text = msgspec.structs.replace(plant_fleet(), files={"node0007": str(source)})
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        screen = await push_screen(app, text)
        await keys(pilot, "enter")
        await settle(pilot)
        assert app.screen is not screen and app.run_feed.path == source
        await keys(pilot, "q")
        await settle(pilot)
        assert app.screen is screen
        await keys(pilot, "end", "enter")  # a node that gave no answer
        assert app.screen is screen and app.message


async def test_a_folder_is_judged_by_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def child(_asking: object, argv: list[str], then: object, _timeout: float) -> None:
        calls.append(argv)
        then(CommandOutcome(msgspec.json.encode(plant_fleet()).decode(), ""))  # type: ignore[operator]

    monkeypatch.setattr("hostdx.app.tui.requests.run_hostdx", child)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        fleet_screen.show_fleet(app, Path("/srv/answers"))
        await settle(pilot)
        assert isinstance(app.screen, FleetScreen)
        await keys(pilot, "R")
        assert calls == [["fleet", "judge", "--json", "--", "/srv/answers"]] * 2


@pytest.mark.parametrize("has_own", [True, False])
def test_sets_of_nodes(has_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_own:
        monkeypatch.setitem(__import__("sys").modules, "ClusterShell.NodeSet", None)
    names = [f"node{n:03}" for n in range(20)] + ["gpu3", "gpu3-ib", HOSTILE]
    expected = {
        "node[003-005],gpu3": ["node003", "node004", "node005", "gpu3"],
        "node[007,009]": ["node007", "node009"],
    }
    for words, subset in expected.items():
        fits = node_set_matcher(words)
        assert fits is not None and [name for name in names if fits(name)] == subset
    if has_own:
        but = node_set_matcher("node[000-003],!node[001-002]")
        assert but is not None and [name for name in names if but(name)] == ["node000", "node003"]
    for words in ("node", "node[0", "a b,c", "[", "x" * 1000 + ",", "\x1b[31m,"):
        assert node_set_matcher(words) is None


def slowed_history(nights: int = 40, suspect: str = "6.12", title: str = "fork") -> HostHistory:
    """The kernel changed before the last six nights, and one load is slower from then on."""
    before, facts = steady(nights - 6), {"kernel/release": suspect}
    after = steady(6, seed=2, first=nights - 6)
    low = [take.figures for take in steady(6, 880.0, seed=3, first=nights - 6)]
    key = next(key for key in low[0] if key.workload == "fork")
    texts = [
        msgspec.structs.replace(
            run_at(nights - 6 + n, {}, **facts), figures={**take.figures, key: figures[key]}, loads=take.loads
        )
        for n, (take, figures) in enumerate(zip(after, low, strict=True))
    ]
    for take in (*before, *texts):
        take.loads[key] = msgspec.structs.replace(take.loads[key], title=title)
    return fold_nights([*before, *texts])


async def push_history_screen(app: Shell, history: HostHistory) -> HistoryScreen:
    history_screen = HistoryScreen(["n1"], history)
    await app.push_screen(history_screen)
    return history_screen


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_grids_of_a_history(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await push_history_screen(app, slowed_history())
        await settle(pilot)
        compare_golden(f"nights-{size}", grid(app))
        await keys(pilot, "down")
        await settle(pilot)
        assert "▲" in grid(app)


@pytest.mark.parametrize("nights", [5, 400])
async def test_few_nights_and_more_than_cells(nights: int, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="narrow") as (app, pilot):
        screen = await push_history_screen(app, fold_nights(steady(nights)))
        await settle(pilot)
        assert len(screen.query_one(LoadList).shown_rows) == (3 if nights > 28 else 0)
        assert max(map(len, grid(app).splitlines())) <= 80


async def test_hostile_names_in_a_history_draw_nothing_but_cells(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="narrow", ascii_only=True) as (app, pilot):
        await push_history_screen(app, slowed_history(suspect=HOSTILE, title=HOSTILE))
        await settle(pilot)
        rows = grid(app)
        assert rows.isascii() and "\x1b" not in rows and "\x07" not in rows


async def test_opened_from_the_recordings_and_its_report_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []
    history = slowed_history()

    def child(
        _asking: object, argv: list[str], then: Callable[[CommandOutcome], None], _timeout: float
    ) -> None:
        calls.append(argv)
        data = nights_document(history) if "document" in argv else history
        then(
            CommandOutcome(msgspec.json.encode(data).decode(), "" if len(calls) > 1 else "history: no nights")
        )

    monkeypatch.setattr("hostdx.app.tui.requests.run_hostdx", child)
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await app.push_screen(RecordingsScreen())
        await keys(pilot, "W")
        await settle(pilot)
        assert "no nights" in grid(app) and isinstance(app.screen, RecordingsScreen)
        await keys(pilot, "W")
        await settle(pilot)
        assert isinstance(app.screen, HistoryScreen)
        await keys(pilot, "enter")
        await settle(pilot)
        assert isinstance(app.screen, ReportScreen)
        await keys(pilot, "escape")
        assert isinstance(app.screen, HistoryScreen)
    assert [argv[:3] for argv in calls] == [
        ["history", "--format", form] for form in ("json", "json", "document")
    ]
