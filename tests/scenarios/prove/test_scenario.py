"""Proofs on planted effects: called with their size, today's values put back, nothing called where nothing differs."""

import json
import random
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import RunRefused
from hostdx.scenarios.prove.results import ProofResult, ScreeningResult
from tests.every_case import every_case
from tests.fakes.noise import Noise, ar1_noise, noise_product, replay, step_noise, white
from tests.fakes.run import FakeRun
from tests.scenarios.prove.planted import MadeLoad, planted_run, proven_settings

EIGHT = {f"s{number}": 0.0 for number in range(8)}


def assert_all_put_back(run: FakeRun) -> None:
    assert run.applied and sorted(a.target for a in run.applied) == sorted(a.target for a in run.reverted)


def test_a_setting_that_helps_one_load_and_harms_another_is_called_mixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = planted_run(monkeypatch, {"one": 0.3}, options={"load": ["cpu-integer", "memory-copy"]})
    [result] = run.of(ProofResult)
    assert [line.outcome for line in result.value.settings] == ["helps", "harms"]
    assert {event.finding.id for event in run.of(ev.Found)} == {"prove.helps", "prove.harms", "prove.mixed"}
    assert {verdict.workload for verdict in run.of(ev.RunVerdict)} == {"cpu-integer", "memory-copy"}
    assert_all_put_back(run)


def test_of_eight_settings_the_two_with_an_effect_are_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    run = planted_run(monkeypatch, EIGHT | {"s2": 0.12, "s5": -0.15})
    lines = proven_settings(run)
    assert lines["s2"].outcome == "helps" and lines["s5"].outcome == "harms"
    assert {lines["s2"].stage, lines["s5"].stage} == {"alone"}
    others = [line for name, line in lines.items() if name not in ("s2", "s5")]
    assert {line.stage for line in others} == {"screening"}
    assert {line.outcome for line in others} <= {"equal", "undecided"}
    [record] = [result.value for result in run.of(ScreeningResult)]
    assert len(record.pairs) == 12 * record.replicates and not any(
        e.is_beyond_chance for e in record.effects if e.dummy
    )
    assert_all_put_back(run)


NOISE = Path(__file__).parents[2] / "fixtures" / "noise"


def replay_any(name: str, seed: int) -> Noise:
    """A recorded series from a place that the seed draws."""
    values = json.loads((NOISE / name).read_text())
    start = random.Random(seed).randrange(len(values))
    return replay(values[start:] + values[:start])


@every_case("seed", range(20))
def test_two_effects_among_eight_settings_are_found_and_no_dummy_is_called(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    noise = replay_any(("randread4k-qd1.json", "fsync4k-qd1.json")[seed % 2], seed)
    run = planted_run(monkeypatch, EIGHT | {"s2": 0.25, "s5": -0.25}, seed=seed, noise=noise)
    lines = proven_settings(run)
    assert lines["s2"].outcome == "helps" and lines["s5"].outcome == "harms"
    assert not {lines[name].outcome for name in EIGHT if name not in ("s2", "s5")} & {"helps", "harms"}
    [record] = [result.value for result in run.of(ScreeningResult)]
    assert not any(effect.is_beyond_chance for effect in record.effects if effect.dummy)


def test_without_any_effect_nothing_is_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    run = planted_run(monkeypatch, EIGHT, noise=ar1_noise(3, 0.58, 0.03))
    assert not run.of(ev.RunVerdict)
    assert {line.stage for line in proven_settings(run).values()} == {"screening"}


def test_a_neighbour_that_arrives_is_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = noise_product(ar1_noise(5, 0.5, 0.02), step_noise(60.0, 0.6))
    lines = proven_settings(planted_run(monkeypatch, EIGHT, noise=noise))
    assert not {line.outcome for line in lines.values()} & {"helps", "harms"}


def test_too_little_time_for_a_screening_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunRefused, match="--budget"):
        planted_run(monkeypatch, EIGHT, options={"budget": 20.0})


class Meddled(MadeLoad):
    """Somebody else sets the first setting after a while."""

    async def measure_block(self, seconds: float) -> Measured:
        measured = await super().measure_block(seconds)
        if self.run.clock.now() > 5:
            self.run.settings.values["/proc/sys/made/one"] = "7"
        return measured


def test_a_setting_that_somebody_else_changes_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunRefused, match="another program"):
        planted_run(monkeypatch, {"one": 0.3}, load=Meddled)


class Stalling(MadeLoad):
    """Every eleventh window with today's value lasts ten times as long as another."""

    windows = 0

    async def measure_block(self, seconds: float) -> Measured:
        measured = await super().measure_block(seconds)
        if self.run.settings.values["/proc/sys/made/one"] == "1":
            return measured
        self.windows += 1
        rate = measured.values[self.metric] * (1.0 if self.windows % 11 else 0.1)
        return msgspec.structs.replace(measured, values={self.metric: rate})


def test_rare_stalls_are_no_missing_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual group is the same with both values, and the mean is not."""
    run = planted_run(
        monkeypatch, {"one": 0.0}, load=Stalling, noise=white(1, 0.01), options={"budget": 300.0}
    )
    assert proven_settings(run)["one"].outcome == "undecided"


class Redundant(MadeLoad):
    """One of the first three settings is enough: what three do together shows as an effect of others and dummies."""

    async def measure_block(self, seconds: float) -> Measured:
        await self.run.clock.sleep(seconds)
        settings = self.run.settings
        is_faster = "1" in list(settings.values.values())[:3]
        rate = (1150 if is_faster else 1000) * settings.noise(self.run.clock.now())
        return Measured(seconds=seconds, values={self.metric: rate}, operations=1000)


def test_settings_of_which_one_is_enough_are_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = {"budget": 900.0}
    run = planted_run(monkeypatch, EIGHT, load=Redundant, noise=white(1, 0.005), options=budget)
    assert "prove.dummy" in {event.finding.id for event in run.of(ev.Found)}
    lines = proven_settings(run)
    assert {lines[name].outcome for name in ("s0", "s1", "s2")} == {"helps"}
    assert not {lines[name].outcome for name in ("s3", "s4", "s5", "s6", "s7")} & {"helps", "harms"}
    assert not any(line.outcome == "equal" for line in lines.values() if line.stage == "screening")
