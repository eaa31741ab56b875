"""Which CPUs are taken by processes that were pinned: their affinity is less than all CPUs that are online.

Kernel threads are pinned by the thousand and are no jobs; they have no memory of their own (no VmSize in status). A
mask that leaves out only isolated CPUs is what isolcpus= gives to everybody.
"""

import re

from hostdx.probes.cpu_list import parse_list
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.topology import read_cpu_list, read_cpu_topology
from hostdx.probes.types import is_present

MAX_PROCESSES = 50_000


def find_pinned_cpus(host: Host, besides: frozenset[int] = frozenset()) -> frozenset[int]:
    """Of every pinned process that can be seen, but for those in `besides`."""
    online = read_cpu_topology(host).online
    usual = online - (read_cpu_list(host, "isolated") or frozenset())
    names = host.list_names("/proc")
    pinned_cpus: set[int] = set()
    pids = [pid for name in (names if is_present(names) else ()) if (pid := parse_unsigned(name)) is not None]
    for pid in pids[:MAX_PROCESSES]:
        text = host.read_file_text(f"/proc/{pid}/status", 1 << 16) if pid not in besides else ""
        listed = re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.MULTILINE) if is_present(text) else None
        cpus = parse_list(listed[1]) if listed else None
        if cpus and is_present(text) and "VmSize:" in text and not cpus & online >= usual:
            pinned_cpus |= cpus & online
    return frozenset(pinned_cpus)
