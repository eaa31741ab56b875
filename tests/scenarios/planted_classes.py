"""Faults and traps of the classes of hardware and software that the healthy server itself has none of.

A fault's files are planted into it and the rule must speak; a trap's look much the same and nobody may be accused.
"""

IB = "sys/class/infiniband/mlx5_{}/ports/1"
ACTIVE = {
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "link_layer": "InfiniBand",
    "rate": "100 Gb/sec (4X EDR)",
    "lid": "0x12",
    "counters/symbol_error": "3",
    "counters/link_error_recovery": "0",
    "counters/link_downed": "1",
    "counters/port_rcv_errors": "0",
    "counters/port_xmit_discards": "2",
    "counters/port_xmit_packets": "1000000000",
    "hw_counters/local_ack_timeout_err": "1",
    "hw_counters/out_of_sequence": "9",
    "hw_counters/packet_seq_err": "0",
}


def port(number: int = 0, **changed: str) -> dict[str, str]:
    told = ACTIVE | {name.replace("__", "/"): text for name, text in changed.items()}
    board = {f"sys/class/infiniband/mlx5_{number}/board_id": "MT_0000000223"}
    return board | {f"{IB.format(number)}/{name}": text for name, text in told.items()}


def log(*lines: str) -> dict[str, str]:
    text = "".join(f"[   99.{n}] {line}\n" for n, line in enumerate(lines))
    return {"sos_commands/kernel/dmesg": f"[    0.0] Linux version 6.12.9\n{text}"}


def group(name: str, **files: str) -> dict[str, str]:
    base = {
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0",
        "pids.current": "9",
        "pids.max": "512",
    }
    told = base | {key.replace("__", "."): text for key, text in files.items()}
    mounted = {
        "proc/self/mountinfo": "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n"
        "31 30 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    }
    return mounted | {f"sys/fs/cgroup/{name}/{key}": text for key, text in told.items()}


def mount(line: str) -> dict[str, str]:
    return {"proc/self/mountinfo": f"30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n{line}\n"}


CARD = "sys/class/drm/card0"
ARC = "proc/spl/kstat/zfs/arcstats"
KSM = "sys/kernel/mm/ksm"
NFS = "44 30 0:53 / /data rw,relatime - nfs4 filer:/data rw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp"
XPRT = "device filer:/data mounted on /data with fstype nfs4\n\txprt:\ttcp 0 0 {} 0 1 {} {} 0 9 {} 64 9 9\n"
NVSMI = (
    "==============NVSMI LOG==============\n\nGPU 00000000:3B:00.0\n    Product Name                          : A100\n"
    "    PCI\n        GPU Link Info\n            PCIe Generation\n                Max               : 4\n"
    "            Link Width\n                Max               : 16x\n                Current           : {}x\n"
    "    Clocks Event Reasons\n        HW Thermal Slowdown               : {}\n    ECC Errors\n        Volatile\n"
    "            DRAM Uncorrectable            : {}\n        Aggregate\n            DRAM Uncorrectable            : 4\n"
    "    Retired Pages\n        Pending Page Blacklist            : No\n"
)
SMI = "sos_commands/nvidia/nvidia-smi_-q"
ZPOOL = "sos_commands/zfs/zpool_get_all"
NFSD, POOL = "proc/net/rpc/nfsd", "proc/fs/nfsd/pool_stats"
POOLS = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 {} {} {} 0\n"
ROME = "processor\t: {}\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\nmodel name\t: AMD EPYC 7742\n\n"
NVME = "sys/class/nvme/nvme0"
TCP = "proc/net/netstat"

CPU, HWMON = "sys/devices/system/cpu", "sys/class/hwmon/hwmon3"
SDA = "sys/block/sda/device"
SUPPLY = "{} | 11/24/2026 | 02:11:12 | Power Supply PS1 Status | Failure detected | {}ed\n"
AGAIN = SUPPLY.format(1, "Assert") + SUPPLY.format(2, "Deassert") + SUPPLY.format(3, "Assert")
SEL, CHRONY = "sos_commands/ipmitool/ipmitool_sel_list", "sos_commands/chrony/chronyc_tracking"
BOND = (
    "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\nTransmit Hash Policy: {}\n"
    "Partner Mac Address: aa:bb:cc:dd:ee:ff\n\nSlave Interface: eth0\nMII Status: up\nSpeed: 25000 Mbps\n"
    "Aggregator ID: 1\n\n"
    "Slave Interface: eth1\nMII Status: up\nSpeed: 25000 Mbps\nAggregator ID: 1\n"
)
# In words that no rule quotes: the driver's name and that something failed must do.
DRIVERS: list[tuple[str, str]] = [
    ("notice", "bond0: (slave eth1): link status definitely down, disabling slave"),
    ("warning", "WARNING: Pool 'tank' has encountered an I/O failure and has been suspended."),
    ("warning", "mpt3sas_cm0: SAS host is non-operational !!!!"),
    ("notice", "ice 0000:81:00.0: Failed to read the PHY capabilities, giving a reset a try"),
    ("warning", "mpi3mr0: diag reset of the controller gave up, marking it unrecoverable"),
    ("notice", "bnxt_en 0000:3b:00.0 ens2f0np0: hwrm req_type 0x51 seq id 0x12 error 0xf"),
    ("warning", "megaraid_sas 0000:18:00.0: 3411 (7s/0x0001/CRIT) - VD 02/1 is now DEGRADED"),
    ("notice", "libceph: osd17 (1)10.0.0.3:6801 socket error on write"),
    ("notice", "EDAC skx MC2: failed read of the address of a corrected event"),
]


# What drivers say of themselves at every start of a healthy host.
HEALTHY = (
    "x86/split lock detection: #AC: crashing the kernel on kernel split_locks and warning on user-space split_locks",
    "bond0: (slave eth1): link status definitely up, 25000 Mbps full duplex",
    "nvme nvme0: Shutdown timeout set to 8 seconds",
    "ata2: SATA link down (SStatus 0 SControl 300)",
    "ata1.00: failed to get NCQ Send/Recv Log Emask 0x1",
    "e1000e 0000:00:1f.6: Interrupt Throttling Rate (ints/sec) set to dynamic conservative mode",
    "sd 0:2:0:0: Power-on or device reset occurred",
    "sd 6:0:0:0: [sdc] Asking for cache data failed",
    "EXT4-fs (sda1): re-mounted 1234 r/w. Quota mode: none. errors=remount-ro",
    "BTRFS info (device sda1): bdev /dev/sda1 errs: wr 0, rd 0, flush 0, corrupt 0, gen 0",
    "pcieport 0000:00:01.0: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+",
    "EDAC amd64: Node 1: DRAM ECC disabled, failed to register",
    "mlx5_core 0000:c1:00.0: Port module event: module 0, Cable plugged",
    "megaraid_sas 0000:18:00.0: Init cmd return status SUCCESS for SCSI host 0",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 240",
    "NFS: Registering the id_resolver key type",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "rcu: \tRCU CPU stall warnings timeout set to 60 (rcu_cpu_stall_timeout).",
    "i40e 0000:3b:00.0 eth0: NIC Link is Up, 25 Gbps Full Duplex, Requested FEC: CL74, Negotiated FEC: CL74",
    "[drm] amdgpu: GPU reset allowed",
    "ixgbe 0000:01:00.0: Multiqueue Enabled: Rx Queue count = 8, Tx Queue count = 8 XDP Queue count = 0",
)


def release(version: str) -> dict[str, str]:
    return {"proc/sys/kernel/osrelease": version, "proc/version": f"Linux version {version} (x) #1 SMP"}


PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("fabric.port", "warning", port(state="2: INIT", lid="0x0")),
    ("fabric.port", "warning", port(state="1: DOWN", phys_state="6: LinkErrorRecovery")),
    ("fabric.rate", "warning", port(rate="25 Gb/sec (1X EDR)")),
    ("fabric.rate", "warning", port(0) | port(1, rate="40 Gb/sec (4X QDR)")),
    ("fabric.errors", "warning", port(counters__symbol_error="65535")),
    ("fabric.errors", "notice", port(counters__link_downed="40")),
    ("fabric.congestion", "warning", port(counters__port_xmit_discards="90000000")),
    ("fabric.lost", "warning", port(hw_counters__local_ack_timeout_err="90000")),
    ("gpu.link", "warning", {
        "sys/bus/pci/devices/0000:17:00.0/class": "0x030200",
        "sys/bus/pci/devices/0000:17:00.0/current_link_width": "4"}),
    ("gpu.errors", "critical", {f"{CARD}/device/ras/umc_err_count": "ue: 1\nce: 0"}),
    ("gpu.clock", "warning", {f"{CARD}/device/power_dpm_force_performance_level": "low"}),
    ("gpu.intel-clock", "notice", {f"{CARD}/gt_max_freq_mhz": "300", f"{CARD}/gt_RP0_freq_mhz": "1300"}),
    ("gpu.log", "critical", log("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.")),
    ("gpu.log", "notice", log("NVRM: Xid (PCI:0000:3b:00): 31, pid=88, name=python, MMU Fault")),
    ("gpu.smi", "warning", {SMI: NVSMI.format(8, "Not Active", 0)}),
    ("gpu.smi", "warning", {SMI: NVSMI.format(16, "Active", 0)}),
    ("gpu.smi", "warning", {SMI: NVSMI.format(16, "Not Active", 2)}),
    ("groups.memory", "warning", group("job", memory__events="low 0\nhigh 0\nmax 9\noom 3\noom_kill 3")),
    ("groups.memory", "warning", group("job") | {
        "sys/fs/cgroup/job/memory.events.local": "low 0\nhigh 0\nmax 9\noom 3\noom_kill 0"}),
    ("groups.tasks", "warning", group("job", pids__events="max 40")),
    ("groups.pressure", "warning", group("job", memory__pressure="some avg10=9 avg60=60.00\nfull avg10=9 avg60=40.00")),
    ("groups.dying", "notice", {"sys/fs/cgroup/cgroup.stat": "nr_descendants 120\nnr_dying_descendants 90000"}),
    ("memory.ksm", "notice", {f"{KSM}/run": "1", f"{KSM}/pages_to_scan": "4000", f"{KSM}/sleep_millisecs": "10",
                              f"{KSM}/pages_sharing": "90"}),
    ("memory.fragmented", "notice", {"proc/vmstat": "compact_success 9000\ncompact_fail 900000\npswpin 0\npswpout 0"}),
    ("storage.nfs-read-ahead", "notice", mount(NFS) | {"sys/class/bdi/0:53/read_ahead_kb": "128"}),
    ("storage.nfs-client-waits", "notice", {"proc/self/mountstats": XPRT.format(1, 1000000, 1000000, 90000000)}),
    ("storage.nfs-client-waits", "warning", {"proc/self/mountstats": XPRT.format(9000, 1000000, 1000000, 5)}),
    ("storage.nfsd-threads", "notice", {NFSD: "rc 0 0 0\nth 4 0 0.0\nrpc 900000000 0 0 0 0\n"}),
    ("storage.nfsd-threads", "notice", {NFSD: "th 12 0 0.0\nrpc 900000000 0 0 0 0\n",
                                        POOL: POOLS.format(900000000, 900000000, 90000000)}),
    ("storage.lustre-health", "critical", {"sys/fs/lustre/health_check": "NOT HEALTHY"}),
    ("storage.lustre-import", "warning", {
        "proc/fs/lustre/osc/lus-OST0003-osc-ffff/import": "import:\n  target: lus-OST0003_UUID\n  state: DISCONN\n"}),
    ("storage.lustre-requests", "notice", {"sys/fs/lustre/osc/lus-OST0003-osc-ffff/max_rpcs_in_flight": "1"}),
    ("storage.zfs-pool", "warning", {"proc/spl/kstat/zfs/tank/state": "DEGRADED"}),
    ("storage.zfs-pool", "critical", {"proc/spl/kstat/zfs/tank/state": "SUSPENDED"}),
    ("storage.zfs-cache", "notice", {ARC: "size 4 1000000000\nc_max 4 1073741824\nhits 4 9000000\nmisses 4 9000000\n",
                                     "sys/module/zfs/parameters/zfs_arc_max": "1073741824\n"}),
    ("storage.zfs-properties", "warning", {ZPOOL: "tank  capacity  96%  -\ntank  ashift  12  local\n"}),
    ("storage.zfs-properties", "notice", {ZPOOL: "tank  capacity  46%  -\ntank  ashift  9  local\n"}),
    ("storage.bcache", "notice", {"sys/fs/bcache/ab-cd/cache_available_percent": "30"}),
    ("power.clock-held", "warning", {"proc/loadavg": "9.0 9.0 9.0 9/900 1"} | {
        f"{CPU}/cpufreq/policy{n}/{k}": v for n in range(8)
        for k, v in (("scaling_cur_freq", "800000"), ("cpuinfo_min_freq", "800000"))}),
    ("power.alarm", "warning", {"sys/class/hwmon/hwmon3/power1_alarm": "1"}),
    ("power.cap", "notice", {f"{HWMON}/power1_cap": "200000000", f"{HWMON}/power1_cap_max": "700000000"}),
    ("power.events", "warning", {SEL: AGAIN}),
    ("power.events", "warning", {SEL: "1 | 10:00 | Power Supply PS2 Status | Failure detected | Asserted"}),
    ("power.time", "warning", {CHRONY: "System time     : 3.5 seconds slow of NTP time\nLeap status     : Normal\n"}),
    ("power.time", "warning", {CHRONY: "System time     : 0.0 seconds slow\nLeap status     : Not synchronised\n"}),
    ("errata.rome-uptime", "warning", {"proc/cpuinfo": "".join(ROME.format(n) for n in range(8)),
                                       "proc/uptime": "88000000.0 1.0"}),
    ("errata.nvme", "warning", {f"{NVME}/model": "Samsung SSD 980 PRO 2TB", f"{NVME}/firmware_rev": "3B2QGXA7",
                                f"{NVME}/state": "live"}),
    ("errata.sas-hours", "critical", {f"{SDA}/model": "VO001920JWDAU", f"{SDA}/rev": "HPD4"}),
    ("kernel.ext4-6.1.64", "warning", mount("31 30 8:17 / /d rw - ext4 /dev/sdb1 rw") | release("6.1.65")),
    ("kernel.xfs-6.3", "warning", release("6.3.2")),
    ("tcp.checksums", "notice", {"proc/net/snmp": "Tcp: InSegs InCsumErrors\nTcp: 100000000 90000\n"}),
    ("tcp.dropped", "notice", {TCP: "TcpExt: TCPReqQFullDrop TCPZeroWindowDrop\nTcpExt: 9000 0\n"}),
    ("tcp.spurious", "notice", {TCP: "TcpExt: TCPSpuriousRtxHostQueues\nTcpExt: 9000000\n"}),
    ("tcp.ports", "warning", {"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
                              "proc/net/sockstat": "TCP: inuse 900 orphan 0 tw 27000 alloc 9 mem 9"}),
    ("udp.send-errors", "notice", {"proc/net/snmp": "Udp: OutDatagrams SndbufErrors\nUdp: 1000000 90000\n"}),
    ("net.bond-hash", "notice", {"proc/net/bonding/bond0": BOND.format("layer2 (0)"),
                                 "sys/class/net/bond0/bonding/xmit_hash_policy": "layer2 0"}),
    ("log.audit", "warning", log("audit: backlog limit exceeded", "audit: audit_lost=12 audit_rate_limit=0")),
    ("log.nfsd-callback", "warning", log("  nfsd4_shutdown_callback+0x49/0x120 [nfsd]")),
    ("log.server-silent", "warning", log("LustreError: 167-0: lus-OST0003-osc: operation x_connect to node X failed")),
    ("log.over-mtu", "notice", log("eth0: dropped over-mtu packet: 1978 > 1500")),
    *((("log.driver", severity, log(line))) for severity, line in DRIVERS),
    ("storage.bcache-device", "warning", {
        "sys/block/bcache0/bcache/state": "no cache", "sys/block/bcache0/bcache/cache_mode": "[writeback] none"}),
]  # fmt: skip

# Faults of rules that the first hundred had left out.
DMI = "sys/class/dmi/id/sys_vendor"
MODULES = "".join(
    f"Memory Device\n\tSize: 32 GB\n\tLocator: {slot}\n\tSpeed: 3200 MT/s\n\tConfigured Memory Speed: 1600 MT/s\n\n"
    for slot in ("A1", "B1")
)
SMART = "sos_commands/ata/smartctl_-a_.dev.sdb"
PENDING = (
    "SMART overall-health self-assessment test result: PASSED\n"
    "197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       8\n"
)
READS = "1000000 10 80000000 {} 1000000 10 80000000 900000 0 500000 1800000 0 0 0 0 0 0\n"
QDISC = "sos_commands/networking/tc_-s_qdisc_show"
PLANTED += [
    ("host.default-affinity", "notice", {"proc/irq/default_smp_affinity": "01"}),
    ("host.entropy", "notice", release("4.19.100") | {"proc/sys/kernel/random/entropy_avail": "60"}),
    ("host.tasks", "warning", {"proc/loadavg": "1 1 1 2/62500 9", "proc/sys/kernel/pid_max": "4194304",
                               "proc/sys/kernel/threads-max": "63000"}),
    ("host.file-handles", "warning", {"proc/sys/fs/file-nr": "98000\t0\t100000"}),
    ("host.firmware-clock-limit", "warning", {f"{CPU}/cpufreq/policy{n}/bios_limit": "1200000" for n in range(8)}),
    ("host.group-limits", "warning", group("job", pids__current="500") | {"proc/self/cgroup": "0::/job"}),
    ("host.io-wait", "notice", {"proc/stat": "cpu  100 0 100 6000000 5000000 0 0 0 0 0"}),
    ("host.iommu-strict", "notice", {"proc/cmdline": "root=/dev/sda1 intel_iommu=on,strict"}),
    ("host.paravirtual-locks", "notice", {DMI: "QEMU", "proc/cmdline": "root=/dev/sda1 nopvspin"}),
    ("host.pcie-read-request", "notice", {
        "sos_commands/pci/lspci_-nnvv": "00:00.0 Host bridge\n\n17:00.0 Ethernet controller [0200]: X\n"
        "\t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 128 bytes\n"}),
    ("host.power-limit", "warning", {f"sys/class/powercap/intel-rapl:0/{k}": v for k, v in (
        ("name", "package-0"), ("constraint_0_name", "long_term"), ("energy_uj", "1"),
        ("constraint_0_power_limit_uw", "90000000"), ("constraint_0_max_power_uw", "205000000"))}),
    ("host.system-time", "notice", {"proc/stat": "cpu  1000000 0 9000000 10000000 0 0 10 0 0 0"}),
    ("memory.group-limit", "warning", group(
        "job", memory__max="1000000000", memory__current="999000000",
        memory__events="low 0\nhigh 0\nmax 900\noom 2\noom_kill 2") | {"proc/self/cgroup": "0::/job"}),
    ("memory.kept-free", "warning", {"proc/sys/vm/min_free_kbytes": "60000000"}),
    ("memory.modules", "warning", {"sos_commands/hardware/dmidecode": MODULES}),
    ("memory.reserved", "warning", {"proc/meminfo": "MemTotal: 131072000 kB\nHugePages_Total: 30000\n"
                                                    "HugePages_Free: 30000\nHugepagesize: 2048 kB"}),
    ("memory.short", "warning", {"proc/meminfo": "MemTotal: 131072000 kB\nMemAvailable: 1000000 kB"}),
    ("memory.swapping", "warning", {"proc/vmstat": "pswpin 500000000\npswpout 500000000\n"}),
    ("net.allowance", "warning", {
        "sos_commands/networking/ethtool_-S_eth0": "NIC statistics:\n     bw_in_allowance_exceeded: 90000\n"}),
    ("net.irqbalance", "notice", {"installed-rpms": "irqbalance-1.9.2-1.el9.x86_64"}),
    ("net.qdisc-drops", "warning", {QDISC: "qdisc fq_codel 0: dev eth0 root refcnt 2\n"
                                    " Sent 99 bytes 1000000 pkt (dropped 50000, overlimits 0 requeues 0)\n"}),
    ("net.qdisc-shaped", "warning", {QDISC: "qdisc netem 8001: dev eth0 root refcnt 2 limit 1000 delay 10ms\n"
                                     " Sent 99 bytes 10 pkt (dropped 0, overlimits 0 requeues 0)\n"}),
    ("storage.interrupts-far", "notice", {
        "sys/bus/pci/devices/0000:17:00.0/class": "0x010700", "sys/bus/pci/devices/0000:17:00.0/numa_node": "1"}),
    ("storage.log-device", "warning", {
        "proc/self/mountinfo": "30 1 8:1 / / rw - xfs /dev/sda1 rw,logdev=/dev/sdb1\n"}),
    ("storage.array-settings", "notice", {f"sys/block/md0/{k}": v for k, v in (
        ("dev", "9:0"), ("size", "9000000"), ("md/level", "raid6"), ("md/raid_disks", "12"),
        ("md/stripe_cache_size", "256"), ("md/sync_action", "idle"), ("md/degraded", "0"), ("md/mismatch_cnt", "0"))}),
    ("storage.media-errors", "warning", {SMART: PENDING}),
    ("storage.wear", "warning", {"sos_commands/nvme/nvme_smart-log_.dev.sda": "critical_warning : 0x4\n"}),
    ("storage.network-mount", "warning", mount(NFS.replace("rsize=1048576", "rsize=8192"))),
    ("storage.nvme-state", "critical", {f"{NVME}/state": "resetting"}),
    ("storage.slow-requests", "notice", {"proc/diskstats": "   8  16 sdb " + READS.format(900000000)}),
    ("storage.slower-than-likes", "warning", {
        f"sys/block/sd{d}/device/model": "ONE" for d in "abcd"} | {"proc/diskstats": "".join(
            f"   8  0 sd{d} " + READS.format(90000000 if d == "b" else 4000000) for d in "abcd")}),
    ("udp.memory", "warning", {"proc/net/sockstat": "UDP: inuse 9 mem 980", "proc/sys/net/ipv4/udp_mem": "1 2 1000"}),
    ("log.split-lock", "notice", {"proc/sys/kernel/split_lock_mitigate": "1"} | log(
        "x86/split lock detection: #AC: game/123 took a split_lock trap at address: 0x1234")),
    ("log.netdevice-held", "warning", log("unregister_netdevice: waiting for lo to become free. Usage count = 2")),
    ("log.oops", "warning", log("divide error: 0000 [#1] SMP NOPTI")),
    ("udp.buffers", "warning", {"proc/net/snmp": "Udp: InDatagrams RcvbufErrors\nUdp: 1000000 90000\n"}),
]  # fmt: skip

TRAPS: list[tuple[str, dict[str, str]]] = [
    # the kernels' own rows: tests/scenarios/triage/knowledge/test_kernels.py
    ("fabric.port", port(0) | port(1, state="1: DOWN", phys_state="2: Polling", lid="0xffff")),
    ("fabric.port", port(0, link_layer="Ethernet", lid="0x0") | port(1, state="1: DOWN", phys_state="3: Disabled")),
    ("fabric.rate", port(rate="100 Gb/sec (2X HDR)")),
    ("fabric.rate", port(link_layer="Ethernet", rate="25 Gb/sec (1X EDR)")),
    ("fabric.rate", port(0) | port(1, rate="40 Gb/sec (4X QDR)") | {"sys/class/infiniband/mlx5_1/board_id": "MT_OLD"}),
    ("fabric.errors", port(counters__symbol_error="40", counters__link_downed="3")),
    ("fabric.congestion", port(counters__port_xmit_wait="90000000", counters__port_xmit_discards="12")),
    ("fabric.lost", port(hw_counters__out_of_sequence="900", hw_counters__rp_cnp_handled="900000")),
    ("gpu.link", {"sys/bus/pci/devices/0000:17:00.0/class": "0x030200",
                  "sys/bus/pci/devices/0000:17:00.0/current_link_speed": "2.5 GT/s PCIe"}),
    ("gpu.errors", {f"{CARD}/device/ras/umc_err_count": "ue: 0\nce: 4"}),
    ("gpu.clock", {f"{CARD}/device/power_dpm_force_performance_level": "auto"}),
    ("gpu.intel-clock", {f"{CARD}/gt_max_freq_mhz": "1300", f"{CARD}/gt_RP0_freq_mhz": "1300"}),
    ("gpu.log", log("nvidia-nvlink: Nvlink Core is being initialized, major device number 240",
                    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
                    "[drm] amdgpu: ras enabled, GPU reset allowed")),
    ("gpu.smi", {SMI: NVSMI.format(16, "Not Active", 0)}),
    ("groups.memory", group("job", memory__events="low 0\nhigh 0\nmax 40\noom 0\noom_kill 0")),
    ("groups.memory", group("all.slice", memory__events="low 0\nhigh 0\nmax 90000\noom 9\noom_kill 9") | {
        "sys/fs/cgroup/all.slice/memory.events.local": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0"}),
    ("groups.tasks", group("job", pids__events="max 0", pids__max="max")),
    ("groups.pressure", group("job", memory__pressure="some avg10=0 avg60=3.00\nfull avg10=0 avg60=1.00")),
    ("groups.dying", {"sys/fs/cgroup/cgroup.stat": "nr_descendants 6000\nnr_dying_descendants 7000"}),
    ("memory.ksm", {f"{KSM}/run": "1", f"{KSM}/pages_to_scan": "100", f"{KSM}/sleep_millisecs": "20"}),
    ("memory.fragmented", {"proc/vmstat": "compact_success 900000\ncompact_fail 90000\npswpin 0\npswpout 0"}),
    ("storage.nfs-read-ahead", mount(NFS) | {"sys/class/bdi/0:53/read_ahead_kb": "15360"}),
    ("storage.nfs-client-waits", {"proc/self/mountstats": XPRT.format(2, 1000000, 1000000, 9000)}),
    ("storage.nfs-client-waits", {  # closed when idle, five minutes each time, for a month
        "proc/self/mountstats": XPRT.format(8000, 1000000, 1000000, 9).replace("\txprt", "\tage:\t2592000\n\txprt")}),
    ("storage.nfsd-threads", {NFSD: "rc 0 0 0\nth 8 0 0.0\nrpc 900 0 0 0 0\n"}),
    ("storage.nfsd-threads", {NFSD: "th 12 0 0.0\nrpc 900000000 0 0 0 0\n",
                              POOL: POOLS.format(900000000, 900000000, 890000000)}),
    ("storage.lustre-health", {"sys/fs/lustre/health_check": "healthy"}),
    ("storage.lustre-import", {"proc/fs/lustre/osc/x/import": "import:\n    target: x\n    state: IDLE\n"}),
    ("storage.lustre-requests", {"sys/fs/lustre/osc/x/max_rpcs_in_flight": "16"}),
    ("storage.zfs-pool", {"proc/spl/kstat/zfs/tank/state": "ONLINE"}),
    ("storage.zfs-cache", {ARC: "size 4 9000000000\nc_max 4 64000000000\nhits 4 9000000\nmisses 4 9000000\n"}),
    ("storage.zfs-properties", {ZPOOL: "tank  capacity  46%  -\ntank  ashift  12  local\n"}),
    ("storage.bcache", {"sys/fs/bcache/ab-cd/cache_available_percent": "95"}),
    ("storage.bcache-device", {
        "sys/block/bcache0/bcache/state": "dirty", "sys/block/bcache0/bcache/cache_mode": "writethrough [writeback]"}),
    ("power.clock-held", {"proc/loadavg": "0.1 0.1 0.1 1/900 1"} | {
        f"{CPU}/cpufreq/policy{n}/{k}": v for n in range(8)
        for k, v in (("scaling_cur_freq", "800000"), ("cpuinfo_min_freq", "800000"))}),
    ("power.clock-held", {"proc/loadavg": "9.0 9.0 9.0 1/900 1"} | {
        f"{CPU}/cpufreq/policy{n}/{k}": v for n in range(8)
        for k, v in (("scaling_cur_freq", "800000"), ("cpuinfo_min_freq", "800000"))}),
    ("power.alarm", {f"{HWMON}/pwm1_alarm": "1", f"{HWMON}/power1_alarm": "0"}),
    ("power.cap", {f"{HWMON}/power1_cap": "0", f"{HWMON}/power1_cap_max": "700000000"}),
    ("power.events", {SEL: AGAIN.rpartition("3 |")[0]}),
    ("power.events", {SEL: "1 | 01/02/2026 | 10:00 | Power Supply PS2 Status | Presence detected | Asserted"}),
    ("power.time", {CHRONY: "System time : 0.0 seconds slow\nFrequency : 14.2 ppm fast\nLeap status     : Normal\n"}),
    ("errata.rome-uptime", {"proc/cpuinfo": "".join(ROME.format(n) for n in range(8)), "proc/uptime": "8800000.0 1.0"}),
    ("errata.nvme", {f"{NVME}/model": "Samsung SSD 980 PRO 2TB", f"{NVME}/firmware_rev": "5B2QGXA7",
                     f"{NVME}/state": "live"}),
    ("errata.sas-hours", {f"{SDA}/model": "VO001920JWDAU", f"{SDA}/rev": "HPD9"}),
    ("tcp.checksums", {"proc/net/snmp": "Tcp: InSegs InCsumErrors\nTcp: 100000000 12\n"}),
    ("tcp.dropped", {TCP: "TcpExt: TCPReqQFullDrop TCPZeroWindowDrop\nTcpExt: 9 90\n"}),
    ("tcp.spurious", {TCP: "TcpExt: TCPSpuriousRtxHostQueues\nTcpExt: 90\n"}),
    ("tcp.ports", {"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
                   "proc/net/sockstat": "TCP: inuse 900 orphan 0 tw 2700 alloc 9 mem 9"}),
    ("udp.send-errors", {"proc/net/snmp": "Udp: OutDatagrams SndbufErrors\nUdp: 1000000 9\n"}),
    ("net.bond-hash", {"proc/net/bonding/bond0": BOND.format("layer3+4 (1)")}),
    ("log.audit", log("audit: type=2000 audit(1.1:1): state=initialized audit_enabled=0 res=1")),
    ("log.nfsd-callback", log("nfsd: last server has exited, flushing export cache")),
    ("log.over-mtu", log("eth0: MTU: 9000")),
    ("log.driver", log(*HEALTHY)),
    ("memory.short", {"proc/meminfo": "MemTotal: 131072000 kB\nMemAvailable: 1000000 kB",
                      ARC: "size 4 99000000000\nc_min 4 4000000000\n"}),
    ("memory.kernel-held", {"proc/meminfo": "MemTotal: 131072000 kB\nSUnreclaim: 70000000 kB",
                            ARC: "size 4 69000000000\nc_min 4 4000000000\n"}),
    ("memory.reserved", {"proc/meminfo": "MemTotal: 131072000 kB\nHugePages_Total: 30000\nHugePages_Free: 30000\n"
                                         "HugePages_Rsvd: 29900\nHugepagesize: 2048 kB"}),
    ("iosched.choice", {"sys/block/sdb/queue/scheduler": "mq-deadline [none] bfq",
                        "proc/spl/kstat/zfs/tank/state": "ONLINE"}),
    ("net.irqbalance", {"installed-rpms": "irqbalance-1.9.2-3.el9.x86_64"}),
]  # fmt: skip
