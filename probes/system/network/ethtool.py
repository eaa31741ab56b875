"""What a card's driver tells ethtool(8): rings, channels and coalescing by the kernel's answer, live; from its output,
captured.

linux/ethtool.h: ETHTOOLGET_RINGS, ETHTOOL_GCHANNELS and ETHTOOLGET_COALESCING need no right.
"""

import array
import fcntl
import os
import re
import socket
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.read_trace import ReadTrace, note_read
from hostdx.probes.types import Absent

T = TypeVar("T")

_SIOCETHTOOL = 0x8946
GET_COALESCING, GET_RINGS, _GCHANNELS = 0x0E, 0x10, 0x3C
_UNKNOWN = Absent("the driver does not report it", "unsupported", "ethtool")


class RingSizes(msgspec.Struct, frozen=True, kw_only=True):
    """Receive descriptors; `most_rx` is what the card could have."""

    rx: int
    most_rx: int


class ChannelCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Queues, `combined` or `rx` alone; `most` is what the card could have."""

    now: int
    most: int


class Coalescing(msgspec.Struct, frozen=True, kw_only=True):
    """How long a card waits for more packets before it interrupts: microseconds, frames, or as the driver chooses."""

    rx_usecs: int
    rx_frames: int
    adaptive_rx: bool


def read_rings(host: Host, card: str) -> RingSizes | Absent:
    if host.live:
        # struct ethtool_ringparam: cmd, most of rx, mini, jumbo, tx; then the same as set
        words = _query_driver(card, GET_RINGS, 9)
        return words if isinstance(words, Absent) else RingSizes(rx=words[5], most_rx=words[1])
    text = host.read_command("ethtool", "-g", card)
    if isinstance(text, Absent):
        return text
    pair = _find_numbers_named(text, "RX")
    if len(pair) != 2:
        return Absent("ethtool -g reports no rings", "invalid", f"ethtool -g {card}")
    return RingSizes(most_rx=pair[0], rx=pair[1])


def read_channels(host: Host, card: str) -> ChannelCounts | Absent:
    if host.live:
        # struct ethtool_channels: cmd, most of rx, tx, other, combined; then the same as set
        words = _query_driver(card, _GCHANNELS, 9)
        if isinstance(words, Absent):
            return words
        most, now = (words[4], words[8]) if words[4] else (words[1], words[5])
        return ChannelCounts(now=now, most=most) if most else _UNKNOWN
    text = host.read_command("ethtool", "-l", card)
    if isinstance(text, Absent):
        return text
    for name in ("Combined", "RX"):
        pair = _find_numbers_named(text, name)
        if len(pair) == 2 and pair[0]:
            return ChannelCounts(most=pair[0], now=pair[1])
    return Absent("ethtool -l reports no channels", "invalid", f"ethtool -l {card}")


def read_coalescing(host: Host, card: str) -> Coalescing | Absent:
    if host.live:
        # struct ethtool_coalesce: 23 words; after the command microseconds and frames of receiving, 10: adaptive
        words = _query_driver(card, GET_COALESCING, 23)
        if isinstance(words, Absent):
            return words
        return Coalescing(rx_usecs=words[1], rx_frames=words[2], adaptive_rx=bool(words[10]))
    text = host.read_command("ethtool", "-c", card)
    if isinstance(text, Absent):
        return text
    usecs, frames = _find_numbers_named(text, "rx-usecs"), _find_numbers_named(text, "rx-frames")
    if not usecs:
        return Absent("ethtool -c reports no rx-usecs", "invalid", f"ethtool -c {card}")
    adaptive = re.search(r"^Adaptive RX: *on\b", text, re.MULTILINE) is not None
    return Coalescing(rx_usecs=usecs[0], rx_frames=frames[0] if frames else 0, adaptive_rx=adaptive)


def read_features(host: Host, card: str) -> dict[str, tuple[bool, bool]] | Absent:
    """`ethtool -k` : name -> (on, fixed)."""
    return _query_card_once(host, card, "-k", _parse_on_and_fixed_flags)


def _parse_on_and_fixed_flags(text: str) -> dict[str, tuple[bool, bool]]:
    rows = re.findall(r"^\s*([a-z0-9-]+): (on|off)( \[.*\])?", text, re.MULTILINE)
    return {name: (state == "on", "fixed" in more) for name, state, more in rows}


def ethtool_counters(host: Host, card: str) -> dict[str, int] | Absent:
    """The driver's counters (`ethtool -S`); names differ by driver."""
    return _query_card_once(host, card, "-S", _sum_counters_by_name)


def _query_card_once(
    host: Host, card: str, option: str, parse: Callable[[str], dict[str, T]]
) -> dict[str, T] | Absent:
    """Several rules want the same of a card, and each question is a process."""
    answers = host.compute_once(_new_answer_cache)
    if (card, option) not in answers or not host.is_static:
        with ReadTrace() as trace:
            text = host.read_command("ethtool", option, card)
        answers[card, option] = text if isinstance(text, Absent) else parse(text), trace
    answer, trace = answers[card, option]
    note_read(trace)
    return cast("dict[str, T] | Absent", answer)


def _new_answer_cache(_host: Host) -> dict[tuple[str, str], Any]:
    return {}


def _sum_counters_by_name(text: str) -> dict[str, int]:
    """Return each counter; of a name that stands there for each queue (`[0]: rx_discards`, `pkts rx OOB`) the sum."""
    counters: Counter[str] = Counter()
    for name, count in re.findall(
        r"^[ \t]*(?:\[\d+\]: )?([\w.\[\]-]+(?: [\w.-]+)*): ([0-9]{1,19})$", text, re.MULTILINE
    ):
        counters[name] += int(count)
    return dict(counters)


def ethtool_output(host: Host, card: str) -> str | Absent:
    """`ethtool CARD` of a sosreport, where sysfs was not captured."""
    return Absent("read from sysfs", "unsupported") if host.live else host.read_command("ethtool", card)


def _find_numbers_named(text: str, name: str) -> list[int]:
    numbers = re.findall(rf"^{name}:\s+([0-9]{{1,9}})\s*$", text, re.MULTILINE)
    return [int(n) for n in numbers]


def _query_driver(card: str, command: int, word_count: int) -> tuple[int, ...] | Absent:
    try:
        return send_ethtool_command(card, command, *([0] * (word_count - 1)))
    except OSError as error:
        return Absent(f"{card}: {error.strerror}", "unsupported", f"ioctl SIOCETHTOOL, {card}")


def send_ethtool_command(card: str, *words: int) -> tuple[int, ...]:
    """A command with its data, as the driver leaves them; by reference in struct ifreq. Raises OSError."""
    data = array.array("I", words)
    address, _ = data.buffer_info()
    request = struct.pack("16sP16x", os.fsencode(card)[:15], address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    return tuple(data)
