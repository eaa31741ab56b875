"""Who used the CPUs while the job was watched, and which processes share CPUs while others idle."""

from collections.abc import Iterator, Sequence

from hostdx.probes.cpu_list import name_cpus, parse_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cpu_users import CpuUser, SharedCpus
from hostdx.probes.system.running.culprit import label_processes
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.triage.cpus.sharing import crowded_cpus_sentence, spread_remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("cpuwatch")
MAX_ROWS = 8


def users_finding(users: Sequence[CpuUser], usable: frozenset[int], seconds: float) -> Finding:
    """Processes of one name, user and list of CPUs together, those that began later apart: one is seldom all."""
    crowds: dict[tuple[str, str, str, bool], list[CpuUser]] = {}
    rates_by_owner: dict[str, float] = {}
    for user in users:
        owner = user.owner or "processes that have ended"
        key = (owner, user.process.name, _allowed_if_restricted(user, usable), user.began_s is not None)
        crowds.setdefault(key, []).append(user)
        rates_by_owner[owner] = rates_by_owner.get(owner, 0.0) + user.process.rate
    by_use = sorted(crowds.items(), key=lambda item: -_total_rate(item[1]))
    by_owner = sorted(rates_by_owner.items(), key=lambda item: -item[1])
    return SAYS.finding(
        "users",
        count=len(users),
        total=f"{_total_rate(users):.2f}",
        seconds=seconds,
        shares=", ".join(f"{owner} {rate:.2f}" for owner, rate in by_owner),
        evidence=[
            SAYS.evidence(
                "user",
                process=label_processes(name, [user.process.pid for user in crowd]),
                owner=owner,
                cpus=f"{_total_rate(crowd):.2f}",
                only=SAYS.text("allowed", cpus=name_cpus(parse_cpu_list(cpus) or frozenset()))
                if cpus
                else "",
                began=SAYS.text("began") if is_late else "",
            )
            for (owner, name, cpus, is_late), crowd in by_use[:MAX_ROWS]
        ],
    )


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


def _total_rate(users: Sequence[CpuUser]) -> float:
    return sum(user.process.rate for user in users)
