"""What slows a host beside a checkup's parts: who uses it, by looks while nothing of ours runs, before the first part
and between two; and the CPU quota of our own control groups, over all of the checkup.

What a part's own guards notice is what disturbed it; here it is a cause of its own, for a busy host is a slow one.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean

import msgspec

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.probes.system.pulse import HostCounters, HostRates, compute_host_rates, read_host_counters
from hostdx.probes.system.running.cpu_users import CpuUsers, SharedCpus
from hostdx.probes.system.running.culprit import (
    NAMED_SHARE,
    Resource,
    label_processes,
    others_cpus_and_io_rate,
    rank_processes,
)
from hostdx.probes.system.running.processes import (
    ProcessTable,
    read_process_table,
    user_of,
)
from hostdx.probes.system.running.quota_groups import most_throttled_quota, own_quotas
from hostdx.scenarios.contract.finding import Finding, SuggestedStep
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.results.result import Item
from hostdx.scenarios.triage.cpus import priority
from hostdx.scenarios.triage.cpus.quota import MIN_THROTTLED_SHARE, raise_quota_remedy, throttling_sentence
from hostdx.scenarios.triage.cpus.sharing import crowded_cpus_sentence, spread_remedy
from hostdx.scenarios.triage.cpus.usable import usable_cpus
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("checkup")
FIRST_S, BETWEEN_S = 2.0, 1.0  # how long a look takes
WAITED = 0.25  # of the time that tasks waited: as much as makes a job a third slower
USED = 0.75  # of all CPUs, where the kernel does not say who waited
FULL = 0.9  # of all CPUs, where nobody waits: what starts now does
MIN_LOSS_OF_FULL = 0.25  # of the speed of what starts on full CPUs; a half beside one other task a CPU
BUSY = 0.8  # of the time that a disk had something to do,
PRESSED = 0.5  # where the kernel says besides that tasks waited for one
MAX_NAMED_USERS = 3
AREA = "host"  # the items' scenario, as of triage's rules about the host


class HostUser(msgspec.Struct, frozen=True):
    """Processes of one name: CPUs or bytes a second on average, and their ids."""

    name: str
    rate: float
    pids: tuple[int, ...]

    @property
    def label(self) -> str:
        return label_processes(self.name, self.pids)


class HostUse(msgspec.Struct, frozen=True):
    """One look: rates of the whole host, and by resource what the processes of others used, who used most first."""

    rates: HostRates
    cpus: int
    used_cpus: float
    users: dict[Resource, tuple[tuple[str, int, float], ...]]
    owners: dict[int, str] = {}  # by process id, while it lived
    at_s: float = 0.0  # of the run, at the end of the look
    shared_cpus: tuple[SharedCpus, ...] = ()


class HostUseSampler:
    def __init__(self, run: Run) -> None:
        self._run = run
        self.gaps: list[HostUse] = []
        self._quotas = own_quotas(run.host) if run.host.live else ()

    async def sample_use(self, seconds: float = BETWEEN_S) -> None:
        """Only on a live host: a captured one stands still."""
        if not self._run.host.live:
            return
        cpu_users = CpuUsers(self._run.host)
        before = await asyncio.to_thread(_host_counters_and_processes, self._run.host)
        await asyncio.to_thread(cpu_users.take_look, before[1])
        await self._run.clock.sleep(seconds)
        after = await asyncio.to_thread(_host_counters_and_processes, self._run.host)
        await asyncio.to_thread(cpu_users.take_look, after[1])
        shared = cpu_users.find_shared_cpus(usable_cpus(self._run.host).cpus)
        use = host_rates_and_other_users(before, after, cpu_users.own_pids)
        self.gaps.append(msgspec.structs.replace(use, at_s=self._run.elapsed_s(), shared_cpus=tuple(shared)))

    def quota_items(self, triage_findings: Sequence[Finding] = ()) -> list[Item]:
        """Of our own groups the one whose quota stopped us most often; `triage_findings`: triage's findings, that
        name it too.
        """
        worst = most_throttled_quota(self._run.host, self._quotas)
        if worst is None or worst.stopped_share <= MIN_THROTTLED_SHARE:
            return []
        words = SAYS.text("quota", stopped=throttling_sentence(worst))
        about = tuple(f.key for f in triage_findings if f.subject == worst.folder)
        step = raise_quota_remedy(self._run.host, worst.folder).as_step
        return [_cause_item(words, step, worst.stopped_share, about)]

    @property
    def are_cpus_full(self) -> bool:
        return self._lasting_cause(self._full_cpus_cause) is not None

    def items(self, undecided: Sequence[str]) -> list[Item]:
        """Causes, the CPUs first; `undecided`: the suspects that stayed undecided beside them."""
        if not self.gaps:
            return []
        searches = (self._crowded_cpus_cause, self._full_cpus_cause, self._memory_cause, self._disk_cause)
        causes = [cause for search in searches if (cause := self._lasting_cause(search)) is not None]
        if causes and undecided:
            more = SAYS.text("undecided", suspects=", ".join(undecided))
            causes[0] = msgspec.structs.replace(causes[0], words=causes[0].words + more)
        return causes

    def _lasting_cause(self, search: Callable[[Sequence[HostUse]], Item | None]) -> Item | None:
        """Return the cause in all looks, else in the longest run of first looks that is more than half of them: what
        was measured is not taken back when it ends, but said to have ended.
        """
        for count in range(len(self.gaps), len(self.gaps) // 2, -1):
            cause = search(self.gaps[:count])
            if cause is not None and count < len(self.gaps):
                ended_text = SAYS.text("ended", seconds=self.gaps[count - 1].at_s)
                return msgspec.structs.replace(cause, words=cause.words + ended_text)
            if cause is not None:
                return cause
        return None

    def _full_cpus_cause(self, gaps: Sequence[HostUse]) -> Item | None:
        pressures = [gap.rates.psi_cpu for gap in gaps if gap.rates.psi_cpu is not None]
        cpus, used = gaps[-1].cpus, fmean(gap.used_cpus for gap in gaps)
        waited = fmean(pressures) if pressures else 0.0
        # tasks that wait for a quota wait on an idle host, too; as many busy tasks as CPUs wait for nobody
        waits, is_full = waited >= WAITED and used >= 0.5 * cpus, used >= (FULL if pressures else USED) * cpus
        if not cpus or not (waits or is_full):
            return None
        users = self._top_users(gaps, "cpu", NAMED_SHARE * used)
        user = users[0] if users else None
        users_text = self._users_text(gaps, [(gap, f"{gap.rate:.1f} CPUs") for gap in users])
        rest = used - sum(user.rate for user in users)
        if users and rest >= NAMED_SHARE * used:
            users_text += SAYS.text("rest", cpus=f"{rest:.1f}", least=NAMED_SHARE)
        text_fields = {"cpus": f"{used:.1f}", "all": cpus, "who": users_text}
        words = (
            SAYS.text("cpu" if waits else "full", waited=waited, **text_fields)
            if pressures
            else SAYS.text("unpressed", **text_fields)
        )
        if user and len(user.pids) > 1:  # some of them have ended by the time that somebody reads this
            step = SAYS.remedy("crowd", name=user.name).as_step
        elif user:
            step = priority.process_priority_remedy(self._run.host, user.pids[0], user.name).as_step
        else:
            step = SAYS.remedy("unnamed", what="the CPUs", command="top -b -n 1 | head -n 20").as_step
        return _cause_item(words, step, max(waited, MIN_LOSS_OF_FULL) if is_full else waited, user=user)

    def _crowded_cpus_cause(self, gaps: Sequence[HostUse]) -> Item | None:
        """Processes that are pinned together wait on a host that is idle by its totals."""
        last = next(iter(gaps[-1].shared_cpus), None)
        if last is None or any(last.cpus not in [shared.cpus for shared in gap.shared_cpus] for gap in gaps):
            return None
        excess = 1.0 - len(last.cpus) / len(last.processes)  # of what each wanted, at most
        return _cause_item(
            crowded_cpus_sentence(last), spread_remedy(self._run.host, last).as_step, max(0.0, excess)
        )

    def _memory_cause(self, host_uses: Sequence[HostUse]) -> Item | None:
        pressures = [gap.rates.psi_memory for gap in host_uses if gap.rates.psi_memory is not None]
        if not pressures or fmean(pressures) < WAITED:
            return None
        step = SAYS.remedy(
            "unnamed", what="the memory", command="ps -eo pid,user,rss,args --sort=-rss | head"
        )
        return _cause_item(SAYS.text("memory", waited=fmean(pressures)), step.as_step, fmean(pressures))

    def _disk_cause(self, host_uses: Sequence[HostUse]) -> Item | None:
        waited = [gap.rates.psi_io for gap in host_uses if gap.rates.psi_io is not None]
        busy: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for gap in host_uses:
            for name, rates in gap.rates.devices.items():
                busy[name].append(rates)
        shares = {name: sum(use for _, _, use in rates) / len(host_uses) for name, rates in busy.items()}
        # a loop device's own disk is busy with it: the busiest is the one that tasks wait for
        device = max(shares, key=lambda name: (round(shares[name], 1), name), default="")
        if (
            not device
            or shares[device] < (PRESSED if waited else BUSY)
            or (waited and fmean(waited) < WAITED)
        ):
            return None
        moved = sum(read + written for read, written, _ in busy[device]) / len(host_uses)
        users = self._top_users(host_uses, "io", NAMED_SHARE * moved)
        user = users[0] if users else None
        users_text = self._users_text(host_uses, [(gap, units.format_rate(gap.rate)) for gap in users])
        fields = {"device": device, "busy": min(1.0, shares[device]), "rate": moved, "who": users_text}
        words = SAYS.text("disk", waited=fmean(waited), **fields) if waited else SAYS.text("busy", **fields)
        if user:
            step = SAYS.remedy("disk", name=user.name, pid=user.pids[0]).as_step
        else:
            step = SAYS.remedy(
                "unnamed", what=device, command="cat /proc/pressure/io; iotop -b -o -n 3"
            ).as_step
        return _cause_item(words, step, fmean(waited) if waited else 0.0, user=user)

    def _top_users(self, host_uses: Sequence[HostUse], resource: Resource, min_rate: float) -> list[HostUser]:
        """At most MOST_NAMED, who used most first; `min_rate`: CPUs or bytes a second that make one worth a name."""
        rates: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for gap in host_uses:
            for name, pid, rate in gap.users[resource]:
                rates[name][pid] += rate / len(host_uses)
        all_users = (
            HostUser(name, sum(own.values()), tuple(sorted(own, key=lambda pid: -own[pid])))
            for name, own in rates.items()
        )
        return sorted((gap for gap in all_users if gap.rate >= min_rate), key=lambda gap: -gap.rate)[
            :MAX_NAMED_USERS
        ]

    def _users_text(self, gaps: Sequence[HostUse], users: Sequence[tuple[HostUser, str]]) -> str:
        owners = {pid: owner for user in gaps for pid, owner in user.owners.items() if owner}
        user_texts = []
        for user, rate in users:
            owner = next((owners[pid] for pid in user.pids if pid in owners), "")
            user_texts.append(
                SAYS.text("who", name=user.label, owner=f" of {owner}" if owner else "", rate=rate)
            )
        return f": {', '.join(user_texts)}" if user_texts else ""


def _cause_item(
    words: str, step: SuggestedStep, loss: float, about: tuple[str, ...] = (), user: HostUser | None = None
) -> Item:
    return Item(
        scenario=AREA, state="cause", words=words, severity="warning", loss=round(min(1.0, loss), 3),
        following=(step,), about=about, pid=user.pids[0] if user is not None else None,
    )  # fmt: skip


def _host_counters_and_processes(host: Host) -> tuple[HostCounters, ProcessTable]:
    return read_host_counters(host), read_process_table(host, io=True)


def host_rates_and_other_users(
    before: tuple[HostCounters, ProcessTable],
    after: tuple[HostCounters, ProcessTable],
    own_pids: frozenset[int],
) -> HostUse:
    resources: tuple[Resource, ...] = ("cpu", "io")
    tables = (before[1], after[1])
    by_resource = {
        resource: tuple(
            (user.name, user.pid, user.rate)
            for user in rank_processes(*tables, resource, own_pids)
            if not after[1].processes[user.pid].kernel_thread
        )
        for resource in resources
    }
    owners = {pid: user_of(pid) for users in by_resource.values() for _, pid, _ in users[:MAX_NAMED_USERS]}
    return HostUse(
        compute_host_rates(before[0], after[0]),
        after[0].cpus,
        others_cpus_and_io_rate(*tables, own_pids)[0],
        by_resource,
        owners,
    )
