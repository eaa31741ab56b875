"""What a cost in nanoseconds a packet means on this host: pure arithmetic, and a model that is said to be one.

Frames on Ethernet carry 38 bytes beside the MTU (preamble 8, header 14, checksum 4, gap 12). With GRO the firewall
sees aggregates of up to 64 KiB; every real load lies between "all merged" and "none merged".
"""

from __future__ import annotations

import msgspec

Interval = tuple[float, float]
AGGREGATE_BYTES = 65536
_ETHERNET_BYTES = 38
MTUS = (1500, 9000)


class Cost(msgspec.Struct, frozen=True):
    """Nanoseconds that the check adds to a packet, and what a packet took without it (the private link's path)."""

    ns: float
    ci95: Interval
    path_ns: float


class Share(msgspec.Struct, frozen=True):
    """Of one core, 0..; the interval is that of the measurement, not of the model."""

    cores: float
    ci95: Interval


class AtLineRate(msgspec.Struct, frozen=True, kw_only=True):
    """One way for the card's line rate to arrive."""

    mtu: int
    merged: bool  # True: every packet in 64 KiB aggregates; False: none merged
    packets_per_s: float
    check: Share  # cores that the check alone takes
    core_gbit_per_s: float  # what one receiving core holds with the check, by the model
    core_gbit_without: float


def share(cost: Cost, packets_per_s: float) -> Share:
    factor = packets_per_s / 1e9
    return Share(cost.ns * factor, (cost.ci95[0] * factor, cost.ci95[1] * factor))


def packets_at(bits_per_s: float, mtu: int, merged: bool) -> float:
    """Packets a second that the firewall sees at line rate."""
    frames = bits_per_s / 8 / (mtu + _ETHERNET_BYTES)
    return frames * mtu / AGGREGATE_BYTES if merged else frames


def core_holds(ns_per_packet: float, mtu: int, merged: bool) -> float:
    """Gbit/s on the wire at which one core is full, if each packet costs it so much.

    For merged packets only the check and the path of one packet are counted, not the copying of 64 KiB: an upper bound.
    """
    if ns_per_packet <= 0:
        return 0.0
    per_packet_bits = (AGGREGATE_BYTES / mtu if merged else 1.0) * (mtu + _ETHERNET_BYTES) * 8
    return per_packet_bits / ns_per_packet


def at_line_rate(cost: Cost, bits_per_s: float) -> tuple[AtLineRate, ...]:
    """MTU 1500 and 9000, none merged first."""
    return tuple(
        AtLineRate(
            mtu=mtu,
            merged=merged,
            packets_per_s=(rate := packets_at(bits_per_s, mtu, merged)),
            check=share(cost, rate),
            core_gbit_per_s=core_holds(cost.path_ns + cost.ns, mtu, merged),
            core_gbit_without=core_holds(cost.path_ns, mtu, merged),
        )
        for mtu in MTUS
        for merged in (False, True)
    )
