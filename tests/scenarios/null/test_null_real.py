"""Scenario `null` on this machine's own disk: it really measures, and cancelled in a block it leaves nothing behind."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.run.runner import MonotonicClock
from hostdx.probes.engine.workloads import file_set_count
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.processes import process_with_descendants
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.null.scenario import Null
from tests.fakes import FakeRun
from tests.fakes.run import conduct_fake
from tests.needs import not_here
from tests.real.polled import happens


def deleted_files_of_ours(directory: str) -> list[str]:
    """Unnamed files that this process still holds open there."""
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [link for link in links if link.startswith(directory) and link.endswith("(deleted)")]


def steady_batches(run: FakeRun) -> list[ev.SliceBatch]:
    return [train for train in run.of(ev.SliceBatch) if train.phase == "steady"]


def running_children(host: Host) -> set[tuple[int, int]]:
    """Our children that have not ended: what an earlier test left unwaited for is none of this one's."""
    return {(p.pid, p.start_ticks) for p in process_with_descendants(host).values() if p.state != "Z"}


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory on a disk: /tmp is memory on many machines."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as folder:
        yield Path(folder)


@pytest.mark.real
async def test_cancelled_in_a_train_it_leaves_neither_file_nor_process(disk: Path) -> None:
    scenario = Null()
    options: dict[str, Json] = {"dir": str(disk), "size": 64 << 20}
    before = running_children(Host())
    run = FakeRun(host=Host(), clock=MonotonicClock(), options=options, declared=scenario.options)
    plan = scenario.prepare(run.host, run.options).plan
    if plan.refusal:
        not_here(plan.refusal)
    task = asyncio.create_task(conduct_fake(scenario, run))
    async with asyncio.timeout(60):
        while not steady_batches(run) and not task.done():
            await asyncio.sleep(0.05)
    deleted_files = deleted_files_of_ours(str(disk))
    # Two variants, each with a file to read and one to write in each place.
    assert len(deleted_files) == 2 * 2 * file_set_count(64 << 20)
    assert running_children(run.host) - before
    task.cancel()
    assert (await asyncio.wait({task}, timeout=30))[0] == {task} and task.cancelled()
    for train in steady_batches(run):
        assert len(train.values["IOPS"]) == len(train.order.replace(" ", "")) >= 4
        assert all(value > 0 for value in train.values["IOPS"]) and all(train.operations.values())
    assert deleted_files_of_ours(str(disk)) == []
    assert list(disk.iterdir()) == []
    run.host.close()  # ends the child that reads what may hang
    assert happens(lambda: running_children(Host()) <= before)
