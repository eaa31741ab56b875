"""What a switch costs the windows after it: it is waited for, and no value pays more of it than another."""

import math
from collections.abc import Callable

import pytest

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.prove.results import ProvenSetting
from tests.fakes.noise import white
from tests.scenarios.prove.planted import MadeLoad, MadeRun, planted_run, proven_settings

STEP_S = 0.01


def load_with(log_rate: Callable[[float, bool], float]) -> type[MadeLoad]:
    """Return a load whose log rate is a function of the seconds since a switch or a pause, and of the value."""

    class Changing(MadeLoad):
        def __init__(self, run: MadeRun, metric: str) -> None:
            super().__init__(run, metric)
            self.since, self.switches, self.ended = -100.0, 0, 0.0

        async def measure_block(self, seconds: float) -> Measured:
            clock, settings = self.run.clock, self.run.settings
            if settings.switches + len(self.run.reverted) != self.switches:
                self.switches, self.since = settings.switches + len(self.run.reverted), self.ended
            new = "1" in settings.values.values()
            steps = round(seconds / STEP_S)
            at = [clock.now() - self.since + STEP_S * number for number in range(steps)]
            rate = sum(math.exp(log_rate(since, new)) for since in at) / steps * settings.noise(clock.now())
            await clock.sleep(seconds)
            self.ended = clock.now()
            return Measured(seconds=seconds, values={self.metric: 1000 * rate}, operations=1000)

    return Changing


def prove(
    patch: pytest.MonkeyPatch, log_rate: Callable[[float, bool], float], seed: int
) -> tuple[ProvenSetting, MadeRun]:
    run = planted_run(patch, {"one": 0.0}, seed=seed, noise=white(seed, 0.02), load=load_with(log_rate))
    return proven_settings(run)["one"], run


def test_a_slow_setting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes half a second to act: without a longer wait it would look much smaller than it is."""
    line, run = prove(monkeypatch, lambda since, new: 0.3 * abs((not new) - (1 - math.exp(-since / 0.5))), 1)
    assert line.outcome == "helps" and line.ci95 is not None and line.ci95[0] <= math.exp(0.3) <= line.ci95[1]
    assert any(event.why == "switch" and event.begins_anew for event in run.of(ev.SliceLengthChosen))


def test_a_setting_that_acts_later_is_not_called_without_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    class Creeping(MadeLoad):
        """Its level approaches the value's within seconds."""

        level, measured_at = 0.0, 0.0

        async def measure_block(self, seconds: float) -> Measured:
            await self.run.clock.sleep(seconds)
            new = "1" in self.run.settings.values.values()
            left = math.exp(-(self.run.clock.now() - self.measured_at) / 5.0)
            self.level, self.measured_at = 0.3 * new + (self.level - 0.3 * new) * left, self.run.clock.now()
            rate = 1000 * math.exp(self.level) * self.run.settings.noise(self.run.clock.now())
            return Measured(seconds=seconds, values={self.metric: rate}, operations=1000)

    run = planted_run(monkeypatch, {"one": 0.0}, noise=white(1, 0.02), load=Creeping)
    assert proven_settings(run)["one"].outcome == "undecided"


def test_what_a_switch_costs_is_no_effect_of_the_new_value(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [
        prove(monkeypatch, lambda since, _: -0.4 * math.exp(-since / 0.6), seed)[0].outcome
        for seed in range(6)
    ]
    assert not {"helps", "harms"} & set(outcomes)
