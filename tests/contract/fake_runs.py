"""One run of each scenario on fakes: engines that draw their figures, a clock that does not wait, made host trees.

Every event of such a run is the same on every machine, but for the name of its directory. `numa` only reads:
its figures need cores to be placed on. `iosched` and `fstrim` begin where their disk is prepared.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.box.scenario import BoxScenario
from hostdx.scenarios.checkup.scenario import Checkup
from hostdx.scenarios.contention import plan as contention_plan
from hostdx.scenarios.contract.model import OptionMap, Scenario
from hostdx.scenarios.dstate import scenario as dstate
from hostdx.scenarios.experiment.files import directories
from hostdx.scenarios.kernel import plan as kernel_plan
from hostdx.scenarios.kernel import scenario as kernel
from hostdx.scenarios.null.scenario import Null
from hostdx.scenarios.numa.scenario import NumaScenario
from hostdx.scenarios.storage import plan as storage_plan
from hostdx.scenarios.storage import scenario as storage
from hostdx.scenarios.workload import scenario as workload
from hostdx.scenarios.workload.variant_bench import CPU, WALL
from tests.fakes.clock import FakeClock
from tests.fakes.noise import white
from tests.fakes.run import FakeRun, conduct_fake
from tests.fakes.streams.rpfilter_story import Story, stop_guards, with_check
from tests.fakes.trains import FakeTrains
from tests.scenarios.box.drawn_bench import DrawnBench
from tests.scenarios.checkup import test_scenario as of_checkup
from tests.scenarios.contention import test_scenario as of_contention
from tests.scenarios.cpuwatch import test_cpuwatch as of_cpuwatch
from tests.scenarios.dstate import test_scenario as of_dstate
from tests.scenarios.fstrim import test_rounds as of_fstrim
from tests.scenarios.fullstack import test_scenario as of_fullstack
from tests.scenarios.iosched import test_scenario as of_iosched
from tests.scenarios.null import test_scenario as of_null
from tests.scenarios.numa import test_plan as of_numa
from tests.scenarios.prove.planted import planted_run

Build = Callable[[Path, pytest.MonkeyPatch], FakeRun]


def made_host() -> Host:
    """Return a host of which nothing can be read, and on which scenarios measure."""
    host = Host("/nonexistent-captured-tree")
    host.live = True
    return host


def conduct_run(scenario: Scenario, host: Host, options: Mapping[str, Json], clock: FakeClock) -> FakeRun:
    run = FakeRun(seed=1, host=host, clock=clock, options=options, declared=scenario.options)
    asyncio.run(conduct_fake(scenario, run))
    return run


def suit_everywhere(patch: pytest.MonkeyPatch) -> None:
    """Let every directory lie on one made disk."""
    for module in (directories, storage_plan, contention_plan):
        patch.setattr(module, "check_suitability", lambda host, directory, **_: of_null.place(directory))


class DrawnStorage(of_null.FakeBench):
    """The engine of a run of `storage`: prepared, and measured by `FakeTrains`."""

    links = False

    def __init__(self, *place: Any, budget: object, crew: object, places: int, links: bool) -> None:
        super().__init__(*place, budget=budget, crew=crew)

    @classmethod
    async def prepare_all(cls, benches: list[DrawnStorage], progress: Any, loads: list[str]) -> None:
        for bench in benches:
            await bench.prepare_files(progress, tuple(loads))


class DrawnBox(DrawnBench):
    async def prepare_files(self, progress: Callable[[int, int], None]) -> None:
        progress(1 << 20, 1 << 20)

    async def close(self) -> None:
        return


class DrawnBattery:
    """The engine of a run of `kernel`: each slice lasts 20 ms and has its load's own rate."""

    notes = ()

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.noise = clock, white(3, 0.02)

    async def measure_slice(self, load: str, slot: str) -> Measured:
        await self.clock.sleep(0.02)
        rate = 1000.0 * len(load) * (2.0 if slot == "all" else 1.0) * self.noise(0.0)
        return Measured(seconds=0.02, values={"operations/s": rate}, operations=int(rate * 0.02), cpu_s=0.01)

    async def close(self) -> None:
        return


class DrawnCommand:
    """The engine of a run of `workload`: variant `slow` takes a fifth longer, of which none is CPU time."""

    runs, failed, problem = 0, 0, ""

    def __init__(self, run: FakeRun, job: Any) -> None:
        self.run, self.variant = run, job.id
        self.waited: dict[float, Any] = {}
        self.chains: dict[float, Any] = {}
        self.noise = white(len(job.id), 0.01)

    async def switch_to_variant(self) -> None:
        return

    async def finish_requests(self) -> None:
        return

    async def measure_block(self, seconds: float) -> Measured:
        wall_s = (1.2 if self.variant == "slow" else 1.0) * self.noise(0.0)
        await self.run.clock.sleep(wall_s)
        return Measured(seconds=wall_s, values={WALL: wall_s, CPU: 0.9}, operations=1, cpu_s=0.9)

    async def run_extra_command(self, argv: object, option: str, *, bounded: bool = True) -> None:
        return


def run_box(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    suit_everywhere(patch)
    clock = FakeClock()
    box = BoxScenario(lambda run, layout, private: DrawnBox(clock, 1), lambda run, layout: None)  # type: ignore[arg-type, return-value]
    return conduct_run(box, made_host(), {"dir": [str(folder)], "workers": 4}, clock)


def run_checkup(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    parts = (of_checkup.STORAGE, of_checkup.WALL, of_checkup.NULL, of_checkup.REFUSED, of_checkup.ASKS)
    patch.setattr("hostdx.scenarios.checkup.parts.candidate_scenarios", lambda: parts)
    patch.setattr("hostdx.scenarios.triage.triage.examine_host", lambda *_, **__: iter(()))
    run = of_checkup.CheckupRun(options={"dir": ["/a b", "/c"]})
    asyncio.run(conduct_fake(Checkup(), run))
    return run


def run_contention(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    suit_everywhere(patch)
    of_contention.plan_for_eight_cpus(patch)

    async def ask_no_kernel(run: object, facts: object, bench: object, planned: object) -> object:
        """As root it would ask the kernel for locks."""
        return planned

    patch.setattr("hostdx.scenarios.contention.scenario._add_lock_waits", ask_no_kernel)
    patch.setattr(of_contention, "Host", made_host)

    def rate(load: str, side: int, workers: int) -> float:
        return of_contention.linear_rate(load, side, min(workers, 4 if load == "create" else 8))

    return asyncio.run(of_contention.measure(folder, rate))[0]


def run_cpuwatch(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    run = of_cpuwatch.run_of_quota(folder, patch, {"pid": 131, "expect": 1.0})
    asyncio.run(conduct_fake(of_cpuwatch.Cpuwatch(), run))
    return run


def run_dstate(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    patch.setattr(
        dstate, "KernelLogFollower", lambda: SimpleNamespace(problem="", read_new=tuple, close=lambda: None)
    )
    host = of_dstate.make_host(folder, (1, "init", "S", "0"), (20, "df", "D", "rpc_wait_bit_killable"))
    (folder / "proc/20/task/20/cwd").symlink_to("/nfs/home")
    return of_dstate.watch(host, seconds=5)


def run_fstrim(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    return asyncio.run(of_fstrim.planted_session(1, of_fstrim.QUIET_HOST, 0.2))


def run_fullstack(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    of_fullstack.lay_on_any_disk(patch)
    patch.setattr(of_fullstack.plan_module, "os", SimpleNamespace(**{**vars(os), "geteuid": lambda: 0}))
    patch.setattr("os.cpu_count", lambda: 4)
    patch.setattr(of_fullstack, "Host", made_host)
    return of_fullstack.play(folder, of_fullstack.ALIKE, {"direction": "both"}).fake


def run_iosched(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    return of_iosched.measure_loads(folder, {"mq-deadline": 1.0, "bfq": 0.8})


def run_kernel(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    clock = FakeClock()
    patch.setattr(kernel_plan, "own_affinity", lambda: (0, 1))
    patch.setattr(kernel, "read_fingerprint", lambda host, place: ())  # it reads this machine
    patch.setattr(kernel, "examine_live_host", lambda time: ((), ()))
    patch.setattr(kernel, "BenchmarkSet", lambda *_, **__: DrawnBattery(clock))
    return conduct_run(kernel.KernelScenario(), made_host(), {"only": ["syscall", "getpid"]}, clock)


def run_null(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    engine = of_null.fake_engine(patch, folder)
    scenario = Null()
    run = of_null.run_of(engine, scenario)
    asyncio.run(conduct_fake(scenario, run))
    return run


def run_numa(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    scenario, host = NumaScenario(), of_numa._two_nodes(folder)
    options: dict[str, Json] = {"only": "read", "bios": str(of_numa.BIOS / "dell.json")}
    plan = scenario.prepare(host, OptionMap(options, scenario.options)).plan
    run = FakeRun(host=host, options=options, declared=scenario.options, plan=plan)
    asyncio.run(conduct_fake(scenario, run))
    return run


def run_rpfilter(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    stop_guards(patch)
    return asyncio.run(Story(folder, with_check("firewalld-0.8-logged")).run())


def run_prove(_folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    effects = dict.fromkeys(("a", "b", "c", "d", "e"), 0.0)
    return planted_run(patch, effects | {"b": 0.2})


def run_storage(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    clock = FakeClock()
    suit_everywhere(patch)
    patch.setattr(DrawnStorage, "clock", clock, raising=False)
    patch.setattr(storage, "StorageBench", DrawnStorage)
    patch.setattr("hostdx.scenarios.storage.findings.loop_cost_ns", lambda: 500)

    def trains(benches: Mapping[str, DrawnStorage], load: str) -> FakeTrains:
        rates = dict(zip(benches, (10_000.0, 8_000.0), strict=True))
        metric = next(load_plan.metric for load_plan in storage_plan.LOADS if load_plan.id == load)
        return FakeTrains(clock, rates, metric=metric, noise=white(len(load), 0.02), device=load != "cpu")

    patch.setattr("hostdx.scenarios.storage.scenario.StorageBatches", trains)
    for name in "ab":
        (folder / name).mkdir()
    loads = ("randread-4k-qd1", "fsync-4k-qd1", "cpu")
    options: dict[str, Json] = {"dir": [str(folder / "a"), str(folder / "b")], "budget": 30.0}
    return conduct_run(storage.Storage(only=loads), made_host(), options, clock)


def run_workload(folder: Path, patch: pytest.MonkeyPatch) -> FakeRun:
    patch.setattr(workload, "CommandVariantBench", lambda run, job, *_, **__: DrawnCommand(run, job))
    options: dict[str, Json] = {
        "cmd": "true",
        "variant": ["usual:", "slow:env=A=1"],
        "cwd": "/",
        "budget": 120.0,
    }
    return conduct_run(workload.CommandUnderVariants(), made_host(), options, FakeClock())


RUNS: dict[str, Build] = {
    "box": run_box,
    "checkup": run_checkup,
    "contention": run_contention,
    "cpuwatch": run_cpuwatch,
    "dstate": run_dstate,
    "fstrim": run_fstrim,
    "fullstack": run_fullstack,
    "iosched": run_iosched,
    "kernel": run_kernel,
    "null": run_null,
    "numa": run_numa,
    "prove": run_prove,
    "rpfilter": run_rpfilter,
    "storage": run_storage,
    "workload": run_workload,
}
