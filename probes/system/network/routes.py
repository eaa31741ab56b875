"""The host's route tables: how many routes a reverse lookup searches, and what they are, to be copied."""

import ipaddress
import sys

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent

IPV6 = "/proc/net/ipv6_route"
IPV4 = "/proc/net/route"
MAX_TABLE_BYTES = 64 << 20  # a full IPv6 table of 250,000 routes is 37 MB of text
_LOCAL = 0x80000000  # RTF_LOCAL (linux/ipv6_route.h)
_REJECT = 0x0200  # RTF_REJECT (linux/route.h)


class Route(msgspec.Struct, frozen=True):
    """A unicast route: a prefix ("2001:db8::/32") and the interface that it leads out by.

    `gateway`: the next router of an IPv4 route; empty where the network is connected.
    """

    prefix: str
    interface: str
    gateway: str = ""


class RouteTable(msgspec.Struct, frozen=True, kw_only=True):
    """`total` counts every entry of the kernel's table, local and multicast ones included; `unicast` is
    what a reverse lookup of a remote source searches. IPv4 lists the main table only."""

    total: int
    unicast: tuple[Route, ...]
    source: str

    @property
    def interface_names(self) -> tuple[str, ...]:
        return tuple(sorted({route.interface for route in self.unicast}))


def read_ipv6_routes(host: Host) -> RouteTable | Absent:
    """All IPv6 tables in one list, readable by everyone."""
    text = host.read_file_text(IPV6, MAX_TABLE_BYTES)
    if isinstance(text, Absent):
        return text
    total, routes = 0, []
    for line in text.splitlines():
        words = line.split()
        if len(words) != 10:
            continue
        total += 1
        try:
            flags, length = int(words[8], 16), int(words[1], 16)
            address = ipaddress.IPv6Address(int(words[0], 16))
            if flags & (_LOCAL | _REJECT) or words[9] == "lo" or address.is_multicast:
                continue
            routes.append(Route(f"{address}/{length}", words[9]))
        except ValueError:
            continue
    return RouteTable(total=total, unicast=tuple(routes), source=IPV6)


def read_ipv4_routes(host: Host) -> RouteTable | Absent:
    """The main IPv4 table. Addresses are in the host's byte order: this machine's, for a tree as well."""
    text = host.read_file_text(IPV4, MAX_TABLE_BYTES)
    if isinstance(text, Absent):
        return text
    total, routes = 0, []
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) < 8:
            continue
        total += 1
        try:
            flags = int(words[3], 16)
            address = ipaddress.IPv4Address(int(words[1], 16).to_bytes(4, sys.byteorder))
            mask = ipaddress.IPv4Address(int(words[7], 16).to_bytes(4, sys.byteorder))
            if flags & _REJECT or words[0] == "lo":
                continue
            gateway = ipaddress.IPv4Address(int(words[2], 16).to_bytes(4, sys.byteorder))
            prefix = str(ipaddress.IPv4Network(f"{address}/{mask}", strict=False))
            routes.append(Route(prefix, words[0], str(gateway) if int(gateway) else ""))
        except (ValueError, OverflowError):
            continue
    return RouteTable(total=total, unicast=tuple(routes), source=IPV4)


def count_policy_rules(host: Host, protocol: str = "IPv6") -> int | Absent:
    """Return how many policy routing rules there are; 2 (IPv6) and 3 (IPv4) are those that every kernel has."""
    flag = "-6" if protocol == "IPv6" else "-4"
    text = host.read_command("ip", flag, "rule", "show")
    if isinstance(text, Absent):
        return text
    return len([line for line in text.splitlines() if line.strip()])


def read_forwarding(host: Host) -> dict[str, bool]:
    """Return whether this host routes for others, by protocol (all interfaces)."""
    paths = {"IPv6": "/proc/sys/net/ipv6/conf/all/forwarding", "IPv4": "/proc/sys/net/ipv4/ip_forward"}
    read = {name: host.read_integer(path) for name, path in paths.items()}
    return {name: value != 0 for name, value in read.items() if not isinstance(value, Absent)}
