"""What holds the CPUs back: heat, clock frequency, and the CPU quota of our own control group (v1 and v2)."""

from __future__ import annotations

import re

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.types import Absent, is_present

_CPUS = 16  # of a large host the first ones stand for all: each read costs some microseconds
_V1_FOLDERS = ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu")


class ThrottleCounters(msgspec.Struct, frozen=True):
    """`thermal`: events since boot; `quota_s`: seconds our control groups were held back; `khz`: the fastest CPU now.

    None: not offered here (most virtual machines have neither heat nor frequency).
    """

    thermal: int | None = None
    quota_s: float | None = None
    khz: int | None = None


class ThrottleReader:
    """Finds the files once, so that a reading in a gap costs only what there is."""

    def __init__(self, host: Host) -> None:
        self._host = host
        cpus = [f"/sys/devices/system/cpu/cpu{n}" for n in range(_CPUS)]
        # x86 only: Documentation/admin-guide/abi, /sys/devices/system/cpu/cpuX/thermal_throttle
        counters = ("core_throttle_count", "package_throttle_count")
        heat = [f"{cpu}/thermal_throttle/{name}" for cpu in cpus for name in counters]
        self._heat = tuple(path for path in heat if host.path_exists(path))
        clocks = [f"{cpu}/cpufreq/scaling_cur_freq" for cpu in cpus]
        self._clocks = tuple(path for path in clocks if host.path_exists(path))
        self._quotas = find_quota_files(host)

    def read_heat_slowdowns(self) -> int | None:
        """Return how often heat has slowed these CPUs since boot."""
        counts = [n for path in self._heat if isinstance(n := self._host.read_integer(path), int)]
        return sum(counts) if counts else None

    def read(self) -> ThrottleCounters:
        clocks = [n for path in self._clocks if isinstance(n := self._host.read_integer(path), int)]
        held = [
            s for path in self._quotas if (s := _throttled_s(group_cpu_stat(self._host, path))) is not None
        ]
        return ThrottleCounters(
            self.read_heat_slowdowns(),
            sum(held) if held else None,
            max(clocks, default=None),
        )


@compute_once_per_host
def throttle_reader(host: Host) -> ThrottleReader:
    return ThrottleReader(host)


def find_quota_files(host: Host) -> tuple[str, ...]:
    """cpu.stat of our control group and of the ones above it: a quota may stand at any height.

    Each once, where it is mounted: /sys/fs/cgroup/cpu is a symlink to cpu,cpuacct.
    """
    text = host.read_file_text("/proc/self/cgroup", 1 << 16)
    files: list[str] = []
    for line in () if isinstance(text, Absent) else text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            bases: tuple[str, ...] = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
        elif "cpu" in controllers.split(","):
            bases = _V1_FOLDERS
        else:
            continue
        for base in bases:
            folder = path.rstrip("/")
            while True:
                if is_present(file := host.resolve_path(f"{base}{folder}/cpu.stat")):
                    files.append(file)
                if not folder:
                    break
                folder = folder.rpartition("/")[0]
    return tuple(dict.fromkeys(files))


def quota_throttles(host: Host, files: tuple[str, ...]) -> tuple[int, ...]:
    """Return how often the quota of each of these groups (`find_quota_files`) has stopped it."""
    return tuple(group_cpu_stat(host, file).get("nr_throttled", 0) for file in files)


def throttled_and_all_periods(host: Host, folder: str) -> tuple[int, int] | None:
    """Of one group: in how many of how many periods its quota stopped it; None: not told."""
    stat = group_cpu_stat(host, f"{folder}/cpu.stat")
    if "nr_throttled" not in stat or "nr_periods" not in stat:
        return None
    return stat["nr_throttled"], stat["nr_periods"]


def group_cpu_stat(host: Host, path: str) -> dict[str, int]:
    """The counters of a group; empty where they cannot be read."""
    text = host.read_file_text(path, 1 << 16)
    pairs = (line.partition(" ") for line in (() if isinstance(text, Absent) else text.splitlines()))
    return {name: int(value) for name, _, value in pairs if re.fullmatch(r"[0-9]{1,19}", value.strip())}


def _throttled_s(stat: dict[str, int]) -> float | None:
    """Version 2 counts microseconds, version 1 nanoseconds."""
    if "throttled_usec" in stat:
        return stat["throttled_usec"] / 1e6
    return stat["throttled_time"] / 1e9 if "throttled_time" in stat else None
