"""Faults and traps of disks, volumes, file systems and what stands around them: in planted_classes.py's form."""

# ruff: noqa: E501 (a line is what a host had)

from tests.scenarios.planted_cluster_fs import PLANTED as CLUSTER_PLANTED
from tests.scenarios.planted_cluster_fs import TRAPS as CLUSTER_TRAPS

SOS = "sos_commands"
SMARTCTL = f"{SOS}/ata/smartctl_-a_.dev.sdb"
MDSTAT = "proc/mdstat"
LVS = f"{SOS}/lvm2/lvs_-a_-o_lv_tags_devices"
COLUMNS = "  LV   VG   Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert\n"
PVS = f"{SOS}/lvm2/pvs_-a_-v_-o_pv_mda_free"
ROOT = "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n"
MULTIPATH = f"{SOS}/multipath/multipath_-ll"
STORCLI = f"{SOS}/storcli/storcli64_.c0_show_all"
SESSION = "sys/class/iscsi_session/session1"
ZPOOL = f"{SOS}/zfs/zpool_status_-vx"
ETAB, EXPORTS = "var/lib/nfs/etab", "etc/exports"
MESSAGES = "var/log/messages"
RAID1 = "md0 : active raid1 sdb1[1] sda1[0]\n      1953382464 blocks super 1.2 [2/2] [UU]\n"
RUNNING = {"proc/301/stat": "301 (systemd) S 1 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 600 0 0\n"}


def log(*lines: str) -> dict[str, str]:
    text = "".join(f"[  {9 + number}.1] {line}\n" for number, line in enumerate(lines))
    return {f"{SOS}/kernel/dmesg": f"[    0.0] Linux version 6.12.9\n{text}"}


def system_log(*lines: str) -> dict[str, str]:
    return {MESSAGES: "".join(f"Nov 24 02:05:1{number} srv {line}\n" for number, line in enumerate(lines))}


def mdstat(*arrays: str) -> dict[str, str]:
    return {MDSTAT: "Personalities : [raid1] [raid6]\n" + "\n".join(arrays) + "unused devices: <none>\n"}


def self_test(result: str, address: str = "-") -> dict[str, str]:
    head = "SMART overall-health self-assessment test result: PASSED\nSMART Self-test log structure revision number 1\n"
    titles = (
        "Num  Test_Description    Status                  Remaining  LifeTime(hours)  LBA_of_first_error\n"
    )
    old = "# 2  Extended offline    Completed: read failure       90%     11456         312581808\n"
    return {
        SMARTCTL: f"{head}{titles}# 1  Extended offline    {result}       90%     23456         {address}\n{old}"
    }


def error_recovery(told: str, timeout_s: int = 30) -> dict[str, str]:
    return {
        f"{SOS}/ata/smartctl_-l_scterc_.dev.sdb": f"smartctl 7.3\n\n{told}\n",
        "sys/block/sdb/device/timeout": str(timeout_s),
        **mdstat(RAID1),
    }


def nvme_log(minutes: int, lighter: int, heavier_s: int) -> dict[str, str]:
    return {
        f"{SOS}/nvme/nvme_smart-log_.dev.nvme0n1": "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\n"
        "critical_warning : 0\navailable_spare : 100%\npercentage_used : 3%\npower_on_hours : 20000\n"
        f"Warning Temperature Time : {minutes}\nCritical Composite Temperature Time : 0\n"
        f"Thermal Management T1 Trans Count : {lighter}\nThermal Management T2 Total Time : {heavier_s}\n"
    }


def slot(fault: int, status: str) -> dict[str, str]:
    folder = "sys/class/enclosure/0:0:24:0/Slot 07"
    return {f"{folder}/fault": str(fault), f"{folder}/status": status}


def no_size(size: int, removable: int) -> dict[str, str]:
    folder = "sys/block/sdq"
    return {
        f"{folder}/size": str(size),
        f"{folder}/removable": str(removable),
        f"{folder}/device/model": "ST4000NM0035",
    }


def grown(last_sector: int) -> dict[str, str]:
    """The server's second disk, of 1,875,385,008 sectors, as it was before it was enlarged."""
    return {
        "sys/block/sdb/sdb1/size": str(last_sector - 2048),
        **log(
            "GPT:Primary header thinks Alt. header is not at the end of the disk.",
            "GPT:1065215 != 1875385007",
        ),
    }


def volumes(cache: str, battery: str = "BBU = Absent") -> dict[str, str]:
    return {
        STORCLI: f"Controller = 0\nStatus = Success\nController Status = Optimal\n{battery}\n\nVD LIST :\n"
        "DG/VD TYPE  State Access Consist Cache Cac sCC      Size Name\n"
        f"0/0   RAID6 Optl  RW     Yes     {cache} -   ON  50.937 TB data\n"
    }


def foreign(group: str, state: str) -> dict[str, str]:
    return {
        STORCLI: "Controller = 0\nController Status = Optimal\n\nPD LIST :\n"
        f"252:3    11 {state} {group}   3.637 TB SATA HDD N   N  512B ST4000NM0035       U  -\n"
    }


def smart_array(status: str, battery: str) -> dict[str, str]:
    return {
        f"{SOS}/hpssm/ssacli_ctrl_all_show_detail": "Smart Array P440ar in Slot 0 (Embedded)\n"
        f"   Cache Status: {status}\n   Battery/Capacitor Status: {battery}\n"
    }


def nvme_path(*states: str) -> dict[str, str]:
    return {f"sys/class/nvme/nvme{n}/nvme1c{n}n1/ana_state": state for n, state in enumerate(states, 1)} | {
        f"sys/class/nvme/nvme{n}/state": "live" for n in range(1, len(states) + 1)
    }


def subsystem(*paths: str) -> dict[str, str]:
    lines = "".join(
        f" +- nvme{n} tcp traddr=10.0.0.{n},trsvcid=4420 {path}\n" for n, path in enumerate(paths, 1)
    )
    return {f"{SOS}/nvme/nvme_list-subsys": f"nvme-subsys1 - NQN=nqn.2014-08.org.example:array\n\\\n{lines}"}


MAPPED = {
    "sys/block/dm-3/dm/uuid": "mpath-36001405",
    "sys/block/dm-3/dm/name": "mpatha",
    "sys/block/dm-3/slaves/sdy/x": "",
    "sys/block/dm-3/slaves/sdz/x": "",
}


def remote_port(roles: str, fast: str) -> dict[str, str]:
    folder = "sys/class/fc_remote_ports/rport-1:0-3"
    files = {"roles": roles, "fast_io_fail_tmo": fast, "dev_loss_tmo": "60"}
    return {f"{folder}/{name}": text for name, text in files.items()} | MAPPED


def paths(first: int, second: int, hosts: tuple[int, int] = (1, 2)) -> dict[str, str]:
    """Two groups of one path, the first in use."""
    text = (
        "mpatha (36001405) dm-2 IBM,2145\nsize=100G features='1 queue_if_no_path' hwhandler='1 alua' wp=rw\n"
        f"|-+- policy='service-time 0' prio={first} status=active\n| `- {hosts[0]}:0:0:1 sdq 8:48 active ready running\n"
        f"`-+- policy='service-time 0' prio={second} status=enabled\n  `- {hosts[1]}:0:0:1 sdr 8:64 active ready running\n"
    )
    ports = {f"sys/class/fc_host/host{n}/port_state": "Online" for n in (1, 2)}
    return {MULTIPATH: text, **ports}


def seen_twice(claimed: str) -> dict[str, str]:
    """A volume that sdq and sdr show, and a file system on sdq."""
    disks = {
        f"sys/block/{name}/{file}": text
        for name, number in (("sdq", 256), ("sdr", 272))
        for file, text in (("device/wwid", "naa.6001405"), ("size", "9000000"), ("dev", f"65:{number - 256}"))
    }
    above = {
        "sys/block/dm-3/slaves/sdq/x": "",
        "sys/block/dm-3/slaves/sdr/x": "",
        "sys/block/dm-3/size": "9000000",
    }
    return (
        disks
        | (above | MAPPED if claimed else {})
        | {"proc/self/mountinfo": f"{ROOT}31 30 65:0 / /data rw,relatime - xfs /dev/{claimed or 'sdq'} rw\n"}
    )


def iscsi(**files: str) -> dict[str, str]:
    usual = {"state": "LOGGED_IN", "targetname": "iqn.2003-01.example:disk1", "recovery_tmo": "5"}
    return {f"{SESSION}/{name}": text for name, text in (usual | files).items()}


def node(startup: str) -> dict[str, str]:
    path = "var/lib/iscsi/nodes/iqn.2003-01.example:disk1/10.0.0.1,3260,1/default"
    return iscsi() | {
        path: f"node.name = iqn.2003-01.example:disk1\nnode.tpgt = 1\nnode.startup = {startup}\n"
    }


def fstab(line: str, mounted: str = "") -> dict[str, str]:
    return {
        "etc/fstab": f"/dev/sda1 / xfs defaults 0 0\n{line}\n",
        "proc/self/mountinfo": ROOT + mounted,
    }


def encrypted(driver: str) -> dict[str, str]:
    flags = "fpu lm sse2 avx constant_tsc" + (" aes" if "aesni" in driver else "")
    return {
        "sys/block/dm-9/dm/uuid": "CRYPT-LUKS2-0a1b-data",
        "sys/block/dm-9/dm/name": "data",
        "sys/block/dm-9/size": "9000000",
        "proc/crypto": f"name         : xts(aes)\ndriver       : {driver}\npriority     : 400\nrefcnt       : 5\n",
        "proc/cpuinfo": "".join(
            f"processor\t: {n}\nvendor_id\t: GenuineIntel\nflags\t\t: {flags}\n\n" for n in range(8)
        ),
    }


def conf(text: str, *arrays: str) -> dict[str, str]:
    return {"etc/mdadm.conf": text, **mdstat(*arrays)}


THIN = "  WARNING: Sum of all thin volume sizes (1.00 TiB) exceeds the size of thin pool pve/data and the amount of free space.\n"
NOT_USED = "  WARNING: Not using device {} for PV RNCylW-F3OG-0001.\n  WARNING: PV RNCylW-F3OG-0001 prefers device /dev/sde because device is used by LV.\n"


def bcache(mode: str) -> dict[str, str]:
    return {
        "sys/block/bcache0/bcache/cache_mode": mode,
        "sys/block/bcache0/bcache/state": "dirty",
        "sys/block/bcache0/bcache/dirty_data": "112.3G",
        "sys/block/bcache0/slaves/md0/x": "",
        "sys/block/bcache0/slaves/nvme0n1/x": "",
    }


def nfs(options: str) -> str:
    return f"31 30 0:53 / /b rw,relatime - nfs4 nfs1:/b rw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp{options}\n"


def cached_nfs(answer: str) -> dict[str, str]:
    return {
        "proc/self/mountinfo": ROOT + nfs(",fsc"),
        "proc/fs/nfsfs/volumes": "NV SERVER   PORT DEV          FSID                              FSC\n"
        f"v4 0a000001 801 0:53         a1b2:0                            {answer}\n",
    }


def on_array(stripe: int) -> dict[str, str]:
    queue = "sys/block/md7/queue"
    return {
        "proc/self/mountinfo": f"{ROOT}31 30 9:7 / /data rw,relatime - ext4 /dev/md7 rw,stripe={stripe}\n",
        "sys/block/md7/dev": "9:7",
        "sys/block/md7/size": "70000000000",
        "sys/block/md7/md/level": "raid6",
        f"{queue}/minimum_io_size": "524288",
        f"{queue}/optimal_io_size": "2097152",
    }


RAID6 = "md0 : active raid6 sdf1[5] sde1[4] sdd1[3] sdc1[2] sdb1[1] sda1[0]\n      7813529600 blocks super 1.2 level 6, 512k chunk, algorithm 2 [6/6] [UUUUUU]\n      bitmap: 0/15 pages [0KB], 65536KB chunk\n"


def superblock(stride: int, width: int) -> dict[str, str]:
    text = f"Block size:               4096\nRAID stride:              {stride}\nRAID stripe width:        {width}\n"
    return {f"{SOS}/filesys/tune2fs_-l_.dev.md0": text, **mdstat(RAID6)}


def xfs(
    groups: int,
    group_blocks: int,
    blocks: int,
    log_blocks: int,
    unit: str = "0      swidth=0",
    device: str = "sdz",
) -> dict[str, str]:
    return {
        f"{SOS}/xfs/xfs_info_.data": f"meta-data=/dev/{device} isize=512    agcount={groups}, agsize={group_blocks} blks\n"
        "         =                       sectsz=512   attr=2, projid32bit=1\n"
        f"data     =                       bsize=4096   blocks={blocks}, imaxpct=5\n"
        f"         =                       sunit={unit} blks\n"
        "naming   =version 2              bsize=4096   ascii-ci=0, ftype=1\n"
        f"log      =internal log           bsize=4096   blocks={log_blocks}, version=2\n"
    }


def project(options: str) -> dict[str, str]:
    return {
        "etc/projects": "# projects\n42:/data/proj42\n",
        "proc/self/mountinfo": f"{ROOT}31 30 8:17 / /data rw,relatime - xfs /dev/sdb1 rw,attr2,inode64,{options}\n",
    }


def quota(options: str) -> dict[str, str]:
    return {
        f"{SOS}/filesys/quotaon_-pa": "group quota on /home (/dev/sdb1) is on\nuser quota on /home (/dev/sdb1) is off\n",
    } | fstab(f"/dev/sdb1 /home ext4 {options} 0 2", "31 30 8:17 / /home rw,relatime - ext4 /dev/sdb1 rw\n")


def profiles(single: int) -> dict[str, str]:
    folder = "sys/fs/btrfs/0a1b/allocation/metadata"
    return {f"{folder}/raid1/used_bytes": "1073741824", f"{folder}/single/used_bytes": str(single)}


def usage(left: str) -> dict[str, str]:
    return {
        f"{SOS}/btrfs/btrfs_filesystem_usage_.data": f"Overall:\n    Device size: 1.00TiB\n    Device unallocated:\t{left}\n"
        "    Free (estimated):\t212.00GiB\n\nData,single: Size:900.00GiB, Used:690.00GiB (76.7%)\n"
        "Metadata,DUP: Size:8.00GiB, Used:7.98GiB (99.8%)\n"
    }


def pool(body: str) -> dict[str, str]:
    titles = "config:\n\n\tNAME        STATE     READ WRITE CKSUM\n\ttank        ONLINE       0     0     0\n"
    scan = " state: ONLINE\n  scan: scrub repaired 0B in 05:12:33 with 0 errors on Sun Nov 22 05:36:34 2026\n"
    return {ZPOOL: f"  pool: tank\n{scan}{titles}{body}\nerrors: No known data errors\n"}


DATA = "\t  raidz2-0  ONLINE       0     0     0\n\t    wwn-0x5000c500a1  ONLINE       0     0     0\n"


def duplicates(entries: int) -> dict[str, str]:
    return {
        ZPOOL: f"  pool: tank\n state: ONLINE\n\n dedup: DDT entries {entries}, size 521B on disk, 168B in core\n"
    }


def swap(device: str) -> dict[str, str]:
    return {
        "proc/swaps": f"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n{device}  partition\t8388604\t\t0\t\t-2\n"
    }


def backing(file: str) -> dict[str, str]:
    return {"sys/block/loop3/loop/backing_file": file, "sys/block/loop3/size": "2097152"}


def exported(file: str, table: str) -> dict[str, str]:
    return {EXPORTS: f"# exports\n{file}\n", ETAB: f"{table}\n", "proc/fs/nfsd/threads": "64"}


def client(state: str, status: str = "confirmed") -> dict[str, str]:
    return {
        "proc/fs/nfsd/clients/12/info": 'clientid: 0x9d3cfbd368dffa74\naddress: "10.87.31.152:874"\n'
        f'status: {status}\nseconds from last renew: 4\nname: "Linux NFSv4.0 node7"\nminor version: 0\n'
        f"callback state: {state}\ncallback address: 10.87.31.152:0\n"
    }


def mapped_cache(block: int, policy: str) -> dict[str, str]:
    status = f"8 12/4096 {block} 0/256 0 96 0 0 0 0 0 2 metadata2 writethrough 2 migration_threshold 2048 {policy} 0 rw -"
    return {f"{SOS}/devicemapper/dmsetup_status": f"vg-data: 0 20971520 cache {status}\n"}


def reserved(blocks: int) -> dict[str, str]:
    text = f"Inode count:              1525879808\nBlock count:              24414062500\nReserved block count:     {blocks}\n"
    return {f"{SOS}/filesys/tune2fs_-l_.dev.sdb1": f"{text}Block size:               4096\n"}


BORG = "root/.cache/borg/0a1b2c/lock.exclusive/srv@52540012a1.12345-0"
SMB = "etc/samba/smb.conf"
RSNAPSHOT = "var/log/rsnapshot.log"

PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("storage.self-test", "warning", self_test("Completed: read failure", "312581808")),
    ("storage.smart-off", "notice", {SMARTCTL: "SMART support is: Available - device has SMART capability.\n"
                                     "SMART support is: Disabled\n"}),
    ("storage.error-recovery", "warning", error_recovery("SCT Error Recovery Control command not supported")),
    ("storage.error-recovery", "warning",
     error_recovery("SCT Error Recovery Control:\n           Read: Disabled\n          Write: Disabled")),
    ("storage.standby", "notice", {SMARTCTL: "Device is in STANDBY mode, exit(2)\n", **mdstat(RAID1)}),
    ("storage.spin-down", "notice", {"etc/hdparm.conf": "/dev/disk/by-id/ata-X {\n\tspindown_time = 60\n}\n",
                                     **mdstat(RAID1)}),
    ("storage.nvme-heat", "warning", nvme_log(4211, 98123, 22110)),
    ("storage.enclosure", "warning", slot(1, "OK")),
    ("storage.enclosure", "warning", slot(0, "critical")),
    ("storage.zero-size", "warning", no_size(0, 0)),
    ("storage.grown-disk", "notice", grown(1065215)),
    ("storage.forced-write-back", "warning", volumes("RAWBD")),
    ("storage.foreign-disks", "notice", foreign("F", "UGood")),
    ("storage.smart-array-cache", "warning",
     smart_array("Permanently Disabled", "Failed (Replace Batteries/Capacitors)")),
    ("storage.nvme-far", "warning", nvme_path("non-optimized", "inaccessible")),
    ("storage.nvme-paths", "warning", subsystem("live optimized", "connecting")),
    ("storage.fc-fast-fail", "notice", remote_port("FCP Target", "off")),
    ("storage.path-owner", "warning", paths(10, 50)),
    ("storage.paths-one-port", "warning", paths(50, 10, (1, 1))),
    ("storage.paths-unclaimed", "warning", seen_twice("")),
    ("storage.multipathd-down", "warning", {**paths(50, 10), **RUNNING, "usr/lib/systemd/system/multipathd.service": ""}),
    ("storage.iscsi-lost", "warning", iscsi(state="FAILED")),
    ("storage.iscsi-wait", "notice", iscsi(recovery_tmo="120") | MAPPED),
    ("storage.iscsi-manual", "notice", node("manual")),
    ("storage.md-pending", "warning", mdstat("md0 : active (auto-read-only) raid1 sda1[0] sdb1[1]\n"
                                             "      1953382464 blocks [2/2] [UU]\n      \tresync=PENDING\n")),
    ("storage.md-inactive", "warning", mdstat("md127 : inactive sdc1[2](S)\n      1953382464 blocks super 1.2\n")),
    ("storage.md-journal", "critical", mdstat("md0 : active (read-only) raid6 sda1[0] sdb1[1] nvme0n1p1[6](J)(F)\n")),
    ("storage.md-frozen", "warning", {"sys/block/md0/md/sync_action": "frozen", "sys/block/md0/md/degraded": "1",
                                      "sys/block/md0/md/level": "raid1", "sys/block/md0/size": "2048"}),
    ("storage.md-unwatched", "notice", conf("ARRAY /dev/md0 UUID=1\n", RAID1)),
    ("storage.md-monitor", "notice", system_log("mdadm[811]: No mail address or alert command - not monitoring.")),
    ("storage.md-check-off", "notice", {"etc/sysconfig/raid-check": "ENABLED=no\n", **mdstat(RAID1)}),
    ("storage.thin-oversold", "notice", {LVS: THIN + COLUMNS}),
    ("storage.lvm-unmonitored", "notice", {LVS: f"{COLUMNS}  data pve twi-aotz-- 1.00t 41.20 45.10 not monitored\n"}),
    ("storage.snapshot-filling", "warning", {LVS: f"{COLUMNS}  snap vg swi-a-s--- 20.00g      root 97.81\n"}),
    ("storage.lvm-raid", "warning", {LVS: f"{COLUMNS}  data vg rwi-aor-r- 1.00t                100.00\n"}),
    ("storage.pvmove", "notice", {LVS: f"{COLUMNS}  [pvmove0] vg p-C-aom--- 120.00g    /dev/sdb  35.12\n"}),
    ("storage.lvm-seen-twice", "warning", {PVS: NOT_USED.format("/dev/sdf")}),
    ("storage.lvm-single-path", "warning", {**paths(50, 10), PVS: "  PV VG Fmt Attr\n  /dev/sdq vg_data lvm2 a--  1.00t\n"}),
    ("storage.lvm-devices-file", "notice", {
        PVS: "  Devices file sys_wwid naa.60050768 PVID iws5FZqBFBVE12 last seen on /dev/sda3 not found.\n"}),
    ("storage.suspended", "warning", {"sys/block/dm-4/dm/suspended": "1", "sys/block/dm-4/dm/name": "vg-data"}),
    ("storage.cache-alone", "notice", bcache("writethrough [writeback] writearound none")),
    ("storage.not-mounted", "warning", fstab("UUID=8d /data xfs defaults,nofail 0 0")),
    ("storage.hidden-mount", "warning", {"proc/self/mountinfo": f"{ROOT}31 30 8:17 / /data rw,relatime - xfs /dev/sdb1 rw\n"
                                         "40 31 253:4 / /data rw,relatime - xfs /dev/mapper/vg-new rw\n"}),
    ("storage.nconnect", "notice", fstab("nfs1:/b /b nfs4 nconnect=8 0 0", nfs(""))),
    ("storage.nfs-cache-off", "notice", cached_nfs("no ")),
    ("storage.stripe-ext4", "notice", on_array(32)),
    ("storage.stride", "notice", superblock(16, 32)),
    ("storage.xfs-groups", "notice", xfs(2621, 100096, 262351616, 65536)),
    ("storage.xfs-no-stripe", "notice", {**xfs(32, 268435455, 7813529600, 521728, device="md0"), **mdstat(RAID6)}),
    ("storage.xfs-small-log", "notice", xfs(32, 76300288, 2441609216, 2560)),
    ("storage.projects-off", "notice", project("noquota")),
    ("storage.quota-off", "notice", quota("defaults,usrquota,grpquota")),
    ("storage.btrfs-profiles", "warning", profiles(8388608)),
    ("storage.btrfs-told", "warning", usage("1.00MiB")),
    ("storage.btrfs-told", "warning", {f"{SOS}/btrfs/btrfs_filesystem_show":
                                       "Label: none  uuid: 0a1b\n\tTotal devices 2\n\t*** Some devices missing\n"}),
    ("storage.zfs-layout", "warning", pool(f"{DATA}\tspecial\t\n\t  nvme0n1  ONLINE       0     0     0\n")),
    ("storage.zfs-layout", "notice", pool("\t  mirror-0  ONLINE 0 0 0\n\t    sda  ONLINE 0 0 0\n\t    sdb  ONLINE 0 0 0\n")),
    ("storage.zfs-dedup-table", "warning", duplicates(812345678)),
    ("storage.zfs-versions", "notice", {"sys/module/zfs/version": "2.2.2-0ubuntu9.4",
                                        f"{SOS}/zfs/zfs_version": "zfs-2.3.4-1\nzfs-kmod-2.2.2-0ubuntu9.4\n"}),
    ("storage.zfs-kmod", "notice", {f"{SOS}/zfs/zfs_version": "zfs-2.3.4-1\nzfs-kmod-2.2.2-0ubuntu9.4\n"}),
    ("storage.zfs-other-host", "warning", {f"{SOS}/zfs/zpool_import":
        "   pool: tank\n     id: 1\n  state: ONLINE\n status: The pool was last accessed by another system.\n"}),
    ("storage.swap-on-zvol", "warning", swap("/dev/zd0")),
    ("storage.loop-deleted", "notice", backing("/var/tmp/img.raw (deleted)")),
    ("storage.crypt-plain-cpu", "notice", encrypted("xts(ecb(aes-generic))")),
    ("storage.smartd-blind", "notice", system_log("smartd[912]: In the system's table of devices NO devices found to scan")),
    ("storage.smartd-told", "warning", system_log("smartd[912]: Device: /dev/sdb [SAT], 8 Currently unreadable (pending) sectors")),
    ("storage.tests-at-once", "notice", {"etc/smartd.conf": "DEVICESCAN -a -s L/../../6/03\n", **mdstat(
        "md0 : active raid6 " + " ".join(f"sd{chr(97 + n)}1[{n}]" for n in range(12)) + "\n      9 blocks [12/12]\n")}),
    ("storage.names-unmapped", "notice", system_log(
        "nfsidmap[1130]: nss_name_to_gid: name 'b2b@localdomain' does not map into domain 'example.org'")),
    ("storage.exports-refused", "notice", system_log("exportfs[77]: exportfs: Failed to resolve c004")),
    ("storage.exports-old", "warning", exported("/iso *(ro)", "/data\t*(ro,sync,wdelay)")),
    ("storage.exports-open", "warning", exported("/data 10.1.0.0/16 (rw,no_root_squash)", "/data\t*(rw,sync)")),
    ("storage.exports-async", "notice", {ETAB: "/home\t10.0.0.0/8(rw,async,wdelay,root_squash)\n"}),
    ("storage.nfs-callback", "notice", client("DOWN")),
    ("storage.browse-mode", "notice", {"etc/autofs.conf": "[ autofs ]\nbrowse_mode = yes\n",
                                       "etc/auto.home": "".join(f"user{n} -rw filer:/home/&\n" for n in range(600))}),
    ("storage.smb-settings", "notice", {SMB: "[global]\n  socket options = TCP_NODELAY SO_RCVBUF=8192 SO_SNDBUF=8192\n"}),
    ("storage.iscsi-refused", "warning", system_log(
        "iscsid: conn 0 login rejected: initiator failed authorization with target")),
    ("storage.backup-stale", "warning", {RSNAPSHOT: "[28/Nov] rsnapshot daily: completed successfully\n"
        "[29/Nov] rsnapshot daily: ERROR: Lockfile /run/lock/rsnapshot exists and so does its process, can not continue\n"}),
    ("storage.borg-lock", "warning", {BORG: "", "proc/1/stat": "1 (systemd) S 0 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 6 0 0\n"}),
    ("storage.d-type", "warning", {f"{SOS}/docker/docker_info": " Storage Driver: overlay2\n  Supports d_type: false\n"}),
    ("storage.dm-cache", "notice", mapped_cache(512, "cleaner")),
    ("storage.dm-cache", "notice", mapped_cache(4096, "smq")),
    ("storage.patrol-off", "notice", {f"{SOS}/storcli/storcli64_.c0_show_pr": "Ctrl_Prop        Value\nPR Mode          Disable\n"}),
    ("storage.zfs-sync-off", "notice", {f"{SOS}/zfs/zfs_get_all": "tank/nfs  sync  disabled  local\ntank  sync  standard  default\n"}),
    ("storage.stale-handle", "warning", {f"{SOS}/filesys/df_-h": "df: /mnt/proj: Stale file handle\nFilesystem Size\n"}),
    ("storage.reserved-blocks", "notice", reserved(1220703125)),
    ("storage.fc-link", "warning", {"sys/class/fc_host/host2/port_state": "Linkdown",
        "sys/class/fc_host/host1/port_state": "Online", **log("lpfc 0000:3b:00.0: 0:1305 Link Down Event x2 received Data: x2")}),
    ("storage.thin-pool", "critical", {f"{SOS}/devicemapper/dmsetup_status":
        "vg-pool-tpool: 0 409600 thin-pool 1 118/1024 51200/3200000 - ro discard_passdown queue_if_no_space needs_check 1024\n"}),
    ("log.replica", "critical", log("block drbd0: Split-Brain detected but unresolved, dropping connection!")),
    ("log.ext4-recorded", "warning", log("EXT4-fs (sda3): error count since last fsck: 37",
                                         "EXT4-fs (sda3): initial error at time 1700000000: ext4_lookup:1601: inode 2")),
    ("log.ext4-journal", "warning", log("EXT4-fs (sdb1): failed to open journal device unknown-block(8,17) -6")),
    ("log.btrfs-missing", "warning", log("BTRFS warning (device sdb): devid 2 uuid 0a1b2c is missing")),
    ("log.nvme-reconnect", "warning", log("nvme nvme2: Failed reconnect attempt 312")),
    ("log.disk-shorter", "notice", log("ata1.00: HPA detected: current 976771055, native 976773168")),
    ("log.disk-predicts", "critical", log("sd 0:2:1:0: [sdb] Add. Sense: Failure prediction threshold exceeded")),
    ("log.nvme-memory", "notice", log("nvme nvme0: min host memory (64 MiB) above limit (32 MiB).")),
    ("log.nvme-same-ids", "warning", log("nvme nvme1: globally duplicate IDs for nsid 1")),
    ("log.beyond-disk", "warning", log("sdd: p1 size 31193731800 extends beyond EOD, truncated")),
    ("log.uas", "notice", log("usb 2-1.1: UAS is ignored for this device, using usb-storage instead")),
    ("log.discard-blocked", "notice", log(
        'EXT4-fs (dm-0): mounting with "discard" option, but the device does not support discard')),
    ("log.same-uuid", "warning", log("XFS (xvdf1): Filesystem has duplicate UUID 8ac4868e-1 - can't mount")),
    ("log.quotacheck", "notice", log("XFS (sdb1): Quotacheck needed: Please wait.")),
    ("log.pages-discarded", "critical", log("XFS (bcache4): page discard on page 00000000d976f7c9, inode 0x400079d77, offset 28")),
    ("log.btrfs-no-space", "critical", log("BTRFS: Transaction aborted (error -28)")),
    ("log.ext4-2038", "notice", log("ext4 filesystem being mounted at /data supports timestamps until 2038 (0x7fffffff)")),
    ("log.overlay", "warning", log("overlayfs: upper fs needs to support d_type.")),
    ("log.overlay", "notice", log("overlayfs: upper fs does not support RENAME_WHITEOUT.")),
    ("log.nfs-client-id", "warning", log("NFS: Server fct reports our clientid is in use")),
    ("log.gssd", "warning", {**log("RPC: AUTH_GSS upcall timed out."), "etc/fstab":
        "/dev/sda1 / xfs defaults 0 0\n#\nfiler:/d /d nfs4 sec=krb5p,noauto 0 0\n"}),
    ("log.lock-monitor", "warning", log("lockd: cannot monitor 10.0.0.2")),
    ("log.client-tracking", "warning", log("NFSD: recovery directory /var/lib/nfs/v4recovery doesn't exist")),
    ("log.lustre-thread", "warning", log("Lustre: ll_ost_io04_080: service thread pid 55122 was inactive for 80.284 seconds. "
                                         "The thread might be hung, or it might only be slow and will resume later.")),
    ("log.lustre-checksum", "critical", log("LustreError: 133-0: lustre-OST0003-osc: BAD READ CHECKSUM: from 10.0.0.5@o2ib inode [0x2]")),
    ("log.ceph-features", "warning", log(
        "libceph: mon0 10.103.2.24:6789 feature set mismatch, my 106b84 < server's 40106b84, missing 4000000")),
    ("log.afs-server", "warning", log("afs: Lost contact with file server 1.2.3.4 in cell cell.gr (code -1) (all multi-homed)")),
    ("log.path-limits", "warning", log("blk_cloned_rq_check_limits: over max size limit.")),
    ("log.raid0-layout", "warning", log("md/raid0:md0: cannot assemble multi-zone RAID0 with default_layout setting")),
    ("log.zfs-other-host", "warning", log("pool 'tank' could not be loaded as it was last accessed by another system")),
]  # fmt: skip

TRAPS: list[tuple[str, dict[str, str]]] = [
    ("storage.self-test", self_test("Completed without error")),
    ("storage.self-test", self_test("Interrupted (host reset)")),
    ("storage.smart-off", {SMARTCTL: "SMART support is:     Unavailable - device lacks SMART capability.\n"}),
    ("storage.error-recovery", error_recovery("SCT Error Recovery Control:\n           Read:     70 (7.0 seconds)")),
    ("storage.error-recovery", error_recovery("SCT Error Recovery Control command not supported", 180)),
    ("storage.error-recovery", {f"{SOS}/ata/smartctl_-l_scterc_.dev.sdb": "SCT Commands not supported\n"}),
    ("storage.standby", {f"{SOS}/ata/smartctl_-a_.dev.sdz": "Device is in STANDBY mode, exit(2)\n"}),
    ("storage.spin-down", {"etc/hdparm.conf": "/dev/disk/by-id/ata-X {\n\tspindown_time = 60\n}\n"}),
    ("storage.nvme-heat", nvme_log(12, 3, 0)),
    ("storage.enclosure", slot(0, "not installed")),
    ("storage.zero-size", no_size(0, 1)),
    ("storage.grown-disk", grown(1875385000)),
    ("storage.forced-write-back", volumes("RWBD")),
    ("storage.foreign-disks", foreign("0", "Onln")),
    ("storage.smart-array-cache", smart_array("OK", "OK")),
    ("storage.smart-array-cache", smart_array("Not Configured", "OK")),
    ("storage.nvme-far", nvme_path("non-optimized", "optimized")),
    ("storage.nvme-paths", subsystem("live optimized", "live non-optimized")),
    ("storage.nvme-state", {"sys/class/nvme/nvme4/state": "connecting",
                            "sys/class/nvme/nvme4/subsysnqn": "nqn.2014-08.org.nvmexpress.discovery"}),
    ("storage.fc-fast-fail", remote_port("FCP Initiator", "off")),
    ("storage.path-owner", paths(50, 10)),
    ("storage.paths-one-port", paths(50, 10)),
    ("storage.paths-unclaimed", seen_twice("mapper/mpatha")),
    ("storage.multipathd-down", {**paths(50, 10), **RUNNING, "usr/lib/systemd/system/multipathd.service": "",
        "proc/302/stat": "302 (multipathd) S 1 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 600 0 0\n"}),
    ("storage.iscsi-lost", iscsi()),
    ("storage.iscsi-wait", iscsi(recovery_tmo="5") | MAPPED),
    ("storage.iscsi-manual", node("automatic")),
    ("storage.md-pending", mdstat("md0 : active (auto-read-only) raid1 sda1[0] sdb1[1]\n      9 blocks [2/2] [UU]\n")),
    ("storage.md-inactive", mdstat("md127 : inactive sdb[1](S) sda[0](S)\n      6306 blocks super external:imsm\n", RAID1)),
    ("storage.md-journal", mdstat("md0 : active raid6 sda1[0] sdb1[1] nvme0n1p1[6](J)\n      9 blocks [2/2] [UU]\n")),
    ("storage.md-unwatched", conf("MAILADDR root\nARRAY /dev/md0 UUID=1\n", RAID1)),
    ("storage.md-unwatched", conf("ARRAY /dev/md0 UUID=1\n", "md0 : active raid0 sda1[0] sdb1[1]\n      9 blocks\n")),
    ("storage.md-monitor", system_log("mdadm[811]: No array with redundancy detected, stopping")),
    ("storage.md-check-off", {"etc/sysconfig/raid-check": "ENABLED=no\n", "etc/cron.d/own":
        "0 1 * * 0 root echo check > /sys/block/md0/md/sync_action\n", **mdstat(RAID1)}),
    ("storage.thin-oversold", {LVS: THIN + COLUMNS, "etc/lvm/lvm.conf": "\tthin_pool_autoextend_threshold = 80\n"}),
    ("storage.lvm-unmonitored", {LVS: f"{COLUMNS}  data pve twi-aotz-- 1.00t 41.20 45.10 monitored\n"}),
    ("storage.snapshot-filling", {LVS: f"{COLUMNS}  snap vg Vwi-a-tz-k 20.00g pool root 97.81\n"}),
    ("storage.snapshot-filling", {LVS: f"{COLUMNS}  snap vg Swi-a-s--- 20.00g      root 97.81\n"}),
    ("storage.lvm-raid", {LVS: f"{COLUMNS}  data vg rwi-aor--- 1.00t                100.00\n"}),
    ("storage.pvmove", {LVS: f"{COLUMNS}  root vg -wi-ao---- 120.00g\n"}),
    ("storage.lvm-seen-twice", {PVS: "  PV VG Fmt Attr\n  /dev/sde vg_data lvm2 a--  1.00t\n"}),
    ("storage.lvm-single-path", {PVS: "  PV VG Fmt Attr\n  /dev/sdq vg_data lvm2 a--  1.00t\n"}),
    ("storage.suspended", {"sys/block/dm-4/dm/suspended": "0", "sys/block/dm-4/dm/name": "vg-data"}),
    ("storage.cache-alone", bcache("[writethrough] writeback writearound none")),
    ("storage.not-mounted", fstab("UUID=8d /backup xfs noauto 0 0\n#UUID=8e /old xfs defaults 0 0\nUUID=9 none swap sw 0 0")),
    ("storage.hidden-mount", {"proc/self/mountinfo": f"{ROOT}31 30 0:41 / /net rw,relatime - autofs /etc/auto.net rw\n"
                              "40 31 0:53 / /net rw,relatime - nfs4 f:/net rw,rsize=1048576,wsize=1048576,proto=tcp\n"}),
    ("storage.nconnect", fstab("nfs1:/b /b nfs4 nconnect=8 0 0", nfs(",nconnect=8"))),
    ("storage.nfs-cache-off", cached_nfs("yes")),
    ("storage.stripe-ext4", on_array(512)),
    ("storage.stride", superblock(128, 512)),
    ("storage.xfs-groups", xfs(120, 268435455, 32212254720, 521728, "128    swidth=512")),
    ("storage.xfs-no-stripe", {**xfs(32, 268435455, 7813529600, 521728, "128    swidth=512", "md0"), **mdstat(RAID6)}),
    ("storage.xfs-small-log", xfs(4, 655360, 2621440, 2560)),
    ("storage.projects-off", project("prjquota")),
    ("storage.quota-off", quota("defaults,grpquota")),
    ("storage.btrfs-profiles", profiles(0)),
    ("storage.btrfs-told", usage("112.00GiB")),
    ("storage.zfs-layout", pool(f"{DATA}\tcache\n\t  nvme0n1  ONLINE       0     0     0\n")),
    ("storage.zfs-layout", pool("\t  vda  ONLINE       0     0     0\n")),
    ("storage.zfs-dedup-table", duplicates(8123)),
    ("storage.zfs-versions", {"sys/module/zfs/version": "2.2.2-0ubuntu9.4",
                              f"{SOS}/zfs/zfs_version": "zfs-2.2.2-0ubuntu9.1\nzfs-kmod-2.2.2-0ubuntu9.4\n"}),
    ("storage.zfs-other-host", {f"{SOS}/zfs/zpool_import": "no pools available to import\n"}),
    ("storage.swap-on-zvol", swap("/dev/zram0")),
    ("storage.loop-deleted", {**backing("/var/lib/snapd/snaps/core_1.snap (deleted)"), "sys/block/loop3/ro": "1"}),
    ("storage.crypt-plain-cpu", encrypted("xts-aes-aesni")),
    ("storage.smartd-blind", system_log("smartd[912]: Unable to monitor any SMART enabled devices. Try debug (-d) option.",
                                        "smartd[950]: Monitoring 12 ATA/SATA, 0 SCSI/SAS and 2 NVMe devices")),
    ("storage.smartd-told", system_log("smartd[912]: Device: /dev/sdb [SAT], SMART Usage Attribute: 194 changed from 62 to 61")),
    ("storage.tests-at-once", {"etc/smartd.conf": "DEVICESCAN -a -s L/../../6/03\n", **mdstat(RAID1)}),
    ("storage.names-unmapped", system_log("nfsidmap[1130]: id resolved")),
    ("storage.exports-refused", system_log("exportfs[77]: exportfs: No options for /d *: suggest *(sync) to avoid warning")),
    ("storage.exports-old", exported("/data 10.1.0.0/16(ro)", "/data\t10.1.0.0/16(ro,sync,wdelay)\n/cluster\t*(ro,sync)")),
    ("storage.exports-open", exported("/mirror *(ro) 10.1.0.0/16(rw)", "/mirror\t*(ro,sync)\n/mirror\t10.1.0.0/16(rw,sync)")),
    ("storage.exports-async", {ETAB: "/mirror\t*(ro,async,wdelay,root_squash)\n"}),
    ("storage.nfs-callback", client("UP")),
    ("storage.nfs-callback", client("DOWN", "courtesy")),
    ("storage.browse-mode", {"etc/autofs.conf": "browse_mode = yes\n", "etc/auto.home": "user1 -rw filer:/home/&\n"}),
    ("storage.dm-cache", mapped_cache(512, "smq")),
    ("storage.patrol-off", {f"{SOS}/storcli/storcli64_.c0_show_pr": "PR Mode          Auto\nPR on SSD        Disabled\n"}),
    ("storage.zfs-sync-off", {f"{SOS}/zfs/zfs_get_all": "tank/nfs  sync  standard  local\n"}),
    ("storage.stale-handle", {f"{SOS}/filesys/df_-h": "df: /proc/1/x: Permission denied\nFilesystem Size\n"}),
    ("storage.reserved-blocks", reserved(1000)),
    ("storage.smb-settings", {SMB: "[global]\n  socket options = TCP_NODELAY IPTOS_LOWDELAY\n"}),
    ("storage.backup-stale", {RSNAPSHOT: "[28/Nov] ERROR: Lockfile /run/lock/rsnapshot exists\n"
                              "[29/Nov] rsnapshot daily: completed successfully\n"}),
    ("storage.borg-lock", {BORG: "", "proc/1/stat": "1 (systemd) S 0 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 6 0 0\n",
        "proc/12345/stat": "12345 (borg) S 1 1 1 0 -1 0 0 0 0 0 7 7 0 0 20 0 1 0 6 0 0\n"}),
    ("storage.d-type", {f"{SOS}/docker/docker_info": " Storage Driver: overlay2\n  Supports d_type: true\n"}),
    ("log.overlay", log("overlayfs: upper fs does not support tmpfile.")),
    ("log.ceph-features", log("libceph: mon0 10.103.2.24:6789 feature set mismatch, my 1 < server's 4, missing 3",
                              "libceph: mon0 (1)10.103.2.24:6789 session established")),
    ("log.lustre-checksum", log("LustreError: 168-f: BAD WRITE CHECKSUM: lustre-OST0003: from 12345-10.0.0.5@o2ib changed on the "
                                "client after we checksummed it - likely false positive due to mmap IO (bug 11742)")),
    ("log.ext4-2038", log("ext4 filesystem being mounted at /boot supports timestamps until 2038 (0x7fffffff)")),
    ("log.same-uuid", log("XFS (xvdf1): Filesystem has duplicate UUID 8ac4868e-1 - can't mount")
     | {"proc/mounts": "/dev/xvdf1 /data xfs rw,nouuid 0 0\n"}),
]  # fmt: skip

PLANTED += CLUSTER_PLANTED
TRAPS += CLUSTER_TRAPS
