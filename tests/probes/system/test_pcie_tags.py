"""10-bit tags from configuration space, and settings through the kernel's firmware attributes."""

from pathlib import Path

from hostdx.probes.system.bios.attributes import firmware_attributes
from hostdx.probes.system.pcie_tags import PcieTags, decode_tags
from hostdx.probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree


def _config_space(can: int, on: int, version: int = 2) -> bytes:
    """Power management at 0x40, PCI Express behind it at 0x60."""
    data = bytearray(256)
    data[0x34] = 0x40
    data[0x40:0x42] = bytes((0x01, 0x60))
    data[0x60:0x63] = bytes((0x10, 0x00, version))
    data[0x84:0x88] = can.to_bytes(4, "little")
    data[0x88:0x8A] = on.to_bytes(2, "little")
    return bytes(data)


def test_tags() -> None:
    assert decode_tags("a", _config_space(1 << 17, 1 << 12)) == PcieTags("a", can=True, on=True)
    assert decode_tags("a", _config_space(1 << 17, 0)) == PcieTags("a", can=True, on=False)
    assert decode_tags("a", _config_space(1 << 16, 0)) == PcieTags("a", can=False, on=False)


def test_what_is_cut_short_old_or_a_ring_tells_nothing() -> None:
    assert decode_tags("a", _config_space(0, 0)[:64]) is None
    assert decode_tags("a", _config_space(1 << 17, 0, version=1)) is None
    ring = bytearray(_config_space(0, 0))
    ring[0x60] = 0x05
    ring[0x61] = 0x40
    assert decode_tags("a", bytes(ring)) is None


def test_settings_through_the_kernel(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.files("/sys/class/firmware-attributes/dell-wmi-sysman/attributes/ApbDis", current_value="Enabled")
    tree.files("/sys/class/firmware-attributes/dell-wmi-sysman/attributes/Asset", current_value="SECRET")
    tree.files("/sys/class/dmi/id", sys_vendor="Dell Inc.")
    attributes = firmware_attributes(tree.host(), lambda name: name == "ApbDis")
    assert is_present(attributes) and (attributes.values, attributes.vendor) == (
        {"ApbDis": "Enabled"},
        "Dell Inc.",
    )
    assert isinstance(firmware_attributes(Tree(tmp_path / "none").host(), lambda name: True), Absent)
