"""Read-only rules about processors, memory nodes and PCIe links of what is no disk."""

from collections.abc import Iterator

from probes.host import Host
from probes.system.nodes.nodes_per_socket import nodes_per_socket
from probes.system.nodes.numa import numa
from probes.system.pci import STORAGE, PciDevice, pci_devices
from probes.system.processor.clocksource import clocksource
from probes.system.processor.frequency import frequency
from probes.types import Absent, present
from scenarios.finding import Finding
from scenarios.numa import findings
from scenarios.numa.settings import highest_khz, limited_khz, lost_nodes
from scenarios.rule import HostRule, Inapplicable, require_readable
from scenarios.rules.texts import texts

SAYS = texts("numa")
CARDS = (STORAGE - {"NVMe"}) | {"NIC"}


def nodes(host: Host) -> Iterator[Finding]:
    """The kernel's table of nodes, and `numa=off`."""
    table = require_readable(numa(host), "/sys/devices/system/node")
    return findings.topology_findings(table.doubt, nodes_per_socket(host), lost_nodes(host))


def links(host: Host) -> Iterator[Finding]:
    """Network cards and controllers; disks have rules of their own."""
    found = require_readable(pci_devices(host))
    those = tuple(d for d in found if d.kind in CARDS and not d.virtual_function)
    if not any(present(d.link) for d in those):
        raise Inapplicable("no network card or controller reports a PCIe link")
    return _links(those)


def _links(those: tuple[PciDevice, ...]) -> Iterator[Finding]:
    nothing = Absent("not read by this rule", "unsupported")
    return findings.device_findings(those, nothing)


def clock(host: Host) -> Iterator[Finding]:
    """A clock that is read by a system call and from a slow device costs every program that asks for the time."""
    source = require_readable(clocksource(host))
    return findings.timer_findings(source, None, proof="rule")


def limit(host: Host) -> Iterator[Finding]:
    """scaling_max_freq below what the CPU can."""
    found = frequency(host)
    highest = highest_khz(found)
    if highest is None:
        raise Inapplicable("the kernel sets no CPU frequency here (virtual machine, or the firmware does)")
    lowered = limited_khz(host, found)
    if lowered is not None:
        read = SAYS.evidence("limit-read", limit_khz=lowered, highest_khz=highest)
        yield findings.limited(lowered, highest, read, proof="rule")


def memory_modules(host: Host) -> Iterator[Finding]:
    """Nodes with CPUs and no memory of their own: every access goes to another node."""
    table = require_readable(numa(host), "/sys/devices/system/node")
    if table.doubt or len(table.nodes) < 2:
        raise Inapplicable("one node, or nodes that are not credible")
    setting = nodes_per_socket(host)
    # Where the scheme is not known, a node a socket is still a socket: its modules are missing.
    if (
        isinstance(setting, Absent)
        or (setting.scheme == "nodes per socket" and setting.value != 1)
        or setting.l3_as_numa is not False
    ):
        raise Inapplicable("nodes whose memory the firmware or a hypervisor lays out by itself")
    bare = [node for node in table.nodes if node.kind == "CPUs only"]
    if not bare or len(bare) == table.with_cpus:
        return
    numbers = ", ".join(str(node.number) for node in bare)
    one = len(bare) == 1
    yield SAYS.finding(
        "node-without-memory",
        nodes=f"node{'' if one else 's'} {numbers} {'has' if one else 'have'}",
        sockets="that socket" if one else "those sockets",
        evidence=[SAYS.evidence("no-memory", node=n.number) for n in bare],
    )


RULES: tuple[HostRule, ...] = (
    HostRule("numa.nodes", "numa", "the NUMA table", nodes),
    HostRule("numa.node-without-memory", "numa", "nodes without memory", memory_modules),
    HostRule("numa.pcie-link", "numa", "PCIe links of network cards and controllers", links),
    HostRule("numa.clocksource", "numa", "the clock source", clock),
    HostRule("numa.cpu-frequency-limit", "numa", "a lowered CPU frequency", limit),
)
