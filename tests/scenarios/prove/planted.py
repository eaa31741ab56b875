"""Settings with planted effects: a run of `prove` on values in memory, under a load that they speed up or slow down."""

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import AppliedChange, Run
from hostdx.scenarios.experiment.schedule.switch import attribute_change
from hostdx.scenarios.prove.kinds import ProvableSetting
from hostdx.scenarios.prove.loads import ProofLoad
from hostdx.scenarios.prove.results import ProofResult, ProvenSetting
from hostdx.scenarios.prove.scenario import Prove
from tests.fakes.noise import Noise, white
from tests.fakes.run import FakeRun, conduct_fake


class MadeSettings:
    """What the host would hold, by path; the effect of each new value is the logarithm of a rate's factor."""

    def __init__(self, effects: Mapping[str, float], noise: Noise) -> None:
        self.effects = {f"/proc/sys/made/{name}": effect for name, effect in effects.items()}
        self.values = dict.fromkeys(self.effects, "0")
        self.noise = noise
        self.switches = 0

    @property
    def provable(self) -> tuple[ProvableSetting, ...]:
        return tuple(self._provable(path) for path in self.effects)

    def _provable(self, path: str) -> ProvableSetting:
        name = path.rpartition("/")[2]
        return ProvableSetting(
            label=f"sysctl:made.{name}",
            name=name,
            kind="sysctl",
            old="0",
            new="1",
            scope="host",
            risk="nothing",
            settle_s=0.1,
            persistent="",
            actions=(attribute_change(path, "0", "1", risk="nothing"),),
        )


class MadeRun(FakeRun):
    """Its changes go into the made settings."""

    settings: MadeSettings

    def apply_change(self, action: Action):  # type: ignore[no-untyped-def]
        return self._written(action) if action.kind == "attribute" else super().apply_change(action)

    @asynccontextmanager
    async def _written(self, action: Action) -> AsyncIterator[AppliedChange]:
        before = self.settings.values[action.target]
        self.settings.values[action.target] = action.new or ""
        self.settings.switches += 1
        self.applied.append(action)
        try:
            yield AppliedChange(id="a", action=action, value=action.new or "")
        finally:
            self.settings.values[action.target] = before
            self.reverted.append(action)


class MadeLoad:
    """`metric`: of the load that it stands for. Under a load of MB/s every effect is turned round."""

    def __init__(self, run: MadeRun, metric: str) -> None:
        self.run = run
        self.metric = metric

    async def measure_block(self, seconds: float) -> Measured:
        await self.run.clock.sleep(seconds)
        own = self.run.settings
        effect = math.fsum(e for path, e in own.effects.items() if own.values[path] == "1")
        rate = 1000 * math.exp(-effect if self.metric == "MB/s" else effect) * own.noise(self.run.clock.now())
        return Measured(seconds=seconds, values={self.metric: rate}, operations=1000)

    async def finish_requests(self) -> None:
        pass


def planted_run(
    patch: pytest.MonkeyPatch,
    effects: Mapping[str, float],
    *,
    seed: int = 1,
    noise: Noise | None = None,
    load: type[MadeLoad] = MadeLoad,
    options: Mapping[str, Json] | None = None,
) -> MadeRun:
    """Conduct a run under the load `cpu-integer`, whose figures are made. `effects`: by setting, the log effect."""
    settings = MadeSettings(effects, noise or white(seed, 0.03))

    @asynccontextmanager
    async def open_made(run: Run, proof_load: ProofLoad) -> AsyncIterator[MadeLoad]:
        assert isinstance(run, MadeRun)
        yield load(run, proof_load.workload.metrics[0].name)

    patch.setattr("hostdx.scenarios.prove.request.parse_settings", lambda *_, **__: settings.provable)
    patch.setattr("hostdx.scenarios.prove.screening.read_setting", settings.values.__getitem__)
    patch.setattr("hostdx.scenarios.prove.scenario.open_load", open_made)
    patch.setattr("hostdx.scenarios.prove.scenario.watch_for", lambda *_: None)
    patch.setattr("os.geteuid", lambda: 0)
    scenario = Prove()
    host = Host("/nonexistent-captured-tree")
    host.live = True
    values: dict[str, Json] = {"setting": [s.label for s in settings.provable], "load": "cpu-integer"}
    run = MadeRun(seed=seed, host=host, options=values | dict(options or {}), declared=scenario.options)
    run.settings = settings
    asyncio.run(conduct_fake(scenario, run))
    return run


def proven_settings(run: FakeRun) -> dict[str, ProvenSetting]:
    """Return the lines of the answer by setting, without the kind."""
    [result] = run.of(ProofResult)
    return {line.setting.rpartition(".")[2]: line for line in result.value.settings}
