"""A checkup's parts: what one leaves out is followed by a command that takes it; what all write together."""

from __future__ import annotations

import pytest

from scenarios.checkup import scenario as scenario_module
from scenarios.checkup.parts import CheckupPart
from scenarios.checkup.scenario import Checkup
from scenarios.contract import registry
from scenarios.contract.model import Options
from scenarios.contract.plan import Plan, Written
from tests.every_case import every_case


@every_case(
    ("scenario", "command"),
    [
        ("storage", "hostdx run storage --dir=/a --dir=/b"),
        ("numa", "hostdx run numa --dir=/a"),  # it takes one; of two the last would have been measured
        ("rpfilter", "hostdx run rpfilter"),
    ],
)
def test_each_gets_the_directories_that_it_takes(scenario: str, command: str) -> None:
    options = Options({"dir": ["/a", "/b"]}, Checkup.options)
    left = Checkup()._left_out_item(options, CheckupPart(registry.load(scenario), None, "no time"), "no time")
    assert [step.command for step in left.following] == [command]


def test_what_the_parts_write_to_a_device_adds_up() -> None:
    def plan(*writes: Written) -> Plan:
        return Plan(scenario="s", title="", question="", writes=writes)

    null, storage = Written("sda", 4, "/a", 0.1), Written("sda", 8, "/a", 0.2)
    other = Written("sdb", 8, "/b")
    said = scenario_module._sum_writes([plan(null), plan(storage, other), plan(other)])
    assert [(one.device, one.bytes, one.where) for one in said] == [("sda", 12, "/a"), ("sdb", 16, "/b")]
    assert said[0].endurance_share == pytest.approx(0.3) and said[1].endurance_share is None
