"""When directories are places of one file system, so that no difference is expected."""

from __future__ import annotations

from scenarios.storage.targets import Common, Shared, on_one_file_system
from tests.every_case import every_case


def both(a: str, b: str, common: Common = "file system", **differs: tuple[str, str]) -> Shared:
    return Shared(a=a, b=b, common=common, fstype="ext4", disks=("sda",), differs=differs)


@every_case(
    ("found", "count", "expected"),
    [
        ((), 1, False),
        ((), 2, False),
        ((both("A", "B"),), 2, True),
        ((both("A", "B", "disk"),), 2, False),
        ((both("A", "B", compression=("zstd", "none")),), 2, False),
        ((both("A", "B"),), 3, False),
        ((both("A", "B"), both("A", "C"), both("B", "C")), 3, True),
    ],
)
def test_all_of_them_with_equal_attributes(found: tuple[Shared, ...], count: int, expected: bool) -> None:
    assert on_one_file_system(found, count) is expected
