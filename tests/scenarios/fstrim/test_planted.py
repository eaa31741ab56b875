"""A planted degradation is found, and none where nothing was planted: over recorded noise of real, busy machines."""

import json
import random
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.trim.trim_timer import trim_timer
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import private_directory_action
from hostdx.scenarios.contract.model import Options
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.fstrim.findings import idling_finding
from hostdx.scenarios.fstrim.ledger import TrimLedgerKeeper
from hostdx.scenarios.fstrim.measurement.phase import MeasuredPhase, PhaseMeasurer
from hostdx.scenarios.fstrim.measurement.trim import TrimPattern
from hostdx.scenarios.fstrim.plan import load_and_control_workloads, parse_request, trim_action
from hostdx.scenarios.fstrim.scenario import TrimSession
from hostdx.scenarios.fstrim.trim_setup import TrimSetup
from tests.fakes import FakeClock, FakeRun
from tests.fakes.hosts.drive import Drive
from tests.fakes.noise import Noise, replay

NOISE = Path(__file__).parents[2] / "fixtures" / "noise"
QUIET_HOST, BUSY_HOST = "fsync4k-qd1.json", "randread4k-qd1-2.json"
PATTERN = TrimPattern(blocks=8, block_s=0.5, reference_s=0.5)
LOSS, ROUNDS, TRIM_AT = 0.02, 24, 12


def replay_any(name: str, seed: int) -> Noise:
    """The recorded series from a random place on."""
    values = json.loads((NOISE / name).read_text())
    start = random.Random(seed).randrange(len(values))
    return replay(values[start:] + values[:start])


def layout() -> TrimSetup:
    """Of no real place: nothing here reads or writes a disk."""
    return TrimSetup(Host("/nonexistent-captured-tree"), "/data", blocks=8, phases=3)


async def planted_session(seed: int, name: str, loss: float, no_trim: str = "") -> FakeRun:
    """A whole session on a drive that lost its speed before and gets it back by the trim."""
    run = FakeRun(seed=seed, clock=FakeClock())
    setup = layout()
    request = parse_request(Options({"dir": "/data"}))
    plan = Plan(
        scenario="fstrim",
        title="",
        question="",
        workloads=load_and_control_workloads(request, setup, PATTERN),
        actions=(private_directory_action("/data"), trim_action(setup), trim_action(setup)),
    )
    drive = Drive(run.clock, replay_any(name, seed), lambda: 1.0 if run.applied else 1.0 - loss)
    blocks = PhaseMeasurer(run, drive, plan.workloads, PATTERN, 1 << 20, None)
    ledger = TrimLedgerKeeper(run, setup, "6.1.0")
    setup.no_trim, setup.to_trim = no_trim, "run it with sudo" if no_trim else ""
    await TrimSession(run, plan, setup, PATTERN, blocks, ledger, trim_timer(run.host)).run_phases()
    return run


def only_verdict(run: FakeRun) -> ev.RunVerdict:
    return next(v for v in run.of(ev.RunVerdict) if not v.control)


@pytest.mark.parametrize("name", [QUIET_HOST, BUSY_HOST])
async def test_a_session_without_a_plant_calls_hardly_anything(name: str) -> None:
    runs = [await planted_session(seed, name, 0.0) for seed in range(20)]
    assert sum(only_verdict(run).verdict in ("slower", "faster") for run in runs) <= 3


async def test_without_the_trim_the_blocks_still_run_and_what_idling_did_is_told() -> None:
    run = await planted_session(1, QUIET_HOST, 0.2, no_trim="the trim needs root: it is left out")
    assert only_verdict(run).verdict == "not applicable" and not run.applied
    assert {b.variant for b in run.of(ev.Block)} == {"before", "idle"}
    [finding] = [e.finding for e in run.of(ev.Found)]
    assert finding.id == "fstrim.untrimmed" and len(finding.evidence) == 3
    assert [e.source for e in finding.evidence[1:]] == ["new files", "reads of an untouched file"]
    assert len(finding.remedy) == 2 and "--round" in finding.remedy[1].commands[0]


def test_a_phase_without_a_block_breaks_nothing() -> None:
    none = MeasuredPhase("before", [], [], 0.0, 0, "the command fails")
    finding = idling_finding(layout(), none, none, ["the command fails"])
    assert [e.source for e in finding.evidence][1:] == ["doubt"]
