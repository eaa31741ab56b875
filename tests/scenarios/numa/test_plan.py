"""What is planned on which topology; a captured tree shows its picture and is not measured."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from probes.reading.host import Host
from probes.system.bios.credentials import PASSWORD, USER
from probes.types import Absent, Json
from scenarios.contract import events as ev
from scenarios.contract.model import Options, RunRefused, UsageError
from scenarios.numa.measurement import locality
from scenarios.numa.measurement.memory import CpuMemoryPair, limit_pairs
from scenarios.numa.measurement.placement import Seat
from scenarios.numa.plan import MIN_ROUNDS, lay_out
from scenarios.numa.results import Bios, Shape
from scenarios.numa.scenario import NumaScenario
from scenarios.triage.cpus.usable import usable_cpus
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.fakes.run import FakeRun, conduct

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


def test_a_captured_tree_is_drawn_and_not_measured(tmp_path: Path) -> None:
    plan = NumaScenario().prepare(_two_nodes(tmp_path), Options({})).plan
    assert not plan.refusal and not plan.workloads and plan.measuring_s == 0
    assert plan.picture[0] == "2 sockets, 4 cores, 4 threads, 2 NUMA nodes"
    assert plan.left_out == ("every measurement: a captured tree is only read",)


def _memory_sides(host: Host, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[Seat, ...]]]:
    monkeypatch.setattr(host, "live", True)
    entries = lay_out(host, Options({})).entries
    return {w.id: [s.placement.seats for s in sides] for w, _, sides in entries if w.id.startswith("memory-")}


def test_near_and_far_are_the_same_memory_from_other_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node whose memory is slow would else look far."""
    told = _memory_sides(_two_nodes(tmp_path), monkeypatch)
    for work, cores in (("memory-copy", 2), ("memory-chase", 1)):
        near, far = told[work]
        assert [seat.cpus for seat in near] == [(2,), (3,)][:cores]
        assert [seat.cpus for seat in far] == [(0,), (1,)][:cores]
        assert {seat.node for seat in (*near, *far)} == {1}
        assert {s.store for s in near}.isdisjoint(
            s.store for s in far
        )  # nobody finds the other's lines in a cache


def test_memory_without_cores_is_compared_with_the_first_node_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = _two_nodes(tmp_path)
    (tmp_path / "sys/devices/system/node/node1/cpulist").write_text("\n")
    (tmp_path / "sys/devices/system/node/node0/cpulist").write_text("0-3\n")
    near, far = _memory_sides(host, monkeypatch)["memory-chase"]
    assert [(seat.cpus, seat.node) for seat in (*near, *far)] == [((0,), 0), ((0,), 1)]


def test_a_tree_without_processors_is_refused(tmp_path: Path) -> None:
    assert NumaScenario().prepare(Tree(tmp_path).host(), Options({})).plan.refusal


def test_many_nodes_are_not_all_paired_in_a_minute() -> None:
    pairs = tuple(CpuMemoryPair(a, b, 12, (a,)) for a in range(8) for b in range(8))
    few = limit_pairs(pairs, 15.0, MIN_ROUNDS)
    assert {(t.cpu_node, t.memory_node) for t in few} == {(n, n) for n in range(8)} | {
        (0, n) for n in range(8)
    }
    assert (
        limit_pairs(pairs, 60.0, MIN_ROUNDS) == pairs
        and limit_pairs(pairs[:16], 15.0, MIN_ROUNDS) == pairs[:16]
    )


@pytest.mark.parametrize("url", ["https://user:word@bmc", "http://bmc.example.org"])
def test_a_url_that_must_not_be_asked(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError) as error:
        NumaScenario().prepare(_two_nodes(tmp_path), Options({"redfish": url}))
    assert "word" not in str(error.value).replace("password", "")


def test_a_disk_is_near_only_where_there_is_a_far_cpu(tmp_path: Path) -> None:
    said = locality.find_directory(
        Host(), "/nonexistent", replace(usable_cpus(_two_nodes(tmp_path)), nodes=None)
    )
    assert said == "one node has CPUs: no CPU is far from the disk"
    host = _two_nodes(tmp_path)
    told = locality.find_directory(host, "/x", usable_cpus(host))
    assert isinstance(told, str) and "captured" in told


async def test_settings_and_the_bios_are_read_without_measuring(tmp_path: Path) -> None:
    scenario = NumaScenario()
    options = {"only": "read", "bios": str(BIOS / "dell.json")}
    host = _two_nodes(tmp_path)
    plan = scenario.prepare(host, Options(options, scenario.options)).plan
    run = FakeRun(host=host, options=options, declared=scenario.options, plan=plan)
    await conduct(scenario, run)
    assert [type(e) for e in run.of(ev.Result)] == [Shape, Bios]
    found = {e.finding.id: e.finding for e in run.of(ev.Found)}
    assert set(found) == {"numa.answer", "numa.bios", "numa.bios-unknown"}
    assert "ApbDis" in found["numa.bios"].title and found["numa.answer"].answers
    told = {(f.subject, f.name) for f in run.of(ev.FactRead)} | {
        (f.subject, f.name) for f in run.of(ev.AbsentFact)
    }
    assert ("numa", "setting") in told and ("cpu", "apic") in told
    assert "SECRET" not in repr(run.events)


@every_case(
    "content",
    [
        None,
        b"",
        b"\0\x7fELF" + bytes(range(256)),
        b'{"a": 1}',
        b'{"Attributes": 5}',
        b"[1,",
        b" " * (4 << 20),
    ],
)
def test_a_file_that_holds_no_settings_is_a_wrong_request(tmp_path: Path, content: bytes | None) -> None:
    saved = tmp_path / "saved"
    if content is not None:
        saved.write_bytes(content)
    _refused(_two_nodes(tmp_path), {"bios": str(saved)})


def test_other_requests_that_are_wrong(tmp_path: Path) -> None:
    host, large = _two_nodes(tmp_path), tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 30)
    _refused(host, {"bios": str(large)})
    _refused(host, {"bios": str(tmp_path)})
    _refused(host, {"bios": str(BIOS / "dell.json"), "redfish": "https://bmc"})
    _refused(host, {"redfish": "https://bmc", "redfish-ca": str(large)})
    _refused(host, {"redfish-ca": str(large)})


def _refused(host: Host, options: dict[str, Json]) -> None:
    with pytest.raises(UsageError) as error:
        NumaScenario().prepare(host, Options(options))
    assert len(str(error.value).splitlines()) == 1


def test_a_file_with_names_that_nobody_here_knows_is_still_one(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.write_text('{"Attributes": {"cbs_cmn_apbdis": "1"}}')
    assert NumaScenario().prepare(_two_nodes(tmp_path), Options({"bios": str(saved)})).plan.picture


async def test_a_controller_that_does_not_answer_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(USER, "admin")
    monkeypatch.setenv(PASSWORD, "correct-horse")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    scenario, host, options = NumaScenario(), _two_nodes(tmp_path), {"only": "read", "redfish": url}
    plan = scenario.prepare(host, Options(options, scenario.options)).plan
    run = FakeRun(host=host, options=options, declared=scenario.options, plan=plan)
    with pytest.raises(RunRefused) as error:
        await conduct(scenario, run)
    assert len(str(error.value).splitlines()) == 1
    assert "correct-horse" not in repr(run.events) + str(error.value) and not run.of(ev.RunStep)


def test_what_describes_the_processors_is_read_once_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, read = _two_nodes(tmp_path), Counter[str]()
    text = Host.read_file_text

    def counted(host: Host, path: str, *args: int, **more: bool) -> str | Absent:
        read[path] += 1
        return text(host, path, *args, **more)

    monkeypatch.setattr(Host, "read_file_text", counted)
    NumaScenario().prepare(host, Options({}))
    once = ("/proc/cpuinfo", "/sys/devices/system/cpu/cpu3/topology/core_cpus_list", "/proc/self/status")
    assert [read[path] for path in once] == [1, 1, 1]
    assert read["/sys/devices/system/node/node1/cpulist"] == 1
