"""Faults and traps of nodes' settings, and of daemons that keep logs of their own: in planted_classes.py's form."""

SLURM = "SlurmctldHost=a\nNodeName=wn[001-064] Sockets=2 CoresPerSocket=8 RealMemory={} State=UNKNOWN\n"
NTPQ = "sos_commands/ntp/ntpq_-pn"
PEERS = (
    "     remote           refid      st t when poll reach   delay   offset  jitter\n"
    "==============================================================================\n"
)
LOCAL = "{}127.127.1.0     .LOCL.          10 l   59   64   17    0.000    0.000   0.001\n"
SERVER = "{}10.42.0.1       192.5.41.209     2 u   56   64   17    0.335  3605497  26.136\n"
OSD = "var/log/ceph/ceph-osd.2.log"
NO_REPLY = "2026-11-29T06:11:15 7f -1 osd.2 9 heartbeat_check: no reply from 10.4.125.102:6803 osd.3 since back 2026\n"
SHD = "var/log/glusterfs/glustershd.log"
BAIL = (
    "[2026-11-29 03:02:37] E [rpc-clnt.c:183:call_bail] 0-v0-client-2: bailing out frame type(GlusterFS 4.x v1), "
    "op(INODELK(29)), xid = 0x4993a, sent = 2026-11-29 02:32:33.396627, timeout = 1800 for 192.168.85.178:49\n"
)
LOST = (
    "[2026-11-29 02:32:33] E [client4_0_inodelk_cbk] 0-v0-client-1: remote operation failed "
    "[Transport endpoint is not connected]\n"
)
SLURMD = "var/log/slurm/slurmd.log"
FREEZER = "[2026-11-29T09:55:38.584] error: cgroup namespace 'freezer' not mounted. aborting\n"
MEMORY = "MemTotal: 124000000 kB\nPageTables: {} kB\nShmem: {} kB\nHugePages_Total: 0\n"
NODE = {"etc/hostname": "wn042\n", "proc/meminfo": "MemTotal: 196608000 kB\n"}

PLANTED: list[tuple[str, str, dict[str, str]]] = [
    ("host.slurm-memory", "warning", NODE | {"etc/slurm/slurm.conf": SLURM.format(196608)}),
    ("host.time-own-clock", "critical", {NTPQ: PEERS + LOCAL.format("*") + SERVER.format(" ")}),
    ("service.ceph-heartbeat", "warning", {OSD: NO_REPLY * 4}),
    ("service.gluster-bricks", "warning", {SHD: LOST + BAIL}),
    ("service.slurmd-ended", "warning", {SLURMD: FREEZER}),
    ("memory.page-tables", "warning", {"proc/meminfo": MEMORY.format(33177600, 44040192)}),
]  # fmt: skip

TRAPS: list[tuple[str, dict[str, str]]] = [
    ("host.slurm-memory", NODE | {"etc/slurm/slurm.conf": SLURM.format(191000)}),
    # another range of the same name
    ("host.slurm-memory", NODE | {"etc/slurm/slurm.conf": SLURM.format(191000) + "NodeName=wn065 RealMemory=380000\n"}),
    ("host.time-own-clock", {NTPQ: PEERS + LOCAL.format(" ") + SERVER.format("*").replace("3605497", "  0.012")}),
    ("service.ceph-heartbeat", {OSD: NO_REPLY}),  # one, while a daemon was restarted
    ("service.gluster-bricks", {SHD: LOST}),
    ("service.slurmd-ended", {SLURMD: FREEZER + "[2026-11-29T10:02:00.000] slurmd version 22.05.9 started\n"}),
    ("memory.page-tables", {"proc/meminfo": MEMORY.format(900000, 4404019)}),
]  # fmt: skip
