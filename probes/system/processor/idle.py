"""Idle states of the CPUs (C-states): which there are, how long waking takes, which are off. Absent in many guests.

Documentation/admin-guide/pm/cpuidle.rst. The folder of each CPU has a `disable` of its own.
"""

import msgspec

from hostdx.probes.reading.host import Host, compute_once_if_static
from hostdx.probes.system.processor.topology import ROOT, read_cpu_topology
from hostdx.probes.types import Absent, is_present


class IdleState(msgspec.Struct, frozen=True, kw_only=True):
    """`wake_us` is the exit latency that the driver states. `disabled_on` counts CPUs."""

    name: str
    wake_us: int | Absent
    disabled_on: int
    cpus: int


class IdleStates(msgspec.Struct, frozen=True, kw_only=True):
    driver: str | Absent
    states: tuple[IdleState, ...]


@compute_once_if_static
def read_idle_states(host: Host) -> IdleStates | Absent:
    """Over all online CPUs, by the state's name, shallowest first."""
    driver = host.read_word(f"{ROOT}/cpuidle/current_driver")
    if isinstance(driver, Absent):
        return driver
    states_by_name: dict[str, list[tuple[int | Absent, bool]]] = {}
    for n in sorted(read_cpu_topology(host).online):
        for path in host.glob_paths(f"{ROOT}/cpu{n}/cpuidle/state*"):
            name = host.read_word(f"{path}/name")
            if is_present(name):
                off = host.read_file_text(f"{path}/disable", 64)
                states_by_name.setdefault(name, []).append((host.read_integer(f"{path}/latency"), off == "1"))
    return IdleStates(
        driver=driver,
        states=tuple(
            IdleState(
                name=name,
                wake_us=observations[0][0],
                disabled_on=sum(off for _, off in observations),
                cpus=len(observations),
            )
            for name, observations in states_by_name.items()
        ),
    )
