"""Faults planted into a healthy server, one at a time: each is found, and the healthy server accuses nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from probes.host import Host
from scenarios import events as ev
from scenarios.finding import Finding
from scenarios.triage import all_rules, apply_rule
from tests.fakes.server import CHANNELS, CPU, FEATURES, RINGS, Server

NIC = "sys/class/net/eth0"
SDB = "sys/block/sdb"  # a hard disk
SYS = "proc/sys"


def findings(root: Path, *only: str) -> dict[str, Finding]:
    host = Host(str(root))
    host.still = True
    found: dict[str, Finding] = {}
    for rule in all_rules():
        if only and rule.id not in only:
            continue
        for event in apply_rule(rule, host, lambda: 0.0):
            if isinstance(event, ev.Found):
                found[event.finding.id] = event.finding
            assert not (isinstance(event, ev.Checked) and "the rule failed" in event.reason), event
    return found


def log(line: str) -> dict[str, str]:
    return {"sos_commands/kernel/dmesg": f"[    0.0] Linux version 6.12.9\n[   99.1] {line}"}


BY_VERSION = {"kernel.ibrs-entry", "kernel.eevdf-database"}  # notices, by the kernel's version alone
IRQS = [f"proc/irq/{n}/effective_affinity_list" for n in range(100, 104)]
POLICIES = [f"{CPU}/cpufreq/policy{n}" for n in range(8)]
TRACK = f"{SYS}/net/netfilter/nf_conntrack"
FULL = "nf_conntrack: nf_conntrack: table full, dropping packet"
FAR = "numa_hit 9000000\nnuma_miss 9000000\nnuma_foreign 1\nother_node 1"
BUS = "pcieport 0000:00:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer"
BRIDGE = "sys/devices/pci0000:16/0000:16:00.1/max_link_speed"
ASPM = "sys/module/pcie_aspm/parameters/policy"
MOUNT = "30 1 8:1 / / {} - xfs /dev/sda1 {}\n"
PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("net.duplex", "warning", {f"{NIC}/duplex": "half"}),
    ("net.speed", "warning", {f"{NIC}/speed": "100"}),
    ("net.speed", "notice", {f"{NIC}/speed": "10000"}),
    ("net.errors", "warning", {f"{NIC}/statistics/rx_crc_errors": "90000"}),
    ("net.missed", "warning", {f"{NIC}/statistics/rx_missed_errors": "90000"}),
    ("net.missed", "warning", {f"{NIC}/statistics/rx_fifo_errors": "90000"}),
    ("net.dropped", "warning", {f"{NIC}/statistics/rx_dropped": "90000000"}),
    ("net.transmit-errors", "warning", {f"{NIC}/statistics/tx_errors": "900000"}),
    ("net.flapping", "warning", {f"{NIC}/carrier_changes": "400"}),
    ("net.merging-off", "warning", {"sos_commands/networking/ethtool_-k_eth0": FEATURES.format("on", "on", "off")}),
    ("net.offload-off", "warning", {"sos_commands/networking/ethtool_-k_eth0": FEATURES.format("on", "off", "on")}),
    ("net.queues", "warning", {"sos_commands/networking/ethtool_-l_eth0": CHANNELS.format(1)}),
    ("net.interrupts-one-cpu", "warning", dict.fromkeys(IRQS, "0")),
    ("net.interrupts-far", "warning", dict.fromkeys(IRQS, "2-3")),
    ("net.slot", "warning", {"sys/bus/pci/devices/0000:17:00.0/current_link_width": "1"}),
    ("net.backlog-drops", "warning", {"proc/net/softnet_stat": "0000ffff 00002000 00000002 0 0 0 0 0 0 0 0 0 0"}),
    ("net.squeezed", "warning", {"proc/net/softnet_stat": "00ffffff 00000000 00200000 0 0 0 0 0 0 0 0 0 0"}),
    ("tcp.retransmits", "warning", {"proc/net/snmp": "Tcp: OutSegs RetransSegs\nTcp: 1000000 60000\n"}),
    ("tcp.buffers", "warning", {f"{SYS}/net/ipv4/tcp_rmem": "4096 87380 212992"}),
    ("tcp.window", "warning", {f"{SYS}/net/ipv4/tcp_window_scaling": "0"}),
    ("tcp.congestion", "notice", {f"{SYS}/net/ipv4/tcp_congestion_control": "reno"}),
    ("net.conntrack", "warning", {f"{TRACK}_count": "250", f"{TRACK}_max": "256"}),
    ("host.governor", "warning", {f"{CPU}/cpufreq/policy{n}/{k}": v for n in range(8) for k, v in
                                  (("scaling_driver", "acpi-cpufreq"), ("scaling_governor", "powersave"))}),
    ("host.energy-preference", "warning", {f"{p}/energy_performance_preference": "power" for p in POLICIES}),
    ("host.turbo", "notice", {f"{CPU}/intel_pstate/no_turbo": "1"}),
    ("host.performance-limit", "warning", {f"{CPU}/intel_pstate/max_perf_pct": "50"}),
    ("numa.cpu-frequency-limit", "warning", {f"{CPU}/cpufreq/policy{n}/scaling_max_freq": "1200000" for n in range(8)}),
    ("host.throttled", "warning", {f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "30000"}),
    ("host.cpu-offline", "warning", {f"{CPU}/offline": "7", f"{CPU}/online": "0-6", f"{CPU}/cpu7/online": "0"}),
    ("host.steal", "warning", {"proc/stat": "cpu  9000000 0 1000000 50000000 0 0 0 9000000 0 0"}),
    ("host.load", "notice", {"proc/loadavg": "400.0 400.0 400.0 2/900 12345"}),
    ("host.taint", "warning", {f"{SYS}/kernel/tainted": "128"}),
    ("host.boot-limits", "warning", {"proc/cmdline": "root=/dev/sda1 mem=16G"}),
    ("host.debug-kernel", "warning", {"proc/cmdline": "root=/dev/sda1 slub_debug=FZ"}),
    ("host.idle-poll", "warning", {"proc/cmdline": "root=/dev/sda1 idle=poll"}),
    ("host.tuned", "warning", {"etc/tuned/active_profile": "powersave"}),
    ("host.setting-drift", "notice", {"etc/sysctl.d/90-x.conf": "vm.swappiness = 10"}),
    ("host.pressure-memory", "warning", {"proc/pressure/memory": "some avg10=50 avg60=40.00 avg300=9 total=1"}),
    ("numa.clocksource", "warning", {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"}),
    ("memory.corrected", "warning", {"sys/devices/system/edac/mc/mc0/ce_count": "4000"}),
    ("memory.corrected", "critical", {"sys/devices/system/edac/mc/mc0/ue_count": "1"}),
    ("memory.killed", "warning", {"proc/vmstat": "oom_kill 3\npswpin 0\npswpout 0\n"}),
    ("memory.huge-pages", "notice", {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}),
    ("memory.zone-reclaim", "notice", {f"{SYS}/vm/zone_reclaim_mode": "1"}),
    ("memory.write-back", "notice", {f"{SYS}/vm/dirty_ratio": "80"}),
    ("memory.swappiness", "notice", {f"{SYS}/vm/swappiness": "100"}),
    ("memory.far", "warning", {"sys/devices/system/node/node0/numastat": FAR}),
    ("storage.mount-options", "warning", {"proc/self/mountinfo": MOUNT.format("rw,sync,relatime", "rw,sync")}),
    ("storage.read-only", "critical", {"proc/self/mountinfo": MOUNT.format("ro,relatime", "ro")}),
    ("storage.queue", "warning", {f"{SDB}/queue/nr_requests": "4"}),
    ("storage.queue", "warning", {f"{SDB}/device/queue_depth": "1"}),
    ("storage.read-ahead", "warning", {f"{SDB}/queue/read_ahead_kb": "0"}),
    ("storage.write-cache", "notice", {f"{SDB}/queue/write_cache": "write through"}),
    ("storage.queue-settings", "warning", {f"{SDB}/queue/max_sectors_kb": "4"}),
    ("storage.state", "critical", {f"{SDB}/device/state": "offline"}),
    ("storage.state", "warning", {f"{SDB}/device/iotmo_cnt": "0x7"}),
    ("storage.alignment", "warning", {f"{SDB}/sdb1/start": "63"}),
    ("storage.sas-link", "warning", {"sys/class/sas_phy/phy-1:0/invalid_dword_count": "90000"}),
    ("storage.sas-link", "notice", {"sys/class/sas_phy/phy-1:0/negotiated_linkrate": "6.0 Gbit"}),
    ("iosched.choice", "notice", {f"{SDB}/queue/scheduler": "mq-deadline [none] bfq"}),
    ("iosched.wbt", "notice", {f"{SDB}/queue/wbt_lat_usec": "9"}),
    ("log.machine-check", "warning", log("mce: [Hardware Error]: Machine check events logged")),
    ("log.pcie-error", "warning", log(BUS)),
    ("log.io-error", "warning", log("blk_update_request: I/O error, dev sdb, sector 12345 op 0x0:(READ)")),
    ("log.io-error", "critical", log("sd 1:0:0:0: [sdb] Sense Key : Medium Error [current]")),
    ("log.disk-reset", "warning", log("ata1.00: failed command: READ FPDMA QUEUED")),
    ("log.disk-reset", "warning", log("nvme nvme0: I/O 12 QID 3 timeout, aborting")),
    ("log.file-system", "critical", log("EXT4-fs error (device sda1): ext4_lookup:1234: inode #2: comm ls")),
    ("log.file-system", "critical", log("XFS (sda1): Corruption detected. Unmount and run xfs_repair")),
    ("log.lock-up", "warning", log("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [x:1]")),
    ("log.heat", "warning", log("CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)")),
    ("log.network-stuck", "warning", log("NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 3 timed out")),
    ("log.array", "critical", log("md/raid1:md0: Disk failure on sda1, disabling device.")),
    ("log.server-silent", "warning", log("nfs: server 10.0.0.1 not responding, still trying")),
    ("net.conntrack", "warning", {f"{TRACK}_count": "1", f"{TRACK}_max": "9", **log(FULL)}),
    ("log.neighbours", "warning", log("neighbour: arp_cache: neighbor table overflow!")),
    ("host.pcie-saving", "notice", {ASPM: "default performance [powersave] powersupersave"}),
    ("host.pcie-link", "notice", {"sys/bus/pci/devices/0000:17:00.1/current_link_width": "4", BRIDGE: "x"}),
    ("numa.pcie-link", "warning", {"sys/bus/pci/devices/0000:17:00.0/current_link_width": "4"}),
]  # fmt: skip


def test_the_healthy_server_is_not_accused(tmp_path: Path) -> None:
    Server(tmp_path)
    found = findings(tmp_path)
    assert {i: f.title for i, f in found.items() if f.severity != "notice"} == {}
    assert set(found) <= BY_VERSION


@pytest.mark.parametrize(
    ("rule", "severity", "files"), PLANTED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_planted_fault_is_found(tmp_path: Path, rule: str, severity: str, files: dict[str, str]) -> None:
    server = Server(tmp_path)
    for path, text in files.items():
        server.put(path, text)
    asked = rule.removesuffix("-memory")
    found = findings(tmp_path, asked)
    assert rule in found and found[rule].severity == severity, found


@pytest.mark.parametrize(
    "trap",
    [
        lambda s: s.put(
            "sos_commands/networking/ethtool_-g_eth0", RINGS.format(64)
        ),  # a small ring that lost nothing
        lambda s: s.put(f"{CPU}/smt/control", "off"),
        lambda s: s.put(f"{NIC}/operstate", "down").put(f"{NIC}/speed", "10"),
        lambda s: s.df(0.89, 0.3),
        lambda s: s.put(f"{SDB}/device/ioerr_cnt", "0x12"),
        lambda s: s.put("etc/tuned/active_profile", "throughput-performance"),
        lambda s: s.put(f"{SYS}/vm/zone_reclaim_mode", "1").put("etc/tuned/active_profile", "hpc-compute"),
    ],
    ids=["ring", "smt", "unplugged", "used", "ioerr", "tuned", "hpc"],
)
def test_a_choice_is_no_fault(tmp_path: Path, trap: Callable[[Server], object]) -> None:
    trap(Server(tmp_path))
    found = findings(tmp_path)
    assert set(found) <= BY_VERSION, {i: f.title for i, f in found.items()}


def test_a_full_file_system_is_found(tmp_path: Path) -> None:
    Server(tmp_path).df(0.99, 0.99)
    found = findings(tmp_path, "storage.full", "storage.inodes")
    assert {i: f.severity for i, f in found.items()} == {
        "storage.full": "warning",
        "storage.inodes": "warning",
    }
