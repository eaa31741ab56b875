"""The firmware's tables of nodes: from their bytes, whole, cut short and absent."""

import struct

import pytest

from hostdx.probes.system.nodes.acpi import ROOT, read_acpi_tables
from hostdx.probes.types import Absent, Json, UnreadFact, is_present
from hostdx.scenarios.numa.settings import described_and_used_nodes
from hostdx.scenarios.numa.settings import read_settings as all_settings
from tests.fakes.hosts.tree import Tree

NODE = "/sys/devices/system/node"


def _read_settings(tree: Tree) -> dict[str, Json | Absent]:
    return {e.name: e.absent if isinstance(e, UnreadFact) else e.value for e in all_settings(tree.host())}


def _make_table(name: str, body: bytes) -> bytes:
    return struct.pack("<4sI28x", name.encode(), 36 + len(body)) + body


def _processor_entry(domain: int, flags: int = 1) -> bytes:
    parts = (domain >> 8 & 0xFF, domain >> 16 & 0xFF, domain >> 24 & 0xFF)
    return struct.pack("<BBBBIBBBBI", 0, 16, domain & 0xFF, 0, flags, 0, *parts, 0)


def _x2apic_entry(domain: int, flags: int = 1) -> bytes:
    return struct.pack("<BBHIIII4x", 2, 24, 0, domain, 0, flags, 0)


def _arm_entry(domain: int, flags: int = 1) -> bytes:
    return struct.pack("<BBIIII", 3, 18, domain, 0, flags, 0)


def _memory(domain: int, length: int = 1 << 30, flags: int = 1) -> bytes:
    return struct.pack("<BBIHQQII8x", 1, 40, domain, 0, 0, length, 0, flags)


def _srat(*entries: bytes) -> bytes:
    return _make_table("SRAT", bytes(12) + b"".join(entries))


def _slit(*rows: tuple[int, ...]) -> bytes:
    return _make_table("SLIT", struct.pack("<Q", len(rows)) + b"".join(bytes(row) for row in rows))


def _put_nodes(tree: Tree, *rows: str) -> Tree:
    for number, row in enumerate(rows):
        tree.files(f"{NODE}/node{number}", cpulist=number, distance=row)
    return tree


@pytest.mark.parametrize("processor", [_processor_entry, _x2apic_entry, _arm_entry])
def test_domains_and_distances(tree: Tree, processor: object) -> None:
    assert callable(processor)
    entries = [processor(0), processor(0x1234), processor(7, 0), _memory(0), _memory(0x1234), _memory(9, 0)]
    tree.put(f"{ROOT}/SRAT", _srat(*entries, _memory(8, flags=3)))  # room to plug memory in is no memory
    tree.put(f"{ROOT}/SLIT", _slit((10, 21), (21, 10)))
    acpi_tables = read_acpi_tables(_put_nodes(tree, "10 21", "21 10").host())
    assert is_present(acpi_tables) and is_present(acpi_tables.srat)
    assert acpi_tables.srat.with_cpus == acpi_tables.srat.with_memory == {0, 0x1234}
    assert acpi_tables.distances == ((10, 21), (21, 10))
    assert isinstance(acpi_tables.hmat_bytes, Absent) and "no HMAT table" in acpi_tables.hmat_bytes.reason
    settings = _read_settings(tree)
    assert settings["firmware_domains"] == "2 domains with CPUs, 2 with memory"
    assert settings["firmware_distances"] == "10 21; 21 10 (as the kernel uses them)"


def test_speeds_of_memory(tree: Tree) -> None:
    tree.put(f"{ROOT}/HMAT", _make_table("HMAT", bytes(4)))
    assert isinstance(_read_settings(tree)["firmware_speeds"], Absent)
    _put_nodes(tree, "10").files(f"{NODE}/node0/access0/initiators", read_latency=90, read_bandwidth=120000)
    settings = _read_settings(tree)
    assert settings["firmware_speeds"] == ["node 0: 90 ns, 120000 MB/s"]


def test_nodes_that_the_kernel_refused(tree: Tree) -> None:
    entries = [_processor_entry(0), _processor_entry(1), _memory(0), _memory(1)]
    _put_nodes(tree.put(f"{ROOT}/SRAT", _srat(*entries)), "10")
    assert described_and_used_nodes(tree.host()) == (2, 1)
    assert described_and_used_nodes(tree.put("/proc/cmdline", "ro numa=off\n").host()) is None
    tree.put("/proc/cmdline", "ro\n").put(f"{ROOT}/SRAT", _srat(*entries[:3]))  # the second has no memory
    assert described_and_used_nodes(tree.host()) is None


@pytest.mark.parametrize(
    "data", [b"", b"SRAT", bytes(60), _srat(), _srat(b"\0\0"), _srat(_memory(0)[:20]), _srat(b"\1\xff")]
)
def test_what_is_no_table(tree: Tree, data: bytes) -> None:
    acpi_tables = read_acpi_tables(tree.put(f"{ROOT}/SRAT", data).put(f"{ROOT}/SLIT", data).host())
    assert (
        is_present(acpi_tables)
        and isinstance(acpi_tables.srat, Absent)
        and isinstance(acpi_tables.distances, Absent)
    )


def test_a_slit_that_claims_more_than_it_holds(tree: Tree) -> None:
    tree.put(f"{ROOT}/SLIT", _make_table("SLIT", struct.pack("<Q", 1 << 60) + bytes(100)))
    acpi_tables = read_acpi_tables(tree.host())
    assert is_present(acpi_tables) and isinstance(acpi_tables.distances, Absent)
