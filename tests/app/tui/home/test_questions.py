"""Home: the complaints, each leads to its scenario, filled in as far as the host tells; directories; the pulse."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual import events

from hostdx.app.recordings.session import RunSession
from hostdx.app.tui.children.event_child import CommandOutcome
from hostdx.app.tui.questions import fill_in_options, list_questions, scenario_for, without_ended_process
from hostdx.app.tui.screens.ask import NONE_SUCH, AskScreen, Words
from hostdx.app.tui.screens.before.directories import PATH_HINT, DirectoriesScreen
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.undo import UndoScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.home.checkup_lines import checkup_lines
from hostdx.app.tui.widgets.home.live_line import LiveLine
from hostdx.probes.reading.process_stat import read_start_ticks
from hostdx.scenarios.checkup.results import CheckupAnswer
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.card import bundled_cards, card_of, options_of_process
from hostdx.scenarios.contract.finding import Finding, SuggestedStep
from hostdx.scenarios.contract.results.result import Item
from tests.every_case import every_case
from tests.fakes.terminals.screen import child_of, fake_plan, grid, keys, run_app, settle, wait


def host(*mounts: str, blocked: str = "", finding: Finding | None = None) -> RunSession:
    session = RunSession()
    for name in (card.id for question in list_questions() for card in question.cards):
        need = "needs root" if name == blocked else ""
        session.apply(ev.ScenarioOffer(t=0.0, id=name, title=name, question="?", takes_s=60.0, blocked=need))
    for mount in mounts:
        path, kind, _, source, options = mount.split()
        for name, value in (("type", kind), ("source", source), ("options", options.strip("()"))):
            session.apply(
                ev.FactRead(t=0.0, subject=f"mount:{path}", name=name, value=value, source="mountinfo")
            )
    if finding is not None:
        session.apply(ev.Found(t=0.0, finding=finding))
    return session


def make_pulse(cpu: float = 0.0, io: float = 0.0, **devices: tuple[float, float, float]) -> ev.Pulse:
    return ev.Pulse(t=3.0, load1=3.1, cpu=0.4, psi_cpu=cpu, psi_io=io, psi_memory=0.0, devices=devices)


def test_a_digit_opens_the_same_scenario_whatever_the_host_does() -> None:
    """6 opened what names the culprit on a busy CPU, and what switches schedulers on a busy disk."""
    for session in (host(), RunSession(), host(blocked="iosched")):
        assert [scenario_for(question, session).id for question in list_questions()[:9]] == [
            "checkup", "storage", "fstrim", "rpfilter", "dstate", "cpuwatch", "kernel", "box", "fullstack",
        ]  # fmt: skip
    assert all(len(question.cards) == 1 for question in list_questions())


ROOT, DATA, FAST = (
    "/ ext4 on /dev/vda1 (rw,relatime)",
    "/data xfs on /dev/sdb1 (rw)",
    "/fast ext4 on /dev/nvme0n1p2 (rw)",
)


@every_case(
    ("scenario", "mounts", "now", "expected"),
    [
        ("storage", (ROOT, DATA), None, ["--dir=/var/tmp", "--dir=/data"]),
        ("storage", (ROOT,), None, []),
        ("storage", (ROOT, "/boot ext4 on /dev/vda2 (rw)", "/r xfs on /dev/sdc (ro)", "/n nfs on a:/n (rw)"), None, []),
        ("checkup", (ROOT, DATA, FAST), None, ["--dir=/var/tmp", "--dir=/data", "--dir=/fast"]),
        ("fstrim", (ROOT, DATA), None, []),  # a trim cannot be undone
        ("iosched", (ROOT, DATA, FAST), make_pulse(sdb=(1.0, 1.0, 0.1), nvme0n1=(9.0, 9.0, 0.9)), ["--dir=/fast"]),
        ("rpfilter", (ROOT,), None, []),
    ],
)  # fmt: skip
def test_the_plan_is_filled_in_as_far_as_the_host_tells(
    scenario: str, mounts: tuple[str, ...], now: ev.Pulse | None, expected: list[str]
) -> None:
    assert fill_in_options(card_of(scenario), host(*mounts), now) == expected
    finding = Finding(
        id="a.b", severity="notice", title="x", prove=scenario, prove_options=("--dir", "/named")
    )
    if scenario not in ("storage", "checkup"):
        assert fill_in_options(card_of(scenario), host(*mounts, finding=finding), now) == ["--dir", "/named"]


@every_case(
    ("scenario", "mounts", "subject", "expected"),
    [
        (
            "storage",
            ("/s ext4 on /dev/loop1 (rw,sync)", "/d ext4 on /dev/loop2 (rw)"),
            "/s",
            ["/var/tmp", "/s"],
        ),
        ("storage", (ROOT, DATA, FAST), "/fast", ["/var/tmp", "/fast", "/data"]),
        ("checkup", (ROOT, DATA, FAST), "/fast", ["/var/tmp", "/fast", "/data"]),
        ("storage", (ROOT, DATA, FAST), "nvme0n1", ["/var/tmp", "/fast", "/data"]),
        ("storage", (ROOT, DATA), "/", ["/var/tmp", "/data"]),  # the usual directory lies there
        ("checkup", ("/s ext4 on /dev/loop1 (rw,sync)",), "/s", []),  # it asks for suspects by itself
    ],
)
def test_what_a_finding_names_is_compared_with_the_usual_directory(
    scenario: str, mounts: tuple[str, ...], subject: str, expected: list[str]
) -> None:
    finding = Finding(id="storage.x", severity="warning", title="x", subject=subject, prove="storage",
                    prove_options=("--dir", subject) if subject.startswith("/") else ())  # fmt: skip
    assert fill_in_options(card_of(scenario), host(*mounts, finding=finding), None) == [
        f"--dir={path}" for path in expected
    ]


def test_who_uses_the_host_is_asked_without_the_process_that_was_read_at_the_start() -> None:
    card = next(card for card in bundled_cards() if card.process_option)
    options = options_of_process(os.getpid(), 1)
    finding = Finding(id="x", severity="notice", title="x", prove=card.id, prove_options=options)
    assert fill_in_options(card, host(finding=finding), None) == []


def test_a_finding_about_a_process_that_has_ended_opens_a_plan_without_it() -> None:
    card = next(card for card in bundled_cards() if card.process_option)
    own_start = read_start_ticks(os.getpid())
    assert own_start is not None
    for pid, start_ticks, is_kept in (
        (os.getpid(), own_start, True),
        (os.getpid(), 0, True),  # when it began is not known
        (os.getpid(), own_start - 1, False),
        (1 << 30, own_start, False),
        (1 << 30, 0, False),
    ):
        options = options_of_process(pid, start_ticks)
        assert without_ended_process(card, options) == (options if is_kept else ())
    assert without_ended_process(card_of("storage"), ("--dir=/a",)) == ("--dir=/a",)


async def test_a_number_opens_the_plan_and_the_pulse_changes_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_plan(monkeypatch, "storage")
    monkeypatch.setattr(
        "hostdx.app.tui.screens.before.directories.run_hostdx", lambda shell, argv, then: None
    )
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        app.pulses.append(make_pulse(io=0.22))
        app.settled_pulses.append(make_pulse(io=0.22))
        app.draw()  # the next step has seen that tasks wait
        await settle(pilot)
        before = grid(app).splitlines()
        app.pulses.append(make_pulse(io=0.22, sda=(12e6, 3e6, 0.45)))
        app.screen.query_one(LiveLine).redraw()
        await settle(pilot)
        changes = [new for old, new in zip(before, grid(app).splitlines(), strict=True) if old != new]
        assert len(changes) == 1
        for words in ("load 3.1", "40 %", "15 MB/s", "45 %", "22 %"):
            assert words in changes[0], words
        await keys(pilot, "2")
        assert isinstance(app.screen, DirectoriesScreen) and calls[-1][0] == "storage"
        await keys(pilot, "escape", "escape", "4")
        assert "cannot run here: nft is not installed" in grid(app)


PLACES = [
    {
        "path": "/var/tmp",
        "device": "vda",
        "model": "",
        "fstype": "ext4",
        "free_bytes": 76 << 30,
        "refusal": "",
    },
    {
        "path": "/scratch",
        "device": "nvme0n1",
        "model": "PM9A3",
        "fstype": "xfs",
        "free_bytes": 1 << 40,
        "refusal": "",
    },
    {
        "path": "/home",
        "device": "fs:/h",
        "model": "",
        "fstype": "nfs4",
        "free_bytes": None,
        "refusal": "a file server",
    },
]


async def test_directories_are_marked_in_order_typed_and_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def planner(argv: list[str]) -> object:
        calls.append(list(argv))
        return child_of("storage")

    def answer_places(shell: Any, argv: list[str], then: Callable[[CommandOutcome], None]) -> None:
        done = {"text": "/mnt/one disk", "choices": []}
        answer: Any = PLACES if "--mounts" in argv else done if argv[1] == "--complete=/mnt/o" else []
        then(CommandOutcome(msgspec.json.encode(answer).decode(), ""))

    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", planner)
    monkeypatch.setattr("hostdx.app.tui.screens.before.directories.run_hostdx", answer_places)
    monkeypatch.setattr("hostdx.app.tui.screens.ask.run_hostdx", answer_places)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.open_plan("storage")
        await wait(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen.is_plan_final)
        await keys(pilot, "d")
        rows = grid(app)
        for words in ("nvme0n1", "PM9A3", "xfs", "1 TiB", "76 GiB", "✗ a file server", "directory", "free"):
            assert words in rows, words
        await keys(pilot, "end", "space")
        assert "it cannot be measured: a file server" in grid(app)
        await keys(pilot, "home", "space", "down", "space")  # what is measured unasked
        await keys(pilot, "home", "space", "down", "down", "space")
        assert "[B] /var/tmp" in grid(app) and "[A] /scratch" in grid(app)
        await keys(pilot, "slash", *"mnt/o", "tab", "enter")
        assert "[C] /mnt/one disk" in grid(app)
        await keys(pilot, "home", "down", "down", "space", "enter")
        assert calls[-1] == ["storage", "--dir=/scratch", "--dir=/mnt/one disk"]


async def test_a_slash_begins_a_path_and_what_cannot_be_added_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = PLACES[2] | {"path": "/srv/none", "refusal": "/srv/none does not exist"}

    def answer_places(shell: Any, argv: list[str], then: Callable[[CommandOutcome], None]) -> None:
        answer: Any = PLACES if "--mounts" in argv else [missing] if argv[-1] == "/srv/none" else []
        if argv[1].startswith("--complete"):
            answer = {"text": "/srv/data", "choices": []}
        then(CommandOutcome(msgspec.json.encode(answer).decode(), ""))

    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of("storage"))
    monkeypatch.setattr("hostdx.app.tui.screens.before.directories.run_hostdx", answer_places)
    monkeypatch.setattr("hostdx.app.tui.screens.ask.run_hostdx", answer_places)
    chosen: list[list[str]] = []
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        screen = DirectoriesScreen(["/var/tmp"], True, chosen.append)
        app.push_screen(screen)
        await settle(pilot)
        await keys(pilot, "slash", "enter")
        assert isinstance(app.screen, AskScreen)  # nothing is dropped, and / itself is not meant
        await keys(pilot, *"srv/da", "tab")
        hint = app.screen.query_one(Words)
        assert hint.words == PATH_HINT  # completed: nothing is missing
        await keys(pilot, "tab")
        assert hint.words == NONE_SUCH
        await keys(pilot, "enter")
        assert app.screen is screen and screen.marked == ["/var/tmp", "/srv/data"]
        await keys(pilot, "slash", *"srv/none", "enter")
        assert screen.marked == ["/var/tmp", "/srv/data"] and missing["refusal"] in app.message
        screen.post_message(events.Paste("/srv/pasted\n"))
        await wait(pilot, lambda: isinstance(app.screen, AskScreen))
        await keys(pilot, "enter", "enter")
        await settle(pilot)
        late = CommandOutcome(msgspec.json.encode([missing]).decode(), "")
        screen._take_typed_path(
            ["/var/tmp"], late
        )  # the answer about a path comes when the screen has been left
    assert chosen == [["/var/tmp", "/srv/data", "/srv/pasted"]]


async def test_an_answer_may_come_while_a_screen_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parts go before it does: a list that is looked for then is not there."""
    awaited: list[Callable[[CommandOutcome], None]] = []
    for room in ("before.directories", "undo"):
        monkeypatch.setattr(
            f"hostdx.app.tui.screens.{room}.run_hostdx", lambda app, argv, then: awaited.append(then)
        )
    monkeypatch.setattr(Shell, "import_file", lambda app, path, then: awaited.append(lambda _: then()))
    answer = CommandOutcome(msgspec.json.encode(PLACES).decode(), "")
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        for screen in (DirectoriesScreen([], True, lambda _: None), RecordingsScreen(), UndoScreen([])):
            app.push_screen(screen)
            await settle(pilot)
            if isinstance(screen, DirectoriesScreen):
                screen._add_and_examine_path("/srv/typed")
            elif isinstance(screen, RecordingsScreen):
                screen._import_file("result.json")
            else:
                screen.action_undo()
            app.pop_screen()
            turns = 0
            while screen.is_attached:
                turns += 1
                for callback in awaited:
                    callback(CommandOutcome("[]", "") if isinstance(screen, UndoScreen) else answer)
                await asyncio.sleep(0)
            assert turns and awaited
            awaited.clear()


async def test_the_plan_is_filled_in_while_the_host_is_read_until_the_user_sets_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_plan(monkeypatch, "storage")
    proposed: list[str] = []
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        assert app.triage is not None
        app.triage.ended = False
        app.open_plan("storage", [], lambda: proposed)
        await settle(pilot)
        assert calls[-1] == ["storage"]
        proposed.append("--dir=/scratch")
        await wait(pilot, lambda: calls[-1] == ["storage", "--dir=/scratch"])
        screen = app.screen
        assert isinstance(screen, PlanScreen)
        screen.set_option(next(o for o in screen.offer.options if o.name == "budget"), "90")
        proposed.append("--dir=/data")
        screen._poll_triage_and_child()
        assert calls[-1] == ["storage", "--dir=/scratch", "--budget=90"]


def test_a_checkups_list_fits_a_low_screen_and_tells_all_on_a_high_one() -> None:
    session = RunSession()
    step = SuggestedStep("compare it", "hostdx run storage --dir /a --dir /b")
    items = [
        Item(scenario="w", state="cause", severity="warning", rank=1, words="the firewall: " + "slow " * 30),
        Item(scenario="s", state="open", rank=2, words="the disk: no yardstick [red]x[/]", following=(step,)),
    ]
    session.apply(CheckupAnswer(t=1.0, value=tuple(items)))
    brief, full = (
        ["".join(part for part, _ in row) for row in checkup_lines(session, 78, room)] for room in (2, 1000)
    )
    assert len(brief) == 2 and all(len(row) <= 78 for row in [*brief, *full])
    assert (
        brief[0].startswith("▲ 1. the firewall: slow") and brief[1] == "? 2. the disk: no yardstick [red]x[/]"
    )
    assert "     next: compare it  hostdx run storage --dir /a --dir /b" in full
    assert checkup_lines(RunSession(), 78) == []
    led = RunSession()
    led.apply(CheckupAnswer(t=1.0, value=(items[1], items[0])))
    low = checkup_lines(led, 78, 3)
    cut = checkup_lines(session, 78, 3)  # what there is room for is not cut
    assert len(cut) == 3 and cut[1][0][0] == "  " and "slow  " not in brief[0]
    assert len(low) == 3 and any(part == step.command for part, _ in low[1])


@pytest.mark.parametrize(
    ("several", "pressed", "expected"),
    [
        (False, ("down", "enter"), [["/data"]]),  # the row, without a space before
        (True, ("down", "enter"), [["/scratch"]]),  # what is marked
        (True, ("down", "space", "enter"), [["/data"]]),  # the first choice replaces what was proposed
        (True, ("space", "down", "enter"), [["/data"]]),  # nothing is marked any more
    ],
)
async def test_enter_takes_the_row_where_nothing_was_chosen(
    several: bool,
    pressed: tuple[str, ...],
    expected: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = CommandOutcome(msgspec.json.encode([{"path": "/scratch"}, {"path": "/data"}]).decode(), "")
    monkeypatch.setattr(
        "hostdx.app.tui.screens.before.directories.run_hostdx", lambda shell, argv, then: then(answer)
    )
    took: list[list[str]] = []
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.push_screen(DirectoriesScreen(["/scratch"], several, took.append, proposed=True))
        await settle(pilot)
        await keys(pilot, *pressed)
        assert took == expected
