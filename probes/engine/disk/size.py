"""How large the test files may be: at most 1 GiB and, together, 5 % of what is free."""

from collections.abc import Sequence

from hostdx.probes import units
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.workloads import IDS, UNIT, all_read_file_bytes, prepared_bytes

MIB = 1 << 20
LARGEST = 1 << 30
SMALLEST = 64 * MIB  # below it a disk's own cache answers
SHARE_OF_FREE = 0.05


def largest_test_bytes(free_bytes: int, workloads: Sequence[str] = IDS) -> int:
    """The largest size that leaves 95 % of the free space alone; 0 where not even the smallest does."""
    size = all_read_file_bytes(min(LARGEST, int(free_bytes * SHARE_OF_FREE)))
    while size >= SMALLEST and prepared_bytes(size, workloads) > free_bytes * SHARE_OF_FREE:
        size -= UNIT
    return all_read_file_bytes(size) if size >= SMALLEST else 0


def choose_test_bytes(
    directory: str, free_bytes: int, wanted_bytes: int | None = None, workloads: Sequence[str] = IDS
) -> int:
    """`wanted_bytes`, or the largest allowed. Raises BenchRefused. Loads without files need no space."""
    if prepared_bytes(SMALLEST, workloads) == 0:
        return SMALLEST
    largest = largest_test_bytes(free_bytes, workloads)
    if not largest:
        needs = prepared_bytes(SMALLEST, workloads) / SHARE_OF_FREE
        raise BenchRefused(
            f"{directory}: too little space: needs {units.format_size(needs)} free (the test files take at most "
            f"{100 * SHARE_OF_FREE:.0f} % of it), has {units.format_size(free_bytes)}; free some, or name "
            "another directory"
        )
    if wanted_bytes is None:
        return largest
    if wanted_bytes < SMALLEST:
        raise BenchRefused(
            f"{directory}: --size {units.format_size(wanted_bytes)} is too small: a disk's own cache would serve it; "
            f"at least {units.format_size(SMALLEST)}"
        )
    if all_read_file_bytes(wanted_bytes) > largest:
        raise BenchRefused(
            f"{directory}: --size {units.format_size(wanted_bytes)} is too large for its "
            f"{units.format_size(free_bytes)} of free "
            f"space; at most {units.format_size(largest)}"
        )
    return all_read_file_bytes(wanted_bytes)
