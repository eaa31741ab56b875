"""What a foreign recording may not do through the keys of the one who looks at it: run a command, stop a process."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest

from hostdx.app.cli.options import declared_options
from hostdx.app.run import launch
from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.option_values import may_be_scenario_id, parse_proposable_options
from hostdx.app.tui.screens.before.consent import ConsentScreen
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.finding import FindingScreen
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract import registry
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.contract.plan import Option, Plan
from hostdx.scenarios.fstrim.scenario import Fstrim
from tests.app.run.test_stop import make_recording, process, write_began
from tests.every_case import every_case
from tests.fakes.streams.stories import write
from tests.fakes.streams.story import storage
from tests.fakes.terminals.screen import grid, keys, run_app, settle, wait_plan

HOSTILE = Finding(
    id="fstrim.never",
    severity="critical",
    title="This disk was never trimmed; Enter measures it",
    prove="fstrim",
    prove_options=(
        "--dir",
        "/scratch",
        "--round",
        "--workload",
        "touch /tmp/owned",
        "--state=/etc",
        "--idle=9",
    ),
)
OFFER = ev.ScenarioOffer(
    t=0.0,
    id="fstrim",
    title="Trim",
    question="Does it help?",
    takes_s=60.0,
    options=declared_options(Fstrim()),
)


class Started:
    """In place of the planner and the runner: which command lines they were given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan: Plan | None = None) -> None:
        self.planned: list[list[str]] = []
        self.run: list[list[str]] = []
        self._plan = tmp_path / "plan.jsonl"
        story = storage()
        if plan is not None:
            story = [story[0], ev.Planned(t=0.1, plan=plan)]
        write(self._plan, story)
        monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", self._planner)
        monkeypatch.setattr(launch, "start_runner", self._start)

    def _planner(self, argv: Sequence[str]) -> EventChild:
        self.planned.append(list(argv))
        return EventChild(["cat", str(self._plan)])

    def _start(self, scenario: str, options: Sequence[str], **_: object) -> NoReturn:
        self.run.append([scenario, *options])
        raise OSError("not started: this is a test")


async def test_enter_on_a_findings_measurement_never_runs_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = Started(monkeypatch, tmp_path)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.home_session().offers[:] = [OFFER]
        run = storage()
        foreign = write(tmp_path / "foreign.jsonl", [*run[:-1], ev.Found(t=900.0, finding=HOSTILE), run[-1]])
        app.open_recording(foreign)
        await settle(pilot)
        await keys(pilot, "tab", "enter")  # the worst finding is under its list's cursor
        assert isinstance(app.screen, FindingScreen) and HOSTILE.title in grid(app)
        await keys(pilot, "enter")
        await wait_plan(app, pilot)
        await keys(pilot, "enter")
    assert children.planned and children.run
    for argv in (*children.planned, *children.run):
        assert argv == ["fstrim", "--dir=/scratch"]


async def test_a_command_from_the_keyboard_is_agreed_to_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(scenario="fstrim", title="Trim", question="Does it help?", commands=("make -j8 all",))
    children = Started(monkeypatch, tmp_path, plan)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.push_screen(PlanScreen(OFFER, {"dir": "/scratch", "workload": "make -j8 all"}))
        await settle(pilot)
        await wait_plan(app, pilot)
        await keys(pilot, "enter")
        assert isinstance(app.screen, ConsentScreen)
        assert "make -j8 all" in grid(app) and "starts a command" in grid(app)
        assert "changes" not in grid(app).partition("n changes nothing")[0]
        await keys(pilot, "enter", "n")
        assert children.run == []
        await keys(pilot, "enter", "y")
    assert children.run == [["fstrim", "--dir=/scratch", "--workload=make -j8 all"]]


def test_a_plan_says_which_command_of_the_users_it_starts() -> None:
    values = {"dir": "/proc", "round": True, "state": "/s", "workload": "true --x=1"}
    assert Fstrim().prepare(Host(), OptionMap(values, Fstrim.options)).plan.commands == ("true --x=1",)


ANY: tuple[Option, ...] = (
    Option(name="dir", kind="path", help=""),
    Option(name="pid", kind="integer", help="", multiple=True),
    Option(name="cgroup", kind="text", help=""),
    Option(name="device", kind="text", help=""),
    Option(name="link", kind="number", help=""),
    Option(name="workload", kind="text", help=""),
)


@every_case(
    ("words", "values"),
    [
        (
            ["--dir", "/a b", "--pid=7", "--pid", "8", "--link=25"],
            {"dir": "/a b", "pid": ["7", "8"], "link": "25"},
        ),
        (
            ["--cgroup=/system.slice/x.service", "--device=nvme0n1"],
            {"cgroup": "/system.slice/x.service", "device": "nvme0n1"},
        ),
        (["--dir=relative"], {}),
        (["--dir=/a/../etc"], {}),
        (["--dir=/a\x1b]0;x"], {}),
        (["--dir"], {}),
        (["--pid=1.5", "--pid=-1", "--pid=x", "--pid=" + "9" * 30], {}),
        (["--link=inf", "--link=nan", "--link=-1"], {}),
        (["--device=-x", "--device=a b", "--cgroup=$(id)"], {}),
        (["--workload=id", "--yes", "--budget=9", "workload=id", "----workload=id"], {}),
    ],
)
def test_only_what_is_measured_is_proposed(words: list[str], values: dict[str, Json]) -> None:
    assert parse_proposable_options(words, ANY) == values


@pytest.mark.parametrize("name", ["--root=/x", "-h", "", "a b", "../x", "fstrim\n", "\x1bc", "x" * 99])
async def test_what_is_no_scenarios_name_is_not_asked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not may_be_scenario_id(name) and all(map(may_be_scenario_id, registry.scenario_names()))
    children = Started(monkeypatch, tmp_path)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.open_plan(name, ())
        await settle(pilot)
        assert children.planned == [] and "is no scenario's name" in grid(app)


async def test_stop_on_a_foreign_recording_signals_nobody(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "foreign.jsonl")
    with process(tmp_path, "", "some-service") as child:
        began = write_began(path, child.pid)
        run = storage(cut="live")
        write(path, [msgspec.structs.replace(began, scenario="storage"), *run[1:]])
        async with run_app(tmp_path / "state", run=RunFeed(path)) as (app, pilot):
            app.show_run("live")
            await settle(pilot)
            await keys(pilot, "s", "s")
            assert "not stopped" in grid(app) and "not one of yours" in " ".join(grid(app).split())
        assert child.poll() is None


@pytest.mark.parametrize(("between", "stops"), [((), True), (("j",), False)])
async def test_the_stop_question_is_answered_as_long_as_it_stands(
    between: tuple[str, ...], stops: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late; the next key of another kind takes the question away."""
    monkeypatch.setattr("hostdx.app.tui.requests.STOP_AGAIN_S", -1.0)
    path = make_recording(tmp_path / "foreign.jsonl")
    with process(tmp_path, "", "some-service") as child:
        began = write_began(path, child.pid)
        run = storage(cut="live")
        write(path, [msgspec.structs.replace(began, scenario="storage"), *run[1:]])
        async with run_app(tmp_path / "state", run=RunFeed(path)) as (app, pilot):
            app.show_run("live")
            await settle(pilot)
            asked: list[float] = []
            monkeypatch.setattr(app, "stop_now", lambda: asked.append(0.0))
            await keys(pilot, "s", *between, "s")
            assert bool(asked) is stops
