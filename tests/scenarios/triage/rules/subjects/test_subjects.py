"""Rows of captured hosts: queueing disciplines, interrupts of controllers, PCIe read requests."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.subjects.array import multipath_rows
from hostdx.scenarios.triage.rules.subjects.cpu import policy_rows
from hostdx.scenarios.triage.rules.subjects.irq import queue_irqs_of
from hostdx.scenarios.triage.rules.subjects.pci import pci_rows
from tests.fakes.hosts.tree import Tree


def test_a_controller_served_on_another_node(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    device = "sys/devices/pci0000:80/0000:81:00.0"
    tree.put(f"{device}/class", "0x010802\n")
    tree.put(f"{device}/numa_node", "1\n")
    (tmp_path / device / "nvme/nvme0").mkdir(parents=True)
    (tmp_path / device / "msi_irqs").mkdir()
    tree.put(f"{device}/msi_irqs/40", "msix\n")
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/0000:81:00.0").symlink_to(f"../../../../{device}")
    tree.put("proc/interrupts", "      CPU0  CPU1\n 40:   9  0  IR-PCI-MSI nvme0q1\n")
    tree.put("proc/irq/40/smp_affinity_list", "0\n")
    for number in (0, 1):
        tree.put(f"sys/devices/system/node/node{number}/cpulist", f"{number}\n")
        tree.put(f"sys/devices/system/node/node{number}/distance", "20 10\n" if number else "10 20\n")
        tree.put(f"sys/devices/system/node/node{number}/meminfo", f"Node {number} MemTotal: 4096 kB\n")
        tree.put(f"sys/devices/system/cpu/cpu{number}/topology/physical_package_id", f"{number}\n")
        tree.put(f"sys/devices/system/cpu/cpu{number}/topology/core_id", "0\n")
    for name in ("online", "possible", "present"):
        tree.put(f"sys/devices/system/cpu/{name}", "0-1\n")
    tree.put("sys/devices/system/node/online", "0-1\n")
    text = (
        "81:00.0 Non-Volatile memory controller [0108]: X\n\t\t\tMaxPayload 256 bytes, MaxReadReq 128 bytes\n"
    )
    Tree(tmp_path).put("sos_commands/pci/lspci_-nnvv", f"00:00.0 Host bridge\n\n{text}\n")
    rows = pci_rows(Host(str(tmp_path)))
    assert isinstance(rows, list)
    [row] = rows
    assert (row["node"], row["irq_nodes"], row["read_request"]) == (1, (0,), 128)


def test_the_firmwares_limit_of_the_clock_is_in_the_clocks_own_unit(tmp_path: Path) -> None:
    """1.2 of 3.4 GHz: the kernel gives all of a policy's frequencies in kHz, and the rule compares two of them."""
    policy = "sys/devices/system/cpu/cpufreq/policy0"
    tree = Tree(tmp_path).put(f"{policy}/scaling_governor", "performance\n")
    tree.put(f"{policy}/bios_limit", "1200000\n").put(f"{policy}/cpuinfo_max_freq", "3400000\n")
    rows = policy_rows(Host(str(tmp_path)))
    assert isinstance(rows, list)
    assert [(row["bios_khz"], row["hw_max_khz"]) for row in rows] == [(1_200_000, 3_400_000)]


def test_interrupts_that_are_named_by_a_bus_address_are_the_cards(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    interrupt_names = ("mlx5_comp0@pci:0000:c1:00.0", "mlx5_comp0@pci:0000:c1:00.1", "nvme0q1", "nvme10q1")
    lines = "".join(f" {40 + n}:   9  0  IR-PCI-MSIX {name}\n" for n, name in enumerate(interrupt_names))
    tree.put("proc/interrupts", f"      CPU0  CPU1\n{lines}")
    host = tree.host()
    assert queue_irqs_of(host, Absent(""), ["eth0", "0000:c1:00.0"]) == ("40",)
    assert queue_irqs_of(host, Absent(""), ["nvme0"]) == ("42",)


def test_paths_of_equal_priority_in_groups_of_their_own(tmp_path: Path) -> None:
    text = (
        "mpatha (36005) dm-2 HP,HSV210\nsize=1.0T features='0' hwhandler='1 alua' wp=rw\n"
        "|-+- policy='service-time 0' prio=50 status=active\n| `- 1:0:0:1 sdc 8:32 active ready running\n"
        "`-+- policy='service-time 0' prio={} status=enabled\n  `- 2:0:0:1 sdd 8:48 active ready running\n"
    )
    for prio, kinds in ((50, (50,)), (10, (10, 50))):
        Tree(tmp_path).put("sos_commands/multipath/multipath_-ll", text.format(prio))
        rows = multipath_rows(Host(str(tmp_path)))
        assert isinstance(rows, list)
        assert [(r["paths"], r["groups"], r["alua"], r["priorities"]) for r in rows] == [(2, 2, True, kinds)]
