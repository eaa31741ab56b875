"""Sets of CPUs as the kernel writes them: lists (`0-3,8`) and masks (`00000000,000000ff`)."""

import re

MAX_CPUS = 1 << 16  # a broken list such as 0-4000000000 must not fill the memory


def parse_cpu_list(text: str) -> frozenset[int] | None:
    """`0-3,8`; empty text is the empty set; None where it is no such list. Strides (`0-7:2/4`) are known too.

    Some captures end each file with a NUL.
    """
    cpus: set[int] = set()
    covered_count = 0  # ranges of a foreign file may overlap without end
    for part in text.strip("\0 \t\r\n").split(","):
        if not part:
            continue
        match = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9})/([0-9]{1,9}))?)?\s*", part)
        if match is None:
            return None
        first = int(match[1])
        last = int(match[2] or match[1])
        covered_count += last - first + 1
        if last < first or last >= MAX_CPUS or covered_count > 4 * MAX_CPUS:
            return None
        used, group = int(match[3] or 1), int(match[4] or 1)
        cpus.update(cpu for cpu in range(first, last + 1) if group and (cpu - first) % group < used)
    return frozenset(cpus)


def parse_cpu_mask(text: str) -> frozenset[int] | None:
    """Hexadecimal words of 32 bits, the highest first."""
    digits = text.strip("\0 \t\r\n").replace(",", "")
    if not re.fullmatch(r"[0-9a-fA-F]{1,16384}", digits):
        return None
    bits = int(digits, 16)
    return frozenset(n for n in range(bits.bit_length()) if bits >> n & 1)


def name_cpus(cpus: frozenset[int]) -> str:
    """Return `CPU 3` or `CPUs 0-3,8`."""
    return f"CPU{'s' * (len(cpus) > 1)} {format_cpu_list(cpus)}"


def format_cpu_list(cpus: frozenset[int]) -> str:
    """`0-3,8`, as the kernel and taskset(1) write it."""
    parts: list[str] = []
    ordered = sorted(cpus)
    start = 0
    for position, cpu in enumerate(ordered):
        if position + 1 == len(ordered) or ordered[position + 1] != cpu + 1:
            first = ordered[start]
            parts.append(str(first) if first == cpu else f"{first}-{cpu}")
            start = position + 1
    return ",".join(parts)
