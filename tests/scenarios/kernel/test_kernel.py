"""The battery as a scenario: what it plans and refuses, what it emits, and a planted delay found where it is."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.run.execution import RunExecution, RunRequest
from hostdx.probes.engine.battery_loads import Slot
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Fact
from hostdx.scenarios.analysis.compare.effects import effects_between
from hostdx.scenarios.analysis.compare.run_summary import summarise_run
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.kernel.findings import BenchmarkFigures, build_findings
from hostdx.scenarios.kernel.fingerprint import read_fingerprint
from hostdx.scenarios.kernel.plan import KernelSetup
from hostdx.scenarios.kernel.scenario import KernelScenario


def _make_rounds(*rates: float, load: str = "syscall", slot: Slot = "one") -> BenchmarkFigures:
    figures = BenchmarkFigures()
    for rate in rates:
        measured = Measured(seconds=0.04, values={"calls/s": rate})
        figures.add([(load, slot, measured)], disturbed=rate < 0)
    return figures


def test_a_short_budget_is_refused() -> None:
    with pytest.raises(UsageError, match="too short for 4 rounds"):
        KernelSetup(Host(), OptionMap({"budget": 5}))


def test_two_directories_are_the_storage_scenarios() -> None:
    with pytest.raises(UsageError, match="storage"):
        KernelSetup(Host(), OptionMap({"dir": ["/tmp", "/var/tmp"]}))


def test_one_run_says_what_it_recorded_and_what_was_unsteady() -> None:
    plan = KernelScenario().prepare(Host(), OptionMap({})).plan
    steady, loud = (
        build_findings(plan, _make_rounds(100.0, 101.0, 99.0, 100.0)),
        build_findings(plan, _make_rounds(100.0, 10.0, 300.0)),
    )
    assert [f.id for f in steady] == ["kernel.recorded"]
    assert steady[0].severity == "notice" and steady[0].answers  # it compares nothing yet
    assert [r.commands[0] for r in steady[0].remedy] == [
        "hostdx compare OLD -- last",
        "hostdx run kernel",
        "hostdx baseline save NAME",
    ]
    assert [f.id for f in loud] == ["kernel.recorded", "kernel.unsteady"]


def test_a_disturbed_round_is_counted_and_left_out() -> None:
    figures = _make_rounds(100.0, -1.0, 100.0)
    assert (figures.rounds, figures.disturbed, figures.mean("syscall", "one")) == (3, 1, 100.0)


def test_the_fingerprint_names_each_fact_once() -> None:
    traits = list(read_fingerprint(Host(), None))
    keys = [(t.subject, t.name) for t in traits]
    assert len(keys) == len(set(keys)) > 40
    assert all(t.source if isinstance(t, Fact) else t.absent.source for t in traits)


@pytest.mark.noisy("two rounds a side", false_failures="0 of 4")
@pytest.mark.real("cpu")
def test_a_run_records_every_load_and_a_planted_delay_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPU, kernel and network only: no file is written. System calls last four times as long in the second run."""
    monkeypatch.setattr("hostdx.scenarios.experiment.files.directories.default_directories", lambda host: ())
    monkeypatch.setattr("hostdx.scenarios.kernel.plan.ROUND_S", 0.1)
    monkeypatch.setattr("hostdx.scenarios.kernel.scenario.FEWEST_ROUNDS", 2)
    runs = []
    for number, stretch in enumerate(({}, {"syscall": 3.0})):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"state{number}"))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / f"run{number}"))
        events: list[ev.AnyEvent] = []
        scenario = KernelScenario(stretch)
        request = RunRequest(options={"budget": 1.0}, declared=scenario.options, command=["test"])
        execution = RunExecution(scenario, Host(), request, events.append, lambda text: None)
        ended = execution.run_to_end()
        assert ended.status == "done", ended.reason
        runs.append(summarise_run(events, str(number)))
    between = effects_between([runs[0]], [runs[1]], margin=0.05)
    assert {e.key.workload for e in between} == {
        w.id for w in KernelSetup(Host(), OptionMap({})).planned_workloads
    }
    # no verdict is asked of two rounds beside whatever else runs here: the size must be that of what was planted
    by_load = {(e.key.workload, e.key.variant): e for e in between}
    assert 0.1 < by_load["syscall", "one"].ratio < 0.6
    assert msgspec.json.encode(between)
