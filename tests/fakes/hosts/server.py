"""A healthy server as a captured tree: two sockets with SMT, disks, fast cards. Faults are planted into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CPU = "sys/devices/system/cpu"
SYSCTLS = {
    "vm/swappiness": "60",
    "vm/dirty_ratio": "20",
    "vm/dirty_background_ratio": "10",
    "vm/dirty_bytes": "0",
    "vm/dirty_background_bytes": "0",
    "vm/dirty_expire_centisecs": "3000",
    "vm/zone_reclaim_mode": "0",
    "vm/min_free_kbytes": "90112",
    "kernel/osrelease": "6.12.9",
    "kernel/version": "#1 SMP",
    "kernel/tainted": "0",
    "kernel/hung_task_warnings": "10",
    "kernel/hung_task_timeout_secs": "120",
    "kernel/numa_balancing": "1",
    "fs/file-nr": "1800\t0\t9223372036854775807",
    "fs/aio-nr": "0",
    "fs/aio-max-nr": "65536",
    "net/core/rmem_max": "212992",
    "net/core/wmem_max": "212992",
    "net/core/default_qdisc": "fq_codel",
    "net/ipv4/tcp_rmem": "4096\t131072\t6291456",
    "net/ipv4/tcp_wmem": "4096\t16384\t4194304",
    "net/ipv4/tcp_window_scaling": "1",
    "net/ipv4/tcp_sack": "1",
    "net/ipv4/tcp_congestion_control": "cubic",
}
COUNTERS = [
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "rx_missed_errors",
    "rx_fifo_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_over_errors",
    "rx_length_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_aborted_errors",
    "tx_heartbeat_errors",
    "collisions",
]


class Server:
    """`put` overwrites a file; the tree is written when it is made."""

    def __init__(self, root: Path, *, cpus: int = 8, disks: int = 4, cards: int = 2) -> None:
        self.root = root
        self._before: dict[Path, bytes | None] | None = None
        self._processors(cpus)
        self._memory()
        for n in range(disks):
            self._disk(n)
        for n in range(cards):
            self._card(n, cpus)
        self._rest(disks)

    @contextmanager
    def restore_after(self) -> Iterator[Server]:
        """What is put meanwhile is taken back: one tree serves many faults, and writing it is what costs."""
        before = self._before = {}
        try:
            yield self
        finally:
            self._before = None
            for place, content in reversed(before.items()):
                if content is not None:
                    place.write_bytes(content)
                elif place.is_dir():
                    shutil.rmtree(place)
                else:
                    place.unlink()

    def _remember(self, place: Path) -> None:
        if self._before is None:
            return
        if place.exists():
            self._before.setdefault(place, place.read_bytes())
            return
        while not place.parent.exists():
            place = place.parent
        self._before[place] = None

    def put(self, path: str, text: str) -> Server:
        place = self.root / path.lstrip("/")
        self._remember(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text if text.endswith("\n") else f"{text}\n")
        return self

    def link(self, path: str, target: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def files(self, folder: str, **texts: object) -> None:
        for name, text in texts.items():
            self.put(f"{folder}/{name}", str(text))

    def _processors(self, count: int) -> None:
        half, cores = count // 2, count // 2
        everything = f"0-{count - 1}"
        for name in ("online", "present", "possible"):
            self.put(f"{CPU}/{name}", everything)
        self.put(f"{CPU}/offline", "")
        self.put(f"{CPU}/smt/control", "on")
        self.put(f"{CPU}/intel_pstate/status", "active")
        self.put(f"{CPU}/intel_pstate/no_turbo", "0")
        self.put(f"{CPU}/intel_pstate/max_perf_pct", "100")
        info = []
        for n in range(count):
            core = n % cores
            socket = 0 if core < cores // 2 else 1
            siblings = f"{core},{core + cores}"
            package = f"0-{cores // 2 - 1},{cores}-{cores + cores // 2 - 1}"
            other = f"{cores // 2}-{cores - 1},{cores + cores // 2}-{count - 1}"
            self.files(
                f"{CPU}/cpu{n}/topology",
                physical_package_id=socket,
                core_id=core,
                core_cpus_list=siblings,
                package_cpus_list=other if socket else package,
            )
            self.files(f"{CPU}/cpu{n}/thermal_throttle", core_throttle_count=0, package_throttle_count=0)
            self.files(
                f"{CPU}/cpufreq/policy{n}",
                scaling_driver="intel_pstate",
                scaling_governor="powersave",
                scaling_available_governors="performance powersave",
                energy_performance_preference="balance_performance",
                scaling_max_freq=3900000,
                scaling_min_freq=800000,
                cpuinfo_max_freq=3900000,
                cpuinfo_min_freq=800000,
            )
            info.append(
                f"processor\t: {n}\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold 6148\n"
                f"physical id\t: {socket}\ncore id\t: {core}\nflags\t\t: fpu lm sse2 aes avx avx2 constant_tsc\n"
            )
        self.put("proc/cpuinfo", "\n".join(info))
        for node in (0, 1):
            low = node * (half // 2)
            cpus = f"{low}-{low + half // 2 - 1},{low + half}-{low + half + half // 2 - 1}"
            folder = f"sys/devices/system/node/node{node}"
            self.files(folder, cpulist=cpus, distance="10 21" if node == 0 else "21 10")
            self.put(
                f"{folder}/meminfo", f"Node {node} MemTotal: 65536000 kB\nNode {node} MemFree: 30000000 kB"
            )
            self.put(
                f"{folder}/numastat", "numa_hit 90000000\nnuma_miss 100\nnuma_foreign 100\nother_node 100"
            )
        clock = "sys/devices/system/clocksource/clocksource0"
        self.files(clock, current_clocksource="tsc", available_clocksource="tsc hpet acpi_pm")

    def _memory(self) -> None:
        rows = {
            "MemTotal": 131072000, "MemFree": 60000000, "MemAvailable": 90000000, "Dirty": 1024,
            "SwapTotal": 8388604, "SwapFree": 8388604,
        }  # fmt: skip
        text = "\n".join(f"{name}:{value:>15} kB" for name, value in rows.items())
        self.put(
            "proc/meminfo",
            f"{text}\nHugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB",
        )
        self.put("proc/vmstat", "pswpin 0\npswpout 0\nallocstall_normal 10\ncompact_stall 3\noom_kill 0\n")
        thp = "sys/kernel/mm/transparent_hugepage"
        self.files(thp, enabled="always [madvise] never", defrag="always defer [madvise] never")
        self.files("sys/devices/system/edac/mc/mc0", ce_count=0, ue_count=0)

    def _disk(self, n: int) -> None:
        name = f"sd{chr(97 + n // 26 - 1) if n >= 26 else ''}{chr(97 + n % 26)}"
        flash = n % 2 == 0
        port = f"sys/devices/pci0000:00/0000:00:17.{n % 8}/host{n}/port-{n}:0/end_device-{n}:0/target{n}:0:0/{n}:0:0:0"
        base = f"{port}/block/{name}"
        self.files(port, model="KPM5XVUG960G" if flash else "ST12000NM0027", state="running", queue_depth=254)
        self.files(port, ioerr_cnt="0x0", iotmo_cnt="0x0")
        self.files(base, size=1875385008, dev=f"8:{16 * n}", ro=0, removable=0, inflight="0 0")
        self.files(
            f"{base}/queue",
            rotational=int(not flash), scheduler="[mq-deadline] none bfq", nr_requests=256, read_ahead_kb=128,
            write_cache="write back", max_sectors_kb=1280, max_hw_sectors_kb=32767, logical_block_size=512,
            physical_block_size=4096, discard_max_bytes=2147450880 if flash else 0, discard_granularity=4096,
            nomerges=0, rq_affinity=1, wbt_lat_usec=2000 if flash else 75000,
        )  # fmt: skip
        self.put(f"{base}/mq/0/nr_tags", "254")
        self.files(
            f"{base}/{name}1",
            dev=f"8:{16 * n + 1}",
            size=1875383000,
            start=2048,
            partition=1,
            alignment_offset=0,
        )
        self.link(f"{base}/device", port)
        for place in (f"sys/block/{name}", f"sys/class/block/{name}", f"sys/dev/block/8:{16 * n}"):
            self.link(place, base)
        self.link(f"sys/class/block/{name}1", f"{base}/{name}1")
        self.link(f"sys/dev/block/8:{16 * n + 1}", f"{base}/{name}1")
        phy = f"sys/class/sas_phy/phy-{n}:0"
        self.files(
            phy,
            negotiated_linkrate="12.0 Gbit", maximum_linkrate="12.0 Gbit", maximum_linkrate_hw="12.0 Gbit",
            invalid_dword_count=0, loss_of_dword_sync_count=0, phy_reset_problem_count=0,
        )  # fmt: skip

    def _card(self, n: int, cpus: int) -> None:
        port = f"sys/devices/pci0000:16/0000:16:00.{n}"
        device = f"{port}/0000:17:00.{n}"
        self.files(port, max_link_speed="16.0 GT/s PCIe", max_link_width=16)
        self.files(port, current_link_speed="8.0 GT/s PCIe", current_link_width=16)
        base = f"{device}/net/eth{n}"
        self.files(
            base, ifindex=n + 2, type=1, speed=25000, duplex="full", mtu=1500, operstate="up", carrier=1
        )
        self.files(base, carrier_changes=2, tx_queue_len=1000, uevent=f"INTERFACE=eth{n}")
        self.files(f"{base}/statistics", **dict.fromkeys(COUNTERS, 0))
        self.files(f"{base}/statistics", rx_packets=10**9, tx_packets=10**9, rx_bytes=10**12, tx_bytes=10**12)
        for q in range(4):
            self.put(f"{base}/queues/rx-{q}/rps_cpus", "0")
            self.put(f"{base}/queues/tx-{q}/xps_cpus", "0")
        self.link(f"{base}/device", device)
        self.files(device, numa_node=0, uevent="DRIVER=mlx5_core", vendor="0x15b3")
        self.put(f"{device}/class", "0x020000")
        self.files(
            device,
            current_link_speed="8.0 GT/s PCIe", max_link_speed="8.0 GT/s PCIe", current_link_width=16,
            max_link_width=16, aer_dev_correctable="RxErr 0\nTOTAL_ERR_COR 0",
        )  # fmt: skip
        self.link(f"sys/class/net/eth{n}", base)
        self.link(f"sys/bus/pci/devices/0000:17:00.{n}", device)
        for q in range(4):
            self.put(f"{device}/msi_irqs/{100 + 10 * n + q}", "msix")
            self.put(f"proc/irq/{100 + 10 * n + q}/effective_affinity_list", str(q % (cpus // 4)))
        folder = "sos_commands/networking"
        self.put(f"{folder}/ethtool_-g_eth{n}", RINGS.format(1024))
        self.put(f"{folder}/ethtool_-l_eth{n}", CHANNELS.format(4))
        self.put(f"{folder}/ethtool_-k_eth{n}", FEATURES.format("on", "on", "on"))

    def _rest(self, disks: int) -> None:
        for name, text in SYSCTLS.items():
            self.put(f"proc/sys/{name}", text)
        self.put("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet")
        self.put("proc/version", "Linux version 6.12.9 (x) #1 SMP")
        self.put("proc/stat", "cpu  9000000 0 1000000 90000000 100000 0 10000 0 0 0\nbtime 1")
        self.put("proc/loadavg", "1.00 1.50 1.20 2/900 12345")
        self.put("proc/uptime", "864000.00 6912000.00")
        for kind in ("cpu", "io", "memory"):
            self.put(f"proc/pressure/{kind}", "some avg10=0.00 avg60=0.10 avg300=0.00 total=1")
        self.put("proc/irq/default_smp_affinity", "ff")
        lines = ["           " + "".join(f"CPU{n:<8}" for n in range(4))]
        for path in sorted((self.root / "proc/irq").glob("1*")):
            lines.append(f"{path.name}: 5 6 7 8 PCI-MSI mlx5_comp")
        self.put("proc/interrupts", "\n".join(lines))
        self.put("proc/net/softnet_stat", "0000ffff 00000000 00000002 0 0 0 0 0 0 0 0 0 0\n" * 8)
        self.put(
            "proc/net/snmp",
            "Tcp: OutSegs RetransSegs\nTcp: 100000000 2000\nUdp: InDatagrams RcvbufErrors\nUdp: 1000000 0",
        )
        self.put(
            "proc/net/netstat",
            "TcpExt: ListenOverflows ListenDrops TCPTimeouts PruneCalled RcvPruned TCPRcvQDrop TCPMemoryPressures\n"
            "TcpExt: 0 0 90 0 0 0 0",
        )
        self.put("proc/self/mountinfo", "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw,attr2\n")
        self.put("etc/fstab", "/dev/sda1 / xfs defaults 0 0")
        self.put("etc/os-release", 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"')
        self.put("etc/udev/rules.d/99-x.rules", "# nothing")
        self.put("usr/lib/systemd/system/fstrim.timer", "[Timer]\nOnCalendar=weekly")
        self.put("etc/systemd/system/timers.target.wants/fstrim.timer", "")
        self.put("sys/module/pcie_aspm/parameters/policy", "[default] performance powersave powersupersave")
        self.put("sys/class/dmi/id/sys_vendor", "Dell Inc.")
        self.put("sys/class/dmi/id/product_name", "PowerEdge R740")
        counters = "1000000 10 80000000 900000 1000000 10 80000000 900000 0 500000 1800000 0 0 0 0 0 0"
        text = ""
        for path in sorted((self.root / "sys/block").iterdir()):
            text += f"   8  0 {path.name} {counters}\n"
        self.put("proc/diskstats", text)
        folder = "sos_commands"
        self.put(f"{folder}/kernel/dmesg", "[    0.000000] Linux version 6.12.9\n[    1.0] x2apic enabled")
        self.df(0.34, 0.01)

    def df(self, space: float, inodes: float) -> Server:
        """How full / is, as shares."""
        blocks, files = round(9e8 * space), round(9e7 * inodes)
        folder = "sos_commands/filesys"
        self.put(
            f"{folder}/df_-al_-x_autofs",
            f"F 1K-blocks Used Available Use% Mounted on\n/dev/sda1 900000000 {blocks} {900000000 - blocks} 1% /",
        )
        return self.put(
            f"{folder}/df_-ali_-x_autofs",
            f"F Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 90000000 {files} {90000000 - files} 1% /",
        )


RINGS = (
    "Ring parameters for eth:\nPre-set maximums:\nRX:\t\t8192\nTX:\t\t8192\n"
    "Current hardware settings:\nRX:\t\t{}\nTX:\t\t1024"
)
CHANNELS = "Channel parameters:\nPre-set maximums:\nCombined:\t32\nCurrent hardware settings:\nCombined:\t{}"
FEATURES = "Features:\nrx-checksumming: {}\ntcp-segmentation-offload: {}\ngeneric-receive-offload: {}"
