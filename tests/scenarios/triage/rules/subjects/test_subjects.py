"""Rows of captured hosts: queueing disciplines, interrupts of controllers, PCIe read requests."""

from __future__ import annotations

from pathlib import Path

from probes.reading.host import Host
from probes.types import Absent
from scenarios.triage.rules.subjects.array import multipath_rows
from scenarios.triage.rules.subjects.cpu import policy_rows
from scenarios.triage.rules.subjects.disk import disk_rows
from scenarios.triage.rules.subjects.irq import irqs_of
from scenarios.triage.rules.subjects.log import lines_of, named_devices
from scenarios.triage.rules.subjects.net import card_rows
from scenarios.triage.rules.subjects.pci import pci_rows
from scenarios.triage.rules.subjects.tcp import qdisc_rows
from tests.fakes.hosts.tree import Tree

TC = """qdisc noqueue 0: dev lo root refcnt 2
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc mq 0: dev eth0 root
 Sent 99 bytes 1000 pkt (dropped 70, overlimits 0 requeues 4)
qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024
 Sent 99 bytes 1000 pkt (dropped 70, overlimits 0 requeues 4)
qdisc tbf 8001: dev eth1 root refcnt 2 rate 1.5Gbit burst 5Kb lat 70ms
 Sent 1 bytes 1 pkt (dropped 0, overlimits 9 requeues 0)
"""


def test_queueing_disciplines(tmp_path: Path) -> None:
    Tree(tmp_path).put("sos_commands/networking/tc_-s_qdisc_show", TC)
    (tmp_path / "sys/class/net/eth0/device").mkdir(parents=True)
    rows = qdisc_rows(Host(str(tmp_path)))
    assert isinstance(rows, list)
    assert [(r["name"], r["kind"], r["child"], r["software"]) for r in rows] == [
        ("lo", "noqueue", False, True),
        ("eth0", "mq", False, False),
        ("eth0", "fq_codel", True, False),
        ("eth1", "tbf", False, True),
    ]
    assert (rows[1]["sent"], rows[1]["dropped"], rows[3]["rate"]) == (1000, 70, 1.5e9)


def test_of_a_cards_own_counters_only_lost_packets_count_as_cut_off(tmp_path: Path) -> None:
    tree = (
        Tree(tmp_path)
        .put("sys/class/net/eth0/ifindex", "2")
        .put("sys/class/net/eth0/device/vendor", "0x8086")
    )
    tree.put(
        "sos_commands/networking/ethtool_-S_eth0",
        "NIC statistics:\n     rx_missed_errors: 7\n     rx_no_buffer_count: 70\n     tx_discards_phy: 700\n"
        "     rx_out_of_buffer: 2\n     rx_discards_phy: 3\n",
    )
    rows = card_rows(Host(str(tmp_path)))
    assert isinstance(rows, list)
    assert [row["cut_off"] for row in rows] == [5]


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


def test_48_volumes_do_not_crowd_out_the_disks_and_an_emulated_one_is_known(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    base = "/sys/devices/pci0000:00/0000:00:1f.2/ata{}/host0/target0:0:0/0:0:0:0/block/{}"
    for number, (name, model) in enumerate((("sda", "ST8000NM0055"), ("sdb", "QEMU HARDDISK"))):
        at = base.format(number + 1, name)
        tree.disk(at, f"8:{16 * number}").files(at, device__model=model)
    for number in range(48):
        at = f"/sys/devices/virtual/block/dm-{number}"
        tree.disk(at, f"253:{number}").files(at, dm__name=f"vg-lv{number}", slaves__sda="")
    rows = disk_rows(tree.host())
    assert isinstance(rows, list)
    assert [(row["name"], row["virtual"]) for row in rows] == [("sda", False), ("sdb", True)]


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
    told = ("mlx5_comp0@pci:0000:c1:00.0", "mlx5_comp0@pci:0000:c1:00.1", "nvme0q1", "nvme10q1")
    lines = "".join(f" {40 + n}:   9  0  IR-PCI-MSIX {name}\n" for n, name in enumerate(told))
    tree.put("proc/interrupts", f"      CPU0  CPU1\n{lines}")
    host = tree.host()
    assert irqs_of(host, Absent(""), ["eth0", "0000:c1:00.0"]) == ("40",)
    assert irqs_of(host, Absent(""), ["nvme0"]) == ("42",)


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


def test_a_line_of_the_log_names_its_devices() -> None:
    assert named_devices("blk_update_request: I/O error, dev sdb, sector 12345 op 0x0:(READ)") == ("sdb",)
    assert named_devices("nvme0n1: I/O Cmd(0x2) @ LBA 1234, 8 blocks, I/O Error (sct 0x2 / sc 0x81)") == (
        "nvme0n1",
    )
    assert named_devices("pcieport 0000:16:00.0: AER: Corrected error received: 0000:17:00.0") == (
        "0000:16:00.0",
        "0000:17:00.0",
    )
    assert named_devices("mlx5_core 0000:c1:00.0 ens1f0np0: Link down") == ("ens1f0np0",)
    assert named_devices("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.") == ("0000:3b:00.0",)
    assert named_devices("nfs: server 10.0.0.1 not responding, still trying") == ("10.0.0.1",)
    assert named_devices("XFS (dm-3): Corruption detected. Unmount and run xfs_repair") == ("dm-3",)
    assert named_devices("watchdog: BUG: soft lockup - CPU#3 stuck for 22s!") == ()


def test_each_device_of_the_log_is_a_row(tmp_path: Path) -> None:
    lines = (
        "I/O error, dev sda, sector 1",
        "fine",
        "I/O error, dev sdb, sector 2",
        "I/O error, dev sda, sector 3",
    )
    Tree(tmp_path).put(
        "sos_commands/kernel/dmesg", "".join(f"[    1.{n}] {line}\n" for n, line in enumerate(lines))
    )
    rows = lines_of(Host(str(tmp_path)), "I/O error", "sector 3")
    assert isinstance(rows, list)
    assert [(r["name"], r["lines"], r["worse"], r["last"]) for r in rows] == [
        ("sda", 2, 1, lines[3]),
        ("sdb", 1, 0, lines[2]),
    ]
