"""Interrupts: which belong to a device, on which CPUs and NUMA nodes they are served."""

import re
from collections.abc import Sequence

from hostdx.probes.cpu_list import format_cpu_list, parse_cpu_list, parse_cpu_mask
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.processor.topology import read_cpu_topology
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules import services
from hostdx.scenarios.triage.rules.expression import Value


def read_numbered_interrupts(host: Host) -> tuple[tuple[str, str, int], ...] | Absent:
    """/proc/interrupts: (number, what it is for, how often in all)."""
    text = host.read_file_text("/proc/interrupts", 16 << 20)
    if isinstance(text, Absent):
        return text
    lines = text.splitlines()
    cpus = len(lines[0].split()) if lines else 0
    numbered = []
    for line in lines[1:]:
        head, _, rest = line.partition(":")
        number = head.strip()
        if re.fullmatch(r"[0-9]{1,6}", number):
            words = rest.split()
            counts = [int(word) for word in words[:cpus] if re.fullmatch(r"[0-9]{1,19}", word)]
            numbered.append((number, " ".join(words[len(counts) :]), sum(counts)))
    return tuple(numbered)


def used_queue_irqs(host: Host, device: str | Absent, names: Sequence[str]) -> tuple[str, ...]:
    """The numbers of a device's queue interrupts: by its msi_irqs, else by its name or its bus address.

    Those that have never come are left out where others have.
    """
    table = host.compute_once(read_numbered_interrupts)
    if isinstance(table, Absent):
        return ()
    listed = host.list_names(f"{device}/msi_irqs") if is_present(device) else Absent("")
    own = set(listed) if is_present(listed) else set()
    # `mlx5_comp0@pci:0000:c1:00.0`, `eth0-TxRx-3`, `nvme0q1`
    called = [re.compile(rf"(?:^|[^\w.:]|\bpci:){re.escape(n)}(?:q[0-9]+)?(?:[^\w.:]|$)") for n in names]
    counted = [
        (number, count)
        for number, purpose, count in table
        if number in own or any(name.search(purpose) for name in called)
    ]
    busy = [number for number, count in counted if count > 0]
    return tuple(busy or [number for number, _ in counted])


def interrupt_cpus(host: Host, numbers: Sequence[str]) -> Value:
    """Return how many CPUs serve these interrupts."""
    sets = [cpus for number in numbers if (cpus := _delivering_cpus(host, number))]
    return len(frozenset[int]().union(*sets)) if sets else _irq_affinity_unread(host)


def isolated_interrupt_cpus(host: Host, numbers: Sequence[str]) -> Value:
    """Return how many isolated CPUs serve these interrupts."""
    listed = host.read_word("/sys/devices/system/cpu/isolated")
    isolated = parse_cpu_list(listed) if is_present(listed) else None
    if not isolated:
        return Absent("no CPU is isolated", "unsupported")
    serving = frozenset[int]().union(*(_delivering_cpus(host, number) or () for number in numbers))
    return len(serving & isolated)


def interrupt_nodes(host: Host, numbers: Sequence[str]) -> Value:
    """The NUMA nodes of the CPUs that serve these interrupts."""
    table = read_numa(host)
    if isinstance(table, Absent):
        return table
    if table.doubt:
        return Absent(table.doubt, "invalid")
    cpus = [cpu for number in numbers for cpu in _delivering_cpus(host, number) or ()]
    if not cpus:
        return _irq_affinity_unread(host)
    return tuple(sorted({node for cpu in cpus if (node := table.node_of(cpu)) is not None}))


BY_HAND = ("irqbalance", "irq_numbers", "wanted_cpus")


def interrupt_spreading_values(host: Host, numbers: Sequence[str], node: int | Absent) -> dict[str, Value]:
    """Return what a command that spreads them needs: their numbers and the CPUs that they may use."""
    table = read_numa(host)
    own = [n.cpus for n in table.nodes if n.number == node] if is_present(table) and not table.doubt else []
    cpus = frozenset[int]().union(*own) if own else read_cpu_topology(host).online
    state = services.service_state(host, "irqbalance")
    return {
        "irqbalance": state == "running"
        if state in ("running", "installed")
        else Absent("it is not installed"),
        "irq_numbers": " ".join(numbers) or Absent("it has no interrupts"),
        "wanted_cpus": format_cpu_list(cpus) if cpus else Absent("no CPU is listed"),
    }


def _delivering_cpus(host: Host, number: str) -> frozenset[int] | None:
    for name in ("effective_affinity_list", "smp_affinity_list"):
        text = host.read_file_text(f"/proc/irq/{number}/{name}", 4096)
        cpus = parse_cpu_list(text) if is_present(text) and text.strip() else None
        if cpus:
            return cpus
    mask = host.read_file_text(f"/proc/irq/{number}/smp_affinity", 4096)
    return parse_cpu_mask(mask) if is_present(mask) else None


def _irq_affinity_unread(host: Host) -> Absent:
    return Absent("where its interrupts go cannot be read", "missing" if host.live else "captured")
