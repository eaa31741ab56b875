"""Processes that share CPUs while others idle: what is said of them, and how they get CPUs of their own."""

from hostdx.probes import units
from hostdx.probes.cpu_list import format_cpu_list, name_cpus, parse_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.running.cgroup import control_group_of, find_group_folders
from hostdx.probes.system.running.cpu_users import SharedCpus
from hostdx.probes.system.running.culprit import label_processes
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("triage/cpus")
MAX_MOVED = 16  # processes of a remedy


def crowded_cpus_sentence(shared: SharedCpus) -> str:
    return SAYS.text(
        "sharing",
        processes=_label_all(shared),
        cpus=name_cpus(shared.cpus),
        share=min(1.0, shared.used_cpus / len(shared.cpus)),
        idle=f"{shared.idle_cpus:.1f}",
        others=units.count_noun(len(shared.cpus_elsewhere), "CPU"),
    )


def sharing_since_sentence(shared: SharedCpus) -> str:
    """As `crowded_cpus_sentence`, where nothing was measured: what each used since it began."""
    share = min(1.0, shared.used_cpus / len(shared.cpus))
    return SAYS.text("sharing-since", processes=_label_all(shared), cpus=name_cpus(shared.cpus), share=share)


def spread_remedy(host: Host, shared: SharedCpus) -> Remedy:
    """Other CPUs by hand; where a control group allows no others, more for the group."""
    pids = tuple(process.pid for process in shared.processes[:MAX_MOVED])
    everywhere = format_cpu_list(shared.cpus | shared.cpus_elsewhere)
    folder, own = _limiting_group_and_list(host, pids[0], shared.cpus)
    if folder:
        return SAYS.remedy("cpuset", folder=folder, cpus=everywhere, old=own)
    return SAYS.remedy("spread", cpus=everywhere, own=shared.cpu_list, pids=pids)


def _limiting_group_and_list(host: Host, pid: int, cpus: frozenset[int]) -> tuple[str, str]:
    """The folder of the control group that says so, with what it says; empty where none allows these CPUs alone."""
    table = read_mounts(host)
    path = control_group_of(host, pid)
    for controller in ("", "cpuset"):
        for folder in find_group_folders(host, table, controller, path) if is_present(table) else ():
            text = host.read_file_text(f"{folder}/cpuset.cpus", 4096)
            if is_present(text) and parse_cpu_list(text.strip()) == cpus:
                return folder, text.strip()
    return "", ""


def _label_all(shared: SharedCpus) -> str:
    by_name: dict[str, list[int]] = {}
    for process in shared.processes:
        by_name.setdefault(process.name, []).append(process.pid)
    return ", ".join(label_processes(name, pids) for name, pids in by_name.items())
