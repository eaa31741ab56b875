"""The rule about the clock source, on a tree."""

from __future__ import annotations

from pathlib import Path

from probes.system.processor.clocksource import ROOT
from scenarios.numa.rules import check_clock
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree


@every_case(
    ("line", "told"),
    [
        ("root=/dev/vda quiet", False),
        ("clocksource=tsc quiet clocksource=hpet", True),
        ("clocksource=tsc", False),
    ],
)
def test_a_clock_that_the_boot_parameter_asks_for(tmp_path: Path, line: str, told: bool) -> None:
    tree = Tree(tmp_path)
    tree.files(ROOT, current_clocksource="hpet\n", available_clocksource="tsc hpet acpi_pm\n")
    tree.files("/proc", cmdline=line)
    [found] = check_clock(tree.host())
    assert found.prove == "numa"
    assert [bool(remedy.persistent) for remedy in found.remedy] == [told]
    assert [evidence.source for evidence in found.evidence][1:] == (["/proc/cmdline"] if told else [])
