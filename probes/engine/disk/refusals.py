"""Where a storage measurement must not be made, or would not mean what it says: one line each, and what next.

The order is from the cheap and certain to the costly: place, file system, right, stack, health, space.
"""

import grp
import os
import stat
from collections.abc import Iterator, Sequence

import msgspec

from hostdx.probes.engine.disk.size import choose_test_bytes
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.workloads import IDS
from hostdx.probes.files.rights import user_name
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.arrays import md_array, thin_pool_under
from hostdx.probes.system.disk.backing import served_by_memory_reason
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.failing import io_error_advice
from hostdx.probes.system.disk.mounts import IN_MEMORY, NETWORK
from hostdx.probes.system.disk.smart import parse_smart_json
from hostdx.probes.system.disk.topology import DirectoryPlacement, find_placement
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import count_noun

THIN_AT_MOST = 0.80
_MEMORY = IN_MEMORY | {"rootfs"}
_NOT_FOR_FILES = frozenset(
    {"proc", "sysfs", "cgroup", "cgroup2", "devpts", "debugfs", "tracefs", "securityfs", "configfs", "pstore"}
    | {"efivarfs", "bpf", "mqueue", "autofs", "binfmt_misc", "fusectl", "selinuxfs", "nsfs", "rpc_pipefs"}
)
_STACKED = frozenset({"overlay", "aufs", "unionfs", "ecryptfs", "shiftfs"})
# A container's own root: an overlay's upper layer is on a local file system, so nothing far away is loaded unasked.
_UNASKED = "overlay"
_SMART_TRANSPORTS = frozenset({"sata", "sas", "nvme"})


class DirectorySuitability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a directory may be measured: `refusal` is empty where it may.

    `size_bytes` is for `StorageBench`; `notes` belong beside the verdict;
    `placement` is known unless the directory is refused before that.
    """

    directory: str
    refusal: str = ""
    size_bytes: int = 0
    notes: tuple[str, ...] = ()
    placement: DirectoryPlacement | None = None


def check_suitability(
    host: Host,
    directory: str,
    *,
    explicit: bool,
    size_bytes: int | None = None,
    workloads: Sequence[str] = IDS,
) -> DirectorySuitability:
    """`explicit`: the user named it (`--dir`), so that more is allowed.

    Reads only. Takes some milliseconds, with SMART (root) up to seconds.
    """
    if not host.live:
        return _unsuitable_directory(
            directory, f"{directory}: a captured tree cannot be measured; run it on the host itself"
        )
    placed = find_placement(host, directory)
    if isinstance(placed, Absent):
        return _unsuitable_directory(directory, _absent_text(directory, placed))
    why = file_system_refusal(placed, explicit)
    if (
        not why
        and isinstance(alive := host.read_statvfs(placed.directory), Absent)
        and alive.kind == "timeout"
    ):
        why = _absent_text(directory, alive)  # what follows is asked from this process, which must not hang
    why = why or directory_refusal(placed.directory)
    why = why or stack_refusal(host, placed, explicit) or health_refusal(host, placed)
    if why:
        return _unsuitable_directory(directory, why, placed)
    try:
        size = _fitting_set_bytes(host, placed.directory, size_bytes, workloads)
    except BenchRefused as refused:
        return _unsuitable_directory(directory, str(refused), placed)
    return DirectorySuitability(
        directory=placed.directory,
        size_bytes=size,
        placement=placed,
        notes=tuple(suitability_notes(host, placed, workloads)),
    )


def _unsuitable_directory(
    directory: str, why: str, placed: DirectoryPlacement | None = None
) -> DirectorySuitability:
    return DirectorySuitability(directory=directory, refusal=why, placement=placed)


def _fitting_set_bytes(host: Host, directory: str, wanted_bytes: int | None, workloads: Sequence[str]) -> int:
    space = host.read_statvfs(directory)
    if isinstance(space, Absent):
        raise BenchRefused(f"{directory}: its free space is unknown: {space.reason}; name another directory")
    if space.f_files > 0 and space.f_favail == 0:
        raise BenchRefused(f"{directory}: no inode is left; delete files or name another directory")
    return choose_test_bytes(directory, space.f_bavail * space.f_frsize, wanted_bytes, workloads)


def file_system_refusal(placed: DirectoryPlacement, explicit: bool) -> str:
    """Return why this kind of file system is not measured, or "" ."""
    directory, kind = placed.directory, placed.mount.fstype
    if kind in _MEMORY:
        return f"{directory} is on {kind}: that is memory, not a disk; name a directory on a disk"
    if placed.memory:
        return (
            f"{directory} is on {kind}, whose upper layer lies on {placed.memory}: that is memory, not a disk; "
            "name a directory on a disk"
        )
    if kind in _NOT_FOR_FILES:
        return f"{directory} is on {kind}, which cannot hold test files; name a directory on a disk"
    if any(leaf.startswith(("zram", "ram")) for leaf in placed.leaves):
        return f"{directory} is on {placed.leaves[0]}: that is memory, not a disk; name another directory"
    if "ro" in placed.mount.options:
        return f"{directory} is mounted read-only ({placed.mount.mountpoint}); name another directory"
    if (description := indirect_file_system_words(kind)) and not explicit and kind != _UNASKED:
        return f"{directory} is on {kind}, {description}: measured only when it is named"
    return ""


def indirect_file_system_words(fstype: str) -> str:
    """Return what stands between this kind of file system and a disk of this host; "" for the others."""
    if fstype in NETWORK:
        return "a network file system"
    if fstype == "fuse" or fstype.startswith(("fuse.", "fuseblk")):
        return "a file system in user space"
    return "a file system on top of another" if fstype in _STACKED else ""


def directory_refusal(path: str) -> str:
    """No directory, or no right to make files in it: as whom, and which right is missing."""
    try:
        state = os.stat(path)  # noqa: PTH116
    except OSError as error:
        return f"{path}: {os.strerror(error.errno or 0)}{io_error_advice(error.errno, path)}"
    if not stat.S_ISDIR(state.st_mode):
        return f"{path} is not a directory; name one that is"
    if os.access(path, os.W_OK | os.X_OK, effective_ids=True):
        return ""
    mode = stat.S_IMODE(state.st_mode)
    return (
        f"{path}: {user_name(os.geteuid())} may not write here (mode {mode:04o}, owner {user_name(state.st_uid)}, "
        f"group {_group_name(state.st_gid)}); name a directory of yours, or run as root"
    )


def stack_refusal(host: Host, placed: DirectoryPlacement, explicit: bool) -> str:
    """Arrays that are degraded or rebuilt, thin pools that fill up."""
    for name in placed.layers:
        array = md_array(host, name) if name.startswith("md") else None
        if array is not None and array.is_degraded:
            missing = (
                count_noun(array.missing, "member") if is_present(array.missing) else "an unknown number"
            )
            return (
                f"{placed.directory} is on {name}, which is degraded ({missing} missing): "
                "repair it first (cat /proc/mdstat)"
            )
        if array is not None and array.is_busy:
            done = f", {100 * array.done:.0f} % done" if is_present(array.done) else ""
            return f"{placed.directory} is on {name}, which is in a {array.action}{done}: wait for its end"
    if isinstance(placed.device, Absent) or (pool := thin_pool_under(host, placed.device)) is None:
        return ""
    location = f"{placed.directory} is on the thin pool {pool.name}"
    for part_name, fill in (("data", pool.data), ("metadata", pool.metadata)):
        if is_present(fill) and fill > THIN_AT_MOST:
            return (
                f"{location}, whose {part_name} is {100 * fill:.0f} % full (at most "
                f"{100 * THIN_AT_MOST:.0f} %): a full pool "
                "stops every volume in it; extend it (lvextend) or name another directory"
            )
    if is_present(pool.mode) and pool.mode != "rw":
        return f"{location}, which is in the mode {pool.mode}: repair it first (lvs -a)"
    if isinstance(pool.data, Absent) and not explicit:
        return f"{location}, whose fill is unknown ({pool.data.reason}): run as root, or name it yourself"
    return ""


def health_refusal(host: Host, placed: DirectoryPlacement) -> str:
    """A leaf that SMART calls failing. Without root or smartmontools nothing is known and nothing refused."""
    if os.geteuid() != 0:
        return ""
    devices = block_devices(host)
    for leaf in placed.leaves:
        device = devices.get(leaf)
        if device is None or device.transport not in _SMART_TRANSPORTS:
            continue
        if is_smart_failing(
            host.read_command("smartctl", "-j", "-H", f"/dev/{leaf}", timeout_s=5.0, any_status=True)
        ):
            return (
                f"{placed.directory} is on {leaf}, which SMART calls failing: save its data and replace it; "
                "hostdx does not load it"
            )
    return ""


def is_smart_failing(answer: str | Absent) -> bool:
    """True only where `smartctl -j -H` says so in its own words."""
    health = answer if isinstance(answer, Absent) else parse_smart_json(answer)
    return not isinstance(health, Absent) and not health.passed


def suitability_notes(
    host: Host, placed: DirectoryPlacement, workloads: Sequence[str] = IDS
) -> Iterator[str]:
    """Yield what is allowed but must be said beside the verdict."""
    kind = placed.mount.fstype
    if description := indirect_file_system_words(kind):
        yield (
            f"{placed.directory} is on {kind}, {description}: the verdict is about that file system, not about a "
            "disk"
        )
    if why := served_by_memory_reason(host, placed.leaves):
        yield f"reads and writes are not applicable, {why}; create/stat/delete measures the file system, not a disk"
    if is_present(placed.device):
        pool = thin_pool_under(host, placed.device)
        if pool is not None and isinstance(pool.data, Absent):
            yield f"the fill of the thin pool {pool.name} is unknown: {pool.data.reason}"
        errors = host.read_integer(f"/sys/fs/ext4/{placed.device}/errors_count") if kind == "ext4" else 0
        if is_present(errors) and errors > 0:
            yield (
                f"ext4 on {placed.device} has recorded {count_noun(errors, 'error')}: see dmesg, then check "
                "it with e2fsck"
            )
        if "metadata" in workloads and delays_inode_reuse(host, placed):
            yield (
                f"ext4 on {placed.device} has no journal, so it avoids recently freed inodes: each deleted file makes "
                "the next file creations slower"
            )


def delays_inode_reuse(host: Host, placed: DirectoryPlacement) -> bool:
    """Return whether freed inodes are not used again for minutes: each deleted file makes the next creations slower.

    ext4 without a journal: journal_task_show, recently_deleted and find_inode_bit, fs/ext4/sysfs.c
    and ialloc.c (Linux 6.1).
    """
    if placed.mount.fstype != "ext4" or not is_present(placed.device):
        return False
    journal = host.read_file_text(f"/sys/fs/ext4/{placed.device}/journal_task")
    return is_present(journal) and journal.strip() == "<none>"


def _absent_text(directory: str, why: Absent) -> str:
    match why.kind:
        case "missing":
            return f"{directory} does not exist; name one that exists"
        case "permission":
            return f"{directory} cannot be reached by {user_name(os.geteuid())}: {why.reason}; name another directory"
        case "timeout":
            return (
                f"{directory} does not answer (a dead network mount?): {why.reason}; name another directory"
            )
    return f"{directory}: where it lies cannot be found out: {why.reason}; name another directory"


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return f"gid {gid}"
