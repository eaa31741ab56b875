"""Who used the CPUs while the job was watched, and which processes share CPUs while others idle."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from hostdx.probes import units
from hostdx.probes.cpu_list import name_cpus, parse_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.harmless_words import mask_unknown_words
from hostdx.probes.system.running.cpu_users import CpuUser, CpuUsers, SharedCpus
from hostdx.probes.system.running.culprit import label_processes
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.cpuwatch.findings import PRESSURE_SPEAKS
from hostdx.scenarios.triage.cpus import priority
from hostdx.scenarios.triage.cpus.sharing import crowded_cpus_sentence, spread_remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("cpuwatch")
MAX_ROWS = 8
MIN_NAMED_CPUS = 0.01
MIN_REST_CPUS = 0.05
MAX_NAMED = 3  # programs of a title
MIN_SHOWN_CPUS = 0.05  # of a process that is looked at more closely
MAX_COMMAND_CHARS = 160  # of a command line
MAX_SHOWN_PIDS = 8  # whose command lines are asked for
FULL_SHARE = 0.95  # of the CPUs: what starts now takes from the others, though nobody may wait yet
ENDED = "processes that have ended"


class ProgramUse(msgspec.Struct, frozen=True):
    """What the processes of one name, owner and list of allowed CPUs used, those that began later apart.

    `owner` is empty where they ended before it could be asked; `cpus` where they may run everywhere.
    """

    owner: str
    name: str
    cpus: str
    began_later: bool
    users: tuple[CpuUser, ...]

    @property
    def rate_cpus(self) -> float:
        return _total_cpus_used(self.users)

    @property
    def label(self) -> str:
        return label_processes(self.name, [user.process.pid for user in self.users])

    @property
    def evidence(self) -> Evidence:
        cpus = name_cpus(parse_cpu_list(self.cpus) or frozenset())
        return SAYS.evidence(
            "user",
            process=self.label,
            owner=self.owner or ENDED,
            cpus=f"{self.rate_cpus:.2f}",
            only=SAYS.text("allowed", cpus=cpus) if self.cpus else "",
            began=SAYS.text("began") if self.began_later else "",
        )


def group_by_program(users: Sequence[CpuUser], usable: frozenset[int]) -> list[ProgramUse]:
    """Those that used most first: one process is seldom all of them."""
    by_key: dict[tuple[str, str, str, bool], list[CpuUser]] = {}
    for user in users:
        key = (user.owner, user.process.name, _allowed_if_restricted(user, usable), user.began_s is not None)
        by_key.setdefault(key, []).append(user)
    programs = [ProgramUse(*key, tuple(of_key)) for key, of_key in by_key.items()]
    return sorted(programs, key=lambda program: -program.rate_cpus)


def users_finding(users: Sequence[CpuUser], usable: frozenset[int], seconds: float) -> Finding:
    """Beside the answer about a named job: who else used the CPUs."""
    return SAYS.finding(
        "users",
        count=len(users),
        total=f"{_total_cpus_used(users):.2f}",
        seconds=seconds,
        shares=_shares_by_owner(users),
        evidence=[program.evidence for program in group_by_program(users, usable)[:MAX_ROWS]],
    )


def host_finding(host: Host, users: CpuUsers, usable: frozenset[int], waited_share: float | None) -> Finding:
    """The answer where no job was named: how much of the host was used, and by which programs.

    `waited_share`: of the time in which a task waited for a CPU; None where the kernel does not count it.
    """
    ranked = users.rank_users()
    programs = [p for p in group_by_program(ranked, usable) if p.rate_cpus >= MIN_NAMED_CPUS]
    processes_cpus = _total_cpus_used(ranked)
    used_cpus = users.used_cpus(usable) or processes_cpus
    program_rates = _largest_program_texts(ranked)
    is_used_up = used_cpus >= FULL_SHARE * len(usable)
    is_waited_for = is_used_up if waited_share is None else waited_share >= PRESSURE_SPEAKS
    rest_cpus = used_cpus - processes_cpus
    return SAYS.finding(
        "host",
        severity="warning" if is_waited_for else "notice",
        used=f"{used_cpus:.2f}",
        cpus=units.count_noun(len(usable), "CPU"),
        seconds=users.seconds,
        programs=SAYS.text("by-programs", programs=", ".join(program_rates)) if program_rates else "",
        waited="" if waited_share is None else SAYS.text("pressed", pressed=waited_share),
        evidence=[
            SAYS.evidence("by-user", shares=_shares_by_owner(ranked)),
            *(program.evidence for program in programs[:MAX_ROWS]),
            *_command_line_rows(host, _running_large_users(users, ranked)[:MAX_NAMED]),
            *((SAYS.evidence("rest", cpus=f"{rest_cpus:.2f}"),) if rest_cpus >= MIN_REST_CPUS else ()),
        ],
        remedy=(
            _remedies_for_full_cpus(host, users, ranked, used_cpus) if is_waited_for or is_used_up else ()
        ),
    )


def _largest_program_texts(users: Sequence[CpuUser]) -> list[str]:
    """`python3 of alice (7 processes) 0.60`: by name and owner, the largest; then the number and use of the others."""
    by_program: dict[tuple[str, str], list[CpuUser]] = {}
    for user in users:
        by_program.setdefault((user.process.name, user.owner), []).append(user)
    ranked = sorted(by_program.items(), key=lambda item: -_total_cpus_used(item[1]))
    largest = [item for item in ranked[:MAX_NAMED] if _total_cpus_used(item[1]) >= MIN_NAMED_CPUS]
    owners = Counter(name for (name, _), _ in largest)
    texts = []
    for (name, owner), own in largest:
        of_owner = f" of {owner or ENDED}" if owners[name] > 1 else ""
        count = f" ({units.count_noun(len(own), 'process')})" if len(own) > 1 else f" [{own[0].process.pid}]"
        texts.append(f"{name}{of_owner}{count} {_total_cpus_used(own):.2f}")
    others = [user for _, own in ranked[len(largest) :] for user in own]
    if (others_cpus := _total_cpus_used(others)) >= MIN_NAMED_CPUS:
        texts.append(f"{units.count_noun(len(others), 'other process')} {others_cpus:.2f}")
    return texts


def _remedies_for_full_cpus(
    host: Host, users: CpuUsers, ranked: Sequence[CpuUser], used_cpus: float
) -> tuple[Remedy, ...]:
    """What they are; then a lower priority for the process, else for the user, that used half of it alone."""
    half_cpus = used_cpus / 2
    pids = [user.process.pid for user in _running_large_users(users, ranked)[:MAX_SHOWN_PIDS]]
    shown_pids = dict.fromkeys([*pids, *users.running_parents(pids)])
    look = (SAYS.remedy("look", pids=",".join(map(str, shown_pids))),) if pids else ()
    process = ranked[0].process if ranked else None
    if process is not None and process.rate >= half_cpus and users.is_running(process):
        return *look, priority.process_priority_remedy(host, process.pid, process.label)
    by_owner = _rates_by_owner(ranked)
    owner = next(iter(by_owner), "")
    if owner not in ("", "root") and by_owner[owner] >= half_cpus:
        return *look, priority.user_priority_remedy(owner)
    return *look, SAYS.remedy("fewer")


def _running_large_users(users: CpuUsers, ranked: Sequence[CpuUser]) -> list[CpuUser]:
    return [user for user in ranked if user.process.rate >= MIN_SHOWN_CPUS and users.is_running(user.process)]


def _command_line_rows(host: Host, users: Sequence[CpuUser]) -> list[Evidence]:
    """What each of these processes was started with: `sh` alone says nothing. Secrets in it are masked."""
    rows = []
    for user in users:
        process = user.process
        text = host.read_file_text(f"/proc/{process.pid}/cmdline", 4096, may_hang=True)
        words = " ".join(mask_unknown_words(text.rstrip("\0").split("\0"))) if is_present(text) else ""
        if words:
            command = words if len(words) <= MAX_COMMAND_CHARS else f"{words[:MAX_COMMAND_CHARS]}…"
            rows.append(
                SAYS.evidence("command", process=process.label, command=command, pid=str(process.pid))
            )
    return rows


def _rates_by_owner(users: Sequence[CpuUser]) -> dict[str, float]:
    """CPUs by user, who used most first; "" for processes that ended before they could be asked."""
    rates: dict[str, float] = {}
    for user in users:
        rates[user.owner] = rates.get(user.owner, 0.0) + user.process.rate
    return dict(sorted(rates.items(), key=lambda item: -item[1]))


def _shares_by_owner(users: Sequence[CpuUser]) -> str:
    return ", ".join(f"{owner or ENDED} {rate:.2f}" for owner, rate in _rates_by_owner(users).items())


def shared_cpus_findings(host: Host, shared_sets: Sequence[SharedCpus]) -> Iterator[Finding]:
    for shared in shared_sets:
        yield SAYS.finding(
            "shared",
            subject=shared.cpu_list,
            sharing=crowded_cpus_sentence(shared),
            evidence=[
                *(
                    SAYS.evidence(
                        "sharing", process=process.label, used=f"{process.rate:.2f}", pid=process.pid
                    )
                    for process in shared.processes[:MAX_ROWS]
                ),
                SAYS.evidence("idle", cpus=name_cpus(shared.cpus_elsewhere), idle=f"{shared.idle_cpus:.1f}"),
            ],
            remedy=[spread_remedy(host, shared)],
        )


def _allowed_if_restricted(user: CpuUser, usable: frozenset[int]) -> str:
    cpus = parse_cpu_list(user.allowed) if user.allowed else None
    return user.allowed if cpus and not cpus >= usable else ""


def _total_cpus_used(users: Sequence[CpuUser]) -> float:
    return sum(user.process.rate for user in users)
