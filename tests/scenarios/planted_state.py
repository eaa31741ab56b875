"""Faults and traps of state that few files tell, of unfit devices and of kernel threads (issue 50)."""

SDB = "sys/block/sdb"
DMESG = "sos_commands/kernel/dmesg"
START = "[    0.0] Linux version 6.12.9\n"


def thread(
    name: str, ticks: int, *, pid: int = 339, start: int = 300, flags: int = 0x200000
) -> dict[str, str]:
    fields = f"{pid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 {ticks} 0 0 20 0 1 0 {start} 0 0 " + "0 " * 28
    return {f"proc/{pid}/stat": fields.strip(), "proc/uptime": "864000.00 12441600.00"}


def pool(name: str) -> dict[str, str]:
    head = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\ttank ONLINE 0 0 0\n"
    text = f"{head}\t  {name} ONLINE 0 0 0\n"
    return {"sos_commands/zfs/zpool_status": text}


WAITS = (
    "   8  16 sdb 1200000 100 19200000 240000000 2400000 900000 38400000 720000000 32 36000000 960000000\n"
)
GUEST = {"sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_name": "Standard PC"}
CEPH = "sos_commands/ceph_mon/ceph_health_detail"
SPILLED = "1 OSD(s) experiencing BlueFS spillover"
SETTINGS = "etc/cvmfs/default.local"
CRYPTO = (
    "name : xts(aes)\ndriver : {}\npriority : {}\n\nname : cbc(aes)\ndriver : cbc-aes-aesni\npriority : 400\n"
)
SWAPS = (
    "Filename Type Size Used Priority\n/dev/zram0 partition 8388604 0 {}\n/dev/sda2 partition 8388604 0 {}\n"
)
CHAIN = (
    "Chain INPUT (policy ACCEPT 0 packets, 0 bytes)\n pkts bytes target prot opt in out source destination\n"
)
REMOTE = (
    "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n"
    "44 30 0:53 / /data rw,relatime - nfs4 filer:/data rw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp\n"
)
PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("host.kernel-thread", "notice", thread("kipmi0", 86_000_000)),
    ("host.kernel-thread", "warning", thread("kworker/0:1-kacpi_notify", 60_000_000)),
    ("host.kernel-thread", "notice", thread("kworker/3:1-some_queue", 50_000_000)),
    ("memory.negative-dentries", "warning", {"proc/sys/fs/dentry-state": "90000000 89000000 45 0 88000000 0"}),
    ("storage.unfit-disk", "warning", {f"{SDB}/device/model": "ST8000DM004-2CX188", **pool("sdb")}),
    ("memory.swap-order", "notice", {"proc/swaps": SWAPS.format(-3, -2)}),
    ("net.ruleset-length", "warning", {"sos_commands/networking/iptables_-vnxL": CHAIN
                                       + " 12 960 DROP all -- * * 192.0.2.1 0.0.0.0/0\n" * 6000}),
    ("host.failed-units", "notice", {"sos_commands/systemd/systemctl_list-units":
                                     "  UNIT LOAD ACTIVE SUB\n* irqbalance.service loaded failed failed irqbalance\n"}),
    ("storage.old-snapshots", "warning", {"sos_commands/devicemapper/dmsetup_table":
                                          "".join(f"vg-s{n}: 0 1 snapshot 253:3 253:{n} P 8\n" for n in range(5, 9))}),
    ("storage.updatedb", "notice", {"proc/self/mountinfo": REMOTE, "etc/updatedb.conf": 'PRUNEFS = "proc tmpfs"\n'}),
    ("storage.btrfs-quota", "warning", {f"sys/fs/btrfs/0a1b/qgroups/0_{n}": "" for n in range(400)}),
    ("storage.ceph-health", "warning", {CEPH: "HEALTH_WARN 12 slow ops, oldest one blocked for 312 sec\n"}),
    ("storage.ceph-health", "critical", {CEPH: "HEALTH_ERR 1 full osd(s)\n"}),
    ("storage.ceph-spillover", "warning", {CEPH: f"HEALTH_WARN {SPILLED}\n[WRN] BLUEFS_SPILLOVER: {SPILLED}\n"}),
    ("storage.cvmfs-config", "warning", {SETTINGS: 'CVMFS_HTTP_PROXY="DIRECT"\nCVMFS_QUOTA_LIMIT=20000\n'}),
    ("storage.gluster", "warning", {"sos_commands/gluster/gluster_volume_status": "Brick n3:/brick1 N/A N/A N N/A\n"}),
    ("power.events", "warning", {"sos_commands/ipmitool/ipmitool_-I_usb_sel_elist":
                                 " 1 | 11/24/2026 | 02:11:12 | Power Supply PS1 | Failure detected | Asserted\n"}),
    ("storage.zfs-properties", "warning", {"sos_commands/zfs/zpool_get_all_tank": "tank  capacity  96%  -\n"}),
    ("host.emulated", "notice", {**GUEST, "sys/bus/pci/devices/0000:17:00.0/uevent": "DRIVER=e1000"}),
    ("storage.slow-volume", "warning", {**GUEST, f"{SDB}/device/model": "QEMU HARDDISK", "proc/diskstats": WAITS}),
    ("host.costly-setting", "notice", {"proc/sys/net/core/bpf_jit_enable": "0"}),
    ("storage.zoned", "notice", {f"{SDB}/queue/zoned": "host-aware"}),
    ("kernel.module-faults", "warning", {"sys/module/zfs/version": "2.2.0-1"}),
    ("storage.crypt-driver", "warning", {
        "proc/crypto": CRYPTO.format("xts(ecb(aes-generic))", 100), "sys/block/dm-7/dm/uuid": "CRYPT-LUKS2-x",
        "sys/block/dm-7/dm/name": "luks", "sys/block/dm-7/size": "1000", "sys/block/dm-7/dev": "253:7",
        "proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nflags : fpu sse2 lm aes avx\n"}),
]  # fmt: skip
TRAPS: list[tuple[str, dict[str, str]]] = [
    ("host.emulated", {"sys/bus/pci/devices/0000:17:00.0/uevent": "DRIVER=e1000e"}),
    ("host.kernel-thread", thread("vhost-4711", 80_000_000)),
    ("host.kernel-thread", thread("kipmi0", 8_000_000)),
    ("host.kernel-thread", thread("mysqld", 86_000_000, flags=0x400000)),
    ("memory.negative-dentries", {"proc/sys/fs/dentry-state": "40000000 39000000 45 0 900000 0"}),
    ("storage.unfit-disk", {f"{SDB}/device/model": "WDC WD80EFAX-68KNBN0", **pool("sdb")}),
    ("storage.unfit-disk", {f"{SDB}/device/model": "ST8000DM004-2CX188"}),
    ("memory.swap-order", {"proc/swaps": SWAPS.format(100, -2)}),
    ("storage.ceph-health", {CEPH: "HEALTH_OK\n"}),
    ("storage.ceph-spillover", {CEPH: "HEALTH_OK\n"}),
    (
        "storage.cvmfs-config",
        {SETTINGS: 'CVMFS_HTTP_PROXY="http://squid:3128;DIRECT"\nCVMFS_QUOTA_LIMIT=20000\n'},
    ),
    ("kernel.module-faults", {"sys/module/zfs/version": "2.2.4-1"}),
    ("storage.gluster", {"sos_commands/gluster/gluster_volume_status": "Brick n3:/brick1 49152 0 Y 1234\n"}),
    ("storage.btrfs-quota", {"sys/fs/btrfs/0a1b/qgroups/0_5": ""}),
]
