"""A CPU quota of our control groups in one sentence: its part of this host, how often it is reached under load."""

from __future__ import annotations

import shlex

import msgspec

from probes.host import Host
from probes.types import present
from probes.units import counted, number, percent
from scenarios.finding import Remedy


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """`cpus`: of the host, 0 where not known. `reached`: of the periods under full load, in how many it held them back;
    `loaded`: CPUs that were loaded meanwhile.
    """

    cores: float
    cpus: int = 0
    reached: tuple[int, int] = (0, 0)
    loaded: int = 0

    @property
    def limits(self) -> bool:
        """Less than the host has."""
        return 0 < self.cores < self.cpus

    @property
    def share(self) -> float | None:
        """Of the periods under full load, those in which it was reached; None: not measured."""
        held, periods = self.reached
        return held / periods if periods > 0 else None

    @property
    def sentence(self) -> str:
        said = f"a CPU quota allows this session {number(self.cores)}"
        said += f" of {counted(self.cpus, 'CPU')}" if self.cpus else " CPUs"
        if self.limits:
            said += f": at most {percent(self.cores / self.cpus)} of this host"
        if self.share is None:
            return said
        load = f"with {counted(self.loaded, 'CPU')} loaded" if self.loaded else "under load"
        return f"{said}; {load} it was reached in {percent(self.share)} of the periods"


def less_tight(host: Host, folder: str) -> Remedy:
    """The commands of the version of control groups that the group is of."""
    first = f"{folder}/cpu.cfs_quota_us"
    file, none = (first, "-1") if host.exists(first) else (f"{folder}/cpu.max", "max")
    now = host.text(file, 64)
    old = now.strip() if present(now) else ""
    return Remedy(
        title="Raise the quota of this group, or start fewer threads than it has CPUs",
        commands=(f"cat {shlex.quote(file)}", f"echo {none} > {shlex.quote(file)}"),
        persistent=("systemctl set-property UNIT CPUQuota=",),
        verify=(f"grep throttled {shlex.quote(folder)}/cpu.stat",),
        undo=(f"echo {shlex.quote(old)} > {shlex.quote(file)}",) if old else (),
    )
