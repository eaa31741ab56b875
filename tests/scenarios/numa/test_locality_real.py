"""A disk read from two sets of CPUs by the same workers: on this machine's own disk, with CPUs as the two nodes."""

import os
from pathlib import Path

import pytest

from hostdx.app.run.runner import MonotonicClock
from hostdx.probes.engine.disk.refusals import check_suitability
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.numa.measurement import locality
from tests.fakes.run import FakeRun
from tests.needs import not_here


@pytest.mark.real("cpu")
async def test_both_sides_are_measured_where_they_were_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host()
    cpus = sorted(os.sched_getaffinity(0))
    fit = check_suitability(host, str(tmp_path), explicit=True, size_bytes=64 << 20, workloads=locality.LOADS)
    if fit.refusal or fit.placement is None or len(cpus) < 2:
        not_here(fit.refusal or "one CPU")
    place = locality.NodeDirectory(
        fit=fit,
        leaves=tuple(fit.placement.leaves),
        node=0,
        near=frozenset(cpus[:1]),
        far_node=1,
        far=frozenset(cpus[1:2]),
    )
    cpu_sets: list[frozenset[int]] = []
    usual = locality.LocalityVariantBench.switch_to_variant

    async def activate_and_check(self: locality.LocalityVariantBench) -> None:
        await usual(self)
        for pid in self._pids():
            assert os.sched_getaffinity(pid) == self._cpus
        cpu_sets.append(self._cpus)

    monkeypatch.setattr(locality.LocalityVariantBench, "switch_to_variant", activate_and_check)
    run = FakeRun(host=host, clock=MonotonicClock())
    verdicts = await locality.measure_locality(run, place, 9.0, family=2)
    assert set(cpu_sets) == {place.near, place.far}
    assert set(verdicts) == {"disk-randread-4k-qd1", "disk-read-1m-qd8"}
    assert {b.variant for b in run.of(ev.Block)} <= {locality.DISK_NEAR, locality.DISK_FAR}
    # whatever they say: in nine seconds a busy disk may leave a load unmeasured
    assert all(verdicts.values())
    assert not list(tmp_path.iterdir())
