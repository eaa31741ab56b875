"""What a card's driver tells ethtool(8): rings and channels by the kernel's answer, live; from its output, captured.

linux/ethtool.h: ETHTOOL_GRINGPARAM and ETHTOOL_GCHANNELS need no right.
"""

import array
import fcntl
import os
import re
import socket
import struct
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from probes.host import Host
from probes.types import Absent

T = TypeVar("T")

_SIOCETHTOOL = 0x8946
_GRINGPARAM, _GCHANNELS = 0x10, 0x3C
_UNKNOWN = Absent("the driver does not report it", "unsupported", "ethtool")


class Rings(msgspec.Struct, frozen=True, kw_only=True):
    """Receive descriptors; `most_rx` is what the card could have."""

    rx: int
    most_rx: int


class Channels(msgspec.Struct, frozen=True, kw_only=True):
    """Queues, `combined` or `rx` alone; `most` is what the card could have."""

    now: int
    most: int


def rings(host: Host, card: str) -> Rings | Absent:
    if host.live:
        # struct ethtool_ringparam: cmd, most of rx, mini, jumbo, tx; then the same as set
        found = _ask(card, _GRINGPARAM, 9)
        return found if isinstance(found, Absent) else Rings(rx=found[5], most_rx=found[1])
    text = host.command("ethtool", "-g", card)
    if isinstance(text, Absent):
        return text
    pair = _number(text, "RX")
    if len(pair) != 2:
        return Absent("ethtool -g reports no rings", "invalid", f"ethtool -g {card}")
    return Rings(most_rx=pair[0], rx=pair[1])


def channels(host: Host, card: str) -> Channels | Absent:
    if host.live:
        # struct ethtool_channels: cmd, most of rx, tx, other, combined; then the same as set
        found = _ask(card, _GCHANNELS, 9)
        if isinstance(found, Absent):
            return found
        most, now = (found[4], found[8]) if found[4] else (found[1], found[5])
        return Channels(now=now, most=most) if most else _UNKNOWN
    text = host.command("ethtool", "-l", card)
    if isinstance(text, Absent):
        return text
    for name in ("Combined", "RX"):
        pair = _number(text, name)
        if len(pair) == 2 and pair[0]:
            return Channels(most=pair[0], now=pair[1])
    return Absent("ethtool -l reports no channels", "invalid", f"ethtool -l {card}")


def features(host: Host, card: str) -> dict[str, tuple[bool, bool]] | Absent:
    """`ethtool -k` : name -> (on, fixed)."""
    return _told(host, card, "-k", _switches)


def _switches(text: str) -> dict[str, tuple[bool, bool]]:
    rows = re.findall(r"^\s*([a-z0-9-]+): (on|off)( \[.*\])?", text, re.MULTILINE)
    return {name: (state == "on", "fixed" in more) for name, state, more in rows}


def own_counters(host: Host, card: str) -> dict[str, int] | Absent:
    """The driver's counters (`ethtool -S`); names differ by driver."""
    return _told(host, card, "-S", _named)


def _told(host: Host, card: str, option: str, read: Callable[[str], dict[str, T]]) -> dict[str, T] | Absent:
    """Several rules want the same of a card, and each question is a process."""
    known = host.once(_answers)
    if (card, option) not in known or not host.still:
        text = host.command("ethtool", option, card)
        known[card, option] = text if isinstance(text, Absent) else read(text)
    answer: dict[str, T] | Absent = known[card, option]
    return answer


def _answers(host: Host) -> dict[tuple[str, str], Any]:
    return {}


def _named(text: str) -> dict[str, int]:
    return {name: int(n) for name, n in re.findall(r"^\s*([\w.\[\]-]+): ([0-9]{1,19})$", text, re.MULTILINE)}


def settings_text(host: Host, card: str) -> str | Absent:
    """`ethtool CARD` of a sosreport, where sysfs was not captured."""
    return Absent("read from sysfs", "unsupported") if host.live else host.command("ethtool", card)


def _number(text: str, name: str) -> list[int]:
    found = re.findall(rf"^{name}:\s+([0-9]{{1,9}})\s*$", text, re.MULTILINE)
    return [int(n) for n in found]


def _ask(card: str, command: int, words: int) -> tuple[int, ...] | Absent:
    try:
        return asked(card, command, *([0] * (words - 1)))
    except OSError as error:
        return Absent(f"{card}: {error.strerror}", "unsupported", f"ioctl SIOCETHTOOL, {card}")


def asked(card: str, *words: int) -> tuple[int, ...]:
    """A command with its data, as the driver leaves them; by reference in struct ifreq. Raises OSError."""
    data = array.array("I", words)
    address, _ = data.buffer_info()
    request = struct.pack("16sP16x", os.fsencode(card)[:15], address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    return tuple(data)
