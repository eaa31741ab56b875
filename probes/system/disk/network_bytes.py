"""What this host moved over NFS: the kernel counts it as a process's I/O too, though no disk here moves."""

from hostdx.probes.number_text import parse_unsigned_list
from hostdx.probes.reading.host import Host

# After the word: read, written, then both with O_DIRECT, then both at the server (linux/nfs_iostat.h). A read counts
# for a process where the server was asked, a write where a page became dirty.
_COUNTED = (1, 3, 4)
_MAX_TEXT_BYTES = 4 << 20


def nfs_bytes(host: Host) -> int:
    """Since the mounts were made; 0 where there are none."""
    text = host.read_file_text("/proc/self/mountstats", _MAX_TEXT_BYTES)
    total = 0
    for line in text.splitlines() if isinstance(text, str) else ():
        if (
            line.startswith("\tbytes:")
            and (values := parse_unsigned_list(line.split()[1:]))
            and len(values) > max(_COUNTED)
        ):
            total += sum(values[at] for at in _COUNTED)
    return total
