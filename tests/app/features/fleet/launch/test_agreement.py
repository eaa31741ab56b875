"""Consent: nodes that would make the same changes stand together, with the values that are there now."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.fleet.launch import agreement
from hostdx.app.features.fleet.launch.agreement import ask_which_may_start, read_plan
from hostdx.probes.reading.lossless_json import encode
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.plan import Plan
from tests.every_case import every_case


def plan(old: str | None = None, new: str = "bfq", *, consent: bool = True, target: str = "/sys/x") -> Plan:
    action = Action(kind="attribute", title="switch", target=target, old=old, new=new, consent=consent)
    return Plan(scenario="iosched", title="", question="", actions=(action,)).with_digest()


PLANS = {
    "n1": plan("none"),
    "n2": plan("mq"),
    "n3": plan("none"),
    "n4": plan("none", "kyber"),
    "n5": plan(consent=False),
}


def test_each_group_is_agreed_to_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, True])
    lines: list[str] = []
    monkeypatch.setattr(agreement.consent, "ask_yes_no", lambda _question: next(answers))
    may = ask_which_may_start(PLANS, yes=False, show=lines.append, fold=lambda names: ",".join(names))
    assert may == {"n4", "n5"}
    text = "\n".join(lines)
    assert all(value in text for value in ("n1,n2,n3", "/sys/x", "bfq", "none", "mq", "kyber"))


def test_without_a_terminal_nothing_is_agreed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert ask_which_may_start(PLANS, yes=False, show=lambda _line: None, fold=",".join) == {"n5"}
    assert ask_which_may_start(PLANS, yes=True, show=lambda _line: None, fold=",".join) == set(PLANS)


@every_case(
    "fields",
    [
        {"digest": "x; rm -rf /"},
        {"digest": ""},
        {"scenario": "storage"},
        {"actions": (Action(kind="command", title="", target=""),) * 200},
    ],
)
def test_a_plan_that_is_none_is_rubbish(tmp_path: Path, fields: dict[str, object]) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(encode(msgspec.structs.replace(plan(), **fields)))
    agreed, state, _ = read_plan(path, "iosched", 0)
    assert agreed is None and state == "rubbish"


def test_a_plan_and_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(encode(plan()))
    assert read_plan(path, "iosched", 0) == (plan(), "answered", "")
    path.write_bytes(encode(msgspec.structs.replace(plan(), refusal="read-only")))
    assert read_plan(path, "iosched", 3) == (None, "skipped", "read-only")
    path.write_bytes(b'{"schema": "hostdx/1", "scenario": "iosched", "refusal": "needs root"}')
    assert read_plan(path, "iosched", 3) == (None, "skipped", "needs root")
    path.write_bytes(b"{")
    assert read_plan(path, "iosched", 0)[1] == "rubbish"
