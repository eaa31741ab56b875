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


NCQ_ERRORS = """[  348.8] ata4.00: exception Emask 0x10 SAct 0xf8 SErr 0x400000 action 0x6 frozen
[  348.8] ata4: SError: { Handshk }
[  348.8] ata4.00: failed command: WRITE FPDMA QUEUED
[  348.8] ata4: hard resetting link
[  348.9] blk_update_request: I/O error, dev sdq, sector 340850384
[  348.9] zio pool=smart vdev=/dev/disk/by-id/ata-Samsung_SSD_860_EVO_250GB_S3YJNB0K-part2 error=5 type=2
"""


def ssd(root: Path, vendor: str) -> Server:
    """A disk whose model the kernel has a rule for, on port 4 of a controller, with the errors of that port."""
    server, controller = Server(root), "sys/devices/pci0000:00/0000:00:11.0"
    device = f"{controller}/ata4/host3/target3:0:0/3:0:0:0"
    server.files(controller, vendor=vendor)
    server.files(device, model="Samsung SSD 860 ", queue_depth=32, state="running")
    server.files(f"{device}/block/sdq", size=488397168, dev="65:0")
    server.link(f"{device}/block/sdq/device", device)
    server.link("sys/block/sdq", f"{device}/block/sdq")
    return server.put("sos_commands/kernel/dmesg", f"[    0.0] Linux version 5.0.5\n{NCQ_ERRORS}")


def test_a_disk_that_the_kernel_has_a_rule_for_is_found_where_its_fault_shows(tmp_path: Path) -> None:
    """Not the model alone: its controller, its errors, and a boot without the rule belong to it."""
    server = ssd(tmp_path, "0x1002")
    finding = findings_by_id(tmp_path, "storage.ata-quirk")["storage.ata-quirk"]
    assert (finding.severity, finding.subject) == ("warning", "sdq (noncq)")
    assert finding.remedy[0].persistent == ("# kernel command line: libata.force=4.00:noncq",)
    server.put("proc/cmdline", "ro libata.force=4.00:noncq")
    assert findings_by_id(tmp_path, "storage.ata-quirk") == {}
    server.put("proc/cmdline", "ro").put("sos_commands/kernel/dmesg", "[    0.0] Linux version 5.0.5\n")
    assert findings_by_id(tmp_path, "storage.ata-quirk") == {}


def test_a_disk_of_another_controller_is_not_accused(tmp_path: Path) -> None:
    ssd(tmp_path, "0x8086")
    assert findings_by_id(tmp_path, "storage.ata-quirk") == {}


def test_what_names_one_disk_is_one_subject(tmp_path: Path) -> None:
    """Its kernel's name, the port that it hangs on, and the name that udev made of its model."""
    ssd(tmp_path, "0x8086")
    findings = findings_by_id(tmp_path, "log.io-error", "log.disk-reset")
    assert {name: finding.subject for name, finding in findings.items()} == {
        "log.io-error": "sdq",
        "log.disk-reset": "sdq",
    }
    commands = [line for remedy in findings["log.io-error"].remedy for line in remedy.commands]
    assert any("SError" in line for line in commands)  # the link is blamed, and the disk not replaced


def test_a_failed_command_without_a_reset_is_no_reset(tmp_path: Path) -> None:
    server = ssd(tmp_path, "0x8086")
    idnf = "ata4.00: exception Emask 0x0 SAct 0xff SErr 0x0 action 0x0\n[  9.1] ata4.00: failed command: WRITE DMA"
    server.put(
        "sos_commands/kernel/dmesg",
        f"[    0.0] Linux version 5.0.5\n[  9.0] {idnf}\n[  9.2] ata4.00: error: {{ IDNF }}\n",
    )
    findings = findings_by_id(tmp_path, "log.io-error", "log.disk-reset")
    assert {name: finding.severity for name, finding in findings.items()} == {
        "log.io-error": "warning",
        "log.disk-reset": "notice",
    }


def test_one_output_under_two_names_is_one_pool(tmp_path: Path) -> None:
    status = "  pool: data\n state: ONLINE\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\tdata ONLINE 0 0 0\n"
    status += (
        "\t  mirror-0 ONLINE 0 0 0\n\t    sda ONLINE 0 0 0\n\t    sdb ONLINE 0 3 0\n\nerrors: No known\n"
    )
    folder = "sos_commands/zfs/zpool_status"
    write_files(tmp_path, {folder: status, f"{folder}_-v": status})
    findings = findings_by_id(tmp_path, "storage.zfs-layout", "storage.zfs-errors")
    assert [finding.subjects for finding in findings.values()] == [(), ()]


def test_a_module_that_is_kept_out_is_let_in_before_it_is_loaded(tmp_path: Path) -> None:
    """`modprobe` of a module with `install NAME /bin/true` ends well and loads nothing."""
    crypto = "name         : xts(aes)\ndriver       : xts(ecb(aes-generic))\npriority     : 100\n\n"
    server = Server(tmp_path).put("proc/crypto", crypto).put("proc/cpuinfo", "flags\t\t: fpu sse aes avx\n")
    server.files("sys/block/dm-7", size=9000000)
    server.put("sys/block/dm-7/dm/uuid", "CRYPT-LUKS2-0a1b-scratch")
    path = "etc/modprobe.d/disable-aesni.conf"
    for text, count in (
        ("blacklist aesni_intel\ninstall aesni-intel /bin/true\n", 1),
        ("options x y=1\n", 0),
    ):
        server.put(path, text)
        (remedy,) = findings_by_id(tmp_path, "storage.crypt-driver")["storage.crypt-driver"].remedy
        lines = [line for line in remedy.commands if path in line]
        assert (len(lines), remedy.commands[count]) == (count, "modprobe aesni_intel")
