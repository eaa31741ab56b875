"""The checkup on a fake run: which parts, in which order, how long, and what their outcomes amount to."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hostdx.app.recordings.answers import unlisted_findings
from hostdx.app.recordings.session import RunSession
from hostdx.probes.engine.disk.refusals import DirectorySuitability
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import read_disk_topology
from hostdx.probes.types import Json
from hostdx.scenarios.checkup import parts
from hostdx.scenarios.checkup.parts import (
    CheckupPart,
    seconds_for_each_part,
    seconds_that_suffice,
    sort_by_suspicion,
)
from hostdx.scenarios.checkup.ranking import item_of_outcome, say_budget_ended
from hostdx.scenarios.checkup.results import CheckupAnswer
from hostdx.scenarios.checkup.scenario import NOT_NEEDED_REASON, Checkup
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.card import Card
from hostdx.scenarios.contract.finding import Finding, Remedy, SuggestedStep
from hostdx.scenarios.contract.model import OptionMap, OtherRunOutcome, PreparedRun, Run, Scenario
from hostdx.scenarios.contract.plan import Option
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun, conduct_fake

ADVICE = SuggestedStep("turn it off", "switch --off")


class FakePart(Scenario):
    why: ClassVar[str] = ""
    answers: ClassVar[str] = ""
    takes_s: ClassVar[float] = 60.0
    options: ClassVar[tuple[Option, ...]] = (
        Option(name="dir", kind="path", help="", multiple=True),
        *Scenario.options,
    )

    def __init__(
        self, id: str, suspect: str, seconds: float, *, why_not: str = "", asks: bool = False
    ) -> None:
        self.id = id  # type: ignore[misc]
        self.title = self.question = id  # type: ignore[misc]
        self.suspect = suspect  # type: ignore[misc]
        self.checkup_s = seconds  # type: ignore[misc]
        self._why_not, self._asks = why_not, asks

    def blocking_reason(self, host: Host) -> str:
        return self._why_not

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        change = Action(kind="attribute", title="switch it", target="/x", new="1", consent=True)
        budget = options.as_number("budget")
        plan = self.make_plan(
            seconds=budget + 5,
            measuring_s=budget,
            actions=(change,) if self._asks else (),
            options=options.values,
        )
        return PreparedRun(plan, self._run)

    async def _run(self, run: Run) -> None:
        raise AssertionError("a part is run by another process")


class Resolution(FakePart):
    card: ClassVar[Card] = Card(role="resolution")
    checkup_first: ClassVar[bool] = True


def verdict(word: Any, ratio: float, ci: tuple[float, float], *, control: bool = False) -> ev.RunVerdict:
    return ev.RunVerdict(t=1.0, workload="w", metric="m", baseline="A", variant="B", verdict=word, ratio=ratio, ci95=ci,
                      groups=9, control=control)  # fmt: skip


def outcome(
    scenario: str, answer: str, weight: str, *verdicts: ev.RunVerdict, **more: Any
) -> OtherRunOutcome:
    fields: dict[str, Any] = {
        "status": "done",
        "reason": "",
        "seconds": 9.0,
        "recording": f"/r/{scenario}.jsonl",
    }
    return OtherRunOutcome(scenario=scenario, answer=answer, weight=weight, verdicts=verdicts,
                   following=(ADVICE,), **(fields | more))  # fmt: skip


UNMEASURED = ev.RunVerdict(
    t=1.0, workload="w", metric="m", baseline="A", variant="B", verdict="not measured", reason="no room"
)
SAME = verdict("no material difference", 1.01, (0.98, 1.03))
OUTCOMES = {
    "null": outcome("null", "resolution ±4 %", "ok", SAME),
    "storage": outcome("storage", "no material difference in anything", "ok", SAME),
    "wall": outcome("wall", "a packet costs 32 % more", "warning", verdict("slower", 0.68, (0.6, 0.7))),
}


class CheckupRun(FakeRun):
    """Its other runs end as OUTCOMES says, `takes` seconds after they began."""

    def __init__(
        self, *, takes: float = 20.0, outcomes: Mapping[str, OtherRunOutcome] = OUTCOMES, **more: Any
    ) -> None:
        super().__init__(declared=Checkup.options, **more)
        self.calls: list[tuple[str, dict[str, Json]]] = []
        self._takes, self._outcomes = takes, outcomes

    async def run_other(
        self,
        scenario: Scenario,
        values: Mapping[str, Json],
        hear: Callable[[ev.AnyEvent], None],
        done: Callable[[OtherRunOutcome], None],
    ) -> None:
        self.calls.append((scenario.id, dict(values)))
        hear(ev.Progress(t=0.0, step="w", text="reading", seconds_left=3.0))
        if scenario.id == "storage":
            hear(ev.Guard(t=0.0, kind="bystanders", text="stopped: others wait", severity="warning"))
        try:
            await self.clock.sleep(self._takes)
            if scenario.id == "stopped":
                raise asyncio.CancelledError
        finally:
            done(self._outcomes[scenario.id])


STORAGE, WALL = FakePart("storage", "the disk", 90.0), FakePart("wall", "the firewall", 30.0)
NULL = Resolution("null", "noise", 20.0)
REFUSED = FakePart("gone", "the card", 30.0, why_not="no card is plugged in")
ASKS = FakePart("asks", "the scheduler", 30.0, asks=True)


def answer_lines(run: FakeRun) -> list[str]:
    return [item.ranked_line for item in run.of(CheckupAnswer)[-1].value]


async def test_a_budget_too_short_for_all_leaves_the_last_ones_out(offer: Any) -> None:
    offer(STORAGE, WALL, NULL)
    run = CheckupRun(options={"budget": 32.0}, takes=12.0)
    await conduct_fake(Checkup(), run)
    assert [name for name, _ in run.calls] == ["null"]  # as the plan says, though time would be left
    answer = {item.scenario: item.state for item in run.of(CheckupAnswer)[-1].value}
    assert answer["storage"] == answer["wall"] == "not measured"
    plan = Checkup().prepare(Host(), OptionMap({"budget": 32.0}, Checkup.options)).plan
    assert [step.id for step in plan.steps] == ["triage", "null"] and len(plan.left_out) == 2
    parts = [CheckupPart(scenario) for scenario in (NULL, STORAGE, WALL)]
    enough_s = seconds_that_suffice(parts)
    assert (
        len(seconds_for_each_part(parts, enough_s)) == 3
        and len(seconds_for_each_part(parts, enough_s - 0.1)) < 3
    )
    assert not seconds_for_each_part([CheckupPart(STORAGE)], 1.0)


async def test_a_suspect_of_triage_is_measured_first_and_a_clear_answer_ends_it(offer: Any) -> None:
    offer(STORAGE, WALL, NULL, suspect="wall")
    dead = Finding(id="w.dead", severity="critical", confidence="measured", title="it is dead")
    clear = OUTCOMES | {"wall": outcome("wall", "it is dead", "critical", findings=(dead,))}
    run = CheckupRun(outcomes=clear)
    await conduct_fake(Checkup(), run)
    assert [name for name, _ in run.calls] == ["null", "wall"]
    assert f"2. the disk: not measured: {NOT_NEEDED_REASON}" in answer_lines(run)
    assert dead in [event.finding for event in run.of(ev.Found)]
    conducted = CheckupRun(outcomes=clear, options={"all": True})
    await conduct_fake(Checkup(), conducted)
    assert [name for name, _ in conducted.calls] == ["null", "wall", "storage"]
    assert [
        p.id for p in sort_by_suspicion([CheckupPart(STORAGE), CheckupPart(NULL), CheckupPart(WALL)], [])
    ] == ["null", "storage", "wall"]


def make_finding(id: str, severity: Any, subject: str, *, prove: str = "storage") -> Finding:
    remedy = Remedy(title="mount it without", commands=("findmnt", f"mount -o remount,async {subject}"))
    return Finding(id=id, severity=severity, title=id, subject=subject, prove=prove, remedy=(remedy,))


@pytest.mark.parametrize(
    ("part", "states"),
    [
        # nothing confirms it: after the measured cause, before a remark, with its remedy as what is next
        (outcome("storage", "no data", "unknown", verdict("inconclusive", 1, (0.7, 1.4))), ["cause", "rule", "open"]),
        (outcome("storage", "B is slower", "warning", verdict("slower", 0.5, (0.4, 0.6))), ["cause", "cause"]),
        (OUTCOMES["storage"], ["cause", "cleared", "open"]),  # measured, and harmless
        # a run that found nothing but the rule itself has proved nothing
        (outcome("storage", "odd", "warning", findings=(make_finding("storage.sync", "warning", "/s"),)),
         ["cause", "rule", "open"]),
    ],
)  # fmt: skip
async def test_a_warning_of_triage_stands_in_the_list_unless_a_measured_cause_names_it(
    monkeypatch: pytest.MonkeyPatch, offer: Any, part: OtherRunOutcome, states: list[str]
) -> None:
    offer(STORAGE, WALL)
    findings = [make_finding("storage.sync", "warning", "/s"), make_finding("host.load", "notice", "")]
    monkeypatch.setattr(
        "hostdx.scenarios.triage.triage.examine_host",
        lambda *a, **k: iter([ev.Found(t=0.1, finding=finding) for finding in findings]),
    )
    run = CheckupRun(outcomes=OUTCOMES | {"storage": part}, options={"dir": ["/d", "/s"]})
    await conduct_fake(Checkup(), run)
    items = run.of(CheckupAnswer)[-1].value
    assert [item.state for item in items] == states
    remount = ("findmnt", "mount -o remount,async /s")  # all of the remedy, as the part's own run says it
    assert any(item.following and item.following[0].all_commands == remount for item in items)
    rules = [item for item in items if item.scenario == "storage" and not item.recording]
    assert len(rules) == (states != ["cause", "cause"])
    session = RunSession()
    for event in run.events:
        session.apply(event)
    assert [f.id for f in unlisted_findings(session)] == [
        "host.load"
    ]  # what the list names does not stand beside it once more


async def test_the_parts_get_the_directories_that_the_plan_chose(
    offer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(STORAGE)
    chosen_directories = parts.ChosenDirectories(("/var/tmp", "/s"), suspects=("/s",))
    monkeypatch.setattr(
        "hostdx.scenarios.checkup.scenario.choose_directories", lambda host, options: chosen_directories
    )
    run = CheckupRun()
    await conduct_fake(Checkup(), run)
    assert run.calls[0][1]["dir"] == ["/var/tmp", "/s"]


def test_directories_that_findings_of_storage_name_are_measured_beside_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    findings = [
        make_finding("storage.sync", "warning", "/s"),
        make_finding("storage.full", "critical", "/full"),
        make_finding("storage.atime", "notice", "/quiet"),
        make_finding("storage.x", "warning", "/var/log"),  # on the usual directory's file system
        make_finding("storage.y", "warning", "/t"),
        make_finding("storage.z", "warning", "/u"),
    ]

    def suitability_of(host: Host, directory: str, *, explicit: bool) -> DirectorySuitability:
        return DirectorySuitability(directory=directory, refusal="no space" if directory == "/full" else "")

    monkeypatch.setattr(parts, "findings_about", lambda host, subjects: findings)
    monkeypatch.setattr(parts, "default_directories", lambda host: ("/var/tmp",))
    monkeypatch.setattr(parts, "check_suitability", suitability_of)
    monkeypatch.setattr(
        parts, "file_system_key", lambda host, path: "root" if path.startswith("/var") else path
    )
    directories = parts.choose_directories(Host(), OptionMap({}))
    assert (directories.directories, directories.suspects) == (("/var/tmp", "/s", "/t"), ("/s", "/t"))
    assert len(directories.sentences) == 2 and len(directories.left_out) == 2
    assert not parts.choose_directories(Host(), OptionMap({"dir": ["/d"]})).suspects


def test_a_finding_about_a_disk_names_the_file_systems_on_it(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "host")
    lines = []
    for number, (letter, mountpoint) in enumerate((("a", "/boot"), ("a", "/"), ("b", "/data"))):
        disk = f"/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sd{letter}"
        if f"8:{ord(letter)}" not in " ".join(lines):
            tree.disk(disk, f"8:{ord(letter)}")
        lines.append(f"{30 + number} 1 8:{ord(letter)} / {mountpoint} rw - ext4 /dev/sd{letter} rw")
    tree.put("/proc/self/mountinfo", "\n".join(lines))
    host = tree.host()
    assert list(parts.mountpoints_on(read_disk_topology(host), ["sdb"])) == ["/data"]
    assert list(parts.mountpoints_on(read_disk_topology(host), ["sda"])) == ["/"]
    assert not list(parts.mountpoints_on(read_disk_topology(host), []))


def test_a_part_that_the_budget_ends_says_so_and_keeps_what_was_judged() -> None:
    """Its own words were "interrupted: stopped by request", and who read them asked who had stopped it."""
    nothing = outcome("stuck", "interrupted: stopped by request", "warning", status="interrupted")
    half = outcome(
        "wall", "9 % slower", "warning", verdict("slower", 0.91, (0.89, 0.93)), status="interrupted"
    )
    unmeasured, slower = (item_of_outcome(WALL, say_budget_ended(each)) for each in (nothing, half))
    assert unmeasured.state == "not measured" and nothing.answer not in unmeasured.words
    assert slower.state == "cause" and half.answer in slower.words


async def test_a_stop_keeps_what_was_measured_until_then(offer: Any) -> None:
    stopped = FakePart("stopped", "the stopped one", 60.0)
    offer(STORAGE, stopped, WALL)
    half = outcome("stopped", "broken off; until then: 9 % slower", "warning",
                   verdict("slower", 0.91, (0.89, 0.93)), status="interrupted", reason="stopped")  # fmt: skip
    run = CheckupRun(outcomes=OUTCOMES | {"stopped": half})
    with pytest.raises(asyncio.CancelledError):
        await conduct_fake(Checkup(), run)
    assert answer_lines(run) == [
        "1. the stopped one: broken off; until then: 9 % slower",
        "2. ruled out: the disk (no difference over 3 %)",
        "3. the firewall: not measured: stopped before it began",
    ]
    assert not run.of(ev.Found)[-1].finding.title.startswith("until")
