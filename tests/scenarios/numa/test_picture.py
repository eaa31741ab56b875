"""The picture: 80 columns whatever the host holds, large hosts folded, what is not believed said."""

import tarfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.probes.reading.host import Host
from hostdx.scenarios.numa import picture as numa_picture
from hostdx.scenarios.numa.machine import CoreGroup, DeviceShape, MachineShape, NodeOrSocket, read_machine
from hostdx.scenarios.numa.picture import COLUMNS, draw_picture
from tests.needs import not_here, some_always

TREES = Path(__file__).parents[4] / "shared" / "hosts"
ROOT, NODE = "/sys/devices/system/cpu", "/sys/devices/system/node"


def _large() -> MachineShape:
    """Two sockets, 16 nodes, 256 threads."""
    places = tuple(
        NodeOrSocket(
            number=n,
            sockets=(n // 8,),
            cpus=f"{n * 8}-{n * 8 + 7},{n * 8 + 128}-{n * 8 + 135}",
            cores=(CoreGroup(8, 2),),
            caches=((32 << 20, 1),),
            memory_bytes=(62 if n == 0 else 64) << 30,
            distances=tuple(10 if m == n else 11 if m // 8 == n // 8 else 32 for m in range(16)),
        )
        for n in range(16)
    )
    return MachineShape(
        model="AMD EPYC 7763 64-Core Processor",
        sockets=2,
        dies=2,
        cores=128,
        threads=256,
        threads_per_core=(2,),
        hybrid=False,
        places_are_nodes=True,
        places=places,
        devices=(DeviceShape("NVMe", "nvme0n1", 3), DeviceShape("NIC", "eth0", 9)),
        nodes=16,
        nodes_with_cpus=16,
    )


@settings(max_examples=20)
@given(
    st.text(max_size=300),
    st.text(max_size=300),
    st.integers(0, 1 << 60),
    st.lists(st.text(max_size=90), max_size=9),
)
def test_it_fits_whatever_the_host_says(model: str, cpus: str, memory: int, names: list[str]) -> None:
    place = msgspec.structs.replace(_large().places[0], cpus=cpus, memory_bytes=memory)
    devices = tuple(DeviceShape("NVMe", name, 0) for name in names)
    text = msgspec.structs.replace(_large(), model=model, places=(place,), devices=devices, offline=cpus)
    for line in draw_picture(text):
        assert len(line) <= COLUMNS and (line.isprintable() or line == "")


@pytest.mark.parametrize(
    "name", some_always(("opteron-4s2n", "xeon-buggynuma"), ("epyc-7451", "hybrid-1p6c2t-8e", "disks-lvm"))
)
def test_real_machines(name: str, tmp_path: Path) -> None:
    archive = next(TREES.glob(f"{name}.tar.*"), None)
    if archive is None:
        not_here("the captured trees of real machines are not beside the project")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    shape = read_machine(Host(str(tmp_path)))
    lines = draw_picture(shape)
    assert lines and all(len(line) <= COLUMNS for line in lines)
    assert msgspec.convert(msgspec.to_builtins(shape), MachineShape) == shape


def test_thousands_of_unlike_nodes_are_counted_and_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = []
    alike = numa_picture._is_alike
    monkeypatch.setattr(numa_picture, "_is_alike", lambda *pair: pairs.append(pair) or alike(*pair))
    place = _large().places[0]
    many = tuple(msgspec.structs.replace(place, number=n, cores=(CoreGroup(n + 1, 1),)) for n in range(5000))
    lines = draw_picture(msgspec.structs.replace(_large(), places=many))
    assert "and 4984 more nodes, unlike these" in lines
    assert len(pairs) < 20 * len(many)


def test_lists_of_cpus_that_overlap_are_read_up_to_one_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    parse = numa_picture.parse_cpu_list
    monkeypatch.setattr(numa_picture, "parse_cpu_list", lambda text: read.append(text) or parse(text))
    place = msgspec.structs.replace(_large().places[1], cpus="0-40000")
    many = tuple(msgspec.structs.replace(place, number=n) for n in range(500))
    draw_picture(msgspec.structs.replace(_large(), places=many))
    assert len(read) <= 4
