"""Faults and traps of boot parameters, firmware, modes of cards and layers above disks (issue 50)."""

SOS = "sos_commands"
ETHTOOL = f"{SOS}/networking/ethtool_"
VMSTAT = "pswpin 0\npswpout 0\nallocstall_normal 10\ncompact_stall 3\noom_kill 0\n"
UPTIME = {"proc/uptime": "864000.00 12441600.00"}
MOUNTS = "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n"
HEALTHY = "SMART overall-health self-assessment test result: PASSED\n"
SMART = f"{SOS}/ata/smartctl_-a_.dev.sdb"
ROUTES = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
LOOP = "sys/block/loop0"
BTRFS = "sys/fs/btrfs/0a1b/allocation"
FUSE = "44 30 0:55 / /data rw,relatime - {} server:/ rw\n"
GPE = "sys/firmware/acpi/interrupts/gpe6F"
LUSTRE = "sys/fs/lustre/osc/lus-OST0003-osc-ffff"
QUEUE = "sys/block/vda"
NFS = (
    "device filer:/data mounted on /data with fstype nfs4 statvers=1.1\n\tage:\t864000\n\tper-op statistics\n"
    "\t        READ: 400000 400000 0 80000000 400000000000 {} {} 190000000 0\n"
)


KEYS = "    0:   112 111/111 98/1000000 2123/25000000\n"
STRIPED = "31 30 9:127 / /data rw,relatime - xfs /dev/md127 rw,sunit=1024,swidth={},noquota\n"
SOCKETS = "sockets: used 900\nTCP: inuse 4123 orphan 0 tw 10 alloc 4200 mem {}\n"
NETSTAT = "TcpExt: TCPMemoryPressures TCPRcvQDrop\nTcpExt: 0 0\n"


def beegfs(connections: str, config: str = "connUseRDMA = 1\n") -> dict[str, str]:
    folder = "proc/fs/beegfs/8F3A-685E1C10-wn1"
    node = "{} [ID: 1]\n   Connections: {}\n"
    return {
        f"{folder}/config": config,
        f"{folder}/meta_nodes": node.format("bgmeta01", "RDMA: 2 (10.60.0.10:8005); "),
        f"{folder}/storage_nodes": node.format("bgstor01", connections),
    }


def striped(full_stripe: int) -> dict[str, str]:
    queue = "sys/block/md127/queue"
    return {
        "sys/block/md127/dev": "9:127",
        "sys/block/md127/size": "70000000000",
        f"{queue}/minimum_io_size": "524288",
        f"{queue}/optimal_io_size": str(full_stripe),
    }


def attribute(number: int, name: str, raw: int) -> str:
    return f"{number:>3} {name:<24}0x0032   100   100   000    Old_age   Always       -       {raw}\n"


def cpus(model: str, flags: str) -> dict[str, str]:
    text = "".join(
        f"processor\t: {n}\nvendor_id\t: GenuineIntel\nmodel name\t: {model}\nflags\t\t: {flags}\n\n"
        for n in range(8)
    )
    return {"proc/cpuinfo": text, "sys/class/dmi/id/sys_vendor": "QEMU"}


def route(card: str, network: str, mask: str) -> str:
    return f"{card}\t{network}\t00000000\t0001\t0\t0\t100\t{mask}\t0\t0\t0\n"


def boot(words: str) -> dict[str, str]:
    return {"proc/cmdline": f"root=/dev/sda1 {words}"}


def allocation(used: int) -> dict[str, str]:
    return {
        f"{BTRFS}/metadata/bytes_used": str(used),
        f"{BTRFS}/metadata/total_bytes": "10737418240",
        f"{BTRFS}/data/bytes_used": "600000000000",
        f"{BTRFS}/data/total_bytes": "949187772416",
    }


def loop(direct: int, file: str = "/var/lib/images/scratch.img", only_read: int = 0) -> dict[str, str]:
    return {
        f"{LOOP}/loop/backing_file": file,
        f"{LOOP}/loop/dio": str(direct),
        f"{LOOP}/ro": str(only_read),
        f"{LOOP}/size": "2097152",
    }


def ipoib(mode: str, mtu: int) -> dict[str, str]:
    return {"sys/class/net/eth1/mode": mode, "sys/class/net/eth1/mtu": str(mtu)}


def queues(count: int) -> dict[str, str]:
    disk = {
        "size": "9000000",
        "dev": "252:0",
        "queue/rotational": "1",
        "queue/scheduler": "[mq-deadline] none",
    }
    numbered = {f"mq/{number}/cpu_list": "0-7" for number in range(count)}
    return {f"{QUEUE}/{name}": text for name, text in (disk | numbered).items()}


def xfs_of(options: str) -> dict[str, str]:
    """An XFS of 16 TB on an array."""
    line = f"90 20 9:7 / /data rw,relatime shared:1 - xfs /dev/md7 {options}\n"
    return {"proc/self/mountinfo": MOUNTS + line, "sys/class/block/md7/size": "31250000000"}


QUEUES = "sys/class/net/eth0/queues"


def slurmd(locked: str) -> dict[str, str]:
    return {
        "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
        "proc/3120/comm": "slurmd\n",
        "proc/3120/limits": f"Limit  Soft Limit  Hard Limit  Units\nMax locked memory         {locked}\n",
    }


def blocks(state: str) -> dict[str, str]:
    """264 blocks of 128 MiB as the host booted, and 128 more that were added while it ran."""
    folder = "sys/devices/system/memory"
    states = {f"{folder}/memory{n}/state": "online" if n < 264 else state for n in range(392)}
    total = 33000000 if state == "offline" else 49000000
    states[f"{folder}/auto_online_blocks"] = "offline"
    return states | {f"{folder}/block_size_bytes": "8000000\n", "proc/meminfo": f"MemTotal: {total} kB\n"}


def clock(behind_s: int) -> dict[str, str]:
    return {
        "sys/class/rtc/rtc0/since_epoch": f"{1795000000 - behind_s}\n",
        "proc/stat": "cpu  1 0 1 9 0 0 0 0 0 0\ncpu0 1 0 1 9 0 0 0 0 0 0\nbtime 1790000000\n",
        "proc/uptime": "5000000.00 9000000.00\n",
        "etc/adjtime": "0.0 0 0.0\n0\nUTC\n",
    }


OMSA = (
    "Nov 29 14:21:53 big01 Server Administrator: Storage Service EventID: 2188  The controller write policy has been "
    "changed to Write {}.:  Battery 0 Controller 0\n"
)
NO_UNITS = {"etc/systemd/system/default.target": ""}
ENCRYPTED = "44 30 0:53 / /data rw,relatime - nfs4 filer:/data rw,vers=4.2,proto=tcp,sec={}\n"


def connections(count: int) -> dict[str, str]:
    folder = "proc/sys/net/netfilter/nf_conntrack"
    return {f"{folder}_count": str(count), f"{folder}_buckets": "8192", f"{folder}_max": "1048576"}


def bond(watched_ms: int) -> dict[str, str]:
    ports = "".join(f"\nSlave Interface: ens9f{n}\nMII Status: up\nSpeed: 25000 Mbps\n" for n in range(2))
    folder = "sys/class/net/bond0/bonding"
    return {
        "proc/net/bonding/bond0": f"Bonding Mode: load balancing (xor)\nMII Status: up\n{ports}",
        f"{folder}/miimon": str(watched_ms),
        f"{folder}/arp_interval": "0",
    }


def xrootd(opened: int) -> dict[str, str]:
    files = {f"proc/4123/fd/{number}": "" for number in range(opened)}
    return files | {
        "proc/4123/stat": "4123 (xrootd) S 1 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 600 0 0\n",
        "proc/4123/status": "Name:\txrootd\nFDSize:\t1024\n",
        "proc/4123/limits": "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  524288  files\n",
        "proc/4123/cgroup": "0::/system.slice/xrootd@clustered.service\n",
    }


def cvmfs(quota_mb: int) -> dict[str, str]:
    """A cache on a partition of 21 GB."""
    return {
        "etc/cvmfs/default.local": f"CVMFS_HTTP_PROXY=http://squid:3128\nCVMFS_QUOTA_LIMIT={quota_mb}\n",
        "proc/self/mountinfo": f"{MOUNTS}45 30 8:4 / /var/lib/cvmfs rw,relatime - xfs /dev/sda4 rw\n",
        f"{SOS}/filesys/df_-al_-x_autofs": "Filesystem 1K-blocks Used Available Use% Mounted on\n"
        "/dev/sda4 20955136 15000000 5955136 72% /var/lib/cvmfs\n",
    }


def paths(policy: str) -> dict[str, str]:
    folder = "sys/class/nvme-subsystem/nvme-subsys1"
    names = {
        f"{folder}/nvme{n}/{name}": text
        for n in (1, 2)
        for name, text in (("state", "live"), ("transport", "tcp"))
    }
    return names | {f"{folder}/iopolicy": policy}


def swaps(rotating: int, flash: int) -> dict[str, str]:
    lines = f"/dev/sdb2 partition 67108860 21231232 {rotating}\n/dev/nvme0n1p2 partition 67108860 0 {flash}\n"
    disks = {
        f"sys/block/{name}/{file}": text
        for name, flag, part in (("sdb", "1", "sdb2"), ("nvme0n1", "0", "nvme0n1p2"))
        for file, text in (("queue/rotational", flag), ("size", "9000000"), (f"{part}/partition", "2"))
    }
    return disks | {"proc/swaps": f"Filename Type Size Used Priority\n{lines}"}


def daemon(pid: int, name: str) -> dict[str, str]:
    return {f"proc/{pid}/stat": f"{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 600 0 0\n"}


def nscd(cached: str) -> dict[str, str]:
    files = {
        "etc/nsswitch.conf": "passwd: sss files\n",
        "etc/nscd.conf": f"\tenable-cache  passwd  {cached}\n",
    }
    return files | daemon(811, "nscd") | daemon(812, "sssd")


def kubelet(by_systemd: str) -> dict[str, str]:
    return {
        "var/lib/kubelet/config.yaml": "kind: KubeletConfiguration\ncgroupDriver: systemd\n",
        "etc/containerd/config.toml": "[plugins.cri.containerd.runtimes.runc.options]\n"
        f"    SystemdCgroup = {by_systemd}\n",
    }


def osds(target: int) -> dict[str, str]:
    running = [daemon(4100 + n, "ceph-osd") for n in range(12)]
    files = {
        "etc/ceph/ceph.conf": f"[osd]\nosd_memory_target = {target}\n",
        "proc/meminfo": "MemTotal: 131072000 kB\n",
    }
    return files | {path: text for one in running for path, text in one.items()}


def trusted(state: str) -> dict[str, str]:
    return {
        "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
        "sys/class/infiniband/mlx5_0/device/net/eth0/address": "02:00:00:00:00:01",
        "sys/class/infiniband/mlx5_0/tc/1/traffic_class": "Global tclass=106\n",
        f"{SOS}/networking/mlnx_qos_-i_eth0": f"Priority trust state: {state}\nPFC configuration:\n"
        "\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0   \n",
    }


def bridged(cut: int) -> dict[str, str]:
    ports = {
        f"sys/class/net/{name}/mtu": mtu
        for name, mtu in (("br0", "1500"), ("vnet2", "1500"), ("eth1", "9000"))
    }
    links = {f"sys/class/net/br0/brif/{name}/state": "3" for name in ("vnet2", "eth1")}
    return ports | links | {
        "sys/class/net/br0/bridge/stp_state": "0",
        "sys/class/net/br0/lower_vnet2/mtu": "1500",
        "sys/class/net/br0/lower_eth1/mtu": "9000",
        "proc/net/snmp": f"Ip: {'Name ' * 19}\nIp: {'1 ' * 17}{cut} 0\n",
    }  # fmt: skip


def rebuilt(limit: str) -> dict[str, str]:
    folder = "sys/block/md0/md"
    return {f"{folder}/sync_action": "recover", f"{folder}/sync_speed_max": limit, f"{folder}/level": "raid6"}


PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("host.costly-boot-parameter", "warning", boot("clocksource=acpi_pm")),
    ("host.costly-boot-parameter", "warning", boot("numa=off")),
    ("host.costly-boot-parameter", "warning", boot("pci=nomsi")),
    ("host.costly-boot-parameter", "notice", boot("nohz=off")),
    ("host.costly-boot-parameter", "notice", boot("console=tty0 console=ttyS0,9600n8")),
    ("host.costly-boot-parameter", "notice", boot("libata.force=noncq")),
    ("host.costly-setting", "notice", {"sys/block/sdb/device/timeout": "1"}),
    ("host.costly-setting", "notice", {"proc/sys/net/core/somaxconn": "16"}),
    ("host.firmware-events", "warning", {GPE: "91234567     STS enabled      unmasked", **UPTIME}),
    ("power.sensors", "warning", {f"{SOS}/ipmitool/ipmitool_sdr": "Fan1 | 0 RPM | cr\nInlet | 24 degrees C | ok\n"}),
    ("power.sensors", "warning", {f"{SOS}/ipmitool/ipmitool_sdr_elist":
                                  "PS Redundancy    | 77h | ok  |  7.1 | Redundancy Lost\n"}),
    ("memory.ras-summary", "warning", {f"{SOS}/ras/ras-mc-ctl_--summary":
        "\tCorrected on DIMM Label(s): 'CPU_SrcID#0_MC#1_Chan#0_DIMM#0' location: 0:1:0:0 errors: 182931\n"}),
    ("host.security-agent", "notice", {"proc/modules": "xfs 9 1 - Live 0x0\nfalcon_kal 9 1 - Live 0x0 (OE)\n"}),
    ("host.trace-events", "notice", {"sys/kernel/tracing/tracing_on": "1",
                                     "sys/kernel/tracing/set_event": "sched:sched_switch\n"}),
    ("host.guest-cpu", "warning", cpus("Common KVM processor", "fpu sse sse2 cx16 hypervisor")),
    ("host.guest-cpu", "notice", cpus("Intel Xeon Processor (Nehalem-C)", "fpu sse sse2 sse4_2 hypervisor")),
    ("host.name-resolution", "notice", {"etc/resolv.conf": "search site.example\n"}),
    ("host.name-resolution", "notice", {"etc/resolv.conf": "nameserver 10.0.0.1\noptions timeout:30 attempts:5\n"}),
    ("host.container-storage", "warning", {f"{SOS}/docker/docker_info": "Server:\n Storage Driver: vfs\n"}),
    ("memory.balloon", "warning", {"proc/vmstat": f"{VMSTAT}balloon_inflate 22000000\nballoon_deflate 100000\n"}),
    ("memory.caches-dropped", "warning", {"proc/vmstat": f"{VMSTAT}drop_pagecache 14400\ndrop_slab 14400\n", **UPTIME}),
    ("memory.shared-files", "warning", {"proc/meminfo": "MemTotal: 131072000 kB\nMemAvailable: 9000000 kB\n"
                                        "Shmem: 90000000 kB\n"}),
    ("memory.writers-held", "notice", {"proc/vmstat": f"{VMSTAT}nr_dirty 6000000\nnr_dirty_threshold 6000000\n"}),
    ("net.default-route", "notice", {"proc/net/route": ROUTES + route("eth1", "00000000", "00000000"),
                                     "sys/class/net/eth1/speed": "1000"}),
    ("net.same-network", "notice", {"proc/net/route": ROUTES + route("eth0", "0000000A", "00FFFFFF")
                                    + route("eth1", "0000000A", "00FFFFFF")}),
    ("net.infiniband-mode", "notice", ipoib("datagram", 2044)),
    ("net.promiscuous", "notice", {"sys/class/net/eth0/flags": "0x1103"}),
    ("net.energy-ethernet", "notice", {
        f"{ETHTOOL}--show-eee_eth0": "EEE settings for eth0:\n\tEEE status: enabled - active\n"}),
    ("net.optics", "warning", {f"{ETHTOOL}-m_eth0": "\tLaser rx power low alarm                  : On\n"
        "\tReceiver signal average optical power     : 0.0012 mW / -29.21 dBm\n"}),
    ("net.coalescing", "notice", {f"{ETHTOOL}-c_eth0": "Adaptive RX: off  TX: off\nrx-usecs: 0\nrx-frames: 1\n"}),
    ("net.errors", "warning", {f"{ETHTOOL}-S_eth0": "NIC statistics:\n     rx_symbol_err_phy: 900000\n"}),
    ("storage.fuse-waiting", "warning", {"sys/fs/fuse/connections/55/waiting": "37",
                                         "sys/fs/fuse/connections/55/max_background": "12"}),
    ("storage.lustre-inactive", "warning", {f"{LUSTRE}/active": "0"}),
    ("storage.lustre-inactive", "warning", {"proc/fs/lustre/osc/lus-OST0001-osc-ffff/active": "0"}),
    ("storage.beegfs-tcp", "warning", beegfs("TCP: 8 (10.20.0.11:8003 [fallback route]); ")),
    ("storage.inode32", "warning", xfs_of("rw,relatime,attr2,inode32,noquota")),
    ("net.steered-to-one", "warning", {f"{QUEUES}/rx-{n}/rps_cpus": "00000000,00000008" for n in range(4)}),
    ("fabric.locked-memory", "notice", slurmd("8388608              8388608              bytes     ")),
    ("net.conntrack-buckets", "warning", connections(241233)),
    ("net.bond-unwatched", "warning", bond(watched_ms=0)),
    ("host.open-files", "warning", xrootd(980)),
    ("host.open-files", "critical", xrootd(1023)),
    ("host.names-uncached", "notice", {"etc/nsswitch.conf": "passwd: files ldap\n", **NO_UNITS}),
    ("storage.cvmfs-cache", "warning", cvmfs(quota_mb=50000)),
    ("storage.nvme-path-policy", "notice", paths("numa")),
    ("storage.nfs-encrypted", "notice", {"proc/self/mountinfo": MOUNTS + ENCRYPTED.format("krb5p")}),
    ("storage.raid-busy", "warning", rebuilt("1000 (local)")),
    ("memory.swap-slow-first", "warning", swaps(rotating=-2, flash=-3)),
    ("host.names-cached-twice", "warning", nscd("yes")),
    ("groups.driver", "warning", kubelet("false")),
    ("storage.ceph-memory", "warning", osds(17179869184)),
    ("fabric.trust", "warning", trusted("pcp")),
    ("power.time", "warning", {f"{SOS}/chrony/chronyc_tracking": "Leap status     : Not synchronised\n",
                               f"{SOS}/chrony/chronyc_sources": "^x 10.0.20.5  2   6   377    41  +1591ms[+1591ms]\n"}),
    ("net.mtu", "warning", bridged(cut=81231)),
    ("storage.write-policy", "warning", {"var/log/messages": OMSA.format("Through")}),
    ("memory.offline", "warning", blocks("offline")),
    ("host.hardware-clock", "warning", clock(2486)),
    ("host.costly-setting", "notice", {"sys/module/mpt3sas/parameters/msix_disable": "1"}),
    ("storage.stripe-width", "notice", {**striped(5242880), "proc/self/mountinfo": MOUNTS + STRIPED.format(6144)}),
    ("host.key-quota", "warning", {"proc/key-users": KEYS + "  976:   201 200/200 200/200 5218/20000\n",
        "proc/sys/kernel/keys/maxkeys": "200", "proc/sys/kernel/keys/maxbytes": "20000"}),
    ("tcp.memory", "warning", {"proc/net/sockstat": SOCKETS.format(131420), "proc/net/netstat": NETSTAT,
        "proc/sys/net/ipv4/tcp_mem": "4096\t131072\t134217728", "proc/meminfo": "MemTotal: 263000000 kB\n"}),
    ("storage.fuse-mount", "notice", {"proc/self/mountinfo": MOUNTS + FUSE.format("fuse.sshfs")}),
    ("storage.loop-cache", "notice", loop(0)),
    ("storage.btrfs-space", "warning", allocation(10_700_000_000)),
    ("storage.cache-failed", "warning", {f"{SOS}/devicemapper/dmsetup_status": "vg-data: 0 10000000 cache Fail\n"}),
    ("storage.loop-pool", "warning", {f"{SOS}/devicemapper/dmsetup_table":
                                      "docker-8:1-pool: 0 209715200 thin-pool 7:1 7:0 128 32768 0\n"}),
    ("storage.zfs-datasets", "warning", {
        f"{SOS}/zfs/zfs_get_all": "tank  dedup  on  local\ntank  sync  standard  default\n"}),
    ("storage.zfs-busy", "notice", {f"{SOS}/zfs/zpool_status":
        "  pool: tank\n state: ONLINE\n  scan: scrub in progress since Sun Nov 22 00:24:01 2026\n"
        "\t0B repaired, 1.1% done, 9 days 05:12:00 to go\nconfig:\n"}),
    ("storage.nvme-format", "notice", {f"{SOS}/nvme/nvme_id-ns_.dev.nvme0n1":
        "lbaf  0 : ms:0   lbads:9  rp:0x2 (in use)\nlbaf  1 : ms:0   lbads:12 rp:0 \n"}),
    ("storage.single-queue", "notice", queues(1)),
    ("storage.disk-read-only", "warning", {"sys/block/sda/ro": "1"}),
    ("storage.cable-errors", "warning", {SMART: HEALTHY + attribute(199, "UDMA_CRC_Error_Count", 48211)}),
    ("storage.head-parking", "notice", {SMART: HEALTHY + attribute(9, "Power_On_Hours", 20000)
                                        + attribute(193, "Load_Cycle_Count", 812345)}),
    ("storage.iscsi-session", "warning", {f"{SOS}/iscsi/iscsiadm_-m_session_-P_3":
                                          "Target: iqn.x\n\t\tiSCSI Session State: FREE\n"}),
    ("storage.lustre-space", "warning", {f"{LUSTRE}/kbytesavail": "1000", f"{LUSTRE}/kbytestotal": "1000000000"}),
    ("storage.lnet-drops", "warning", {f"{SOS}/lustre/lnetctl_stats_show":
                                       "statistics:\n    errors: 5000\n    drop_count: 500000\n"}),
    ("storage.gpfs-log", "warning", {"var/adm/ras/mmfs.log.latest":
        "2026-11-19_03:41:12.312+0000: [E] Disk failure.  Volume gpfs1.  rc = 5.  Physical volume nsd3.\n"}),
    ("storage.gpfs-log", "warning", {f"{SOS}/gpfs/mmdiag_--waiters":
        "=== mmdiag: waiters ===\nWaiting 912.3312 sec since 03:35:12, monitored, thread 22111 NSDThread: for I/O\n"}),
    ("storage.beegfs-network", "warning", {"etc/beegfs/beegfs-client.conf": "connUseRDMA                   = false\n",
                                           "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE"}),
    ("storage.lustre-import", "warning", {"sys/kernel/debug/lustre/osc/lus-OST0003-osc-ffff/import":
                                          "import:\n    target: lus-OST0003_UUID\n    state: DISCONN\n"}),
    ("storage.media-errors", "warning", {f"{SOS}/ata/smartctl_--all_.dev.sdq": "SMART Health Status: OK\n"
        "read:          0     9         0         9    122331     412233.122          38\n"}),
    ("storage.nfs-slow-server", "warning", {"proc/self/mountstats": NFS.format(8000000, 180000000)}),
    ("storage.nfs-slow-server", "notice", {"proc/self/mountstats": NFS.format(180000000, 800000)}),
    ("storage.md-bad-blocks", "warning", {"sys/block/md0/md/dev-sdb1/bad_blocks": "1953604608 8\n1953604624 16\n",
                                          "sys/block/md0/md/dev-sdb1/state": "in_sync\n"}),
]  # fmt: skip
TRAPS: list[tuple[str, dict[str, str]]] = [
    ("storage.md-bad-blocks", {"sys/block/md0/md/dev-sdb1/bad_blocks": "",
                               "sys/block/md0/md/dev-sdb1/state": "in_sync\n"}),
    ("storage.cache-failed", {f"{SOS}/devicemapper/dmsetup_status": "vg-data: 0 9 cache 8 20/40 128 3/4 1 9 - rw -\n"}),
    ("storage.loop-pool", {f"{SOS}/devicemapper/dmsetup_table": "vg-pool: 0 9 thin-pool 253:1 253:0 128 32768 0\n"}),
    ("host.costly-boot-parameter", boot("quiet crashkernel=auto console=tty0 console=ttyS0,115200n8 nosmt=force")),
    ("host.firmware-events", {GPE: "  412     STS enabled      unmasked", **UPTIME}),
    ("power.sensors", {f"{SOS}/ipmitool/ipmitool_sdr_elist": "Fan1  | 30h | ok  |  7.1 | 7200 RPM\n"}),
    ("memory.ras-summary", {f"{SOS}/ras/ras-mc-ctl_--summary": "No Memory errors.\n\nNo PCIe AER errors.\n"}),
    ("host.security-agent", {"proc/modules": "xfs 9 1 - Live 0x0\nip_tables 9 1 - Live 0x0\n"}),
    ("host.trace-events", {"sys/kernel/tracing/tracing_on": "1", "sys/kernel/tracing/set_event": ""}),
    ("host.name-resolution", {"etc/resolv.conf": "nameserver 10.0.0.1\noptions edns0 trust-ad\n"}),
    ("host.container-storage", {f"{SOS}/podman/podman_info": "store:\n  graphDriverName: overlay\n"}),
    ("memory.balloon", {"proc/vmstat": f"{VMSTAT}balloon_inflate 22000000\nballoon_deflate 21990000\n"}),
    ("memory.caches-dropped", {"proc/vmstat": f"{VMSTAT}drop_pagecache 3\ndrop_slab 3\n", **UPTIME}),
    ("net.default-route", {"proc/net/route": ROUTES + route("eth1", "00000000", "00000000")}),
    ("net.infiniband-mode", ipoib("connected", 65520)),
    ("net.promiscuous", {"sys/class/net/eth0/flags": "0x1103", "sys/class/net/eth0/brport/state": "3"}),
    ("net.optics", {f"{ETHTOOL}-m_eth0": "\tLaser rx power low alarm : Off\n"
                     "\tReceiver signal average optical power : 0.5 mW\n"}),
    ("net.coalescing", {f"{ETHTOOL}-c_eth0": "Adaptive RX: on  TX: on\nrx-usecs: 8\nrx-frames: 128\n"}),
    ("storage.fuse-waiting", {"sys/fs/fuse/connections/55/waiting": "0"}),
    ("storage.lustre-inactive", {f"{LUSTRE}/active": "1"}),
    ("storage.beegfs-tcp", beegfs("RDMA: 4 (10.60.0.11:8003); ")),
    ("storage.beegfs-tcp", beegfs("TCP: 4 (10.20.0.11:8003); ", "connUseRDMA = 0\n")),
    ("storage.inode32", xfs_of("rw,relatime,attr2,inode64,noquota")),
    ("net.steered-to-one", {f"{QUEUES}/rx-{n}/rps_cpus": "00000000,000000ff" for n in range(4)}),
    ("memory.swap-slow-first", swaps(rotating=-3, flash=-2)),
    ("host.names-cached-twice", nscd("no")),
    ("groups.driver", kubelet("true")),
    ("storage.ceph-memory", osds(4294967296)),
    ("fabric.trust", trusted("dscp")),
    ("net.mtu", bridged(cut=3)),
    ("storage.write-policy", {"var/log/messages": OMSA.format("Through") + OMSA.format("Back")}),
    ("net.conntrack-buckets", connections(24123)),
    ("net.bond-unwatched", bond(watched_ms=100)),
    ("host.open-files", xrootd(700)),
    ("host.names-uncached", {"etc/nsswitch.conf": "passwd: files sss\n", **NO_UNITS}),
    ("storage.cvmfs-cache", cvmfs(quota_mb=17000)),
    ("storage.nvme-path-policy", paths("round-robin")),
    ("storage.nfs-encrypted", {"proc/self/mountinfo": MOUNTS + ENCRYPTED.format("krb5")}),
    ("fabric.locked-memory", slurmd("unlimited            unlimited            bytes     ")),
    ("memory.offline", blocks("online")),
    ("host.hardware-clock", clock(12)),
    ("host.hardware-clock", clock(3602)),  # it keeps local time
    ("storage.stripe-width", {**striped(5242880), "proc/self/mountinfo": MOUNTS + STRIPED.format(10240)}),
    ("host.key-quota", {"proc/key-users": KEYS + "  976:   101 100/100 99/200 5218/20000\n"}),
    ("tcp.memory", {"proc/net/sockstat": SOCKETS.format(1420), "proc/net/netstat": NETSTAT,
        "proc/sys/net/ipv4/tcp_mem": "4096\t131072\t134217728", "proc/meminfo": "MemTotal: 263000000 kB\n"}),
    ("storage.fuse-mount", {"proc/self/mountinfo": MOUNTS + FUSE.format("fuse.cvmfs2")}),
    ("storage.loop-cache", loop(0, "/var/lib/snapd/snaps/core_1.snap", 1)),
    ("storage.btrfs-space", allocation(4_000_000_000)),
    ("storage.single-queue", queues(8)),
    ("storage.zfs-datasets", {f"{SOS}/zfs/zfs_get_all": "tank  dedup  off  default\ntank  compression  lz4  local\n"}),
    ("storage.zfs-busy", {f"{SOS}/zfs/zpool_status":
        "  pool: tank\n state: ONLINE\n  scan: scrub repaired 0B in 09:12:00 with 0 errors\nconfig:\n"}),
    ("storage.nvme-format", {f"{SOS}/nvme/nvme_id-ns_.dev.nvme0n1":
        "lbaf  0 : ms:0   lbads:9  rp:0 (in use)\nlbaf  1 : ms:0   lbads:12 rp:0 \n"}),
    ("storage.gpfs-log", {"var/adm/ras/mmfs.log.latest": "2026-11-19_03:41:12.312+0000: [I] mmfsd ready\n"}),
    ("storage.beegfs-network", {"etc/beegfs/beegfs-client.conf": "connUseRDMA = true\n",
                                "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE"}),
    ("storage.nfs-slow-server", {"proc/self/mountstats": NFS.format(40000, 1600000)}),
    ("storage.head-parking", {SMART: HEALTHY + attribute(9, "Power_On_Hours", 20000)
                              + attribute(193, "Load_Cycle_Count", 812)}),
]  # fmt: skip
