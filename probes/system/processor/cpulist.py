"""Sets of CPUs as the kernel's files hold them, as lists or as masks."""

from hostdx.probes.cpu_list import parse_list, parse_mask
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent


def read_cpus(host: Host, folder: str, listed: str, masked: str) -> frozenset[int] | Absent:
    """From the file with a mask, as lscpu and hwloc read it, else the one with a list. Kernels before 2.6.35 have only
    masks; where captured files contradict each other the mask is the one that others counted by.
    """
    why: Absent | None = None
    for name, parse in ((masked, parse_mask), (listed, parse_list)):
        text = host.read_file_text(f"{folder}/{name}")
        if isinstance(text, Absent):
            why = why or text
            continue
        cpus = parse(text)
        if cpus is not None:
            return cpus
        why = Absent(f"no set of CPUs: {text[:40]!r}", "invalid", f"{folder}/{name}")
    assert why is not None
    return why
