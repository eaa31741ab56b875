"""A SATA port as libata shows it (Documentation/ABI/testing/sysfs-ata, drivers/ata/libata-transport.c)."""

import re

import msgspec

from hostdx.probes.number_text import parse_real
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

_GENERATIONS = {1: 1.5, 2: 3.0, 3: 6.0}  # Gb/s
_MODEL_WORDS = slice(27, 47)  # of the IDENTIFY data, ATA8-ACS 7.16
_CAPABILITIES_WORD = 76


class AtaPort(msgspec.Struct, frozen=True, kw_only=True):
    """Speeds in Gb/s, None where the kernel does not tell.

    `imposed` is what firmware, libata.force or the error handler limit the link to (`hw_sata_spd_limit` is all ones,
    printed `<unknown>`, unless something lowered it); `controller` is the AHCI register's speed, for all ports alike.
    """

    folder: str
    now: float | None
    imposed: float | None
    lowered: bool  # by the error handler, after the start: sata_spd_limit below hw_sata_spd_limit
    controller: float | None
    drive: float | None
    model: str
    queues: bool | None  # whether the drive knows native command queueing; None where it does not tell
    downshifts: int | Absent
    downshifts_source: str = ""


def ata_port(host: Host, sysfs_path: str) -> AtaPort | Absent:
    """Of the disk at the real sysfs path `sysfs_path`."""
    port_link = find_port_host_and_links(sysfs_path)
    if port_link is None:
        return Absent(f"{sysfs_path} is not behind a libata port", "unsupported", sysfs_path)
    port, scsi_host, names = port_link
    places = [p for n in names for p in (f"{port}/link{n}/ata_link/link{n}", f"/sys/class/ata_link/link{n}")]
    folder = next((p for p in places if host.path_exists(p)), places[2])
    now = host.read_file_text(f"{folder}/sata_spd")
    if isinstance(now, Absent):
        return now
    hardware, allowed = (_file_gbit(host, f"{folder}/{n}") for n in ("hw_sata_spd_limit", "sata_spd_limit"))
    link = folder.rsplit("/link", 1)[-1]
    device = f"/sys/class/ata_device/dev{link}.0"
    words = _read_identify_words(host, device)
    return AtaPort(
        folder=folder,
        now=parse_gigabits(now),
        imposed=min((s for s in (hardware, allowed) if s), default=None),
        lowered=allowed is not None and (hardware is None or allowed < hardware),
        controller=_controller_gbit(host, scsi_host),
        drive=_drive_gbit(words),
        model=_decode_model(words),
        queues=_has_native_queueing(words),
        downshifts=host.read_integer(f"{device}/spdn_cnt"),
        downshifts_source=f"{device}/spdn_cnt",
    )


def find_port_host_and_links(sysfs_path: str) -> tuple[str, str, tuple[str, str]] | None:
    """The port's folder, the number of its SCSI host, and by what names its link may go."""
    match = re.match(r"(.*/ata(\d+))/host(\d+)/target\d+:(\d+):", sysfs_path)
    if match is None:
        return None
    port, number, scsi_host, channel = match.groups()
    # Behind a port multiplier each device has a link of its own, numbered by the SCSI channel.
    return port, scsi_host, (f"{number}.{channel}", number)


def parse_gigabits(text: str) -> float | None:
    """`6.0 Gbps` (libata) and `12.0 Gbit` (SAS) as a number; None for `<unknown>`."""
    match = re.match(r"\s*([0-9.]+)\s*Gb", text)
    return parse_real(match[1]) if match else None


def _file_gbit(host: Host, path: str) -> float | None:
    text = host.read_file_text(path)
    return parse_gigabits(text) if is_present(text) else None


def _controller_gbit(host: Host, number: str) -> float | None:
    """Bits 20 to 23 of the AHCI capabilities, the interface speed (AHCI 1.3.1, 3.1.1); libahci prints them in hex."""
    text = host.read_file_text(f"/sys/class/scsi_host/host{number}/ahci_host_caps")
    try:
        return _GENERATIONS.get(int(text, 16) >> 20 & 0xF) if is_present(text) else None
    except ValueError:
        return None


def _read_identify_words(host: Host, device: str) -> list[int]:
    """The drive's IDENTIFY data: 256 words in hex."""
    text = host.read_file_text(f"{device}/id")
    try:
        return [int(word, 16) for word in text.split()] if is_present(text) else []
    except ValueError:
        return []


def _drive_gbit(words: list[int]) -> float | None:
    """Bits 1 to 3 of word 76; all zeros or ones mean that the drive does not say."""
    if len(words) <= _CAPABILITIES_WORD or words[_CAPABILITIES_WORD] in (0, 0xFFFF):
        return None
    return max((s for bit, s in _GENERATIONS.items() if words[_CAPABILITIES_WORD] >> bit & 1), default=None)


def _has_native_queueing(words: list[int]) -> bool | None:
    """Bit 8 of word 76 (ACS-3, 7.12.7.35)."""
    if len(words) <= _CAPABILITIES_WORD or words[_CAPABILITIES_WORD] in (0, 0xFFFF):
        return None
    return bool(words[_CAPABILITIES_WORD] >> 8 & 1)


def _decode_model(words: list[int]) -> str:
    """All 40 characters; sysfs `model` is cut to 16 by the SCSI layer."""
    if len(words) < _MODEL_WORDS.stop:
        return ""
    letters = b"".join(word.to_bytes(2, "big") for word in words[_MODEL_WORDS] if word <= 0xFFFF)
    return " ".join(letters.decode("ascii", "replace").replace("\0", " ").split())
