"""The machine's firmware: BIOS or UEFI version, board, and the CPU's microcode."""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.topology import read_cpuinfo
from hostdx.probes.types import Absent

DMI = "/sys/class/dmi/id"


class FirmwareFacts(msgspec.Struct, frozen=True, kw_only=True):
    """As the manufacturer wrote it (Documentation/ABI/testing/sysfs-firmware-dmi-tables). No serial number is read."""

    vendor: str | Absent
    version: str | Absent
    date: str | Absent
    product: str | Absent
    board: str | Absent
    microcode: str | Absent


def read_firmware(host: Host) -> FirmwareFacts:
    """From /sys/class/dmi/id and /proc/cpuinfo; virtual machines have made-up values or none."""
    return FirmwareFacts(
        vendor=host.read_word(f"{DMI}/bios_vendor"),
        version=host.read_word(f"{DMI}/bios_version"),
        date=host.read_word(f"{DMI}/bios_date"),
        product=host.read_word(f"{DMI}/product_name"),
        board=host.read_word(f"{DMI}/board_name"),
        microcode=_read_microcode(host),
    )


def _read_microcode(host: Host) -> str | Absent:
    """One value, or several where the CPUs differ (an update that reached only some of them)."""
    versions = sorted({entry["microcode"] for entry in read_cpuinfo(host) if entry.get("microcode")})
    if not versions:
        return Absent("/proc/cpuinfo reports no microcode", "unsupported", "/proc/cpuinfo")
    # 0x1 and 0xffffffff are what hypervisors show in its place
    if set(versions) <= {"0x1", "0xffffffff"}:
        return Absent("the hypervisor hides the microcode", "unsupported", "/proc/cpuinfo")
    return ", ".join(versions)
