"""A CPU quota of our control groups in one sentence: its part of this host, how often it is reached under load."""

import re
import shlex

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cgroup import systemd_unit_of
from hostdx.probes.system.running.quota_groups import QuotaGroup
from hostdx.probes.types import is_present
from hostdx.probes.units import (
    count_noun,
    format_change,
    format_cpus,
    format_factor,
    format_number,
    format_percent,
    is_factor,
)
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("triage/cpus")

# share of the quota's periods in which it stopped somebody, from which on triage speaks
MIN_THROTTLED_SHARE = 0.05
_USER_MANAGER = re.compile(r"/user@([0-9]+)\.service/")


class SessionQuota(msgspec.Struct, frozen=True, kw_only=True):
    """`cpus`: of the host, 0 where not known. `reached`: of the periods under full load, in how many it
    held them back; `loaded`: CPUs that were loaded meanwhile.
    """

    cores: float
    cpus: int = 0
    reached: tuple[int, int] = (0, 0)
    loaded: int = 0

    @property
    def is_below_host(self) -> bool:
        """Less than the host has."""
        return 0 < self.cores < self.cpus

    @property
    def throttled_share(self) -> float | None:
        """Of the periods under full load, those in which it was reached; None: not measured."""
        held, periods = self.reached
        return held / periods if periods > 0 else None

    @property
    def quota_sentence(self) -> str:
        sentence = f"a CPU quota allows this session {format_number(self.cores)}"
        sentence += f" of {count_noun(self.cpus, 'CPU')}" if self.cpus else " CPUs"
        if self.is_below_host:
            sentence += f": at most {format_percent(self.cores / self.cpus)} of this host"
        if self.throttled_share is None:
            return sentence
        load = f"with {count_noun(self.loaded, 'CPU')} loaded" if self.loaded else "under load"
        return f"{sentence}; {load} it was reached in {format_percent(self.throttled_share)} of the periods"


def one_thread_cost_sentence(cores: float) -> str:
    """Return what a quota below one CPU costs a thread that computes all the time; "" for a larger one."""
    if not 0 < cores < 1:
        return ""
    longer = (
        f"{format_factor(1 / cores)} as long"
        if is_factor(cores)
        else f"{format_change(1 / cores - 1)[1:]} longer"
    )
    return f"one thread gets at most {format_number(cores)} of a CPU and takes {longer}"


def throttling_sentence(group: QuotaGroup) -> str:
    """`the CPU quota of control group a, 0.75 CPUs, stopped its tasks in 90 % of the periods`, and what that costs."""
    sentence = (
        f"the CPU quota of control group {group.name}, {format_cpus(group.cores)}, stopped its tasks in "
    )
    sentence += f"{format_percent(group.stopped_share)} of the periods"
    return f"{sentence}; {cost}" if (cost := one_thread_cost_sentence(group.cores)) else sentence


def raise_quota_remedy(host: Host, folder: str) -> Remedy:
    """The commands of the version of control groups that the group is of."""
    first = f"{folder}/cpu.cfs_quota_us"
    file, none = (first, "-1") if host.path_exists(first) else (f"{folder}/cpu.max", "max")
    now = host.read_file_text(file, 64)
    old = now.strip() if is_present(now) else ""
    return SAYS.remedy(
        "less-tight",
        file=file,
        none=none,
        lasting=persistent_quota_commands(folder),
        folder=folder,
        old=(old,) if old else (),
    )


def persistent_quota_commands(folder: str) -> tuple[str, ...]:
    """systemd.resource-control(5). What a unit sets holds for its own group, not for those made inside of it."""
    unit = systemd_unit_of(folder)
    if unit and not folder.endswith(f"/{unit}"):
        return (f"# the group was made inside {unit}: raise its quota in the settings of what made it",)
    user = _USER_MANAGER.search(folder)
    manager, whom = (" --user", f"  # as the user with uid {user[1]}") if user else ("", "")
    return (f"systemctl{manager} set-property {shlex.quote(unit) if unit else 'UNIT'} CPUQuota={whom}",)
