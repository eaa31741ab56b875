"""Four vendors' names for the same settings, from Redfish answers and from their own tools' files."""

from pathlib import Path

from hostdx.probes.system.bios.attribute_file import read_attribute_file
from hostdx.probes.types import is_present
from hostdx.scenarios.triage.knowledge.bios import (
    BiosReading,
    all_readings,
    is_known_attribute,
    vendor_of,
)
from tests.every_case import every_case

BIOS = Path(__file__).parents[3] / "fixtures" / "bios"


def _read(path: Path) -> dict[str, BiosReading]:
    attribute_file = read_attribute_file(str(path), is_known_attribute)
    assert is_present(attribute_file)
    return {
        r.id: r
        for r in all_readings(attribute_file.values, attribute_file.pending, vendor_of(attribute_file.vendor))
    }


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
