"""Faults that cannot be planted into the healthy server: what it has, or lacks, would hide them."""

from pathlib import Path

from tests.fakes.hosts.server import Server
from tests.scenarios.test_planted_faults import BOND, PORTS, findings_by_id, log, write_files


def test_a_bond_on_one_card_of_two_is_found(tmp_path: Path) -> None:
    server = Server(tmp_path).put(BOND, PORTS)
    assert findings_by_id(tmp_path, "net.bond-one-card") == {}
    device = "sys/devices/pci0000:ae/0000:ae:00.0/0000:af:00.0"
    server.files(f"{device}/net/ens2", ifindex=9, type=1)
    server.link(f"{device}/net/ens2/device", device)
    server.link(f"{device}/driver", "sys/bus/pci/drivers/mlx5_core")
    server.link("sys/class/net/ens2", f"{device}/net/ens2")
    assert findings_by_id(tmp_path, "net.bond-one-card")["net.bond-one-card"].severity == "notice"


def test_what_a_host_without_clocks_and_counters_tells_is_found(tmp_path: Path) -> None:
    """Neither a folder of clocks nor the kernel's own counters of PCIe errors."""
    model = "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz"
    processor = f"vendor_id\t: GenuineIntel\nmodel name\t: {model}\ncpu MHz\t\t: {{}}.000\n\n"
    for clock, ids in ((1200, {"host.clock-not-set"}), (2600, set())):
        cpus = "".join(f"processor\t: {n}\n{processor.format(clock)}" for n in range(4))
        write_files(tmp_path, {"proc/cpuinfo": cpus, "sys/class/dmi/id/sys_vendor": "Dell Inc.\n"})
        assert set(findings_by_id(tmp_path, "host.clock-not-set")) == ids
    for interval_ms, ids in (("0", {"net.bond-unwatched"}), ("100", set())):
        write_files(
            tmp_path, {BOND: PORTS.replace("\n\n", f"\nMII Polling Interval (ms): {interval_ms}\n\n", 1)}
        )
        assert set(findings_by_id(tmp_path, "net.bond-unwatched")) == ids
    for marks, ids in (("BadTLP+ BadDLLP-", {"host.pcie-errors-unread"}), ("BadTLP- BadDLLP-", set())):
        device = (
            "3b:00.0 Non-Volatile memory controller [0108]: Samsung PM1733 [144d:a824]\n\tControl: Mem+\n"
        )
        errors = f"{device}\t\tCESta:\tRxErr+ {marks} Rollover- Timeout-\n"
        unread = log("acpi PNP0A08:00: _OSC: platform does not support [AER]")
        write_files(tmp_path, {"sos_commands/pci/lspci_-nnvv": errors, **unread})
        assert set(findings_by_id(tmp_path, "host.pcie-errors-unread")) == ids


def test_what_firmware_hands_over_or_corrected_is_a_notice(tmp_path: Path) -> None:
    """An IOMMU's refusals for a USB controller at a start, and a record of the last boot that was corrected."""
    fault = "DMAR: [DMA Read] Request device [00:14.0] PASID ffffffff fault addr 0 [fault reason 06] PTE Read"
    server = Server(tmp_path)
    bus = "{1}[Hardware Error]: event severity: corrected\n[   99.2] {1}[Hardware Error]:   section_type: PCIe error"
    record = "BERT: Error records from previous boot:"
    cases: list[tuple[str, str, dict[str, str], str]] = [
        ("log.iommu-fault", fault, {"sys/bus/pci/devices/0000:00:14.0/class": "0x0c0330"}, "notice"),
        ("log.iommu-fault", fault.replace("14.0", "15.0"), {}, "warning"),
        (
            "log.machine-check",
            f"{record}\n[   99.2] [Hardware Error]: event severity: corrected",
            {},
            "notice",
        ),
        (
            "log.machine-check",
            f"{record}\n[   99.2] [Hardware Error]: event severity: recoverable",
            {},
            "warning",
        ),
        (
            "log.firmware-errors",
            f"{bus}\n[   99.3] {{1}}[Hardware Error]:   device_id: 0000:3b:00.0",
            {},
            "notice",
        ),
    ]
    for rule, lines, files, severity in cases:
        with server.restore_after():
            for path, text in (log(lines) | files).items():
                server.put(path, text)
            by_id = findings_by_id(server.root, "log.firmware-errors", "log.iommu-fault", "log.machine-check")
        assert {rule: severity} == {name: finding.severity for name, finding in by_id.items()}, lines
