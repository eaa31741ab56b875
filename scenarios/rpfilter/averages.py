"""How many packets this host has received, on average since it was started: for a look that counts nothing itself."""

from __future__ import annotations

from collections.abc import Iterator

from probes.host import Host
from probes.system.firewall.rp_filter import dropped
from probes.system.network.packet_rates import PacketCounters, packet_counters, rates
from probes.system.pulse import uptime_s
from probes.types import Absent
from scenarios.finding import Evidence

LEAST_UPTIME_S = 60.0
SINCE_BOOT = "on average since boot"
MOST_INTERFACES = 4


def averages(host: Host) -> Iterator[Evidence]:
    """Lines that name themselves averages: a burst of now is not in them. None just after a start."""
    up = uptime_s(host)
    if isinstance(up, Absent) or up < LEAST_UPTIME_S:
        return
    counters = packet_counters(host, up)
    mean = rates(
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
    busiest = sorted(mean.interfaces.items(), key=lambda item: (-item[1][0], item[0]))[:MOST_INTERFACES]
    if busiest:
        told = ", ".join(f"{name} {packets:,.0f}" for name, (packets, _) in busiest)
        yield Evidence(f"received packets/s {SINCE_BOOT}: {told}", "/sys/class/net/*/statistics/rx_packets")
    drops = dropped(host)
    if not isinstance(drops, Absent):
        yield Evidence(f"dropped by rp_filter (IPv4) since boot: {drops:,}", "/proc/net/netstat")
