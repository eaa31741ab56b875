"""How much a running command and its children have written, as the kernel accounts it to them."""

from __future__ import annotations

from pathlib import Path

from probes.number_text import whole, wholes

MOST_PROCESSES = 1000  # a fork bomb does not keep us


def written_by(pid: int) -> int:
    """Bytes that the process, its ended and waited-for children and its living descendants caused to be written.

    /proc/PID/io `write_bytes` counts when a page gets dirty or a direct write is submitted, so before the disk sees it
    (Documentation/filesystems/proc.rst). Orphans that another process took over are missing. 0 where it cannot be read.
    """
    total = 0
    waiting, seen = [pid], {pid}
    while waiting and len(seen) <= MOST_PROCESSES:
        one = waiting.pop()
        total += _own(one)
        for child in _children(one):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
    return total


def _own(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    return sum(whole(line.partition(":")[2]) or 0 for line in lines if line.startswith("write_bytes:"))


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        threads = [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return found
    for thread in threads:
        try:
            text = Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            continue
        found += wholes(text.split()) or []
    return found
