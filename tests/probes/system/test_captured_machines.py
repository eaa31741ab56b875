"""The readers on trees of real machines (public test data of util-linux and hwloc), where those lie beside us."""

import tarfile
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices, bottom_devices_of
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.system.network.nic import read_nics
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.processor.cpu import read_cpu
from hostdx.probes.system.processor.frequency import read_frequency
from hostdx.probes.system.summary import summary_facts
from hostdx.probes.types import Absent, is_present
from tests.needs import not_here

TREES = Path(__file__).parents[4] / "shared" / "hosts"
# sockets, cores, threads online, nodes with CPUs (None: not credible); what lscpu --sysroot and hwloc say.
TOPOLOGY: list[tuple[str, int, int, int, int | None]] = [
    ("epyc-7451", 2, 48, 96, 8),
    ("opteron-4s2n", 4, 32, 64, 8),
    ("xeon-2n8c-nvme-dimms", 2, 16, 16, 2),
    ("xeon-4s2c2t-offlines", 4, 7, 12, 1),
    ("xeon-buggynuma", 2, 8, 8, None),
    ("hybrid-1p6c2t-8e", 1, 14, 20, 1),
    ("x86-64cpu-linux6.2", 1, 4, 8, 1),
]
DISKS = [
    ("disks-nvme-sata", {"sda": "sata", "sdb": "sata", "nvme0n1": "nvme"}),
    ("disks-lvm", {"sda": "sata", "sdb": "sata", "nvme0n1": "nvme", "dm-0": "lvm", "loop0": "loop"}),
    ("xeon-2n8c-nvme-dimms", {"sda": "sata", "nvme0n1": "nvme", "pmem0.1": "pmem"}),
]
NAMES = sorted({name for name, *_ in TOPOLOGY} | {name for name, _ in DISKS})

pytestmark = pytest.mark.soak("small trees in the tests of each reader pin the same facts")


@pytest.fixture(scope="module")
def unpacked_hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    return {}


@pytest.fixture
def captured(
    request: pytest.FixtureRequest, unpacked_hosts: dict[str, Host], tmp_path_factory: pytest.TempPathFactory
) -> Host:
    name = str(request.param)
    if not TREES.is_dir():
        not_here(
            "the captured trees of real machines are not beside the project; small trees pin the same facts"
        )
    if name not in unpacked_hosts:
        (archive,) = TREES.glob(f"{name}.tar.*")
        folder = tmp_path_factory.mktemp(name)
        with tarfile.open(archive) as file:
            file.extractall(folder)  # ours, and Python 3.11.2 has no filter
        unpacked_hosts[name] = Host(str(folder))
    return unpacked_hosts[name]


@pytest.mark.parametrize(
    ("captured", "sockets", "cores", "threads", "nodes"),
    TOPOLOGY,
    indirect=["captured"],
    ids=[t[0] for t in TOPOLOGY],
)
def test_topology(captured: Host, sockets: int, cores: int, threads: int, nodes: int | None) -> None:
    cpu = read_cpu(captured)
    assert (cpu.sockets, cpu.cores, cpu.threads) == (sockets, cores, threads)
    table = read_numa(captured)
    assert is_present(table)
    assert (table.with_cpus if not table.doubt else None) == nodes
    assert isinstance(table.per_socket, Absent) is (nodes is None)


@pytest.mark.parametrize(("captured", "expected"), DISKS, indirect=["captured"], ids=[d[0] for d in DISKS])
def test_transports(captured: Host, expected: dict[str, str]) -> None:
    devices = block_devices(captured)
    assert {name: devices[name].transport for name in expected} == expected
    for device in devices.values():
        assert device.devno and is_present(device.size_bytes) and is_present(device.transport)


@pytest.mark.parametrize("captured", NAMES, indirect=True)
def test_every_fact_prints(captured: Host) -> None:
    entries = summary_facts(captured)
    assert len(entries) > 10
    for entry in entries:
        assert str(entry)


@pytest.mark.parametrize("captured", ["hybrid-1p6c2t-8e"], indirect=True)
def test_the_hybrid_one(captured: Host) -> None:
    cpu = read_cpu(captured)
    assert (
        cpu.hybrid is True
        and cpu.threads_per_core == (1, 2)
        and cpu.model == "13th Gen Intel(R) Core(TM) i7-1370P"
    )


@pytest.mark.parametrize("captured", ["xeon-4s2c2t-offlines"], indirect=True)
def test_the_one_with_offline_threads(captured: Host) -> None:
    cpu = read_cpu(captured)
    assert cpu.offline == {2, 5, 13, 14} and cpu.present == 16 and isinstance(cpu.hybrid, Absent)


@pytest.mark.parametrize("captured", ["epyc-7451"], indirect=True)
def test_the_epyc(captured: Host) -> None:
    cpu = read_cpu(captured)
    assert cpu.threads_per_core == (2,)
    table, clock = read_numa(captured), read_frequency(captured)
    assert is_present(table) and table.per_socket == 4.0
    assert is_present(clock) and clock.governors == {"performance": 96}


@pytest.mark.parametrize("captured", ["disks-lvm"], indirect=True)
def test_the_volume_over_four_loop_devices(captured: Host) -> None:
    assert bottom_devices_of(block_devices(captured), "dm-0") == ("loop0", "loop1", "loop2", "loop3")
    placement = find_placement(captured, "/home/test/data")
    assert is_present(placement) and (placement.device, placement.leaves) == ("nvme0n1p3", ("nvme0n1",))
    devices = block_devices(captured)
    assert (devices["sda"].rotational, devices["sdb"].rotational) == (False, True)
    assert devices["sda"].scheduler == "cfq" and devices["nvme0n1"].model == "KINGSTON SKC1000240G"


@pytest.mark.parametrize("captured", ["xeon-2n8c-nvme-dimms"], indirect=True)
def test_the_cards_of_the_two_node_xeon(captured: Host) -> None:
    cards = read_nics(captured)
    assert {name: card.numa_node for name, card in cards.items() if card.physical} == {
        "eth0": 0,
        "eth1": 0,
        "ib0": 1,
    }
    assert (cards["eth0"].driver, cards["eth0"].speed_mbit) == ("igb", 1000)
    # Its NVMe disk was grafted in from another machine: the file says -1, and -1 is not a node.
    assert isinstance(block_devices(captured)["nvme0n1"].numa_node, Absent)
    assert block_devices(captured)["sda"].numa_node == 0
