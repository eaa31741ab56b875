"""Four vendors' names for the same settings, from Redfish answers and from their own tools' files."""

from __future__ import annotations

from pathlib import Path

from probes.system.bios.attribute_file import read_attribute_file
from probes.types import Absent, is_present
from scenarios.triage.knowledge.bios import (
    BiosReading,
    all_readings,
    bios_settings,
    is_known_attribute,
    vendor_of,
)
from tests.every_case import every_case

BIOS = Path(__file__).parents[3] / "fixtures" / "bios"


def _read(path: Path) -> dict[str, BiosReading]:
    found = read_attribute_file(str(path), is_known_attribute)
    assert is_present(found)
    return {r.id: r for r in all_readings(found.values, found.pending, vendor_of(found.vendor))}


@every_case(
    ("vendor", "expected"),
    [
        (
            "dell",
            {
                "nodes_per_socket": ("4", "costs I/O"),
                "apbdis": ("Disabled", "costs I/O"),
                "xgmi_width": ("Unforced", "costs I/O"),
                "preferred_io": ("Disabled", "not judged"),
                "apic_mode": ("Enabled", "as advised"),
                "power_profile": ("PerfPerWattOptimizedOs", "costs I/O"),
                "pcie_ten_bit_tag": ("", "unknown"),
            },
        ),
        (
            "hpe",
            {
                "nodes_per_socket": ("OneMemoryDomainPerSocket", "as advised"),
                "apbdis": ("Auto", "costs I/O"),
                "apic_mode": ("Auto", "not judged"),
                "fabric_c_states": ("Auto", "costs I/O"),
            },
        ),
        (
            "supermicro",
            {
                "nodes_per_socket": ("NPS1", "as advised"),
                "apbdis": ("1", "as advised"),
                "pcie_ten_bit_tag": ("Enabled", "as advised"),
                "power_profile": ("High Performance Mode", "as advised"),
                "xgmi_width": ("", "unknown"),
            },
        ),
        (
            "lenovo",
            {
                "apbdis": ("P0", "as advised"),
                "pcie_ten_bit_tag": ("Disabled", "costs I/O"),
                "apic_mode": ("x2APIC", "as advised"),
                "xgmi_width": ("Auto", "costs I/O"),
            },
        ),
    ],
)
def test_a_vendors_own_names(vendor: str, expected: dict[str, tuple[str, str]]) -> None:
    found = _read(BIOS / f"{vendor}.json")
    assert {key: (found[key].value, found[key].judgement) for key in expected} == expected
    assert len(found) == len(bios_settings())


def test_what_is_unknown_is_said_with_where_to_look() -> None:
    unknown = _read(BIOS / "supermicro.json")["xgmi_width"]
    assert unknown.where.startswith("Advanced > ")
    nobody = {r.id: r for r in all_readings({}, {}, "")}
    assert nobody["apbdis"].where.startswith(
        "ApbDis (Dell), InfinityFabricPstate (HPE), APBDIS (Supermicro), "
    )


def test_what_the_running_system_shows_and_whose_processor_it_is() -> None:
    amd = {r.id: r for r in all_readings({}, {}, "dell", cpu="AMD", running_values={"apic_mode": "x2APIC"})}
    assert (amd["apic_mode"].value, amd["apic_mode"].name, amd["apic_mode"].judgement) == (
        "x2APIC",
        "",
        "as advised",
    )
    assert "sub_numa_cluster" not in amd and "apbdis" in amd
    assert "apbdis" not in {r.id for r in all_readings({}, {}, "dell", cpu="Intel")}
    told = {r.id for r in all_readings({"ApbDis": "Enabled"}, {}, "dell", cpu="Intel")}
    assert "apbdis" in told and "xgmi_width" not in told  # a file of another machine is shown all the same


@every_case("vendor", ["dell", "hpe", "supermicro", "lenovo"])
def test_only_known_names_are_kept(vendor: str) -> None:
    found = read_attribute_file(str(BIOS / f"{vendor}.json"), is_known_attribute)
    assert is_present(found) and len(found.values) > 5
    assert "SECRET" not in repr(found)


@every_case(
    ("text", "name", "value"),
    [
        (
            "[Key=BIOS.Setup.1-1#SysProfileSettings]\n#ApbDis=Disabled\nSysProfile=Custom\n",
            "ApbDis",
            "Disabled",
        ),
        ('<Component><Attribute Name="ApbDis">Enabled</Attribute></Component>', "ApbDis", "Enabled"),
        ('<Setting name="APBDIS" order="1" selectedOption="Auto" type="Option">', "APBDIS", "Auto"),
        ("Processors.SOCP-states=P0\n", "Processors.SOCP-states", "P0"),
        ('{"Bios.v1": [{"Attributes": {"ApbDis": "Enabled"}}]}', "ApbDis", "Enabled"),
        ('{"ApbDis": "Enabled"}', "ApbDis", "Enabled"),
    ],
)
def test_the_vendors_tools_files(tmp_path: Path, text: str, name: str, value: str) -> None:
    (tmp_path / "saved").write_text(text)
    reading = _read(tmp_path / "saved")["apbdis"]
    assert (reading.name, reading.value) == (name, value)


def test_what_a_restart_will_change(tmp_path: Path) -> None:
    (tmp_path / "saved").write_text("#ApbDis=Disabled (Pending Value=Enabled)\n")
    reading = _read(tmp_path / "saved")["apbdis"]
    assert (reading.value, reading.pending) == ("Disabled", "Enabled")


@every_case("text", ["", "nothing here", "[" * 100_000, '{"Attributes": 3}' * 2, "\0\0"])
def test_a_file_without_settings_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "saved").write_text(text)
    found = read_attribute_file(str(tmp_path / "saved"), is_known_attribute)
    assert isinstance(found, Absent) and "\n" not in found.reason
    assert isinstance(read_attribute_file(str(tmp_path / "gone"), is_known_attribute), Absent)


@every_case(
    ("text", "vendor"),
    [
        ("Dell Inc.", "dell"),
        ("Hewlett Packard Enterprise", "hpe"),
        ("Supermicro", "supermicro"),
        ("LENOVO", "lenovo"),
        ("QEMU", ""),
    ],
)
def test_vendors(text: str, vendor: str) -> None:
    assert vendor_of(text) == vendor
