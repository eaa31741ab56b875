"""Which CPUs are taken by processes that were pinned: their affinity is less than all CPUs that are online.

Kernel threads are pinned by the thousand and are no jobs; they have no memory of their own (no VmSize in status). A
mask that leaves out only isolated CPUs is what isolcpus= gives to everybody.
"""

import re

from probes.host import Host
from probes.number_text import whole
from probes.system.processor.cpulist import parse_list
from probes.system.processor.topology import told, topology
from probes.types import present

MOST_PROCESSES = 50_000


def taken_cpus(host: Host, besides: frozenset[int] = frozenset()) -> frozenset[int]:
    """Of every pinned process that can be seen, but for those in `besides`."""
    online = topology(host).online
    usual = online - (told(host, "isolated") or frozenset())
    names = host.listing("/proc")
    found: set[int] = set()
    pids = [pid for name in (names if present(names) else ()) if (pid := whole(name)) is not None]
    for pid in pids[:MOST_PROCESSES]:
        text = host.text(f"/proc/{pid}/status", 1 << 16) if pid not in besides else ""
        listed = re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.MULTILINE) if present(text) else None
        cpus = parse_list(listed[1]) if listed else None
        if cpus and present(text) and "VmSize:" in text and not cpus & online >= usual:
            found |= cpus & online
    return frozenset(found)
