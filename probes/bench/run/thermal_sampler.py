"""Temperature of the CPU packages and clock frequency while a command runs. Standard library only: a light child.

Documentation/driver-api/thermal/sysfs-api.rst, Documentation/admin-guide/pm/cpufreq.rst. Of the whole host, work of
others included. Virtual machines have neither, most often; AMD's sensors are hwmon's and are not read.
"""

from pathlib import Path

from probes.bench.run.process_tree import content
from probes.number_text import signed

ROOT = "/sys"
PACKAGES = (
    "x86_pkg_temp",
    "cpu-thermal",
    "cpu_thermal",
    "soc_thermal",
)  # a zone's type; others are not of the CPU
MOST_CPUS = 8  # the first ones stand for all: before Linux 5.18 each read interrupts its CPU


class Climate:
    """Finds the files once."""

    def __init__(self, root: str = ROOT) -> None:
        zones = sorted(Path(root).glob("class/thermal/thermal_zone*"))
        self._heat = [zone / "temp" for zone in zones if content(str(zone / "type")).strip() in PACKAGES]
        cpus = (Path(root) / f"devices/system/cpu/cpu{n}/cpufreq/scaling_cur_freq" for n in range(MOST_CPUS))
        self._clocks = [path for path in cpus if _number(path) is not None]

    def read(self) -> dict[str, float | None]:
        """The hottest package in degrees Celsius, the mean frequency in Hz; None where the host does not tell."""
        heat = [n / 1000 for path in self._heat if (n := _number(path)) is not None]
        clocks = [n * 1000 for path in self._clocks if (n := _number(path)) is not None]
        return {
            "celsius": max(heat, default=None),
            "hertz": sum(clocks) / len(clocks) if clocks else None,
        }


def _number(path: Path) -> int | None:
    return signed(content(str(path)).strip())
