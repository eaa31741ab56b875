"""Read-only rules about processors, memory nodes and PCIe links of what is no disk."""

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.nodes_per_socket import read_nodes_per_socket
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.pci import STORAGE, PciDevice, read_pci_devices
from hostdx.probes.system.processor.clocksource import read_clocksource
from hostdx.probes.system.processor.frequency import read_frequency
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import HostRule, RuleInapplicable, require_readable
from hostdx.scenarios.numa import findings
from hostdx.scenarios.numa.settings import described_and_used_nodes, highest_khz, limited_khz
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("numa")
CARDS = (STORAGE - {"NVMe"}) | {"NIC"}


def check_node_table(host: Host) -> Iterator[Finding]:
    """The kernel's table of nodes, and `numa=off`."""
    table = require_readable(read_numa(host), "/sys/devices/system/node")
    return findings.topology_findings(
        table.doubt, read_nodes_per_socket(host), described_and_used_nodes(host)
    )


def check_card_links(host: Host) -> Iterator[Finding]:
    """Network cards and controllers; disks have rules of their own."""
    devices = require_readable(read_pci_devices(host))
    those = tuple(d for d in devices if d.kind in CARDS and not d.virtual_function)
    if not any(is_present(d.link) for d in those):
        raise RuleInapplicable("no network card or controller reports a PCIe link")
    return _pcie_link_findings(those)


def _pcie_link_findings(devices: tuple[PciDevice, ...]) -> Iterator[Finding]:
    nothing = Absent("not read by this rule", "unsupported")
    return findings.device_findings(devices, nothing)


def check_clock(host: Host) -> Iterator[Finding]:
    """A clock that is read by a system call and from a slow device costs every program that asks for the time."""
    source = require_readable(read_clocksource(host))
    return findings.timer_findings(source, None, proof="rule")


def check_frequency_limit(host: Host) -> Iterator[Finding]:
    """scaling_max_freq below what the CPU can."""
    frequencies = read_frequency(host)
    highest = highest_khz(frequencies)
    if highest is None:
        raise RuleInapplicable(
            "the kernel sets no CPU frequency here (virtual machine, or the firmware does)"
        )
    lowered = limited_khz(host, frequencies)
    if lowered is not None:
        read = SAYS.evidence("limit-read", limit_khz=lowered, highest_khz=highest)
        yield findings.frequency_limit_finding(lowered, highest, read, proof="rule")


def check_node_memory(host: Host) -> Iterator[Finding]:
    """Nodes with CPUs and no memory of their own: every access goes to another node."""
    table = require_readable(read_numa(host), "/sys/devices/system/node")
    if table.doubt or len(table.nodes) < 2:
        raise RuleInapplicable("one node, or nodes that are not credible")
    setting = read_nodes_per_socket(host)
    # Where the scheme is not known, a node a socket is still a socket: its modules are missing.
    if (
        isinstance(setting, Absent)
        or (setting.scheme == "nodes per socket" and setting.value != 1)
        or setting.l3_as_numa is not False
    ):
        raise RuleInapplicable("nodes whose memory the firmware or a hypervisor lays out by itself")
    bare = [node for node in table.nodes if node.kind == "CPUs only"]
    if not bare or len(bare) == table.with_cpus:
        return
    numbers = ", ".join(str(node.number) for node in bare)
    is_single = len(bare) == 1
    yield SAYS.finding(
        "node-without-memory",
        nodes=f"node{'' if is_single else 's'} {numbers} {'has' if is_single else 'have'}",
        sockets="that socket" if is_single else "those sockets",
        evidence=[SAYS.evidence("no-memory", node=n.number) for n in bare],
    )


RULES: tuple[HostRule, ...] = (
    HostRule("numa.nodes", "numa", "the NUMA table", check_node_table),
    HostRule("numa.node-without-memory", "numa", "nodes without memory", check_node_memory),
    HostRule("numa.pcie-link", "numa", "PCIe links of network cards and controllers", check_card_links),
    HostRule("numa.clocksource", "numa", "the clock source", check_clock),
    HostRule("numa.cpu-frequency-limit", "numa", "a lowered CPU frequency", check_frequency_limit),
)
