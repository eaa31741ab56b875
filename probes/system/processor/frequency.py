"""How the processors are clocked (Documentation/admin-guide/pm/cpufreq.rst). Absent in most virtual machines."""

from collections import Counter

import msgspec

from hostdx.probes.reading.host import Host, compute_once_if_static
from hostdx.probes.types import Absent, is_present

ROOT = "/sys/devices/system/cpu"
ACTIVE = frozenset({"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"})


class Frequency(msgspec.Struct, frozen=True, kw_only=True):
    """`governors` and `preferences` count the policies that use each; frequencies in kHz, the highest over all."""

    driver: str | Absent
    governors: dict[str, int]
    preferences: dict[str, int]
    highest_khz: int | Absent
    base_khz: int | Absent
    turbo: bool | Absent
    status: str | Absent = Absent("not read")  # of intel_pstate or amd_pstate: active, passive, off, guided

    @property
    def is_driver_active(self) -> bool:
        """The driver picks the clock itself: `powersave` is then no lowest clock (intel_pstate.rst, amd-pstate.rst)."""
        return self.driver in ACTIVE or (isinstance(self.driver, Absent) and self.status == "active")


@compute_once_if_static
def read_frequency(host: Host) -> Frequency | Absent:
    """Over all policies; kernels before 4.3 have a cpufreq folder for each CPU instead."""
    folders = host.glob_paths(f"{ROOT}/cpufreq/policy*") or host.glob_paths(f"{ROOT}/cpu[0-9]*/cpufreq")
    if not folders:
        if not host.live:
            return Absent("the captured tree has no cpufreq", "captured", f"{ROOT}/cpufreq")
        return Absent("no frequency control (usual in a virtual machine)", "missing", f"{ROOT}/cpufreq")
    highest: list[int] = []
    base: list[int] = []
    governors: Counter[str] = Counter()
    preferences: Counter[str] = Counter()
    for folder in folders:
        if is_present(word := host.read_word(f"{folder}/scaling_governor")):
            governors[word] += 1
        if is_present(word := host.read_word(f"{folder}/energy_performance_preference")):
            preferences[word] += 1
        for name, values in (("cpuinfo_max_freq", highest), ("base_frequency", base)):
            if is_present(value := host.read_integer(f"{folder}/{name}")):
                values.append(value)
    nothing = Absent("the driver reports no such frequency", "unsupported", folders[0])
    return Frequency(
        driver=host.read_word(f"{folders[0]}/scaling_driver"),
        governors=dict(governors),
        preferences=dict(preferences),
        highest_khz=max(highest, default=nothing),
        base_khz=max(base, default=nothing),
        turbo=_is_turbo_on(host),
        status=_read_pstate_status(host),
    )


def _read_pstate_status(host: Host) -> str | Absent:
    for name in ("intel_pstate", "amd_pstate"):
        if is_present(word := host.read_word(f"{ROOT}/{name}/status")):
            return word
    return Absent("no pstate driver reports its status", "unsupported", f"{ROOT}/intel_pstate/status")


def _is_turbo_on(host: Host) -> bool | Absent:
    """intel_pstate says it the other way round."""
    off = host.read_file_text(f"{ROOT}/intel_pstate/no_turbo")
    if is_present(off) and off.strip() in ("0", "1"):
        return off.strip() == "0"
    on = host.read_file_text(f"{ROOT}/cpufreq/boost")
    if is_present(on) and on.strip() in ("0", "1"):
        return on.strip() == "1"
    return Absent(
        "neither intel_pstate/no_turbo nor cpufreq/boost can be read", "unsupported", f"{ROOT}/cpufreq/boost"
    )
