"""Links of disks, failing disks and SMART."""

import errno
import fcntl
import os
import struct
import subprocess
from pathlib import Path

import pytest

from hostdx.probes.files.rights import advice_for_failed_write
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.drive.link import BusLink, pcie_bytes_per_s, pcie_link, sata_link
from hostdx.probes.system.disk.failing import device_error_suffix, io_error_advice, is_made_read_only
from hostdx.probes.system.disk.mounts import parse_mountinfo
from hostdx.probes.system.disk.smart import SmartHealth, parse_nvme_log
from hostdx.probes.types import Absent, is_present
from tests.app.launcher import run_hostdx
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.needs import ROOT, needs
from tests.real.loop_disk import LoopDisk
from tests.real.short_runs import short_run

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


SHUTDOWN, WITHOUT_LOG = (
    0x8004587D,
    2,
)  # EXT4_IOC_SHUTDOWN, fs/ext4/ext4.h: what ext4 does when its device is gone


def test_the_device_is_named_where_the_error_is_its_own() -> None:
    suffix = device_error_suffix("/proc/self", errno.EIO)
    assert suffix == " (proc, proc on /proc, fails or is gone: see dmesg)"
    assert (
        device_error_suffix("/proc/self", errno.EBADMSG)
        == device_error_suffix("/proc/self", errno.EUCLEAN)
        == suffix
    )
    assert device_error_suffix("/proc/self", errno.ENOSPC) == device_error_suffix("/proc/self", None) == ""


@every_case(
    "options,source,is_aborted",
    [
        ("rw,relatime|rw,emergency_ro", "/dev/sda1", True),
        ("rw,relatime|ro", "/dev/sda1", True),
        ("rw,relatime|rw", "/dev/mapper/bad", True),
        ("ro,relatime|ro", "/dev/sda1", False),
        ("ro,relatime|rw", "/dev/sda1", False),
        ("rw,relatime|rw,vers=4.2", "filer:/export", False),
    ],
)
def test_which_file_system_was_made_read_only(options: str, source: str, is_aborted: bool) -> None:
    of_mount, of_file_system = options.split("|")
    mount = parse_mountinfo(f"27 1 254:0 / /data {of_mount} - ext4 {source} {of_file_system}")
    assert mount is not None and is_made_read_only(mount) == is_aborted
    assert not is_made_read_only(Absent("no mount table"))


@pytest.mark.real
@needs(ROOT)
def test_a_file_system_that_the_kernel_made_read_only_is_told_from_one_that_was_mounted_so(
    tmp_path: Path,
) -> None:
    with LoopDisk(tmp_path) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk.mountpoint)], check=True)
        assert device_error_suffix(str(disk.mountpoint), errno.EROFS) == ""
        subprocess.run(["mount", "-o", "remount,rw,errors=remount-ro", str(disk.mountpoint)], check=True)
        # some kernels go on saying `rw` after the error
        assert f"/dev/{disk.device}, " in device_error_suffix(str(disk.mountpoint), errno.EROFS)
        Path(f"/sys/fs/ext4/{disk.device}/trigger_fs_error").write_text("a test of hostdx")
        with pytest.raises(OSError, match=os.strerror(errno.EROFS)):
            (disk.mountpoint / "new").touch()
        suffix = device_error_suffix(str(disk.mountpoint), errno.EROFS)
        assert f"/dev/{disk.device}, ext4 on {disk.mountpoint}" in suffix
        assert io_error_advice(errno.EROFS, str(disk.mountpoint)).endswith(
            advice_for_failed_write(errno.EIO, "name another directory")
        )


@pytest.mark.real
@needs(ROOT)
@pytest.mark.parametrize("scenario", ["null", "fstrim"])
def test_a_run_on_a_dead_file_system_ends_with_one_line(tmp_path: Path, scenario: str) -> None:
    with LoopDisk(tmp_path) as disk:
        fd = os.open(disk.mountpoint, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("=I", WITHOUT_LOG))
        finally:
            os.close(fd)
        ended = run_hostdx(tmp_path, *short_run(scenario, disk))
        last = ended.stderr.splitlines()[-1]
        assert ended.returncode == 3 and "Traceback" not in ended.stderr
        strerrors = [os.strerror(number) for number in (errno.EIO, errno.EBADMSG, errno.EUCLEAN)]
        assert str(disk.directory) in last and any(text in last for text in strerrors), ended.stderr
        assert f"/dev/{disk.device}, ext4 on {disk.mountpoint}, fails or is gone: see dmesg" in last, (
            ended.stderr
        )


def test_what_nvme_cli_kept_of_a_drive() -> None:
    text = (
        "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning                        : 0x4\n"
        "available_spare                         : 5%\navailable_spare_threshold               : 10%\n"
        "percentage_used                         : 120%\nmedia_errors                            : 33\n"
    )
    nvme_log = parse_nvme_log(text)
    assert isinstance(nvme_log, SmartHealth)
    assert (nvme_log.passed, nvme_log.critical, nvme_log.used, nvme_log.spare) == (False, 4, 1.2, 0.05)
    assert (nvme_log.least_spare, nvme_log.media_errors) == (0.1, 33)
    heat = parse_nvme_log(text.replace("0x4", "2"))
    assert isinstance(heat, SmartHealth) and heat.passed
    assert isinstance(parse_nvme_log("nvme: not found"), Absent)
