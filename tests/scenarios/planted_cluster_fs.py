"""Faults and traps of file systems of clusters, by what their own tools said: in planted_classes.py's form."""

# ruff: noqa: E501 (a line is what a host had)

SOS = "sos_commands"
CEPH = f"{SOS}/ceph_mon"
BEEGFS_NET = (
    "\nmgmt_nodes\n=============\nmgmt1 [ID: 1]\n   Connections: TCP: 1 (10.0.0.1:8008);\n\n"
    "storage_nodes\n=============\nstor1 [ID: 1]\n   Connections: {}\n"
)
ACTIVE = {"sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE"}
EOS = "│fst1.example.org│ 1095│     3│/data03│ default.3│ cern::1│ {} │ {} │ nodrain│ online│ N/A│\n"


def interface(status: str, health: int) -> dict[str, str]:
    return {
        f"{SOS}/lustre/lnetctl_net_show_-v": "net:\n    - net type: o2ib1\n      local NI(s):\n        - nid: 10.1.0.7@o2ib1\n"
        f"          status: {status}\n          health stats:\n              health value: {health}\n"
    }


def readers(at: int, idle_s: int) -> dict[str, str]:
    text = f"current index: 99123456\nID    index (idle seconds)\ncl1   {at} ({idle_s})\n"
    return {f"{SOS}/lustre/lctl_get_param_mdd._.changelog_users": f"mdd.lus-MDT0000.changelog_users=\n{text}"}


def targets(line: str) -> dict[str, str]:
    return {f"{SOS}/beegfs/beegfs-ctl_--listtargets_--nodetype_storage_--state":
            f"TargetID     Reachability  Consistency   NodeID\n========     ============  ===========   ======\n{line}\n"}  # fmt: skip


def xrootd(available_kib: int) -> dict[str, str]:
    return {
        "etc/xrootd/xrootd-clustered.cfg": "all.role server\noss.space public /data/xrd\ncms.space min 2% 11g\n",
        "proc/self/mountinfo": "30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n31 30 8:17 / /data rw,relatime - xfs /dev/sdb1 rw\n",
        f"{SOS}/filesys/df_-al_-x_autofs": "F 1K-blocks Used Available Use% Mounted on\n/dev/sda1 900000000 1 900000 1% /\n"
        f"/dev/sdb1 300000000 {300000000 - available_kib} {available_kib} 50% /data\n",
    }


def drbd(state: str, disks: str, behind: int) -> dict[str, str]:
    return {
        "proc/drbd": "version: 8.4.11 (api:1/proto:86-101)\n"
        f" 0: cs:{state} ro:Primary/Secondary ds:{disks} C r-----\n    ns:0 nr:0 dw:0 dr:0 al:8 bm:0 lo:0 oos:{behind}\n"
    }


PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("storage.ceph-checks", "warning", {f"{CEPH}/ceph_health_detail":
        "[WRN] OSD_TOO_MANY_REPAIRS: Too many repaired reads on 3 OSDs\n    osd.7 had 29 reads repaired\n"}),
    ("storage.ceph-checks", "warning", {f"{CEPH}/ceph_health_detail":
        "[WRN] OSDMAP_FLAGS: noout,norebalance flag(s) set\n[WRN] OSD_DOWN: 1 osds down\n"}),
    ("storage.ceph-capacity", "warning", {f"{CEPH}/ceph_config_dump":
        "WHO     MASK  LEVEL  OPTION                            VALUE\n"
        "osd.12        basic  osd_mclock_max_capacity_iops_hdd  0.358212\n"}),
    ("storage.ceph-copies", "warning", {f"{CEPH}/ceph_osd_pool_ls_detail": "pool 3 'vms' replicated size 1 min_size 1 pg_num 32\n"}),
    ("storage.lustre-full", "warning", {f"{SOS}/lustre/lfs_df": "UUID 1K-blocks Used Available Use% Mounted on\n"
        "lustre-OST0003_UUID  9000000 8990000  100 100% /lustre[OST:3]\n"}),
    ("storage.lustre-readers", "warning", readers(8, 2592000)),
    ("storage.lustre-debug", "notice", {"sys/kernel/debug/lnet/debug": "-1"}),
    ("storage.lnet-interface", "warning", interface("down", 0)),
    ("storage.lustre-targets", "warning", {f"{SOS}/lustre/lctl_get_param_osc._.import":
        "import:\n    name: lus-OST0003-osc\n    target: lus-OST0003_UUID\n    state: DISCONN\n"}),
    ("storage.beegfs-routes", "warning", {f"{SOS}/beegfs/beegfs-net": BEEGFS_NET.format("TCP: 4 (10.193.113.4:8003); "), **ACTIVE}),
    ("storage.beegfs-targets", "warning", targets("     102           Online Needs-resync        3")),
    ("storage.gpfs-lease", "notice", {"var/adm/ras/mmfs.log.latest":
        "2026-11-29_03:41:12.312+0000: [N] Disk lease period expired 0.030 seconds ago in cluster c1. Attempting to reacquire.\n"}),
    ("storage.gpfs-disks", "warning", {f"{SOS}/gpfs/mmlsdisk_fs1_-L":
        "nsd3         nsd         512       2 Yes      Yes   ready         down            3 system\n"}),
    ("storage.cvmfs-offline", "warning", {"var/log/messages": "Nov 24 02:05:11 srv cvmfs2[7]: (atlas.cern.ch) warning, could not "
        "apply updated catalog revision, entering offline mode\n"}),
    ("storage.ctdb-node", "warning", {f"{SOS}/ctdb/ctdb_status": "Number of nodes:2\npnn:0 192.168.200.20   OK (THIS NODE)\n"
        "pnn:1 192.168.200.30   DISCONNECTED|UNHEALTHY|INACTIVE\n"}),
    ("storage.gluster-brick-failed", "warning", {"var/log/glusterfs/bricks/data-brick1.log":
        "[2026-11-20 03:41:12.000] M [MSGID: 113075] [posix-helpers.c:1821:posix_health_check_thread_proc] 0-gvol0-posix: "
        "health-check failed, going down\n"}),
    ("storage.dcache-pool", "warning", {"var/log/dcache/poolDomain.log":
        "29 Nov 2026 01:02:03 (pool1) [] Pool mode changed to enabled\n29 Nov 2026 04:02:03 (pool1) [] Pool mode changed to "
        "disabled(fetch,store,stage,p2p-client,p2p-server): I/O test failed\n"}),
    ("storage.xrootd-space", "warning", xrootd(6000000)),
    ("storage.drbd-state", "warning", drbd("StandAlone", "UpToDate/DUnknown", 0)),
    ("storage.drbd-state", "warning", drbd("Connected", "UpToDate/UpToDate", 1802140)),
    ("storage.eos-fst", "warning", {f"{SOS}/eos/eos_fs_ls": EOS.format("bootfailure", "rw")}),
]  # fmt: skip

TRAPS: list[tuple[str, dict[str, str]]] = [
    ("storage.ceph-checks", {f"{CEPH}/ceph_health_detail": "HEALTH_OK\n"}),
    ("storage.ceph-capacity", {f"{CEPH}/ceph_config_dump": "osd.12  basic  osd_mclock_max_capacity_iops_ssd  24000.1\n"}),
    ("storage.ceph-copies", {f"{CEPH}/ceph_osd_pool_ls_detail": "pool 3 'vms' replicated size 3 min_size 2 pg_num 32\n"
                             "pool 4 'data' erasure profile ec42 size 6 min_size 5\n"}),
    ("storage.lustre-full", {f"{SOS}/lustre/lfs_df": "lustre-OST0003_UUID  9000000 4990000  4010000 55% /lustre[OST:3]\n"}),
    ("storage.lustre-readers", readers(99123000, 12)),
    ("storage.lustre-debug", {"sys/kernel/debug/lnet/debug": "ioctl neterror warning error emerg ha config console lfsck"}),
    ("storage.lnet-interface", interface("up", 1000)),
    ("storage.lustre-targets", {f"{SOS}/lustre/lctl_get_param_osc._.import": "    target: lus-OST0003_UUID\n    state: IDLE\n"}),
    ("storage.beegfs-routes", {f"{SOS}/beegfs/beegfs-net": BEEGFS_NET.format(
        "TCP: 1 (10.0.0.2:8003 [fallback route]); RDMA: 63 (192.168.64.2:8005);"), **ACTIVE}),
    ("storage.beegfs-targets", targets("     101           Online         Good        3")),
    ("storage.gpfs-disks", {f"{SOS}/gpfs/mmlsdisk_fs1_-L":
        "nsd3         nsd         512       2 Yes      Yes   ready         up              3 system\n"}),
    ("storage.cvmfs-offline", {"var/log/messages": "Nov 24 02:05:11 srv cvmfs2[7]: (atlas.cern.ch) warning, could not apply "
        "updated catalog revision, entering offline mode\nNov 24 02:15:11 srv cvmfs2[7]: (atlas.cern.ch) recovered from offline mode\n"}),
    ("storage.ctdb-node", {f"{SOS}/ctdb/ctdb_status": "pnn:0 192.168.200.20   OK (THIS NODE)\npnn:1 192.168.200.30   STOPPED|INACTIVE\n"}),
    ("storage.dcache-pool", {"var/log/dcache/poolDomain.log": "29 Nov 2026 01:02:03 (pool1) [] Pool mode changed to "
        "disabled(fetch,store): Awaiting initialization\n29 Nov 2026 04:02:03 (pool1) [] Pool mode changed to enabled\n"}),
    ("storage.xrootd-space", xrootd(150000000)),
    ("storage.drbd-state", drbd("Connected", "UpToDate/UpToDate", 0)),
    ("storage.drbd-state", drbd("SyncSource", "UpToDate/Inconsistent", 8123)),
    ("storage.eos-fst", {f"{SOS}/eos/eos_fs_ls": EOS.format("bootfailure", "off")}),
    ("storage.lvm-seen-twice", {f"{SOS}/lvm2/pvs_-a_-v_-o_pv_mda_free": "  WARNING: Not using device /dev/sdf for PV "
        "RNC-1.\n  WARNING: PV RNC-1 prefers device /dev/mapper/mpatha because device is used by LV.\n"}),
    ("storage.smartd-told", {"var/log/messages": "Nov 24 02:05:11 srv smartd[9]: Device: /dev/sdb [SAT], 8 Currently unreadable "
        "(pending) sectors\nNov 24 03:05:11 srv smartd[9]: Device: /dev/sdb [SAT], No more Currently unreadable (pending) sectors\n"}),
]  # fmt: skip
