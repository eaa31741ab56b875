"""Triage's rule on processes that share CPUs while others idle, by what each used since it began."""

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import TICKS_PER_S, read_proc_stat
from hostdx.probes.system.running.allowed import listed_in_status
from hostdx.probes.system.running.cpu_users import CpuUser, SharedCpus, find_shared_cpus
from hostdx.probes.system.running.culprit import BusyProcess
from hostdx.probes.system.running.processes import own_process_family
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import FactUnreadable, HostRule
from hostdx.scenarios.triage.cpus.sharing import sharing_since_sentence, spread_remedy
from hostdx.scenarios.triage.cpus.usable import usable_cpus
from hostdx.scenarios.triage.host.top_users import process_table_of_look
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("cpuwatch")
MIN_LIFE_S = 30.0  # a younger process may have worked alone for a while
MIN_CPUS = 0.2  # who uses less wants no CPU of its own


def check_shared_cpus(host: Host) -> Iterator[Finding]:
    stat = read_proc_stat(host)
    usable = usable_cpus(host)
    if not is_present(stat) or stat.running is None or not usable.cpus:
        raise FactUnreadable("how many tasks run, and on how many CPUs, cannot be read")
    if stat.running >= len(usable.cpus):
        return  # there may be none to spare
    idle = dict.fromkeys(usable.cpus, 1.0)
    for shared in find_shared_cpus(_busy_since_start(host), usable.cpus, idle):
        yield _crowded_cpus_finding(host, shared, stat.running, len(usable.cpus))


def _busy_since_start(host: Host) -> Iterator[CpuUser]:
    table = process_table_of_look(host)
    own_pids = own_process_family(host)
    for pid, process in table.processes.items():
        life_s = table.uptime_s - process.start_ticks / TICKS_PER_S
        if pid in own_pids or process.kernel_thread or life_s < MIN_LIFE_S:
            continue
        rate = process.own_s / life_s
        if rate >= MIN_CPUS:
            status = host.read_file_text(f"/proc/{pid}/status", 1 << 16)
            yield CpuUser(
                process=BusyProcess(pid, process.name, rate, process.start_ticks),
                cpu_s=process.own_s,
                owner="",
                allowed=listed_in_status(status, "Cpus_allowed_list"),
                began_s=None,
            )


def _crowded_cpus_finding(host: Host, shared: SharedCpus, running: int, cpus: int) -> Finding:
    evidence = [SAYS.evidence("running", running=running, cpus=cpus)]
    for process in shared.processes:
        evidence += [
            SAYS.evidence("since", process=process.label, used=f"{process.rate:.2f}", pid=process.pid),
            SAYS.evidence("allowed-list", cpus=shared.cpu_list, pid=process.pid),
        ]
    return SAYS.finding(
        "shared-since",
        subject=shared.cpu_list,
        sharing=sharing_since_sentence(shared),
        evidence=evidence,
        remedy=[spread_remedy(host, shared)],
    )


RULES = (
    HostRule(
        "cpuwatch.shared-since", "cpu", "processes that share CPUs while others idle", check_shared_cpus
    ),
)
