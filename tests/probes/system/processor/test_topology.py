"""Cores, sockets, caches and nodes where the kernel's numbers repeat, lie or are missing."""

from collections.abc import Callable, Iterator

import pytest

from hostdx.probes.system.apic import apic_mode
from hostdx.probes.system.nodes.nodes_per_socket import read_nodes_per_socket
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.pci import read_pci_devices
from hostdx.probes.system.processor.caches import read_caches
from hostdx.probes.system.processor.cpu import read_cpu
from hostdx.probes.system.processor.idle import read_idle_states
from hostdx.probes.system.processor.topology import read_cpu_topology
from hostdx.probes.system.running.allowed import read_allowed_resources
from hostdx.probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree

Build = Callable[..., Tree]
ROOT = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
ROME = "vendor_id : AuthenticAMD\ncpu family : 23\nmodel : 49\nflags : fpu x2apic\n"


def _put_cache(tree: Tree, n: int, index: int, level: int, kind: str, size: str, shared: str) -> None:
    folder = f"{ROOT}/cpu{n}/cache/index{index}"
    tree.files(folder, level=level, type=kind, size=size, shared_cpu_list=shared)


def _make_nodes(cpus: Build, sockets: int, a_socket: int, info: str = ROME) -> Tree:
    """Two cores a node, an L3 for each."""
    total = sockets * a_socket
    trees: list[Tree] = []
    for node in range(total):
        first = node * 2
        tree = cpus([[first], [first + 1]], socket=node // a_socket, node=node)
        row = " ".join(
            "10" if n == node else "12" if n // a_socket == node // a_socket else "32" for n in range(total)
        )
        tree.files(f"{NODE}/node{node}", distance=row, meminfo=f"Node {node} MemTotal: 1048576 kB")
        for n in (first, first + 1):
            _put_cache(tree, n, 3, 3, "Unified", "16M", f"{first}-{first + 1}")
        trees.append(tree)
    return trees[-1].put("/proc/cpuinfo", f"processor : 0\n{info}")


@pytest.mark.parametrize(
    ("sockets", "a_socket", "info", "setting"),
    [
        (2, 1, ROME, "NPS1"),
        (2, 4, ROME, "NPS4 or a node for each of four L3 caches"),
        (2, 8, ROME, "a node for each L3 cache (8 a socket), which hides the NPS setting"),
        (2, 4, ROME.replace("49", "1"), "4 nodes a socket"),  # Naples: a node a die
        (2, 2, "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\n", "SNC2"),
        (2, 1, "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 106\n", "SNC off"),
        (2, 2, "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 79\n", "Cluster-on-Die 2"),
        (1, 1, "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 186\n", "1 node a socket"),
        (2, 2, "CPU implementer : 0x41\n", "2 nodes a socket"),
    ],
)
def test_which_setting_explains_the_nodes(
    cpus: Build, sockets: int, a_socket: int, info: str, setting: str
) -> None:
    nodes_per_socket = read_nodes_per_socket(_make_nodes(cpus, sockets, a_socket, info).host())
    assert is_present(nodes_per_socket) and nodes_per_socket.setting_text == setting


@pytest.mark.parametrize(("a_die", "setting"), [(2, "2 nodes a socket"), (4, "SNC2")])
def test_two_dies_in_a_package_are_no_setting(cpus: Build, a_die: int, setting: str) -> None:
    tree = _make_nodes(cpus, 2, 2, "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n")
    for n in range(8):
        first = n // a_die * a_die
        tree.files(f"{ROOT}/cpu{n}/topology", die_cpus_list=f"{first}-{first + a_die - 1}")
    nodes_per_socket = read_nodes_per_socket(tree.host())
    assert is_present(nodes_per_socket) and nodes_per_socket.setting_text == setting


def test_one_node_over_two_sockets(cpus: Build) -> None:
    cpus([[0]], socket=0)
    tree = (
        cpus([[1]], socket=1)
        .files(f"{NODE}/node0", cpulist="0-1")
        .put("/proc/cpuinfo", f"processor : 0\n{ROME}")
    )
    nodes_per_socket = read_nodes_per_socket(tree.host())
    assert is_present(nodes_per_socket) and (nodes_per_socket.setting_text, nodes_per_socket.value) == (
        "NPS0",
        0,
    )
    off = read_nodes_per_socket(tree.put("/proc/cmdline", "ro numa=off quiet\n").host())
    assert is_present(off) and "numa=off" in off.setting_text


def test_nothing_is_concluded_in_a_virtual_machine_or_from_uneven_sockets(cpus: Build) -> None:
    tree = _make_nodes(cpus, 2, 2)
    assert is_present(read_nodes_per_socket(tree.host()))
    tree.put("/proc/cpuinfo", f"processor : 0\n{ROME.replace('fpu', 'hypervisor')}")
    assert isinstance(read_nodes_per_socket(tree.host()), Absent)
    tree.put("/proc/cpuinfo", f"processor : 0\n{ROME}").files(f"{NODE}/node3", cpulist="")
    nodes_per_socket = read_nodes_per_socket(tree.host())
    assert isinstance(nodes_per_socket, Absent) and nodes_per_socket.kind == "invalid"


def _device(tree: Tree, path: str, code: str, node: int, **more: str) -> None:
    tree.files(f"/sys/devices/{path}", **{"class": code}, numa_node=node, **more)
    tree.link(f"/sys/bus/pci/devices/{path.rsplit('/', 1)[-1]}", f"../../../devices/{path}")


def test_devices_and_their_nodes(cpus: Build) -> None:
    tree = _make_nodes(cpus, 2, 1)
    bridge = "pci0000:80/0000:80:01.0"
    tree.files(
        f"/sys/devices/{bridge}", **{"class": "0x060400"}, numa_node=1, max_link_speed="16.0 GT/s PCIe"
    )
    tree.files(f"/sys/devices/{bridge}", max_link_width=8)
    link = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "4"}
    best = {"max_link_speed": "16.0 GT/s PCIe", "max_link_width": "4"}
    _device(tree, f"{bridge}/0000:81:00.0", "0x010802", -1, **link, **best)
    tree.files(f"/sys/devices/{bridge}/0000:81:00.0/nvme/nvme0/nvme0n1", size=1)
    _device(tree, "pci0000:00/0000:00:02.0", "0x020000", -1, local_cpulist="0-1")
    tree.files("/sys/devices/pci0000:00/0000:00:02.0/net/eth0", mtu=1500)
    _device(tree, "pci0000:00/0000:00:03.0", "0x030200", -1)
    _device(tree, "pci0000:00/0000:00:04.0", "0x030000", 0, vendor="0x1a03")  # a console's graphics
    _device(tree, "pci0000:00/0000:00:05.0", "0x088000", 0)
    pci_devices = read_pci_devices(tree.host())
    assert is_present(pci_devices)
    nvme, card, gpu = (
        sorted(pci_devices, key=lambda d: d.kind, reverse=True)[0],
        pci_devices[0],
        pci_devices[1],
    )
    assert (nvme.kind, nvme.node, nvme.names) == ("NVMe", 1, ("nvme0", "nvme0n1"))
    assert is_present(nvme.link) and nvme.link.degraded and nvme.link.now == "8.0 GT/s x4"
    assert (card.kind, card.node, card.names) == ("NIC", 0, ("eth0",))
    assert gpu.kind == "GPU" and isinstance(gpu.node, Absent) and len(pci_devices) == 3


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ("[    0.1] x2apic enabled", "x2APIC"),
        ("[    0.1] APIC: Switched APIC routing to: physical x2apic", "x2APIC"),
        ("[    0.1] Switched APIC routing to physical flat.", "xAPIC"),
        ("[    0.1] x2apic: IRQ remapping doesn't support X2APIC mode", "xAPIC"),
        ("[    9.1] usb 1-1: new device", None),
    ],
)
def test_apic_mode_by_the_words_at_boot(tree: Tree, lines: str, mode: str | None) -> None:
    tree.put("/proc/cpuinfo", "processor : 0\nflags : x2apic\napicid : 0\n").put("/dmesg", lines)
    answer = apic_mode(tree.host())
    assert (answer.mode if is_present(answer) else None) == mode


def test_apic_mode_by_a_number_beyond_what_xapic_can(tree: Tree) -> None:
    mode = apic_mode(tree.put("/proc/cpuinfo", "processor : 0\nflags : fpu\napicid : 300\n").host())
    assert is_present(mode) and mode.mode == "x2APIC"


@pytest.mark.parametrize(
    ("mount", "file"),
    [
        ("none /dev/cpuset cpuset rw 0 0", "/dev/cpuset/job/cpus"),
        (
            "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0",
            "/sys/fs/cgroup/cpuset/job/cpuset.effective_cpus",
        ),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "/sys/fs/cgroup/job/cpuset.cpus.effective"),
    ],
)
def test_what_may_be_used_by_the_cpuset_of_an_old_tree(tree: Tree, mount: str, file: str) -> None:
    tree.put("/proc/self/cpuset", "/job\n").put("/proc/mounts", f"proc /proc proc rw 0 0\n{mount}\n")
    assert read_allowed_resources(tree.put(file, "4-7\n").host()).cpus == frozenset({4, 5, 6, 7})


ODD = ("", "-1", "9" * 5000, "0-4000000000", "٣", "0-1\0")


def _spoil_files(tree: Tree) -> Iterator[str]:
    files = sorted(path for path in tree.root.rglob("*") if path.is_file() and not path.is_symlink())
    files = [
        path for path in files if not {"cpu1", "cpu2", "cpu3", "node1"} & set(path.parts)
    ]  # like the first
    for path in files:
        text = path.read_bytes()
        for odd in ODD:
            path.write_text(odd)
            yield f"{path.name}={odd[:10]!r}"
        path.unlink()
        yield f"{path.name} gone"
        path.write_bytes(text)


def test_no_reader_raises_whatever_a_file_holds(cpus: Build) -> None:
    tree = _make_nodes(cpus, 1, 2)
    _device(tree, "pci0000:00/0000:00:02.0", "0x010802", 1, current_link_speed="x", current_link_width="4")
    tree.files(f"{ROOT}/cpuidle", current_driver="x").files(
        f"{ROOT}/cpu0/cpuidle/state0", name="C1", latency=1
    )
    tree.files(ROOT, online="0-3", present="0-3", isolated="1").put(
        "/proc/self/status", "Cpus_allowed_list: 0\n"
    )
    for change in _spoil_files(tree):
        for reader in (
            read_cpu,
            read_cpu_topology,
            read_numa,
            read_caches,
            read_pci_devices,
            read_idle_states,
            apic_mode,
            read_allowed_resources,
            read_nodes_per_socket,
        ):
            assert reader(tree.host()) is not None, change
