"""Package power: its limit and what it uses (Documentation/power/powercap/powercap.rst; RAPL on Intel, and AMD
since 5.8).
"""

import re

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

ROOT = "/sys/class/powercap"


class PowerPackage(msgspec.Struct, frozen=True, kw_only=True):
    """One socket. `limit_w` is the long-term limit in force, `most_w` the highest that its maker allows; the counter
    wraps at `wrap_uj` and needs root since 5.10.
    """

    name: str
    zone: str
    limit_w: float | Absent
    most_w: float | Absent
    energy_uj: int | Absent
    wrap_uj: int | Absent


def read_power_packages(host: Host) -> tuple[PowerPackage, ...] | Absent:
    """Every package's zone; Absent in most virtual machines."""
    names = host.list_names(ROOT)
    if isinstance(names, Absent):
        return names
    zones = [f"{ROOT}/{name}" for name in names if re.fullmatch(r"intel-rapl:\d+", name)]
    package_zones = []
    for zone in zones:
        name = host.read_file_text(f"{zone}/name", 256)
        if is_present(name) and name.startswith("package"):
            package_zones.append(
                PowerPackage(
                    name=name.strip(),
                    zone=zone,
                    limit_w=_read_power_limit_w(host, f"{zone}/constraint_0_power_limit_uw"),
                    most_w=_read_power_limit_w(host, f"{zone}/constraint_0_max_power_uw"),
                    energy_uj=host.read_integer(f"{zone}/energy_uj"),
                    wrap_uj=host.read_integer(f"{zone}/max_energy_range_uj"),
                )
            )
    return tuple(package_zones) or Absent("no package reports its power", "unsupported", ROOT)


def mean_watts(before: PowerPackage, after: PowerPackage, seconds: float) -> float | Absent:
    """Mean power between two looks; Absent where the counter may not be read."""
    if isinstance(before.energy_uj, Absent):
        return before.energy_uj
    if isinstance(after.energy_uj, Absent):
        return after.energy_uj
    used = after.energy_uj - before.energy_uj
    if used < 0:
        used += after.wrap_uj if is_present(after.wrap_uj) else 0
    return (
        used / 1e6 / seconds
        if used >= 0 and seconds > 0
        else Absent("the energy counter was reset", "invalid", ROOT)
    )


def _read_power_limit_w(host: Host, path: str) -> float | Absent:
    number = host.read_integer(path)
    if isinstance(number, Absent):
        return number
    return number / 1e6 if number > 0 else Absent("no limit is set", "unsupported", path)
