"""Names that are too long for their column."""

from rich.cells import cell_len

from hostdx.app.terminal.lines import shorten_names
from tests.every_case import every_case

LOADS = [
    f"{load}, {size}, {cpus}"
    for load in ("sequential write", "sequential read")
    for size in ("1 MiB", "4 KiB")
    for cpus in ("one CPU", "all CPUs")
]


@every_case("width", [24, 26, 28, 30])
def test_no_two_names_look_alike(width: int) -> None:
    shown = shorten_names(LOADS, width)
    assert len(set(shown)) == len(LOADS) and all(cell_len(name) <= width for name in shown)


def test_a_short_name_stays() -> None:
    assert shorten_names(LOADS, 80) == LOADS
