"""Links: how fast they run now, how fast they could, and what holds them back."""

import pytest

from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.drive.link import BusLink, pcie_bytes_per_s, pcie_link, sata_link
from hostdx.probes.types import Absent, is_present
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

AHCI = "/sys/devices/pci0000:00/0000:00:1f.2"
SATA = f"{AHCI}/ata3/host2/target2:0:0/2:0:0:0/block/sda"
PORT = "/sys/devices/pci0000:40/0000:40:01.1"
NVME = f"{PORT}/0000:41:00.0"
# AHCI capabilities with an interface speed of 3 (6 Gb/s), as libahci prints them, and of 2 (3 Gb/s).
SIX, THREE = "c734ff05", "c724ff05"


def identify_words(generation: int | None, model: str = "") -> str:
    """256 words in hex, eight a line, as libata-transport prints them; only what is read is set."""
    words = [0] * 256
    if generation is not None:
        words[76] = sum(1 << bit for bit in range(1, generation + 1))
    for index, start in enumerate(range(0, 40, 2)):
        words[27 + index] = int.from_bytes(model.ljust(40)[start : start + 2].encode(), "big")
    lines = (" ".join(f"{word:04x}" for word in words[n : n + 8]) for n in range(0, 256, 8))
    return "\n".join(lines)


def sata(
    tree: Tree,
    now: str,
    *,
    hardware: str = "<unknown>",
    allowed: str = "<unknown>",
    drive: int | None = None,
    caps: str = "",
    model: str = "",
) -> BusLink | Absent:
    link = f"{AHCI}/ata3/link3/ata_link/link3"
    tree.files(link, sata_spd=now, hw_sata_spd_limit=hardware, sata_spd_limit=allowed)
    tree.files("/sys/class/ata_device/dev3.0", id=identify_words(drive, model), spdn_cnt=0)
    if caps:
        tree.files("/sys/class/scsi_host/host2", ahci_host_caps=caps)
    return sata_link(tree.disk(SATA).host(), SATA)


def present(link: BusLink | Absent) -> BusLink:
    assert is_present(link), link
    return link


def test_sata_below_what_both_can_do(tree: Tree) -> None:
    link = present(sata(tree, "3.0 Gbps", drive=3, caps=SIX))
    assert link.degraded and link.at_most == "6.0 Gb/s" and link.bytes_per_s == 300_000_000
    assert "cable" in link.limited_by


def test_an_old_controller_is_named(tree: Tree) -> None:
    link = present(sata(tree, "3.0 Gbps", drive=3, caps=THREE))
    assert not link.degraded and "controller can do less" in link.limited_by


def test_lowered_by_the_error_handler(tree: Tree) -> None:
    """Known even where neither drive nor controller tells: sata_spd_limit is below the hardware's."""
    link = present(sata(tree, "3.0 Gbps", allowed="3.0 Gbps"))
    assert link.degraded and "after errors" in link.limited_by


def test_lowered_by_libata_force(tree: Tree) -> None:
    link = present(sata(tree, "1.5 Gbps", hardware="1.5 Gbps", allowed="1.5 Gbps", drive=3, caps=SIX))
    assert link.degraded and "libata.force" in link.limited_by


def test_a_speed_that_the_kernel_does_not_know_is_absent(tree: Tree) -> None:
    assert isinstance(sata(tree, "<unknown>"), Absent)


def test_the_drive_tells_its_whole_model(tree: Tree) -> None:
    """sysfs cuts it to the 16 characters of a SCSI inquiry."""
    sata(tree, "6.0 Gbps", drive=3, model="SAMSUNG MZ7LH960HAJR-00005")
    tree.files(f"{SATA}/device", model="SAMSUNG MZ7LH960")
    assert block_devices(tree.host())["sda"].model == "SAMSUNG MZ7LH960HAJR-00005"


@pytest.mark.parametrize("text", ["", "zz " * 256, "0000 " * 20, "ffff " * 256])
def test_broken_identify_data_tells_nothing(tree: Tree, text: str) -> None:
    tree.files(f"{AHCI}/ata3/link3/ata_link/link3", sata_spd="6.0 Gbps")
    tree.files("/sys/class/ata_device/dev3.0", id=text)
    link = present(sata_link(tree.host(), SATA))
    assert (link.device_most, link.degraded) == ("", False)


def test_behind_a_port_multiplier_each_drive_has_its_link(tree: Tree) -> None:
    path = f"{AHCI}/ata3/host2/target2:4:0/2:4:0:0/block/sdb"
    tree.files("/sys/class/ata_link/link3.4", sata_spd="1.5 Gbps").files(
        "/sys/class/ata_link/link3", sata_spd="3.0 Gbps"
    )
    assert present(sata_link(tree.host(), path)).now == "1.5 Gb/s"


def pcie_link_of(
    tree: Tree, now: tuple[str, object], best: tuple[str, object], port: tuple[str, object] | None
) -> BusLink | Absent:
    tree.files(NVME, current_link_speed=now[0], current_link_width=str(now[1]))
    tree.files(NVME, max_link_speed=best[0], max_link_width=str(best[1]))
    if port:
        tree.files(PORT, max_link_speed=port[0], max_link_width=str(port[1]))
    return pcie_link(tree.host(), NVME)


GEN3, GEN4 = "8.0 GT/s PCIe", "16.0 GT/s PCIe"


def test_without_the_port_nothing_is_claimed(tree: Tree) -> None:
    assert not present(pcie_link_of(tree, (GEN3, 4), (GEN4, 4), None)).degraded


@pytest.mark.parametrize("now", [("Unknown", 4), ("Unknown speed", 0), (GEN4, 0), (GEN4, 255), (GEN4, "x")])
def test_a_link_that_is_down_is_absent(tree: Tree, now: tuple[str, object]) -> None:
    assert isinstance(pcie_link_of(tree, now, (GEN4, 4), None), Absent)


@every_case(
    ("speed", "lanes", "megabytes"),  # the figures that are commonly quoted for one direction
    [(2.5, 1, 250), (5.0, 4, 2000), (8.0, 4, 3938), (16.0, 4, 7877), (32.0, 4, 15754), (64.0, 4, 29500)],
)
def test_line_encodings(speed: float, lanes: int, megabytes: int) -> None:
    assert round(pcie_bytes_per_s(speed, lanes) / 1e6) == megabytes


def test_sas_by_its_phy(tree: Tree) -> None:
    port = "/sys/devices/pci0000:00/0000:03:00.0/host0/port-0:0"
    path = f"{port}/end_device-0:0/target0:0:0/0:0:0:0/block/sda"
    tree.put(f"{port}/phy-0:0/x")
    tree.files("/sys/class/sas_phy/phy-0:0", negotiated_linkrate="6.0 Gbit", maximum_linkrate_hw="12.0 Gbit")
    link = present(block_devices(tree.disk(path).host())["sda"].link)
    assert (link.kind, link.now, link.at_most, link.degraded) == ("sas", "6.0 Gb/s", "12.0 Gb/s", False)
