"""What a cost in nanoseconds a packet means on this host: pure arithmetic, and a model that is said to be one.

Frames on Ethernet carry 38 bytes beside the MTU (preamble 8, header 14, checksum 4, gap 12). With GRO the firewall
sees aggregates of up to 64 KiB; every real load lies between "all merged" and "none merged".
"""

from collections.abc import Iterator

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.firewall.rp_filter import count_rp_filter_drops
from hostdx.probes.system.network.packet_rates import PacketCounters, rates_between, read_packet_counters
from hostdx.probes.system.pulse import uptime_s
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Evidence

Interval = tuple[float, float]
AGGREGATE_BYTES = 65536
_ETHERNET_BYTES = 38
MTUS = (1500, 9000)


class PacketCost(msgspec.Struct, frozen=True):
    """Nanoseconds that the check adds to a packet, and what a packet took without it (the private link's path)."""

    ns: float
    ci95: Interval
    path_ns: float


class CoreShare(msgspec.Struct, frozen=True):
    """Of one core, 0..; the interval is that of the measurement, not of the model."""

    cores: float
    ci95: Interval


class LineRateCost(msgspec.Struct, frozen=True, kw_only=True):
    """One way for the card's line rate to arrive."""

    mtu: int
    merged: bool  # True: every packet in 64 KiB aggregates; False: none merged
    packets_per_s: float
    check: CoreShare  # cores that the check alone takes
    core_gbit_per_s: float  # what one receiving core holds with the check, by the model
    core_gbit_without: float


def core_share(cost: PacketCost, packets_per_s: float) -> CoreShare:
    factor = packets_per_s / 1e9
    return CoreShare(cost.ns * factor, (cost.ci95[0] * factor, cost.ci95[1] * factor))


def packets_per_s_at(bits_per_s: float, mtu: int, merged: bool) -> float:
    """Packets a second that the firewall sees at line rate."""
    frames = bits_per_s / 8 / (mtu + _ETHERNET_BYTES)
    return frames * mtu / AGGREGATE_BYTES if merged else frames


def gbit_per_s_at_full_core(ns_per_packet: float, mtu: int, merged: bool) -> float:
    """Gbit/s on the wire at which one core is full, if each packet costs it so much.

    For merged packets only the check and the path of one packet are counted, not the copying of 64 KiB: an upper bound.
    """
    if ns_per_packet <= 0:
        return 0.0
    per_packet_bits = (AGGREGATE_BYTES / mtu if merged else 1.0) * (mtu + _ETHERNET_BYTES) * 8
    return per_packet_bits / ns_per_packet


def cost_at_line_rate(cost: PacketCost, bits_per_s: float) -> tuple[LineRateCost, ...]:
    """MTU 1500 and 9000, none merged first."""
    return tuple(
        LineRateCost(
            mtu=mtu,
            merged=merged,
            packets_per_s=(rate := packets_per_s_at(bits_per_s, mtu, merged)),
            check=core_share(cost, rate),
            core_gbit_per_s=gbit_per_s_at_full_core(cost.path_ns + cost.ns, mtu, merged),
            core_gbit_without=gbit_per_s_at_full_core(cost.path_ns, mtu, merged),
        )
        for mtu in MTUS
        for merged in (False, True)
    )


MIN_UPTIME_S = 60.0
SINCE_BOOT = "on average since boot"
MAX_SHOWN_INTERFACES = 4


def load_average_evidence(host: Host) -> Iterator[Evidence]:
    """Lines that name themselves averages: a burst of now is not in them. None just after a start."""
    up = uptime_s(host)
    if isinstance(up, Absent) or up < MIN_UPTIME_S:
        return
    counters = read_packet_counters(host, up)
    mean = rates_between(
        PacketCounters(time_s=0.0, processed=(), interfaces=dict.fromkeys(counters.interfaces, (0, 0))),
        counters,
    )
    if isinstance(mean, Absent):
        return
    of_lo = "loopback included" if counters.loopback else "without loopback"
    if not isinstance(mean.ipv6, Absent):
        share = mean.ipv6_share
        part = f", {share * 100:.0f} % of all IP packets" if share is not None else ""
        yield Evidence(f"{mean.ipv6:,.0f} IPv6 packets/s {SINCE_BOOT} ({of_lo}){part}", "/proc/net/snmp6")
    if not isinstance(mean.processed, Absent) and not isinstance(mean.backlog_drops, Absent):
        lost = f"; {counters.backlog_drops:,} dropped before the firewall" if counters.backlog_drops else ""
        text = f"{mean.processed:,.0f} packets/s on all CPUs {SINCE_BOOT} (loopback and containers included){lost}"
        yield Evidence(text, "/proc/net/softnet_stat")
    busiest = sorted(mean.interfaces.items(), key=lambda item: (-item[1][0], item[0]))[:MAX_SHOWN_INTERFACES]
    if busiest:
        rates_text = ", ".join(f"{name} {packets:,.0f}" for name, (packets, _) in busiest)
        yield Evidence(
            f"received packets/s {SINCE_BOOT}: {rates_text}", "/sys/class/net/*/statistics/rx_packets"
        )
    drops = count_rp_filter_drops(host)
    if not isinstance(drops, Absent):
        yield Evidence(f"dropped by rp_filter (IPv4) since boot: {drops:,}", "/proc/net/netstat")
