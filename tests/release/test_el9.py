"""What can be told about EL 9 without one: its glibc is 2.34, and no compiled part asks for a newer one."""

import os
import re
from pathlib import Path

import pytest

from hostdx.app.features.bundle.build import GLIBC
from tests.release.own_python import newest_glibc
from tests.release.packages import stage

EL9_GLIBC = (2, 34)
EARLIER = {
    "manylinux2014": (2, 17),
    "manylinux2010": (2, 12),
}  # names without a number of glibc (PEP 571, 599)


def test_wheels_of_the_bundle_are_for_no_newer_glibc() -> None:
    versions = [
        EARLIER.get(tag) or tuple(map(int, re.findall(r"\d+", tag.removeprefix("manylinux_"))))
        for tag in GLIBC
    ]
    assert len(versions) > 3 and all(version <= EL9_GLIBC for version in versions)


@pytest.mark.soak("what a bundle holds and starts")
def test_no_compiled_part_asks_for_a_newer_glibc(bundle: Path, tmp_path: Path) -> None:
    version, file = newest_glibc(stage(bundle, tmp_path / "tree", os.uname().machine))
    assert (2, 3) <= version <= EL9_GLIBC, file
