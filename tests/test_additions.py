"""CONTRIBUTING, "Where do I add …", followed literally in a copy of the tree: six additions, each in one folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = (
    ".packaging",
    "app",
    "probes",
    "scenarios",
    "tests/contracts.py",
    "tests/scenarios/contract/test_contract.py",
    "pyproject.toml",
)

ADDED = {
    # a scenario: its card, itself; found by itself
    "scenarios/nap/__init__.py": '''"""How late does this host wake a process?"""

from hostdx.scenarios.contract.card import Card, Complaint

CARD = Card(id="nap", complaint=Complaint("timers come late"))
''',
    "scenarios/nap/scenario.py": '''"""Scenario `nap`: how late a process is woken."""

from __future__ import annotations

from typing import ClassVar

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.card import Card
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, Scenario
from hostdx.scenarios.nap import CARD
from hostdx.scenarios.nap.results import Lateness
from hostdx.scenarios.contract.plan import Option, PlannedStep


class Nap(Scenario):
    id: ClassVar[str] = "nap"
    card: ClassVar[Card] = CARD
    title: ClassVar[str] = "How late is a timer?"
    question: ClassVar[str] = "How long after its time is a process woken on this host?"
    why: ClassVar[str] = "A program that waits for a timer is as late as the host makes it."
    answers: ClassVar[str] = "milliseconds after the time asked for"
    takes_s: ClassVar[float] = 1.0
    measures: ClassVar[bool] = False
    options: ClassVar[tuple[Option, ...]] = ()

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan = self.make_plan(steps=(PlannedStep("nap", "sleep", 0.1),), seconds=0.1)
        return PreparedRun(plan, self._run)

    async def _run(self, run: Run) -> None:
        with run.begin_step("nap", "sleep"):
            before = run.clock.now()
            await run.clock.sleep(0.1)
            run.emit(Lateness(t=run.elapsed_s(), value=run.clock.now() - before - 0.1))
''',
    # a view: of the result of a scenario, in the report
    "scenarios/nap/results.py": '''"""How late it was."""

from __future__ import annotations

from typing import ClassVar

from hostdx.probes.units import format_duration
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Part, paragraph_of
from hostdx.scenarios.contract.results.result import Result


class Lateness(Result, frozen=True, tag="nap.lateness/1"):
    name: ClassVar[str] = "lateness"
    value: of.Change

    @property
    def parts(self) -> tuple[Part, ...]:
        return (paragraph_of(f"woken {format_duration(abs(self.value))} off its time"),)
''',
    # a rule: data, tested by its own rows
    "scenarios/nap/rules.toml": """[[rule]]
id = "nap.slack"
title = "the kernel"
each = "/proc/sys/kernel"
read.comm = { path = "ostype" }
when = "comm != ''"
text = "this is {comm}"
source = "/proc/sys/kernel/ostype"
why = "Only to be found."
tests = [
  { is = "found", row = { comm = "init" } },
  { is = "fine", row = { comm = "" } },
]
""",
    # a fact of triage
    "scenarios/nap/glance.py": '''"""The clock, at a glance."""

from __future__ import annotations

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.types import FactOrUnread, make_fact


def glance(host: Host) -> Iterator[FactOrUnread]:
    path = "/proc/self/timerslack_ns"
    yield make_fact("timers", "slack", host.read_integer(path), path, "ns")
''',
    # an importer; the order in which contents are recognised is one list beside the families
    "probes/imports/cpu/napbench.py": '''"""`napbench`: one line, `napbench: 1.5 ms late`."""

from __future__ import annotations

from hostdx.probes.imports.model import ImportedMeasure, ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource


def parse(source: ImportSource) -> ImportResult:
    for line in source.read_lines():
        if (late := parse_number(line.split()[1])) is not None:
            measured = ImportedMeasure(workload="timer", metric="late", value=late, unit="ms", better="less")
            return ImportResult(kind="napbench", tool="napbench", measures=(measured,))
    raise ImportRefusedError("napbench: no figure", "run it again")
''',
    # a feature, with a command
    "app/features/nap/__init__.py": '''"""How late a timer is, without a run."""

from hostdx.app.feature import CommandEntry, Feature

ENTRY = CommandEntry("hostdx.app.features.nap.command:nap", "Sleep, and say how late.", after="pin")
FEATURE = Feature(commands={"nap": ENTRY})
''',
    "app/features/nap/command.py": '''"""`hostdx nap`."""

import time

import click


@click.command()
def nap() -> int:
    """Sleep for a tenth of a second, and say how late it woke."""
    before = time.monotonic()
    time.sleep(0.1)
    click.echo(f"late by {time.monotonic() - before - 0.1:.6f} s")
    return 0
''',
}
LISTED = {
    "probes/imports/formats/kinds.toml": (
        (
            "[numactl]\n",
            "[napbench]\ntitle = \"napbench output\"\nrecognise = ['\\Anapbench: ']\n[numactl]\n",
        ),
    ),
    "probes/imports/kinds.py": (
        ("hwloc, numactl,", "hwloc, napbench, numactl,"),
        (
            '    _code_kind("numactl",',
            '    _code_kind("napbench", napbench.parse),\n    _code_kind("numactl",',
        ),
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True)  # with what is compiled
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name, text in ADDED.items():
        assert not (folder / name).exists()
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for name, changes in LISTED.items():
        text = (folder / name).read_text()
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (folder / name).write_text(text)
    return folder


def output(copy: Path, *words: str) -> str:
    state = copy / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    places = {
        "PYTHONPATH": f"{copy / '.packaging/links'}:{copy}",
        "XDG_STATE_HOME": str(state),
        "XDG_RUNTIME_DIR": str(state),
    }
    done = subprocess.run(words, cwd=copy, env=os.environ | places, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


HOSTDX = (sys.executable, "-P", "-m", "hostdx.app.cli")


def test_each_addition_lies_in_one_folder() -> None:
    folders = {"/".join(name.split("/")[:2]) for name in (*ADDED, *LISTED)}
    assert folders == {"scenarios/nap", "probes/imports", "app/features"}


def test_the_contracts_hold(copy: Path) -> None:
    output(copy, str(Path(sys.executable).with_name("lint-imports")), "--no-cache")
    output(
        copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/scenarios", "-k", "nap"
    )


@pytest.mark.soak("the contracts hold, and its own tests")
def test_all_of_them_are_found(copy: Path) -> None:
    events = [json.loads(line) for line in output(copy, *HOSTDX, "triage", "--events", "-").splitlines()]
    [offer] = [e for e in events if e["type"] == "offer" and e["id"] == "nap"]
    assert offer["card"]["complaint"]["words"] == "timers come late" and not offer.get("blocked")
    assert any(e["type"] == "fact" and e["subject"] == "timers" for e in events)
    assert any(e["type"] == "finding" and e["finding"]["id"] == "nap.slack" for e in events)
    run = json.loads(output(copy, *HOSTDX, "run", "nap", "--json"))
    assert run["status"] == "done" and abs(run["lateness"]) < 60
    assert output(copy, *HOSTDX, "nap").startswith("late by")
    report = output(copy, *HOSTDX, "report", run["recording"])
    assert "woken" in report
    (copy / "late.txt").write_text("napbench: 1.5 ms late\\n")
    output(copy, *HOSTDX, "import", "late.txt")
