"""What the firmware's ACPI tables say of nodes: SRAT (who belongs together), SLIT (distances), HMAT (speeds).

ACPI specification 6.5: 5.2.16 (SRAT), 5.2.17 (SLIT), 5.2.28 (HMAT). Only root may read them. The kernel builds its
nodes from them and throws away what it finds inconsistent (arch/x86/mm/srat.c, drivers/acpi/numa): the two may differ.
"""

from collections.abc import Iterator

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

ROOT = "/sys/firmware/acpi/tables"
_MAX_TABLE_BYTES = 4 << 20  # a SLIT of 1024 nodes has one
_HEADER = 36  # signature, length, revision, checksum, names
_PROCESSOR, _MEMORY, _X2APIC, _GICC = 0, 1, 2, 3
_ENABLED, _HOT_PLUGGABLE = 1, 2
_MAX_DOMAINS = 1024


class Srat(msgspec.Struct, frozen=True):
    """Proximity domains with processors, and with memory that is there (not only room to plug some in)."""

    with_cpus: frozenset[int]
    with_memory: frozenset[int]


class AcpiTables(msgspec.Struct, frozen=True, kw_only=True):
    """Each Absent where the firmware has none, or where only root may read it."""

    srat: Srat | Absent
    distances: tuple[tuple[int, ...], ...] | Absent
    hmat_bytes: int | Absent


def read_acpi_tables(host: Host) -> AcpiTables | Absent:
    """Absent where the machine has no ACPI at all (device tree, IBM Z, some virtual machines)."""
    names = host.list_names(ROOT)
    if isinstance(names, Absent):
        return names
    srat, slit, hmat = (_read_acpi_table(host, names, name) for name in ("SRAT", "SLIT", "HMAT"))
    return AcpiTables(
        srat=srat if isinstance(srat, Absent) else _parse_srat(srat),
        distances=slit if isinstance(slit, Absent) else _parse_slit(slit),
        hmat_bytes=hmat if isinstance(hmat, Absent) else len(hmat),
    )


def _read_acpi_table(host: Host, names: tuple[str, ...], name: str) -> bytes | Absent:
    path = f"{ROOT}/{name}"
    if name not in names:
        return Absent(f"the firmware has no {name} table", "missing", ROOT)
    data = host.read_file_bytes(path, _MAX_TABLE_BYTES)
    if is_present(data) and (len(data) < _HEADER or data[:4] != name.encode()):
        return Absent(f"{path} is no {name} table", "invalid", path)
    return data


def _parse_srat(data: bytes) -> Srat | Absent:
    cpus, memory = set[int](), set[int]()
    for kind, entry in _kinds_and_entries(data, _HEADER + 12):
        if kind == _PROCESSOR and len(entry) >= 16 and _little_endian(entry, 4, 4) & _ENABLED:
            cpus.add(entry[2] | _little_endian(entry, 9, 3) << 8)
        elif kind == _X2APIC and len(entry) >= 24 and _little_endian(entry, 12, 4) & _ENABLED:
            cpus.add(_little_endian(entry, 4, 4))
        elif kind == _GICC and len(entry) >= 18 and _little_endian(entry, 10, 4) & _ENABLED:
            cpus.add(_little_endian(entry, 2, 4))
        elif kind == _MEMORY and len(entry) >= 40:
            flags = _little_endian(entry, 28, 4)
            if flags & _ENABLED and not flags & _HOT_PLUGGABLE and _little_endian(entry, 16, 8):
                memory.add(_little_endian(entry, 2, 4))
    if not cpus and not memory:
        return Absent("the SRAT table names neither processors nor memory", "invalid", f"{ROOT}/SRAT")
    return Srat(frozenset(cpus), frozenset(memory))


def _kinds_and_entries(data: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    while at + 2 <= len(data) and data[at + 1] >= 2:
        yield data[at], data[at : at + data[at + 1]]
        at += data[at + 1]


def _parse_slit(data: bytes) -> tuple[tuple[int, ...], ...] | Absent:
    count = _little_endian(data, _HEADER, 8)
    body = data[_HEADER + 8 :]
    if not 0 < count <= _MAX_DOMAINS or len(body) < count * count:
        return Absent("the SLIT table is cut short", "invalid", f"{ROOT}/SLIT")
    return tuple(tuple(body[row * count : (row + 1) * count]) for row in range(count))


def _little_endian(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
