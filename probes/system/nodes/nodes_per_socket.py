"""NPS, SNC and "L3 as NUMA" from the topology: which setting of the firmware explains the nodes that the kernel sees.

NPS1, 2, 4 (EPYC from Rome on; NPS0 is one node over both sockets); Naples has a node a die unless it interleaves; SNC
is Intel's since Skylake servers, Cluster-on-Die its name on Haswell and Broadwell (AMD document 56338; Intel SDM). A
hypervisor invents its nodes, so that nothing is concluded there.
"""

import re
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.nodes.numa import ROOT, NumaTable, read_numa
from hostdx.probes.system.processor.caches import read_caches
from hostdx.probes.system.processor.topology import (
    CpuTopology,
    distinct_sets,
    read_cpu_topology,
    read_cpuinfo,
)
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent
from hostdx.probes.units import count_noun

Scheme: TypeAlias = Literal["NPS", "SNC", "Cluster-on-Die", "node per die", "nodes per socket"]
# Intel family 6 model numbers: arch/x86/include/asm/intel-family.h. Skylake-X to Clearwater Forest, and Xeon Phi.
_SUB_NUMA = {85, 106, 108, 143, 207, 173, 174, 175, 221, 87, 133}
_CLUSTER_ON_DIE = {63, 79, 86}
_ZEN, _ROME = 0x17, 0x30
_CASCADE_LAKE = 85


class NodesPerSocket(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is the number of nodes a socket, 0 where one node spans several sockets. `l3_as_numa` is None where
    NPS4 and a node for each of four L3 cannot be told apart. `by_kernel`: what in the command line explains it.
    """

    scheme: Scheme
    value: int
    l3_as_numa: bool | None = False
    by_kernel: str = ""

    @property
    def setting_text(self) -> str:
        if self.by_kernel:
            return f"one node: the kernel was started with {self.by_kernel}"
        if self.l3_as_numa:
            return f"a node for each L3 cache ({self.value} a socket), which hides the {self.scheme} setting"
        unsure = " or a node for each of four L3 caches" if self.l3_as_numa is None else ""
        if self.scheme == "NPS":
            return f"NPS{self.value}{unsure}"
        if self.value == 0:
            interleaved = " (node interleaving)" if self.scheme in ("SNC", "Cluster-on-Die") else ""
            return f"one node over several sockets{interleaved}"
        if self.scheme == "SNC":
            return "SNC off" if self.value == 1 else f"SNC{self.value}"
        if self.scheme == "Cluster-on-Die":
            return f"{self.scheme} {'off' if self.value == 1 else self.value}"
        return f"{count_noun(self.value, 'node')} a socket"


@compute_once_per_host
def read_nodes_per_socket(host: Host) -> NodesPerSocket | Absent:
    """Absent where the table is not believed, where sockets differ, and in a virtual machine."""
    table = read_numa(host)
    if isinstance(table, Absent):
        return table
    if isinstance(table.per_socket, Absent):
        return table.per_socket
    info = read_cpuinfo(host)
    if read_virtualisation(host).is_virtual:
        return Absent("a virtual machine: the hypervisor makes the nodes", "unsupported", ROOT)
    off = read_kernel(host).boot_parameters().get("numa") == "off"
    scheme = _nodes_per_socket_scheme(info[0] if info else {})
    if (
        scheme == "SNC"
        and _entry_number(info[0], "model") == _CASCADE_LAKE
        and _is_one_node_a_die(host, table)
    ):
        scheme = "node per die"  # the two dies of a Xeon Platinum 9200 are a node each without any setting
    if table.per_socket < 1:
        return NodesPerSocket(scheme=scheme, value=0, by_kernel="numa=off" if off else "")
    if table.per_socket != int(table.per_socket):
        return Absent("the sockets have different numbers of nodes", "invalid", ROOT)
    value = int(table.per_socket)
    if off and value == 1 and table.with_cpus == 1:
        return NodesPerSocket(scheme=scheme, value=value, by_kernel="numa=off")
    return NodesPerSocket(
        scheme=scheme,
        value=value,
        l3_as_numa=_l3_caches_make_nodes(host, table, read_cpu_topology(host), value, scheme),
    )


def _nodes_per_socket_scheme(cpu_entry: dict[str, str]) -> Scheme:
    vendor, family, model = (
        cpu_entry.get("vendor_id", ""),
        _entry_number(cpu_entry, "cpu family"),
        _entry_number(cpu_entry, "model"),
    )
    if vendor in ("AuthenticAMD", "HygonGenuine"):
        if family > _ZEN or (family == _ZEN and model >= _ROME):
            return "NPS"
        return "node per die"
    if vendor == "GenuineIntel" and family == 6:
        if model in _CLUSTER_ON_DIE:
            return "Cluster-on-Die"
        return "SNC" if model in _SUB_NUMA else "nodes per socket"
    return "nodes per socket"


def _is_one_node_a_die(host: Host, table: NumaTable) -> bool:
    placed = read_cpu_topology(host)
    dies = set(placed.dies.values())
    return len(dies) > len(distinct_sets(placed.sockets)) and dies == {n.cpus for n in table.nodes if n.cpus}


def _entry_number(entry: dict[str, str], key: str) -> int:
    text = entry.get(key, "")
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 0


def _l3_caches_make_nodes(
    host: Host, table: NumaTable, placed: CpuTopology, value: int, scheme: Scheme
) -> bool | None:
    """A node for each L3 is a setting of AMD's firmware ("ACPI SRAT L3 cache as NUMA domain")."""
    everything = read_caches(host)
    if isinstance(everything, Absent) or scheme != "NPS" or value < 2:
        return False
    level3 = {c.cpus for c in everything if c.level == 3 and len(distinct_sets(placed.sockets)) > 0}
    if {node.cpus for node in table.nodes if node.cpus} != level3:
        return False
    return None if value in (2, 4) else True
