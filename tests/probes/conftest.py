"""Small captured hosts for the readers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.hosts.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "host")


@pytest.fixture
def cpus(tree: Tree) -> Callable[..., Tree]:
    """`cpus([[0, 4], [1, 5]], socket=0)`: cores by the threads that they consist of."""

    def build(cores: list[list[int]], socket: int = 0, node: int | None = None) -> Tree:
        for number, core in enumerate(cores):
            for thread in core:
                tree.files(
                    f"/sys/devices/system/cpu/cpu{thread}/topology",
                    thread_siblings_list=",".join(map(str, core)),
                    physical_package_id=socket,
                    core_id=number,
                )
        if node is not None:
            threads = ",".join(str(thread) for core in cores for thread in core)
            tree.files(f"/sys/devices/system/node/node{node}", cpulist=threads, distance="10 20")
        return tree

    return build
