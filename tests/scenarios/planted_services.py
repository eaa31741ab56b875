"""Faults and traps of file servers' clients, controllers, firmware and limits: in planted_classes.py's form."""

LIMITED = {
    "proc/self/mountinfo": "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n"
    "31 30 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
}
SLICE, OLD = "sys/fs/cgroup/system.slice/db.service", "sys/fs/cgroup/{}/docker/0123"
V1 = (
    "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n31 30 0:27 / /sys/fs/cgroup/{0} rw - cgroup cgroup rw,{0}\n"
)
FULL_IO = "some avg10=95.10 avg60=94.80 avg300=93.00 total=8\nfull avg10=93.00 avg60={} avg300=90.00 total=7"
CEPH = "sys/kernel/debug/ceph/0a1b2c3d-1111.client4305"
LLITE = "sys/fs/lustre/llite/lfs01-ffff9d61"
BTRFS = "sys/fs/btrfs/0a1b2c3d/devinfo/1"
STATS = "write_errs 0\nread_errs {}\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0"
BTRFS_MOUNT = (
    "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n70 30 0:33 / /data rw,relatime - btrfs /dev/sdb1 rw{}\n"
)
STORCLI = "sos_commands/storcli/storcli64_.call_show_all"
STOR = (
    "Controller = 0\nStatus = Success\n\nStatus :\n======\nController Status = {}\n"
    "Memory Correctable Errors = 0\nMemory Uncorrectable Errors = {}\n\nVD LIST :\n=======\n\n"
    "0/0   RAID6 {}  RW     Yes     {}  -   ON  50.937 TB data \n\nPD LIST :\n=======\n\n"
    "32:0      0 {}   0 10.913 TB SAS  HDD N   N  512B ST12000NM0027       U  -    \n\n"
    "Cachevault_Info :\n===============\n\n----\nModel  State   Temp Mode MfgDate    \n----\n"
    "CVPM02 {} 27C  -    2019/03/14 \n----\n"
)
FAILED = STOR.format("Needs Attention", 0, "Optl", "RWTD", "Onln", "Failed")
ZPOOL = (
    "  pool: tank\n state: ONLINE\n  scan: none requested\nconfig:\n\n\tNAME      STATE     READ WRITE CKSUM\n"
    "\ttank      ONLINE       0     0     0\n\t  sdd     ONLINE       0     0 {}\n\nerrors: {}\n"
)
ZFS = "sos_commands/zfs/zpool_status_-v"
SQUID = "Nov 24 02:05:11 srv cvmfs2: (x.cern.ch) (manager 'standard') switching proxy from {} to {}. Reason: failover\n"
PROXY = "http://squid1.example.org:3128"
SDA = "sys/block/sda"
AUDIT = "sos_commands/auditd/auditctl_-s"
TOLD = "enabled 1\nrate_limit 0\nbacklog_limit 8192\nlost {}\nbacklog {}\nbacklog_wait_time 60000\n"
NFSD = "proc/net/rpc/nfsd"
GPU, PORT = "sys/bus/pci/devices/0000:17:00.0", "sys/devices/pci0000:16/0000:16:00.0"
CPUS = "".join(
    f"processor\t: {n}\nvendor_id\t: GenuineIntel\nmicrocode\t: 0x{{{n % 2}}}\n\n" for n in range(8)
)
AMD = {
    "proc/cpuinfo": "".join(f"processor\t: {n}\nvendor_id\t: AuthenticAMD\n\n" for n in range(8)),
    "sys/class/iommu/ivhd0/amd-iommu/features": "25bf732fa2295afe:1d",
}
IB = {
    f"sys/class/infiniband/mlx5_0/{name}": text
    for name, text in (
        ("hca_type", "MT4123"),
        ("ports/1/state", "4: ACTIVE"),
        ("ports/1/phys_state", "5: LinkUp"),
        ("ports/1/link_layer", "InfiniBand"),
        ("ports/1/lid", "0x12"),
    )
}
RATE = "sys/class/infiniband/mlx5_0/ports/1/rate"

PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("groups.io", "notice", LIMITED | {f"{SLICE}/io.max": "8:0 rbps=max wbps=1048576",
                             f"{SLICE}/io.pressure": FULL_IO.format("0.3")}),
    ("groups.io", "warning", LIMITED | {f"{SLICE}/io.max": "8:0 rbps=max wbps=1048576 riops=max wiops=max",
                                        f"{SLICE}/io.pressure": FULL_IO.format("92.41")}),
    ("groups.io", "notice", {"proc/self/mountinfo": V1.format("blkio"),
                             f"{OLD.format('blkio')}/blkio.throttle.write_bps_device": "8:0 1048576"}),
    # captured without what is above them
    ("groups.tasks", "warning", LIMITED | {f"{SLICE}/pids.current": "512", f"{SLICE}/pids.max": "512",
                                           f"{SLICE}/pids.events": "max 9"}),
    ("groups.memory", "notice", {"proc/self/mountinfo": V1.format("memory"),
                                 f"{OLD.format('memory')}/memory.failcnt": "91823645"}),
    ("storage.ceph-client", "warning", {f"{CEPH}/osdc": "REQUESTS 40 homeless 40\n"}),
    ("storage.ceph-client", "warning", {f"{CEPH}/osdc": "REQUESTS 0 homeless 0\n",
                                        f"{CEPH}/mds_sessions": 'global_id 4305\nname "admin"\nmds.0 hung'}),
    ("storage.ceph-client", "warning", {f"{CEPH}/status": "instance: client.4305\nblocklisted: true"}),
    ("storage.lustre-read-ahead", "warning", {f"{LLITE}/max_read_ahead_mb": "0", f"{LLITE}/statahead_max": "128"}),
    ("storage.lustre-read-ahead", "notice", {f"{LLITE}/max_read_ahead_mb": "64", f"{LLITE}/statahead_max": "0"}),
    ("storage.nfsd-refused", "warning", {NFSD: "th 64 0 0\nrpc 9123456 4100000 12000 4088000 0\n"}),
    ("storage.cvmfs-proxy", "warning", {"var/log/messages": SQUID.format(PROXY, "DIRECT")}),
    ("storage.btrfs-errors", "warning", {f"{BTRFS}/error_stats": STATS.format(4123), f"{BTRFS}/missing": "0"}),
    ("storage.btrfs-errors", "warning", {f"{BTRFS}/error_stats": STATS.format(0), f"{BTRFS}/missing": "1"}),
    ("storage.zfs-errors", "warning", {ZFS: ZPOOL.format("1.21K", "No known data errors")}),
    ("storage.zfs-errors", "critical", {ZFS: ZPOOL.format("0", "3 data errors, use '-v' for a list")}),
    ("storage.controller-crash", "critical", {"sys/class/scsi_host/host5/lockup_detected": "1"}),
    ("storage.controller-crash", "warning", {"sys/class/scsi_host/host5/fw_crash_state": "1"}),
    ("storage.raid-controller", "warning", {STORCLI: FAILED}),
    ("storage.raid-controller", "critical", {
        STORCLI: STOR.format("Optimal", 0, "Pdgd", "RWBD", "Onln", "Optimal")}),
    ("errata.sata-ssd", "warning", {f"{SDA}/device/model": "M4-CT256M4SSD2", f"{SDA}/device/rev": "0009",
                                    f"{SDA}/queue/rotational": "0"}),
    ("errata.microcode-mixed", "warning", {"proc/cpuinfo": CPUS.format("2006e05", "2000064")}),
    ("errata.btrfs-autodefrag", "warning", {"proc/self/mountinfo": BTRFS_MOUNT.format(",autodefrag"),
                                            "proc/sys/kernel/osrelease": "5.16.2"}),
    ("memory.write-back-off", "warning", {"proc/sys/vm/dirty_writeback_centisecs": "0"}),
    ("host.audit", "warning", {AUDIT: TOLD.format(918273, 12)}),
    ("host.audit", "warning", {AUDIT: TOLD.format(0, 8191)}),
    ("net.iommu-translates", "notice", AMD),
    ("fabric.rate", "warning", IB | {RATE: "10 Gb/sec (4X SDR)"}),
    ("gpu.slot", "warning", {f"{GPU}/class": "0x030200", f"{GPU}/max_link_width": "16", f"{PORT}/max_link_width": "4",
                             f"{GPU}/current_link_width": "4"}),
    ("net.neighbours", "warning", {"proc/sys/net/ipv4/neigh/default/gc_thresh3": "1024",
                                   "proc/net/stat/arp_cache": "entries,lookups,table_fulls\n3fe,0a1234,0000a1b2"}),
]  # fmt: skip

TRAPS: list[tuple[str, dict[str, str]]] = [
    ("storage.ceph-client", {f"{CEPH}/osdc": "REQUESTS 12 homeless 0\n", f"{CEPH}/mds_sessions": "mds.0 open",
                             f"{CEPH}/status": "blocklisted: false"}),
    ("storage.lustre-read-ahead", {f"{LLITE}/max_read_ahead_mb": "256", f"{LLITE}/statahead_max": "32"}),
    ("storage.nfsd-refused", {NFSD: "th 64 0 0\nrpc 9123456 410 12 398 0\n"}),
    ("storage.cvmfs-proxy", {"var/log/messages": SQUID.format(PROXY, "DIRECT") + SQUID.format("DIRECT", PROXY)}),
    ("storage.btrfs-errors", {f"{BTRFS}/error_stats": STATS.format(0), f"{BTRFS}/missing": "0"}),
    ("storage.zfs-errors", {ZFS: ZPOOL.format("0", "No known data errors")}),
    ("storage.controller-crash", {"sys/class/scsi_host/host5/lockup_detected": "0",
                                  "sys/class/scsi_host/host5/ioc_reset_count": "0"}),
    # a volume of SSDs that writes through by choice
    ("storage.raid-controller", {STORCLI: STOR.format("Optimal", 0, "Optl", "NRWTD", "Onln", "Optimal")}),
    ("errata.sata-ssd", {f"{SDA}/device/model": "M4-CT256M4SSD2", f"{SDA}/device/rev": "0309"}),
    ("errata.microcode-mixed", {"proc/cpuinfo": CPUS.format("2006e05", "2006e05")}),
    ("errata.btrfs-autodefrag", {"proc/self/mountinfo": BTRFS_MOUNT.format(",autodefrag")}),
    ("memory.write-back-off", {"proc/sys/vm/dirty_writeback_centisecs": "1500"}),
    ("host.audit", {AUDIT: TOLD.format(3, 12)}),
    ("net.iommu-translates", AMD | {"proc/cmdline": "root=/dev/sda1 ro iommu=pt"}),
    ("fabric.rate", IB | {RATE: "100 Gb/sec (4X EDR)"}),
]  # fmt: skip
