"""The home screen, its pulse and the list of recordings."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from textual._compositor import LayoutUpdate
from textual.screen import Screen

from hostdx.app.recordings import store
from hostdx.app.recordings.interference import foreign_bytes_per_s_now as others
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.unread import count_readable
from hostdx.app.terminal.lines import Line, cell_width, flow_parts
from hostdx.app.tui import theme
from hostdx.app.tui.commands import EarlierResults, RecordedAnswer
from hostdx.app.tui.plan_text import resolution_lines
from hostdx.app.tui.questions import list_questions, scenario_for
from hostdx.app.tui.screens.ask import ChoiceScreen
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.facts import fact_lines
from hostdx.app.tui.screens.finding import FindingScreen
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.home.host_glance import host_lines, host_parts_line
from hostdx.app.tui.widgets.home.host_table import draw_table, firewall_words, missing_reason, value_words
from hostdx.app.tui.widgets.home.next_step import NextStep
from hostdx.app.tui.widgets.home.scenario_list import ScenarioList
from hostdx.app.tui.widgets.measuring.host_panel import pulse_lines
from hostdx.app.tui.widgets.picker import Picker, Whole
from hostdx.app.undo.change_report import UndoneChange
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.plan import Plan
from tests.every_case import every_case
from tests.fakes.hosts.facts import split_fact_name
from tests.fakes.streams.stories import FACTS, HOSTILE, OFFERS
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import SIZES, fake_plan, grid, keys, run_app, settle, wait, wait_plan
from tests.needs import one_always, some_always

both = pytest.mark.parametrize("size", one_always("narrow", "wide"))


def make_session(*removed: str, **more: object) -> RunSession:
    """The made-up host; `more` are facts by name, an `AbsentFact` among them."""
    run_session = RunSession()
    for short, (value, source, unit) in FACTS.items():
        if not short.startswith(removed or ("nothing",)):
            subject, name = split_fact_name(short)
            run_session.apply(
                ev.FactRead(t=0.0, subject=subject, name=name, value=value, source=source, unit=unit)
            )
    for short, value in more.items():
        subject, name = split_fact_name(short)
        if isinstance(value, ev.AbsentFact):
            run_session.apply(msgspec.structs.replace(value, subject=subject, name=name))
        else:
            run_session.apply(ev.FactRead(t=0.0, subject=subject, name=name, value=value, source="here"))
    return run_session


def text_of(line: Line) -> str:
    return "".join(part for part, _ in line)


def cursor_text(app: Shell) -> str:
    """What is said of the item under the cursor, in one line."""
    lines = app.screen_stack[0].query_one(Whole)._drawn
    inner = lines[1:-1] if text_of(lines[0]).startswith("╭") else lines
    return " ".join(" ".join(text_of(line) for line in inner).replace("│", " ").split())


def cursor_row(app: Shell) -> str:
    """The list's line with the cursor."""
    return next(row for line in grid(app).splitlines() if "▸" in (row := line.partition("││")[0])).strip(" │")


@both
async def test_the_first_screen_is_painted_at_most_twice(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual itself repaints a screen once after its first layout; each whole paint is 4 to 10 kB on the line."""
    paints: list[object] = []
    display = Shell._display

    def count_paints(self: Shell, screen: Screen[object], renderable: object) -> None:
        if isinstance(renderable, LayoutUpdate):  # not a line that came later: on a busy machine one may
            paints.append(renderable)
        display(self, screen, renderable)  # type: ignore[arg-type]

    monkeypatch.setattr(Shell, "_display", count_paints)
    async with run_app(tmp_path, size=size, is_drawn=True) as (app, pilot):
        await pilot.pause(0.1)
        assert 1 <= len(paints) <= 2
        assert isinstance(app.screen, HomeScreen)


@pytest.mark.parametrize("name", [theme.DARK_NAME, theme.LIGHT_NAME])
async def test_the_first_screen_has_the_ground_of_the_theme_that_was_kept(name: str, tmp_path: Path) -> None:
    (tmp_path / "hostdx").mkdir()
    (tmp_path / "hostdx" / theme.KEPT).write_text(name)
    async with run_app(tmp_path) as (app, pilot):
        assert app.screen.styles.background.hex.lower() == theme.role_style(name, "text").bgcolor.name  # type: ignore[union-attr]
        await pilot.press("ctrl+t")
        await settle(pilot)
        assert app.theme != name
        if app.theme != theme.TERMINAL_NAME:
            ground = theme.role_style(app.theme, "text").bgcolor
            assert ground is not None and app.screen.styles.background.hex.lower() == ground.name


@both
async def test_all_of_every_scenario_can_be_read_without_leaving_home(size: str, tmp_path: Path) -> None:
    offers = {offer[0]: offer for offer in OFFERS}
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        heights = set()
        for _ in app.screen.query_one(ScenarioList).build_rows():
            row = f"{cursor_row(app)} "
            ident = next((name for name in offers if f" {name} " in row), "")
            if ident:  # each stands once: under its question, else by its title
                _, title, question, answers, takes, needs, blocked = offers.pop(ident)
                assert (f"{takes:.0f} s" if takes < 120 else f"{takes / 60:.0f} min") in row
                assert title in row or any(question.words in row for question in list_questions())
                item = cursor_text(app)
                for text in (question, answers, blocked, needs if blocked else ""):
                    assert text in item, (ident, text)
                assert bool(blocked) is ("✗ cannot run here" in item)
            heights.add(app.screen.query_one("#whole").size.height)
            await keys(pilot, "down")
        assert not offers
        assert len(heights) == 1  # nothing moves while the cursor does


@pytest.mark.parametrize("rows", some_always((24, 20, 50), (21, 23, 31, 32)))
async def test_every_item_can_be_reached_at_every_height(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SIZES, "low", (60, rows))
    async with run_app(tmp_path, triage="triage", size="low") as (app, pilot):
        assert "SUSPECTS" in grid(app) and "WHAT IS WRONG?" in grid(app) and "RECORDINGS" in grid(app)
        offers = app.home_session().offers
        offers += [
            msgspec.structs.replace(offers[0], id=f"site{n}") for n in range(9)
        ]  # third parties' scenarios
        app.draw()
        await settle(pilot)
        for question in list_questions():
            assert f"▸ {question.key or ' '} {question.words}" in grid(app)
            offer = next((o for o in OFFERS if o[0] in [card.id for card in question.cards]), None)
            if offer is not None and offer[6]:
                assert "cannot run here" in grid(app)
                await keys(pilot, "enter")
            assert offer is None or " ".join(offer[2].split()[:4]) in grid(app)
            await keys(pilot, "down")
        assert "site0" in cursor_row(app) and " ".join(OFFERS[0][2].split()[:4]) in grid(app)
        await keys(pilot, "end")
        assert "site8" in cursor_row(app) and "RECORDINGS" in grid(app)
        await keys(pilot, "tab", "end")
        assert "▸ · notice" in grid(app)


async def test_what_is_too_long_even_then_says_where_the_rest_is(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        long = Finding(
            id="x.y", severity="critical", title="t", evidence=tuple(Evidence(f"line {n}") for n in range(20))
        )
        home_session = app.home_session()
        home_session.findings = {"x.y|": long}
        offers = home_session.offers
        long_offer = msgspec.structs.replace(offers[0], question="why " * 400, blocked=HOSTILE)
        home_session.offers = [long_offer, *offers[1:]]
        broken = ev.ScenarioOffer(
            t=0.0, id="z", title="z", question="", takes_s=0.0, blocked="cannot be loaded: x"
        )
        home_session.offers.append(broken)
        app.draw()
        await keys(pilot, *["down"] * 9)  # to the row of the first offer
        assert "Enter shows all of it" in grid(app) and "\x1b" not in grid(app) and "RECORDINGS" in grid(app)
        await keys(pilot, "shift+tab")
        assert "line 0" in grid(app) and "line 19" not in grid(app) and "Enter shows all of it" in grid(app)
        await keys(pilot, "enter")
        assert isinstance(app.screen, FindingScreen)
        await keys(pilot, "escape", "tab", "end")
        assert cursor_row(app).startswith("▸   z") and cursor_text(app).endswith(
            "cannot run here: cannot be loaded: x"
        )


def test_what_firewall_there_is_in_a_few_words() -> None:
    none: dict[str, object] = {
        "firewall.service": "none", "firewall.rule_count": 0, "firewall.reverse_path_rules": [],
    }  # fmt: skip
    denied = ev.AbsentFact(t=0.0, name="", reason="nft said no", kind="permission")
    for facts, expected in (
        ({}, "firewalld, rpfilter"),
        ({"firewall.service_running": False}, "firewalld, not running, rpfilter"),
        (none, "no firewall"),
        ({**none, "firewall.rule_count": 9}, "nftables 9 rules"),
        ({**none, "firewall.iptables_legacy": "IPv4 filter"}, "iptables"),
    ):
        assert text_of(host_parts_line(make_session(**facts), 100)).endswith(f" · {expected}"), expected
    unread = make_session("firewall", **{"firewall.service": "none", "firewall.rules": denied})
    assert text_of(host_parts_line(unread, 100)).endswith(" · firewall ? needs root")
    assert missing_reason(unread, "firewall", "rules") == "needs root"
    assert ("? rules: needs root", "unknown") in firewall_words(unread)
    assert (
        text_of(host_parts_line(make_session("firewall", "disk", "nic"), 100)) == ""
    )  # nothing was read yet


def test_many_disks_are_counted_and_push_nothing_out() -> None:
    many: dict[str, object] = {}
    for number in range(30):
        name = f"disk.sd{chr(97 + number % 26)}{number // 26}"
        many |= {f"{name}.transport": "sas", f"{name}.file_systems": ["xfs"], f"{name}.size": 18 * 10**12}
    many |= {"disk.loop0.transport": "loop", "disk.dm-0.transport": "sas", "disk.dm-0.kind": "lvm"}
    host = make_session("disk", **many)
    line = text_of(host_parts_line(host, 78))
    assert line.startswith("30 × sas xfs · ens1f0 100 Gbit/s") and line.endswith("firewalld, rpfilter")
    rows = [text_of(row) for row in draw_table(host, 44, 16)]
    assert len(rows) == 16
    assert any("lines more: f" in row for row in rows)
    for word in ("firewalld 1.3.4, running", "ens1f0", "/scratch", "18 TB"):
        assert any(word in row for row in rows), word


@every_case("width", [58, 78, 100, 118])
def test_the_host_s_lines_fit_and_what_says_least_gives_way(width: int) -> None:
    host = make_session()
    host.apply(
        ev.Began(
            t=0.0, schema=ev.SCHEMA, version="0", scenario="triage", command=[], seed=0, pid=1, pid_start=1,
            boot_id="", wall="", host="worker-017.rack42.example.org",
        )
    )  # fmt: skip
    first, second = (text_of(line) for line in host_lines(host, width))
    assert max(len(first), len(second), len(text_of(host_parts_line(host, width)))) <= width
    assert "5.14.0-427.13.1.el9_4.x86_64" in first and "worker-017" in first
    assert "512 GiB" in second and "2 nodes" in second
    assert ("rack42" in first) is (width > 78)


def test_parts_are_not_torn_where_a_line_ends() -> None:
    rows = flow_parts([("1.92 TB", "text"), ("ext4", "dim"), ("scheduler none", "text")], 14, "  ")
    assert [text_of(row) for row in rows] == ["1.92 TB  ext4", "scheduler none"]
    rows = flow_parts([("a word that is far too long for it", "text"), ("日本語", "dim")], 10)
    assert all(cell_width(row) <= 10 for row in rows) and text_of(rows[-1]) == "it 日本語"
    assert flow_parts([], 10) == [] and flow_parts([("", "text")], 10) == []
    assert value_words(1500, "B") == "1500 B" and value_words(4096, "B") == "4 KiB"
    assert value_words(9000, "B") == "9000 B" and value_words(2**30 + 1, "B") == "1 GiB"


async def test_names_of_the_host_are_harmless_in_the_glance(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        for subject, name in (
            (f"disk:{HOSTILE}", "transport"),
            (f"nic:{HOSTILE}", "speed"),
            ("firewall", "rules"),
            ("firewall", "manager"),
            ("firewall", "service"),
        ):
            fact = ev.FactRead(t=0.0, subject=subject, name=name, value=HOSTILE, source=HOSTILE)
            app.home_session().apply(fact)
        for size in ((120, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            rows = grid(app)
            assert "\x1b" not in rows and "\x07" not in rows and "\u202e" not in rows
            assert isinstance(app.screen.query_one("#scenarios"), Picker | ScenarioList)


def test_what_could_not_be_read_stands_before_the_facts() -> None:
    session = RunSession()
    session.apply(ev.FactRead(t=0, subject="cpu", name="model", value="x", source="/proc/cpuinfo"))
    session.apply(ev.AbsentFact(t=0, subject="disk:sda", name="smart", reason="no smartctl", kind="tool"))
    session.apply(ev.AbsentFact(t=0, subject="nic:eth0", name="speed", reason="a virtual card"))
    session.apply(ev.Checked(t=0, rule="x.y", state="unreadable", reason="no smartctl", kind="tool"))
    session.apply(ev.Checked(t=0, rule="x.z", state="unreadable", reason="no such file", kind="missing"))
    lines = ["".join(part for part, _ in line) for line in fact_lines(session, 120)]
    places = [
        next(n for n, line in enumerate(lines) if words in line)
        for words in ("disk:sda", "/proc/cpuinfo", "nic:eth0")
    ]
    assert places == sorted(places)
    assert count_readable(session) == 2  # what an admin can do nothing about is not counted


async def test_the_next_step_is_what_a_killed_run_left_then_what_is_waited_for(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        step = app.screen.query_one(NextStep)

        def keys_of_step() -> list[str]:
            return [words for line in step.draw(114, 3) for words, role in line if role == "key"]

        waiting_pulse = ev.Pulse(t=3.0, load1=3.1, cpu=1.0, psi_cpu=0.5, psi_io=0.0, psi_memory=0.0)
        idle_pulse, full_pulse = (
            msgspec.structs.replace(waiting_pulse, psi_cpu=0.0, cpu=cpu) for cpu in (0.1, 1.0)
        )
        app.settled_pulses.extend([idle_pulse, waiting_pulse])
        assert "6" not in keys_of_step()  # it does not last
        app.settled_pulses.extend([full_pulse, full_pulse])  # as many loops as CPUs: nobody waits
        assert keys_of_step() == ["6", "1"]
        app.settled_pulses.extend([waiting_pulse, waiting_pulse])
        assert keys_of_step() == ["6", "1"]
        now = f"{datetime.now(UTC):%FT%TZ}"
        app.earlier_results = EarlierResults(last={"cpuwatch": RecordedAnswer("x", "2 of 2 CPUs", now)})
        assert keys_of_step() == ["1", "6"]  # it was asked just now
        app.settled_pulses.extend([msgspec.structs.replace(idle_pulse, psi_io=0.5)] * 2)
        assert keys_of_step() == ["1"]
        app.left = [UndoneChange(title="scheduler of sda", state="open", would="write mq-deadline")]
        assert keys_of_step() == ["u"]
        await keys(pilot)


class FakeReading:
    """Triage as a child that ends when the test says so."""

    def __init__(self, argv: list[str]) -> None:
        self.argv, self.ended, self.error, self.session = argv, False, "", RunSession()
        self.take_change: Callable[[], object] = lambda: None

    def follow(self, take_change: Callable[[], object]) -> None:
        self.take_change = take_change

    def close(self) -> None:
        self.ended = True

    def end(self, error: str = "") -> None:
        self.ended, self.error = True, error
        self.take_change()


async def test_what_triage_told_is_read_again_once_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: list[FakeReading] = []

    def begin_reading(argv: list[str]) -> FakeReading:
        readings.append(FakeReading(argv))
        return readings[-1]

    monkeypatch.setattr("hostdx.app.tui.requests.EventChild", begin_reading)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.watches_host, shown_reading = True, app.triage
        app.reread_host_if_old(60.0)
        assert not readings
        app.reread_host_if_old(0.0)
        app.reread_host_if_old(0.0)  # one at a time
        [failed_reading] = readings
        assert app.triage is shown_reading  # what it told stays on the screen meanwhile
        failed_reading.end("it was killed")
        assert app.triage is shown_reading
        app.reread_host_if_old(0.0)
        later_reading = readings[-1]
        later_reading.end()
        assert app.triage is later_reading and app.host_reading_age_s < 30.0
        app.read_host(programs=True)
        readings[-1].ended = True
        count = len(readings)
        app.reread_host_if_old(0.0)  # a program may wake a disk: only a key asks it
        assert len(readings) == count
        await settle(pilot)


async def test_a_run_of_ours_in_the_last_minute_is_said(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, _):
        assert app.own_run_ended_s is None
        for ended_s_ago, is_said in ((20.0, True), (70.0, False), (-20.0, False)):
            app._own_run_ended_at = time.time() - app.host_reading_age_s - ended_s_ago
            assert (app.own_run_ended_s is not None) == is_said


@both
async def test_no_all_clear_while_the_host_is_read_again(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "f", "escape")
        assert app.triage is not None and app.triage.ended
        app.triage = None  # what a second reading has told so far: nothing
        app.draw()
        await settle(pilot)
        assert "reading the host" in grid(app)
        assert "no rule found" not in grid(app) and "checks found" not in grid(app)


async def test_a_small_screen_says_what_to_press_once_the_host_waits(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        assert "NEXT STEP" not in grid(app)
        app.settled_pulses.append(
            ev.Pulse(t=3.0, load1=9.0, cpu=1.0, psi_cpu=0.9, psi_io=0.0, psi_memory=0.0, devices={})
        )
        app.draw()
        await settle(pilot)
        assert "NEXT STEP  ▲ tasks wait for a CPU now: press 6" in grid(app)


def make_pulse(**devices: tuple[float, float, float]) -> ev.Pulse:
    return ev.Pulse(t=3.0, load1=3.1, cpu=0.4, psi_cpu=0.0, psi_io=0.0, psi_memory=0.0, devices=devices)


async def test_beside_each_complaint_stands_what_is_known_of_it(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        past = RecordedAnswer("20260101-null-x.jsonl", "all is well", "2026-11-26T11:20:33Z", "ok")
        app.earlier_results = EarlierResults(last={"null": past})
        app.first_pulse = make_pulse(sdb=(1.0, 1.0, 0.25))
        await settle(pilot)
        rows = {row.key: row for row in app.screen.query_one(ScenarioList).build_rows()}
        row_texts = {key: "".join(part for part, _ in row.draw(100)) for key, row in rows.items()}
        session = app.home_session()
        for question in list_questions()[1:]:
            findings = [f for f in session.findings.values() if f.prove == scenario_for(question, session).id]
            loud = [f for f in findings if f.severity != "ok"]
            blocked = any(o.blocked for o in session.offers if o.id in [c.id for c in question.cards])
            if loud and not blocked:
                row = row_texts[f"?{question.id}"]
                assert str(len(loud)) in row and question.words in row
        null = next(f"?{q.id}" for q in list_questions() if q.cards[0].id == "null")
        assert "11-26" in row_texts[null]
        assert any("all is well" in "".join(p for p, _ in line) for line in rows[null].full_lines(114))


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_the_plan_says_what_each_load_resolves_on_this_host(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_plan(monkeypatch, "storage")
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.open_plan("storage")
        await wait_plan(app, pilot)
        assert isinstance(app.screen, PlanScreen) and app.screen.plan is not None
        load = app.screen.plan.workloads[0]
        before = grid(app)
        app.earlier_results = EarlierResults(detects={load.id: 0.0371, "of another plan": 0.2})
        app.draw()
        await keys(pilot)
        assert "±3.7 %" in grid(app) and "±3.7 %" not in before and "20 %" not in grid(app)
    assert resolution_lines(Plan(scenario="x", title="", question=""), {"a": 0.1}, 80) == []


Rates = dict[str, tuple[float, float, float]]
MIB = float(1 << 20)


def session(devices: Rates, own: dict[str, tuple[float, float]], plan: Plan | None = None) -> RunSession:
    run_session = RunSession()
    if plan is not None:
        run_session.apply(ev.Planned(t=0, plan=plan))
    run_session.apply(ev.Pulse(t=1, load1=0.5, cpu=0.1, devices=devices, ours=own))
    return run_session


def pulse_spans(session: RunSession) -> list[tuple[str, str]]:
    return [span for line in pulse_lines(session, 200) for span in line]


@every_case(
    ("devices", "own", "expected"),
    [
        ({"vda": (300 * MIB, 0, 1.0)}, {"vda": (300 * MIB, 0.0)}, 0.0),
        ({"vda": (300 * MIB, 0, 1.0)}, {"vda": (200 * MIB, 0.0)}, 100 * MIB),
        ({"vda": (0, 80 * MIB, 1.0)}, {"vda": (0.0, 0.0)}, 80 * MIB),
        ({"vda": (0, 80 * MIB, 1.0)}, {"vda": (0.0, 20 * MIB)}, None),  # the journal's, or somebody's
        ({"vda": (300 * MIB, 0, 1.0), "loop0": (9 * MIB, 0, 1.0)}, {}, None),
        ({"loop0": (9 * MIB, 0, 1.0), "vda": (9 * MIB, 0, 1.0)}, {"loop0": (9 * MIB, 0.0)}, None),  # below it
        ({"vda": (9 * MIB, 0, 1.0), "dm-0": (9 * MIB, 0, 1.0)}, {"vda": (9 * MIB, 0.0)}, None),  # above it
        (
            {"vda": (9 * MIB, 0, 1.0), "vda1": (9 * MIB, 0, 1.0)},
            {"vda": (9 * MIB, 0.0)},
            0.0,
        ),  # its partition
        ({"sda": (0, 0, 0), "sdb": (50 * MIB, 0, 1.0)}, {"sda": (0.0, 0.0)}, 50 * MIB),
    ],
)
def test_whose_it_is(devices: Rates, own: dict[str, tuple[float, float]], expected: float | None) -> None:
    assert others(session(devices, own)) == expected


def test_a_per_cent_of_steal_is_no_warning() -> None:
    run_session = RunSession()
    run_session.apply(ev.Pulse(t=1, load1=0.5, cpu=0.1, steal=0.012))
    assert (" 1 %", "text") in pulse_spans(run_session) or ("1 %", "text") in pulse_spans(run_session)


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_the_list_tells_results_and_deletes_only_what_was_agreed_to(size: str, tmp_path: Path) -> None:
    recordings = tmp_path / "hostdx" / "recordings"
    recordings.mkdir(parents=True)
    for name in ("one", "two"):
        first, rest = (RECORDINGS / "storage.jsonl").read_bytes().split(b"\n", 1)
        began = msgspec.json.decode(first, type=ev.Common)
        text = msgspec.structs.replace(began, options={"dir": ["/scratch", "/my data"]})
        (recordings / f"{name}.jsonl").write_bytes(msgspec.json.encode(text) + b"\n" + rest)
        (recordings / f"{name}.log").touch()  # what its runner said goes with it
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "r")
        screen = app.screen
        assert isinstance(screen, RecordingsScreen)
        await wait(pilot, lambda: not screen._unread)
        rows = grid(app)
        assert "2 recorded here" in rows and "examples" in rows
        assert rows.count("storage ") >= 2 and "! " in rows  # the headline with its severity
        assert "slower than A" in rows and "/scratch : /my data" in rows
        await keys(pilot, "D")
        assert isinstance(app.screen, ChoiceScreen)
        await keys(pilot, "escape")
        assert len(list(recordings.iterdir())) == 4
        await keys(pilot, "delete", "y")
        assert len(list(recordings.iterdir())) == 2 and "deleted" in grid(app)
        await keys(pilot, "end", "D")
        assert isinstance(app.screen, RecordingsScreen)  # an example belongs to the program
        assert len(store.list_demo_arguments()) > 5


async def test_of_two_marks_the_older_is_a_and_the_next_are_b(tmp_path: Path) -> None:
    """The list has the newest on top: marked downwards, an update that cost a fifth was called a gain."""
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await keys(pilot, "r", "space", "j", "space")
        screen = app.screen
        assert isinstance(screen, RecordingsScreen)
        began = {side: screen._listed[key].entry.wall for key, side in screen._marks.items()}
        assert began["A"] < began["B"]
        await keys(pilot, "j", "space")
        assert sorted(screen._marks.values()) == ["A", "B", "B"]
        assert "compare" in grid(app).splitlines()[-1]
        await keys(pilot, "space")
        assert sorted(screen._marks.values()) == ["A", "A", "B"]
        await keys(pilot, "space")
        assert sorted(screen._marks.values()) == ["A", "B"]


async def test_the_chosen_theme_is_kept_and_a_light_ground_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        assert app.theme == theme.DARK_NAME
        await keys(pilot, "ctrl+t")
        chosen = app.theme
    assert chosen != theme.DARK_NAME
    async with run_app(tmp_path, triage="triage") as (app, _):
        assert app.theme == chosen
    (tmp_path / "hostdx" / theme.KEPT).write_text("no such theme\x1b[2J")
    monkeypatch.setenv("COLORFGBG", "0;15")
    async with run_app(tmp_path, triage="triage") as (app, _):
        assert app.theme == theme.LIGHT_NAME


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_a_name_is_given_on_the_list_and_what_is_under_the_cursor_is_told_below_it(
    size: str, tmp_path: Path
) -> None:
    recordings = tmp_path / "hostdx" / "recordings"
    recordings.mkdir(parents=True)
    (recordings / "one.jsonl").write_bytes((RECORDINGS / "storage.jsonl").read_bytes())
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "r")
        screen = app.screen
        assert isinstance(screen, RecordingsScreen)
        await wait(pilot, lambda: not screen._unread)
        table = screen._answers["one.jsonl"].table
        assert table and all(entry.name[:10] in grid(app) for entry in table[:2])
        await keys(pilot, "L", *"new disk", "enter")
        assert store.read_label(recordings / "one.jsonl") == "new disk" and "new disk" in grid(app)
        await keys(pilot, "L", "ctrl+u", "enter")
        assert store.read_label(recordings / "one.jsonl") == "" and "new disk" not in grid(app)
        await keys(pilot, "end", "L")
        assert screen is app.screen  # an example has its name
        blank = [line for line in grid(app).splitlines() if not line.strip(" │")]
        assert len(blank) <= 8
