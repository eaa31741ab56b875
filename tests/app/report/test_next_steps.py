"""What comes after a run: one step that its answer asks for, with a command that can be pasted."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hostdx.app.recordings.session import RunSession
from hostdx.app.report import next_steps
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.next_steps import SAYS, checkup_command, list_remedies, next_steps_for
from hostdx.app.report.wording import verdict_role
from hostdx.app.state import recordings_dir
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.contract.plan import Metric, Plan, PlannedWrite
from hostdx.scenarios.kernel.findings import BenchmarkFigures, build_findings
from tests.every_case import every_case

IOPS = Metric("IOPS", "IOPS", "more")


def ended_run(
    *events: ev.AnyEvent, scenario: str = "storage", status: Any = "done", **options: Any
) -> RunSession:
    session = RunSession()
    session.apply(ev.Began(t=0.0, schema=ev.SCHEMA, version="1", scenario=scenario, command=[], host="h", wall="",
                           seed=1, pid=1, pid_start=1, boot_id="", options=options))  # fmt: skip
    for event in (*events, ev.RunEnded(t=60.0, status=status)):
        session.apply(event)
    return session


def verdict(word: Any, **more: Any) -> ev.RunVerdict:
    fields: dict[str, Any] = {"metric": "IOPS", "baseline": "A", "variant": "B", "seconds": 20.0, "groups": 9}
    return ev.RunVerdict(t=9.0, workload="w", verdict=word, **(fields | more))


def plan_event(measuring_s: float = 60.0, rights: str = "", **options: Any) -> ev.Planned:
    plan = Plan(
        scenario="storage", title="", question="", options=options, seconds=measuring_s + 15, measuring_s=measuring_s,
        writes=(PlannedWrite("sda", 8 << 30),), actions=(Action(kind="attribute", title="", target="/x",
        rights=rights),),
    )  # fmt: skip
    return ev.Planned(t=0.0, plan=plan)


def test_a_longer_limit_of_bytes_is_in_the_price() -> None:
    judged = verdict("inconclusive", ratio=1.0, seconds_to_decide=2246.0, bytes_to_decide=24 << 30)
    session = ended_run(plan_event(**{"most-bytes": None}), judged)
    step = next_steps_for(session)[0]
    assert (step.seconds, step.writes) == (2281.0, 24 << 30)
    price = step.title_with_price
    assert price != step.title
    assert list_remedies(session)[0].title == price[:1].upper() + price[1:]


STOPPED = ev.Guard(t=8.0, kind="bystanders", text="stopped: others wait", severity="warning")


def test_a_run_that_stopped_itself_is_run_again_as_it_was_when_it_is_quiet() -> None:
    judged = verdict("inconclusive", ratio=1.0, seconds_to_decide=2246.0, bytes_to_decide=24 << 30)
    step = next_steps_for(ended_run(plan_event(**{"most-bytes": None}), judged, STOPPED))[0]
    assert (step.command, step.seconds) == ("hostdx run storage", 75.0)
    decided = ended_run(plan_event(), verdict("faster", ratio=1.5), STOPPED)
    answer = find_headline_answer(decided)
    assert answer.weight == "warning" and answer.sentence.startswith(STOPPED.guard_sentence)


@pytest.mark.parametrize(
    ("word", "ratio", "command"),
    [("faster", 1.094, "hostdx run storage"), ("inconclusive", 1.02, checkup_command())],
)
def test_on_one_file_system_no_difference_is_expected(word: Any, ratio: float, command: str) -> None:
    judged = verdict(
        word, ratio=ratio, seconds_to_decide=2246.0, bytes_to_decide=24 << 30, one_file_system=True
    )
    session = ended_run(plan_event(**{"most-bytes": None}), judged)
    assert [step.command for step in next_steps_for(session)] == [command]
    assert find_headline_answer(session).weight in ("warning", "unknown")
    assert verdict_role(judged) in ("warning", "unknown")


@every_case(
    ("word", "one_file_system", "directories", "is_answered"),
    [
        ("no material difference", False, ["/a", "/b"], True),
        ("inconclusive", True, ["/a", "/b"], True),
        ("inconclusive", False, ["/a", "/b"], False),
        ("faster", True, ["/a", "/b"], False),
        ("no material difference", False, ["/a"], False),
        ("no material difference", False, [], False),
    ],
)
def test_where_no_directory_is_better_the_first_step_says_to_take_either(
    word: Any, one_file_system: bool, directories: list[str], is_answered: bool
) -> None:
    judged = verdict(word, ratio=1.02, one_file_system=one_file_system)
    session = ended_run(plan_event(dir=directories), judged)
    remedies = (SAYS.remedy("either"), SAYS.remedy("either-on-one-file-system"))
    assert (list_remedies(session)[0] in remedies) is is_answered
    assert sum(remedy in remedies for remedy in list_remedies(session)) == is_answered


LOUD = Finding(
    id="a.b", severity="warning", title="no TRIM", remedy=(Remedy(title="trim it", commands=("fstrim /x",)),)
)


class TextKeys:
    """In place of the texts of next steps: the key of each with its figures, by which a test knows it."""

    remedy = staticmethod(next_steps.SAYS.remedy)

    def text(self, key: str, **fields: object) -> str:
        return " ".join((key, *map(str, fields.values())))


@every_case(
    ("session", "title", "command"),
    [
        (ended_run(verdict("slower", ratio=0.5)), "groups", "hostdx replay r.jsonl"),
        (ended_run(verdict("slower", ratio=0.5), ev.Found(t=9.0, finding=LOUD)), "trim it", "fstrim /x"),
        (ended_run(verdict("inconclusive", seconds_to_decide=100.0, ratio=1.0), dir=["/a b", "/c"]),
         "longer 120", "hostdx run storage '--dir=/a b' --dir=/c --budget=120"),
        (ended_run(verdict("inconclusive", seconds_to_decide=1e6, ratio=1.0)), "quieter ", "hostdx run storage"),
        (ended_run(verdict("not measured", groups=0)), "more-time", "hostdx run storage --budget=240"),
        (ended_run(verdict("not measured", groups=0, seconds_to_decide=439.2)), "more-time",
         "hostdx run storage --budget=440"),
        (ended_run(verdict("not measured", groups=0), status="skipped"), "more-time",
         "hostdx run storage --budget=240"),
        (ended_run(verdict("no material difference", ratio=1.0)), "no-difference", "hostdx run checkup"),
        (ended_run(verdict("no material difference", ratio=1.0), scenario="null"), "whole-host",
         "hostdx run checkup"),
        (ended_run(verdict("slower", ratio=0.9, control=True), dir=["/a"]), "control",
         "hostdx run storage --dir=/a"),
        (ended_run(status="interrupted"), "stopped", "hostdx run storage"),
        (ended_run(verdict("not measured", groups=0), scenario="workload", cmd="./job --token=x"),
         "same-command more-time  with --budget=240", ""),
    ],
)  # fmt: skip
def test_the_step_that_the_answer_asks_for(
    session: RunSession, title: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_steps, "SAYS", TextKeys())
    step = next_steps_for(session, "r.jsonl")[0]
    assert (step.title, step.command) == (title, command)


def test_more_time_helps_nothing_where_nothing_could_be_compared() -> None:
    assert next_steps_for(ended_run(verdict("not applicable", groups=0), status="skipped"), "r.jsonl") == ()


QUIET = Finding(
    id="a.c", severity="notice", confidence="measured", title="the check costs 30 ns",
    remedy=(Remedy(title="check new flows only", commands=("nft list chain x", "nft delete x"), undo=("nft add x",)),),
)  # fmt: skip


@every_case(
    ("word", "finding", "command"),
    [
        ("slower", QUIET, "nft list chain x"),
        ("faster", QUIET, "nft list chain x"),
        ("slower", msgspec.structs.replace(QUIET, confidence="rule"), "hostdx replay last"),
        ("slower", msgspec.structs.replace(QUIET, remedy=()), "hostdx replay last"),
        ("no material difference", QUIET, checkup_command()),
    ],
)
def test_a_decided_difference_with_a_remedy_gives_it_though_it_is_a_notice(
    word: Any, finding: Finding, command: str
) -> None:
    step = next_steps_for(ended_run(ev.Found(t=9.0, finding=finding), verdict(word, ratio=0.9)))[0]
    assert step.command == command


def test_a_battery_is_followed_by_its_comparison_and_by_what_is_suspected_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    finding = build_findings(Plan(scenario="kernel", title="", question=""), BenchmarkFigures())[0]
    busy = Finding(
        id="host.pressure-cpu",
        severity="notice",
        title="busy",
        prove="cpuwatch",
        prove_options=("--pid", "9"),
    )
    fine = Finding(id="x.y", severity="ok", title="fine")
    session = ended_run(*(ev.Found(t=1.0, finding=f) for f in (LOUD, busy, fine, finding)), scenario="kernel")
    first = [remedy.commands[0] for remedy in finding.remedy]
    assert first[0] == "hostdx compare OLD -- last"  # true at its end only
    first[0] = "hostdx compare OLD -- r.jsonl"
    suspected = ["fstrim /x", "hostdx run cpuwatch --pid 9"]
    assert [step.command for step in next_steps_for(session, "r.jsonl")] == [*first, *suspected]
    own_recording = recordings_dir() / "r.jsonl"
    own_recording.parent.mkdir(parents=True)
    own_recording.touch()
    assert [step.command for step in next_steps_for(session, "r.jsonl")][1] == f"scp {own_recording} HOST:"
