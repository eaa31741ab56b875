"""IPv4's own reverse-path check, the setting rp_filter: off, strict or loose (RFC 3704). IPv6 has none."""

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.network.packet_rates import NETSTAT, read_protocol_counters
from hostdx.probes.types import Absent

CONF = "/proc/sys/net/ipv4/conf"
WORDS = {0: "off", 1: "strict", 2: "loose"}


class RpFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The settings by interface. What counts is the larger of `all` and the interface's own, so
    that 2 in `all` makes a strict interface loose (Documentation/networking/ip-sysctl.rst, rp_filter)."""

    everywhere: int  # conf/all
    default: int | Absent  # conf/default: for interfaces that are yet to come
    own: dict[str, int]  # by interface, without lo
    drops: int | Absent = 0  # IPReversePathFilter since boot

    def effective_mode(self, interface: str) -> int:
        return max(self.everywhere, self.own.get(interface, 0))

    @property
    def active_modes(self) -> dict[str, int]:
        """The interfaces on which packets are checked, with how."""
        return {name: value for name in self.own if (value := self.effective_mode(name)) > 0}

    @property
    def loosened_interfaces(self) -> tuple[str, ...]:
        """Interfaces set to strict that are loose because `all` is 2."""
        return tuple(name for name, value in self.own.items() if value == 1 and self.everywhere == 2)


@compute_once_per_host
def rp_filter(host: Host) -> RpFilter | Absent:
    """The settings, world-readable. Absent where there is no IPv4 or the tree holds none."""
    everywhere = host.read_integer(f"{CONF}/all/rp_filter")
    if isinstance(everywhere, Absent):
        return everywhere
    names = host.list_names(CONF)
    own: dict[str, int] = {}
    for name in names if not isinstance(names, Absent) else ():
        if name in ("all", "default", "lo"):
            continue
        value = host.read_integer(f"{CONF}/{name}/rp_filter")
        if not isinstance(value, Absent):
            own[name] = value
    return RpFilter(
        everywhere=everywhere,
        default=host.read_integer(f"{CONF}/default/rp_filter"),
        own=own,
        drops=count_rp_filter_drops(host),
    )


def count_rp_filter_drops(host: Host) -> int | Absent:
    """Packets that rp_filter has dropped since boot: IPReversePathFilter of TcpExt in /proc/net/netstat."""
    counters = read_protocol_counters(host, NETSTAT)
    if isinstance(counters, Absent):
        return counters
    unknown = Absent(f"{NETSTAT} does not count IPReversePathFilter", "unsupported", NETSTAT)
    return counters.get("TcpExt_IPReversePathFilter", unknown)
