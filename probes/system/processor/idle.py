"""Idle states of the CPUs (C-states): which there are, how long waking takes, which are off. Absent in many guests.

Documentation/admin-guide/pm/cpuidle.rst. The folder of each CPU has a `disable` of its own.
"""

import msgspec

from probes.host import Host, once_if_still
from probes.system.processor.topology import ROOT, topology
from probes.types import Absent, present


class IdleState(msgspec.Struct, frozen=True, kw_only=True):
    """`wake_us` is the exit latency that the driver states. `disabled_on` counts CPUs."""

    name: str
    wake_us: int | Absent
    disabled_on: int
    cpus: int


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    driver: str | Absent
    states: tuple[IdleState, ...]


@once_if_still
def idle(host: Host) -> Idle | Absent:
    """Over all online CPUs, by the state's name, shallowest first."""
    driver = host.word(f"{ROOT}/cpuidle/current_driver")
    if isinstance(driver, Absent):
        return driver
    found: dict[str, list[tuple[int | Absent, bool]]] = {}
    for n in sorted(topology(host).online):
        for path in host.glob(f"{ROOT}/cpu{n}/cpuidle/state*"):
            name = host.word(f"{path}/name")
            if present(name):
                off = host.text(f"{path}/disable", 64)
                found.setdefault(name, []).append((host.integer(f"{path}/latency"), off == "1"))
    return Idle(
        driver=driver,
        states=tuple(
            IdleState(name=name, wake_us=seen[0][0], disabled_on=sum(off for _, off in seen), cpus=len(seen))
            for name, seen in found.items()
        ),
    )
