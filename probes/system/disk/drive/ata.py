"""A SATA port as libata shows it (Documentation/ABI/testing/sysfs-ata, drivers/ata/libata-transport.c)."""

import re

import msgspec

from probes.host import Host
from probes.number_text import real
from probes.types import Absent, present

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


def ata_port(host: Host, path: str) -> AtaPort | Absent:
    """Of the disk at the real sysfs path `path`."""
    found = links_of(path)
    if found is None:
        return Absent(f"{path} is not behind a libata port", "unsupported", path)
    port, scsi_host, names = found
    places = [p for n in names for p in (f"{port}/link{n}/ata_link/link{n}", f"/sys/class/ata_link/link{n}")]
    folder = next((p for p in places if host.exists(p)), places[2])
    now = host.text(f"{folder}/sata_spd")
    if isinstance(now, Absent):
        return now
    hardware, allowed = (_speed(host, f"{folder}/{n}") for n in ("hw_sata_spd_limit", "sata_spd_limit"))
    link = folder.rsplit("/link", 1)[-1]
    device = f"/sys/class/ata_device/dev{link}.0"
    words = _identify(host, device)
    return AtaPort(
        folder=folder,
        now=gigabits(now),
        imposed=min((s for s in (hardware, allowed) if s), default=None),
        lowered=allowed is not None and (hardware is None or allowed < hardware),
        controller=_controller(host, scsi_host),
        drive=_generation(words),
        model=_model(words),
        queues=_queues(words),
        downshifts=host.integer(f"{device}/spdn_cnt"),
        downshifts_source=f"{device}/spdn_cnt",
    )


def links_of(path: str) -> tuple[str, str, tuple[str, str]] | None:
    """The port's folder, the number of its SCSI host, and by what names its link may go."""
    found = re.match(r"(.*/ata(\d+))/host(\d+)/target\d+:(\d+):", path)
    if found is None:
        return None
    port, number, scsi_host, channel = found.groups()
    # Behind a port multiplier each device has a link of its own, numbered by the SCSI channel.
    return port, scsi_host, (f"{number}.{channel}", number)


def gigabits(text: str) -> float | None:
    """`6.0 Gbps` (libata) and `12.0 Gbit` (SAS) as a number; None for `<unknown>`."""
    found = re.match(r"\s*([0-9.]+)\s*Gb", text)
    return real(found[1]) if found else None


def _speed(host: Host, path: str) -> float | None:
    text = host.text(path)
    return gigabits(text) if present(text) else None


def _controller(host: Host, number: str) -> float | None:
    """Bits 20 to 23 of the AHCI capabilities, the interface speed (AHCI 1.3.1, 3.1.1); libahci prints them in hex."""
    text = host.text(f"/sys/class/scsi_host/host{number}/ahci_host_caps")
    try:
        return _GENERATIONS.get(int(text, 16) >> 20 & 0xF) if present(text) else None
    except ValueError:
        return None


def _identify(host: Host, device: str) -> list[int]:
    """The drive's IDENTIFY data: 256 words in hex."""
    text = host.text(f"{device}/id")
    try:
        return [int(word, 16) for word in text.split()] if present(text) else []
    except ValueError:
        return []


def _generation(words: list[int]) -> float | None:
    """Bits 1 to 3 of word 76; all zeros or ones mean that the drive does not say."""
    if len(words) <= _CAPABILITIES_WORD or words[_CAPABILITIES_WORD] in (0, 0xFFFF):
        return None
    return max((s for bit, s in _GENERATIONS.items() if words[_CAPABILITIES_WORD] >> bit & 1), default=None)


def _queues(words: list[int]) -> bool | None:
    """Bit 8 of word 76 (ACS-3, 7.12.7.35)."""
    if len(words) <= _CAPABILITIES_WORD or words[_CAPABILITIES_WORD] in (0, 0xFFFF):
        return None
    return bool(words[_CAPABILITIES_WORD] >> 8 & 1)


def _model(words: list[int]) -> str:
    """All 40 characters; sysfs `model` is cut to 16 by the SCSI layer."""
    if len(words) < _MODEL_WORDS.stop:
        return ""
    letters = b"".join(word.to_bytes(2, "big") for word in words[_MODEL_WORDS] if word <= 0xFFFF)
    return " ".join(letters.decode("ascii", "replace").replace("\0", " ").split())
