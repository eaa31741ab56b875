"""Rows about file systems that a program or a server stands behind."""

import re
from collections.abc import Iterator

from hostdx.probes.number_text import parse_unsigned_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow

_MAX_TEXT_BYTES = 4 << 20
_MIN_REQUESTS = 10_000
# Operations that wait for the server's disks or its metadata; LOCK and OPEN may wait for other clients on purpose.
_OPERATIONS = frozenset({"READ", "WRITE", "GETATTR", "LOOKUP", "ACCESS", "READDIR", "READDIRPLUS", "COMMIT"})
# By the kind of file system: the program, what it costs, and what is used in its place.
_SLOW_PROGRAMS = {
    "fuseblk": ("ntfs-3g", "one thread serves it and each block passes the program", "the kernel's ntfs3, or XFS"),
    "fuse.ntfs-3g": ("ntfs-3g", "one thread serves it and each block passes the program", "the kernel's ntfs3, or XFS"),
    "fuse.sshfs": ("sshfs", "one encrypted stream carries all requests, one after the other", "NFS"),
    "fuse.s3fs": ("s3fs", "a change of one byte uploads the whole object", "a client of the object store"),
    "fuse.goofys": ("goofys", "each file is one stream of HTTP requests", "a client of the object store"),
    "fuse.curlftpfs": ("curlftpfs", "each request opens a transfer", "NFS"),
    "fuse.encfs": ("encfs", "one program encrypts all blocks", "an encrypted disk (LUKS)"),
    "fuse.ceph-fuse": ("ceph-fuse", "each request passes the program", "the kernel's Ceph client (mount -t ceph)"),
    "fuse.zfs-fuse": ("zfs-fuse", "each block passes the program", "ZFS as a kernel module"),
    "fuse.exfat": ("exfat-fuse", "each block passes the program", "the kernel's exfat"),
}  # fmt: skip


def fuse_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per mount whose program is known to be slow: `kind`, `cost` and what to use `instead`."""
    table = read_mounts(host)
    if isinstance(table, Absent):
        return table
    rows = []
    for mount in table:
        if mount.fstype in _SLOW_PROGRAMS:
            kind, cost, instead = _SLOW_PROGRAMS[mount.fstype]
            columns: dict[str, Value] = {
                "name": mount.mountpoint,
                "fstype": mount.fstype,
                "kind": kind,
                "cost": cost,
                "instead": instead,
            }
            rows.append(SubjectRow(mount.mountpoint, columns))
    return rows


def nfs_times_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per NFS mount with 10,000 requests of a kind: the kind that took longest, its mean times in ms.

    `answer_ms` is from sending to the answer, `waiting_ms` the time in this host's queue before it (mountstats, per-op
    statistics: requests, transmissions, time-outs, bytes sent, bytes received, queue, round trip, execution).
    """
    text = host.read_file_text("/proc/self/mountstats", _MAX_TEXT_BYTES)
    if isinstance(text, Absent):
        return text
    rows = []
    for mountpoint, lines in _nfs_mountpoints_and_lines(text):
        times = [time for line in lines if (time := _operation_count_and_ms(line)) is not None]
        if times:
            operation, count, waiting_ms, answer_ms = max(times, key=lambda time: time[2] + time[3])
            columns: dict[str, Value] = {
                "name": mountpoint,
                "operation": operation,
                "count": count,
                "waiting_ms": waiting_ms,
                "answer_ms": answer_ms,
            }
            rows.append(SubjectRow(mountpoint, columns))
    return rows


def _nfs_mountpoints_and_lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """The mountpoint and the lines of each NFS mount."""
    for block in re.split(r"^device ", text, flags=re.MULTILINE):
        head, _, rest = block.partition("\n")
        mounted = re.match(r".* mounted on (\S+) with fstype nfs4?\b", head)
        if mounted:
            yield mounted[1], rest.splitlines()


def _operation_count_and_ms(line: str) -> tuple[str, int, float, float] | None:
    """The operation, its requests, and their mean time in the queue and until the answer in ms."""
    name, _, rest = line.strip().partition(":")
    values = parse_unsigned_list(rest.split()) if name in _OPERATIONS else None
    if not values or len(values) < 8 or values[0] < _MIN_REQUESTS:
        return None
    count, queue_ms, answer_ms = values[0], values[5], values[6]
    return name, count, queue_ms / count, answer_ms / count


def lustre_target_rows(host: Host) -> list[SubjectRow]:
    """One row per target of a Lustre file system that this host uses: `active` 0 or 1, `kind` osc, mdc or osp."""
    rows = []
    for path in host.glob_paths("/sys/fs/lustre/*/*-*-*/active") + host.glob_paths(
        "/proc/fs/lustre/*/*-*-*/active"
    ):
        _, _, _, _, kind, device, _ = path.split("/")
        if kind in ("osc", "mdc", "osp"):
            target = "-".join(device.split("-")[:2])
            columns: dict[str, Value] = {
                "name": target,
                "kind": kind,
                "device": device,
                "path": path,
                "active": host.read_integer(path),
            }
            rows.append(SubjectRow(target, columns, path))
    return rows


_ROUTE = re.compile(r"\b(RDMA|TCP): ([0-9]{1,6}) \(([^)]*)\)")


def beegfs_rows(host: Host) -> list[SubjectRow]:
    """One row per BeeGFS client: whether RDMA is asked for (`rdma`), and the nodes with a connection by TCP
    (client_module/source/filesystem/ProcFsHelper.c: `TCP: 8 (10.0.0.1:8003 [fallback route])`).
    """
    rows = []
    for path in host.glob_paths("/proc/fs/beegfs/*/config"):
        folder = path.rpartition("/")[0]
        config = host.read_file_text(path, 65536)
        if isinstance(config, Absent):
            continue
        settings = dict(re.findall(r"^\s*(\w+)\s*=\s*(\S*)", config, re.MULTILINE))
        by_tcp, nodes = [], 0
        for kind in ("meta_nodes", "storage_nodes"):
            text = host.read_file_text(f"{folder}/{kind}", _MAX_TEXT_BYTES)
            for block in re.split(r"^(?=\S)", "" if isinstance(text, Absent) else text, flags=re.MULTILINE):
                routes = _ROUTE.findall(block)
                nodes += bool(routes)
                if any(kind == "TCP" for kind, _, _ in routes):
                    by_tcp.append(block.split()[0])
        columns: dict[str, Value] = {
            "name": folder.rpartition("/")[2],
            "path": folder,
            "rdma": settings.get("connUseRDMA", "") in ("1", "true"),
            "nodes": nodes,
            "by_tcp": tuple(by_tcp),
        }
        rows.append(SubjectRow(folder.rpartition("/")[2], columns, f"{folder}/storage_nodes"))
    return rows
