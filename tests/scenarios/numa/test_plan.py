"""What is planned on which topology; a captured tree shows its picture and is not measured."""

import socket
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostdx.probes.reading.host import Host
from hostdx.probes.system.bios.redfish import PASSWORD, USER
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, RunRefused, UsageError
from hostdx.scenarios.numa.measurement import locality
from hostdx.scenarios.numa.measurement.placement import WorkerSeat
from hostdx.scenarios.numa.plan import make_numa_setup
from hostdx.scenarios.numa.scenario import NumaScenario
from hostdx.scenarios.triage.cpus.usable import usable_cpus
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun, conduct_fake

BIOS = Path(__file__).parents[2] / "fixtures" / "bios"


def _two_nodes(tmp_path: Path) -> Host:
    tree = Tree(tmp_path)
    for n in range(4):
        node = n // 2
        tree.files(
            f"/sys/devices/system/cpu/cpu{n}/topology",
            core_cpus_list=n,
            package_cpus_list=f"{node * 2}-{node * 2 + 1}",
            physical_package_id=node,
        )
        tree.files(
            f"/sys/devices/system/node/node{node}",
            cpulist=f"{node * 2}-{node * 2 + 1}",
            distance="10 21" if node == 0 else "21 10",
            meminfo=f"Node {node} MemTotal: 1048576 kB",
        )
    return tree.host()


def _memory_sides(host: Host, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[WorkerSeat, ...]]]:
    monkeypatch.setattr(host, "live", True)
    entries = make_numa_setup(host, OptionMap({})).entries
    return {w.id: [s.placement.seats for s in sides] for w, _, sides in entries if w.id.startswith("memory-")}


def test_near_and_far_are_the_same_memory_from_other_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node whose memory is slow would else look far."""
    memory_sides = _memory_sides(_two_nodes(tmp_path), monkeypatch)
    for work, cores in (("memory-copy", 2), ("memory-chase", 1)):
        near, far = memory_sides[work]
        assert [seat.cpus for seat in near] == [(2,), (3,)][:cores]
        assert [seat.cpus for seat in far] == [(0,), (1,)][:cores]
        assert {seat.node for seat in (*near, *far)} == {1}
        assert {s.store for s in near}.isdisjoint(
            s.store for s in far
        )  # nobody finds the other's lines in a cache


@pytest.mark.parametrize("url", ["https://user:word@bmc", "http://bmc.example.org"])
def test_a_url_that_must_not_be_asked(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError) as error:
        NumaScenario().prepare(_two_nodes(tmp_path), OptionMap({"redfish": url}))
    assert "word" not in str(error.value).replace("password", "")


def test_a_disk_is_near_only_where_there_is_a_far_cpu(tmp_path: Path) -> None:
    reason = locality.examine_directory(
        Host(), "/nonexistent", replace(usable_cpus(_two_nodes(tmp_path)), nodes=None)
    )
    assert reason == "one node has CPUs: no CPU is far from the disk"
    host = _two_nodes(tmp_path)
    captured_reason = locality.examine_directory(host, "/x", usable_cpus(host))
    assert isinstance(captured_reason, str) and "captured" in captured_reason


def test_other_requests_that_are_wrong(tmp_path: Path) -> None:
    host, large = _two_nodes(tmp_path), tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 30)
    _check_refused(host, {"bios": str(large)})
    _check_refused(host, {"bios": str(tmp_path)})
    _check_refused(host, {"bios": str(BIOS / "dell.json"), "redfish": "https://bmc"})
    _check_refused(host, {"redfish": "https://bmc", "redfish-ca": str(large)})
    _check_refused(host, {"redfish-ca": str(large)})


def _check_refused(host: Host, options: dict[str, Json]) -> None:
    with pytest.raises(UsageError) as error:
        NumaScenario().prepare(host, OptionMap(options))
    assert len(str(error.value).splitlines()) == 1


async def test_a_controller_that_does_not_answer_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(USER, "admin")
    monkeypatch.setenv(PASSWORD, "correct-horse")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    scenario, host, options = NumaScenario(), _two_nodes(tmp_path), {"only": "read", "redfish": url}
    plan = scenario.prepare(host, OptionMap(options, scenario.options)).plan
    run = FakeRun(host=host, options=options, declared=scenario.options, plan=plan)
    with pytest.raises(RunRefused) as error:
        await conduct_fake(scenario, run)
    assert len(str(error.value).splitlines()) == 1
    assert "correct-horse" not in repr(run.events) + str(error.value) and not run.of(ev.RunStep)
