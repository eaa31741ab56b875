"""The table of mounted file systems."""

import os
import re

import msgspec

from hostdx.probes.number_text import parse_unsigned_list
from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.types import Absent

# fmt: off
NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "lustre", "afs", "beegfs", "gpfs", "9p", "virtiofs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.eosxd", "fuse.cvmfs2", "fuse.s3fs",
})
# fmt: on
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One line of mountinfo. `root` is what of the file system is mounted; `options` the mount's and the
    super block's, each once; `devno` is empty where only /proc/mounts was captured.
    """

    mountpoint: str
    root: str
    devno: str
    source: str
    fstype: str
    options: tuple[str, ...]
    id: int = 0
    parent: int = -1


@compute_once_per_host
def read_mounts(host: Host) -> tuple[Mount, ...] | Absent:
    """In the order in which they were mounted; read once: see `read_mounts_now`."""
    return read_mounts_now(host)


def network_mounts(host: Host) -> tuple[Mount, ...]:
    """Return the mounts of other hosts' file systems; none where the mount table cannot be read."""
    mounts = read_mounts(host)
    return () if isinstance(mounts, Absent) else tuple(m for m in mounts if m.fstype in NETWORK)


def read_mounts_now(host: Host) -> tuple[Mount, ...] | Absent:
    """Read afresh, for who waits for a mount to come, to go or to be another one."""
    why: Absent | None = None
    for path in ("/proc/self/mountinfo", "/proc/1/mountinfo"):
        text = host.read_file_text(path, 16 << 20)
        if isinstance(text, str):
            return tuple(m for line in text.splitlines() if (m := parse_mountinfo(line)) is not None)
        why = text if why is None else why
    for path in ("/proc/self/mounts", "/proc/mounts", "/proc/1/mounts", "/etc/mtab"):
        text = host.read_file_text(path, 16 << 20)
        if isinstance(text, str):
            lines = enumerate(text.splitlines())
            return tuple(m for n, line in lines if (m := parse_mtab_line(line, n)) is not None)
    return why if why is not None else Absent("no mount table")


def parse_mountinfo(line: str) -> Mount | None:
    """proc(5): `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard`."""
    before, dash, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    numbers = parse_unsigned_list(left[:2])
    if not dash or len(left) < 6 or len(right) < 2 or numbers is None:
        return None
    options = dict.fromkeys((*left[5].split(","), *(right[2].split(",") if len(right) > 2 else ())))
    return Mount(
        mountpoint=unescape_mount_text(left[4]),
        root=unescape_mount_text(left[3]),
        devno=left[2],
        source=unescape_mount_text(right[1]),
        fstype=right[0],
        options=tuple(unescape_mount_text(o) for o in options if o),
        id=numbers[0],
        parent=numbers[1],
    )


def parse_mtab_line(line: str, number: int) -> Mount | None:
    """fstab(5) order: `/dev/sda1 / ext4 rw,relatime 0 0`; says neither device number nor parent."""
    words = line.split(" ")
    if len(words) < 4:
        return None
    return Mount(
        mountpoint=unescape_mount_text(words[1]),
        root="/",
        devno="",
        source=unescape_mount_text(words[0]),
        fstype=words[2],
        options=tuple(unescape_mount_text(o) for o in words[3].split(",") if o),
        id=number,
    )


def unescape_mount_text(text: str) -> str:
    """The kernel writes space, tab, newline and backslash as three octal digits; `\\xe9` is what `Host.text` made of
    a byte that is no UTF-8."""
    text = re.sub(r"\\x([89a-f][0-9a-f])", lambda match: chr(0xDC00 + int(match[1], 16)), text)
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), text)


def find_mount(table: tuple[Mount, ...] | Absent, directory: str) -> Mount | Absent:
    """The mount that a path is on, as the kernel finds it: from the root mount down, later over earlier."""
    if isinstance(table, Absent):
        return table
    path = os.path.normpath(directory)
    mount = find_visible_mount(table, path)
    return (
        mount
        if mount is not None
        else Absent(f"no mount holds {directory}", "missing", "/proc/self/mountinfo")
    )


def find_visible_mount(table: tuple[Mount, ...], path: str) -> Mount | None:
    """A mount on /a hides an older one on /a/b: the chain of parents decides, not the longest prefix."""
    over = [m for m in table if _contains_path(m.mountpoint, path)]
    mount_ids = {m.id for m in over}
    tops = [m for m in over if m.parent not in mount_ids or m.parent == m.id]
    if not tops:
        return None
    longest = max(len(m.mountpoint) for m in tops)
    current = [m for m in tops if len(m.mountpoint) == longest][-1]
    visited_ids = {current.id}
    while True:
        children = [m for m in over if m.parent == current.id and m.id not in visited_ids]
        if not children:
            return current
        nearest = min(len(m.mountpoint) for m in children)
        current = [m for m in children if len(m.mountpoint) == nearest][-1]
        visited_ids.add(current.id)


def _contains_path(mountpoint: str, path: str) -> bool:
    return mountpoint == "/" or path == mountpoint or path.startswith(mountpoint.rstrip("/") + "/")


# What this host moved over NFS: the kernel counts it as a process's I/O too, though no disk here moves.
# After the word: read, written, then both with O_DIRECT, then both at the server (linux/nfs_iostat.h). A read counts
# for a process where the server was asked, a write where a page became dirty.
_COUNTED = (1, 3, 4)
_MAX_TEXT_BYTES = 4 << 20


def nfs_bytes_since_mount(host: Host) -> int:
    """Since the mounts were made; 0 where there are none."""
    text = host.read_file_text("/proc/self/mountstats", _MAX_TEXT_BYTES)
    total = 0
    for line in text.splitlines() if isinstance(text, str) else ():
        if (
            line.startswith("\tbytes:")
            and (values := parse_unsigned_list(line.split()[1:]))
            and len(values) > max(_COUNTED)
        ):
            total += sum(values[at] for at in _COUNTED)
    return total
