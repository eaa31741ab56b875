"""What a checkup did not measure is followed by a command that its scenario takes."""

from __future__ import annotations

import pytest

from scenarios import registry
from scenarios.checkup.parts import Part
from scenarios.checkup.scenario import Checkup
from scenarios.model import Options


@pytest.mark.parametrize(
    ("scenario", "command"),
    [
        ("storage", "hostdx run storage --dir=/a --dir=/b"),
        ("numa", "hostdx run numa --dir=/a"),  # it takes one; of two the last would have been measured
        ("rpfilter", "hostdx run rpfilter"),
    ],
)
def test_each_gets_the_directories_that_it_takes(scenario: str, command: str) -> None:
    options = Options({"dir": ["/a", "/b"]}, Checkup.options)
    left = Checkup()._left_out(options, Part(registry.load(scenario), None, "no time"), "no time")
    assert [step.command for step in left.following] == [command]
