"""What the control group that we (or another process) run in is allowed to use; versions 1, 2 and both at once.

A limit holds for everything below it, so that each group up to the root counts and the smallest wins.
"""

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from hostdx.probes.cpu_list import parse_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import Mount, read_mounts
from hostdx.probes.types import Absent, is_present

N = TypeVar("N", int, float)

_NUMBER = re.compile(r"[0-9]{1,19}")  # 64 bits; int() refuses what has thousands of digits
_UNIT = re.compile(r".+\.(?:service|scope|slice)")
_NO_LIMIT_BYTES = 1 << 60  # version 1 writes the highest page-aligned number for "none"
_MAX_MEMBERS = 100_000
_MAX_GROUPS = 2_000  # some 60 ms: a user may have made any number of empty ones
_MAX_PATH_CHARACTERS, _MAX_DEPTH = 4096, 64
_V1_IO = {"read_bps": "rbps", "write_bps": "wbps", "read_iops": "riops", "write_iops": "wiops"}


class IoLimit(msgspec.Struct, frozen=True):
    """`limit_name` is rbps, wbps (bytes/s), riops or wiops, as in io.max, or latency; `devno` is major:minor."""

    devno: str
    limit_name: str
    value: int
    group: str
    file: str = ""


class Cgroup(msgspec.Struct, frozen=True, kw_only=True):
    """None means that there is no limit. `cpu_cores` is quota over period: 1.5 is one and a half CPUs.

    `path` is the group in version 2 (or of version 1's cpu controller); `cpus` what cpuset allows.
    """

    version: str
    path: str
    cpu_cores: float | Absent | None
    memory_bytes: int | Absent | None
    io: tuple[IoLimit, ...]
    cpus: frozenset[int] | Absent
    latency_targets: tuple[IoLimit, ...] = ()  # in µs: others are held back where these I/Os take longer


def read_cgroup(host: Host, pid: str = "self") -> Cgroup | Absent:
    """Of a process. Absent where control groups are not mounted or the process is gone."""
    text = host.read_file_text(f"/proc/{pid}/cgroup", may_hang=pid != "self")
    if isinstance(text, Absent):
        return text
    table = read_mounts(host)
    if isinstance(table, Absent):
        return table
    groups = parse_proc_cgroup(text)
    folders = {name: find_group_folders(host, table, name, path) for name, path in groups.items()}
    version = "v2" if set(groups) == {""} else "hybrid" if folders.get("") else "v1"
    memory = _smallest_byte_limit(host, folders.get("", ()), "memory.max")
    first = folders.get("memory", ())
    return Cgroup(
        version=version,
        path=groups.get("cpu") or groups.get("", "/"),
        cpu_cores=_smallest_limit(
            _cpu_quota_v2(host, folders.get("", ())), _cpu_quota_v1(host, folders.get("cpu", ()))
        ),
        memory_bytes=_smallest_limit(memory, _smallest_byte_limit(host, first, "memory.limit_in_bytes")),
        io=(*_io_max_limits(host, folders.get("", ())), *_blkio_limits_v1(host, folders.get("blkio", ()))),
        cpus=_read_group_cpus(host, (*folders.get("", ()), *folders.get("cpuset", ()))),
        latency_targets=tuple(_latency_targets(host, folders.get("", ()))),
    )


def parse_proc_cgroup(text: str) -> dict[str, str]:
    """The group by controller; the empty name is version 2's. `4:cpu,cpuacct:/user.slice`, `0::/user.slice`."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            groups.update(dict.fromkeys(parts[1].split(","), parts[2]))
    return groups


def own_group_folders(host: Host) -> dict[str, tuple[str, ...]] | Absent:
    """Return by controller our own group's folder and those above it; the empty name is version 2's."""
    text, table = host.read_file_text("/proc/self/cgroup"), read_mounts(host)
    if isinstance(text, Absent):
        return text
    if isinstance(table, Absent):
        return table
    groups = {"": "/"} | parse_proc_cgroup(text)
    return {
        controller: find_group_folders(host, table, controller, path) for controller, path in groups.items()
    }


def control_group_of(host: Host, pid: int) -> str:
    """Its control group of version 2, or of version 1's `cpu`; "" where it has ended or has none."""
    text = host.read_file_text(f"/proc/{pid}/cgroup", 8192)
    groups = {} if isinstance(text, Absent) else parse_proc_cgroup(text)
    unified = groups.get("", "/")
    # of both versions at once the first is often "/"
    return unified if unified != "/" else groups.get("cpu", unified)


def find_group_folders(host: Host, table: tuple[Mount, ...], controller: str, path: str) -> tuple[str, ...]:
    """The group's folder and those above it, up to where the hierarchy is mounted."""
    for mount in reversed(table):
        right = (
            mount.fstype == "cgroup2"
            if not controller
            else mount.fstype == "cgroup" and controller in mount.options
        )
        if not right or not host.path_exists(mount.mountpoint):
            continue
        # In a container without a namespace of its own a part of the hierarchy is mounted; the path has all.
        below = path.removeprefix(mount.root) if mount.root != "/" and path.startswith(mount.root) else path
        # the kernel's paths have at most 4096 characters: a file that says otherwise is none of its
        parts = [part for part in below[:_MAX_PATH_CHARACTERS].split("/") if part not in ("", "..")][
            :_MAX_DEPTH
        ]
        return tuple("/".join((mount.mountpoint, *parts[:n])) for n in range(len(parts), -1, -1))
    return ()


def cpu_quota_of_group(host: Host, folder: str) -> float | None:
    """The quota of one group, by its folder, in CPUs; None: it has none of its own."""
    limit = _smallest_limit(_cpu_quota_v2(host, (folder,)), _cpu_quota_v1(host, (folder,)))
    return limit if isinstance(limit, float) else None


def systemd_unit_of(folder: str) -> str:
    """The systemd unit that a control group is or lies in: the last name of one in its path; "" where none is."""
    return next((name for name in reversed(folder.split("/")) if _UNIT.fullmatch(name)), "")


def _smallest_limit(*limits: N | Absent | None) -> N | Absent | None:
    known_limits = [limit for limit in limits if not isinstance(limit, Absent)]
    if not known_limits:
        return limits[0]
    return min((limit for limit in known_limits if limit is not None), default=None)


def _read_in_each_group(host: Host, folders: tuple[str, ...], name: str) -> list[str] | Absent:
    """The file in every group that has it: the root has no limits, nor has a group without the controller."""
    if not folders:
        return Absent("this version of control groups is not mounted", "unsupported", name)
    texts = (host.read_file_text(f"{folder}/{name}") for folder in folders)
    return [text for text in texts if isinstance(text, str)]


def _cpu_quota_v2(host: Host, folders: tuple[str, ...]) -> float | Absent | None:
    texts = _read_in_each_group(host, folders, "cpu.max")
    if isinstance(texts, Absent):
        return texts
    pairs = (re.fullmatch(r"([0-9]{1,19}) ([0-9]{1,19})", text.strip()) for text in texts)
    return min((int(p[1]) / int(p[2]) for p in pairs if p and int(p[2])), default=None)


def _cpu_quota_v1(host: Host, folders: tuple[str, ...]) -> float | Absent | None:
    quotas: list[float] = []
    is_mounted = False
    for folder in folders:
        quota, period = (
            host.read_integer(f"{folder}/cpu.cfs_quota_us"),
            host.read_integer(f"{folder}/cpu.cfs_period_us"),
        )
        if is_present(quota) and is_present(period):
            is_mounted = True
            if quota > 0 and period > 0:
                quotas.append(quota / period)
    if not is_mounted:
        return Absent("the cpu controller of version 1 is not mounted", "unsupported", "cpu.cfs_quota_us")
    return min(quotas, default=None)


def _smallest_byte_limit(host: Host, folders: tuple[str, ...], name: str) -> int | Absent | None:
    texts = _read_in_each_group(host, folders, name)
    if isinstance(texts, Absent):
        return texts
    numbers = [int(text) for text in texts if _NUMBER.fullmatch(text.strip())]
    return min((number for number in numbers if number < _NO_LIMIT_BYTES), default=None)


def _io_max_limits(host: Host, folders: tuple[str, ...]) -> Iterator[IoLimit]:
    """Version 2: `8:16 rbps=2097152 wbps=max riops=max wiops=120` (Documentation/admin-guide/cgroup-v2.rst)."""
    for folder in folders:
        yield from _parse_io_limits(host, folder, "io.max", r"(rbps|wbps|riops|wiops)=([0-9]{1,19})\b")


def _latency_targets(host: Host, folders: tuple[str, ...]) -> Iterator[IoLimit]:
    """`8:16 target=75000`, in µs (Documentation/admin-guide/cgroup-v2.rst)."""
    for folder in folders:
        yield from _parse_io_limits(host, folder, "io.latency", r"^(target)=([0-9]{1,19})$", "latency")


def _blkio_limits_v1(host: Host, folders: tuple[str, ...]) -> Iterator[IoLimit]:
    """Version 1: a file for each kind, `8:16 2097152`."""
    for folder in folders:
        for name, limit_name in _V1_IO.items():
            yield from _parse_io_limits(
                host, folder, f"blkio.throttle.{name}_device", r"^()([0-9]{1,19})$", limit_name
            )


def _parse_io_limits(
    host: Host, folder: str, file: str, pattern: str, limit_name: str = ""
) -> Iterator[IoLimit]:
    """A line a device, by its number; `pattern` finds the name and the value of each of its limits."""
    text = host.read_file_text(f"{folder}/{file}")
    for line in text.splitlines() if is_present(text) else ():
        devno, _, rest = line.partition(" ")
        for name, value in re.findall(pattern, rest) if re.fullmatch(r"[0-9]+:[0-9]+", devno) else ():
            yield IoLimit(devno, limit_name or name, int(value), folder, file)


def _read_group_cpus(host: Host, folders: tuple[str, ...]) -> frozenset[int] | Absent:
    for folder in folders:
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            text = host.read_file_text(f"{folder}/{name}")
            cpus = parse_cpu_list(text) if is_present(text) and text.strip() else None
            if cpus:
                return cpus
    return Absent("the cpuset controller lists no CPUs", "unsupported", "cpuset.cpus.effective")


def cgroup_folders(host: Host, path: str) -> tuple[str, ...]:
    """Where a control group is, without symlinks; several where both versions, or two controllers, have one of that
    name. `path`: a folder, or as /proc/PID/cgroup tells it.
    """
    hierarchies = ("", "/unified", "/cpu,cpuacct", "/cpu", "/blkio")
    roots = [f"/sys/fs/cgroup{name}" for name in hierarchies]
    wanted = path.strip().rstrip("/")
    folders = (
        [wanted] if wanted.startswith("/sys/fs/cgroup") else [f"{r}/{wanted.lstrip('/')}" for r in roots]
    )
    there = (f for f in folders if ".." not in f.split("/") and host.path_exists(f"{f}/cgroup.procs"))
    return tuple(dict.fromkeys(f for folder in there if is_present(f := host.resolve_path(folder))))


def cgroup_processes(host: Host, path: str) -> tuple[int, ...] | Absent:
    """The processes of a control group and of all below it. `path`: a folder, or as /proc/PID/cgroup tells it."""
    folder = next(iter(cgroup_folders(host, path)), None)
    return absent_cgroup(path) if folder is None else group_pids(host, folder)


def absent_cgroup(path: str) -> Absent:
    return Absent(f"no control group {path} (systemd-cgls lists them)", "missing", path)


def group_pids(host: Host, folder: str) -> tuple[int, ...]:
    """As `cgroup_processes`, of a folder that is there."""
    pids: set[int] = set()
    waiting, visited_count = [folder], 0
    while waiting and len(pids) < _MAX_MEMBERS and visited_count < _MAX_GROUPS:
        at, visited_count = waiting.pop(), visited_count + 1
        text = host.read_file_text(f"{at}/cgroup.procs", 8 << 20)
        pids.update(
            int(word) for word in (text.split() if is_present(text) else ()) if _NUMBER.fullmatch(word)
        )
        names = host.list_names(at)
        waiting += [
            f"{at}/{n}"
            for n in (names if is_present(names) else ())
            if host.path_exists(f"{at}/{n}/cgroup.procs")
        ]
    return tuple(sorted(pids))
