"""What a run's process tree holds and has done, once a second, by prmon's columns. Standard library only.

Sums are since the command's start: a process that has ended is in those of the parent that waited
for it (proc_pid_stat(5), /proc/PID/io). A run of less than LEAST samples tells none; after MOST
samples they are taken half as often, and so on.

Temperature and clock are the whole host's (Documentation/driver-api/thermal/sysfs-api.rst, admin-guide/pm/cpufreq.rst),
work of others included; virtual machines have neither, most often, and AMD's sensors are hwmon's and are not read.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from hostdx.probes.engine.command import process_tree
from hostdx.probes.engine.command.process_tree import read_content_or_empty
from hostdx.probes.number_text import parse_signed
from hostdx.probes.reading.process_stat import read_live_stat

ROOT = "/sys"
PACKAGES = (
    "x86_pkg_temp",
    "cpu-thermal",
    "cpu_thermal",
    "soc_thermal",
)  # a zone's type; others are not of the CPU
MAX_CPUS = 8  # the first ones stand for all: before Linux 5.18 each read interrupts its CPU


class ClockAndHeat:
    """Finds the files once."""

    def __init__(self, root: str = ROOT) -> None:
        zones = sorted(Path(root).glob("class/thermal/thermal_zone*"))
        self._heat = [
            zone / "temp" for zone in zones if read_content_or_empty(str(zone / "type")).strip() in PACKAGES
        ]
        cpus = (Path(root) / f"devices/system/cpu/cpu{n}/cpufreq/scaling_cur_freq" for n in range(MAX_CPUS))
        self._clocks = [path for path in cpus if _read_signed_or_none(path) is not None]

    def read(self) -> dict[str, float | None]:
        """The hottest package in degrees Celsius, the mean frequency in Hz; None where the host does not tell."""
        heat = [n / 1000 for path in self._heat if (n := _read_signed_or_none(path)) is not None]
        clocks = [n * 1000 for path in self._clocks if (n := _read_signed_or_none(path)) is not None]
        return {
            "celsius": max(heat, default=None),
            "hertz": sum(clocks) / len(clocks) if clocks else None,
        }


def _read_signed_or_none(path: Path) -> int | None:
    return parse_signed(read_content_or_empty(str(path)).strip())


EVERY_S = 1.0
COST = 1000  # and at least so often as long as a sample takes: a tenth of a per cent of one CPU
MIN_SAMPLES = 3
MAX_SAMPLES = 300
_TICKS = os.sysconf("SC_CLK_TCK")

Sample: TypeAlias = dict[str, float | None]


class TreeTimeline:
    """`take_sample` where it is `is_due`; `tell` gets the samples as they are taken, the first
    LEAST of them at once.
    """

    def __init__(self, tell: Callable[[Sample], None], every_s: float = EVERY_S, root: str = "/sys") -> None:
        self._tell = tell
        self._root = root
        self._climate: ClockAndHeat | None = None  # most runs are over before their first sample
        self._every_s = self._next_s = every_s
        self._held_samples: list[Sample] = []
        self._sample_count = 0
        self._cpu_s = 0.0
        self._io = (0, 0)

    def is_due(self, at_s: float) -> bool:
        return at_s >= self._next_s

    def take_sample(
        self,
        at_s: float,
        pids: list[int],
        pss_bytes: int | None,
        reaped_s: float,
        reaped_io: list[int] | None,
    ) -> None:
        """`pids`: the tree, parents first; `reaped_*`: what those had spent that the caller waited for itself."""
        self._climate = self._climate or ClockAndHeat(self._root)  # once: no part of what each sample costs
        began = time.process_time()
        ticks = threads = living = 0
        io = (0, 0) if reaped_io is None else (reaped_io[0], reaped_io[1])
        readable = reaped_io is not None
        for pid in pids:
            stat = read_live_stat(pid)
            if stat is None:
                continue
            ticks += stat.user_ticks + stat.system_ticks + stat.children_ticks
            if not stat.has_ended:
                living += 1
                threads += stat.thread_count
            both = process_tree.read_and_written_bytes(pid)
            if both is not None:
                io = (io[0] + both[0], io[1] + both[1])
            elif not stat.has_ended:
                readable = False
        # one that ended between two readings is in neither: a sum never falls
        self._cpu_s = max(self._cpu_s, reaped_s + ticks / _TICKS)
        self._io = (max(self._io[0], io[0]), max(self._io[1], io[1]))
        self._held_samples.append(
            {
                "at_s": round(at_s, 3),
                "pss_bytes": pss_bytes,
                "cpu_s": round(self._cpu_s, 2),
                "processes": living,
                "threads": threads,
                "read_bytes": self._io[0] if readable else None,
                "written_bytes": self._io[1] if readable else None,
                **self._climate.read(),
            }
        )
        self._sample_count += 1
        if self._sample_count % MAX_SAMPLES == 0:
            self._every_s *= 2
        self._next_s = max(self._next_s + self._every_s, at_s + COST * (time.process_time() - began))
        if self._sample_count >= MIN_SAMPLES:
            for sample in self._held_samples:
                self._tell(sample)
            self._held_samples.clear()
