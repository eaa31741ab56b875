"""How many packets this host receives, by CPU, protocol, interface: counters, and rates between reads."""

import re
import time
from itertools import pairwise
from typing import NamedTuple

import msgspec

from hostdx.probes.number_text import parse_hexadecimal_list, parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import CpuTimes, read_proc_stat
from hostdx.probes.types import Absent

SOFTNET = "/proc/net/softnet_stat"
SNMP6 = "/proc/net/snmp6"
SNMP6_LO = "/proc/net/dev_snmp6/lo"
SNMP = "/proc/net/snmp"
NETSTAT = "/proc/net/netstat"
LO = "/sys/class/net/lo/statistics/rx_packets"


class PacketCounters(msgspec.Struct, frozen=True, kw_only=True):
    """Totals since boot at `time_s` (monotonic seconds). All are after GRO: an aggregate of 45 frames counts
    once, except the interfaces', which most drivers count by frame.

    `ipv6` and `ipv4` are without loopback: no check looks a packet up that came in by lo (nft_fib.h,
    nft_fib_is_loopback; xt_rpfilter.c, rpfilter_is_loopback). What came by lo and was not IPv6 is taken for IPv4.
    `loopback` is True where lo's share could not be read and is still in them.
    """

    time_s: float
    processed: tuple[int, ...] | Absent  # packets by CPU (softnet_stat, column 1)
    backlog_drops: int | Absent = 0  # column 2
    squeezes: int | Absent = 0  # column 3: softirq ran out of budget with work left
    ipv6: int | Absent = 0  # Ip6InReceives
    ipv4: int | Absent = 0  # InReceives
    loopback: bool = False
    interfaces: dict[str, tuple[int, int]] = {}  # name -> received packets, received bytes
    cpus: dict[int, CpuTimes] = {}


class PacketRates(msgspec.Struct, frozen=True, kw_only=True):
    """Per second. `busiest_softirq` is the largest share (0..1) of one CPU's time that went to softirqs."""

    seconds: float
    ipv6: float | Absent
    ipv4: float | Absent
    processed: float | Absent
    backlog_drops: float | Absent
    squeezes: float | Absent
    interfaces: dict[str, tuple[float, float]]
    loopback: bool = False  # as in the counters
    busiest_cpu: int | None = None
    busiest_softirq: float | None = None

    @property
    def ipv6_share(self) -> float | None:
        """IPv6 packets of all IP packets, 0..1."""
        if isinstance(self.ipv6, Absent) or isinstance(self.ipv4, Absent) or self.ipv6 + self.ipv4 <= 0:
            return None
        return self.ipv6 / (self.ipv6 + self.ipv4)


def read_packet_counters(host: Host, now: float | None = None) -> PacketCounters:
    """All counters in one go; what cannot be read is Absent with its reason."""
    softnet = read_softnet(host)
    columns = softnet if not isinstance(softnet, Absent) else ()
    loopback = _read_loopback_receives(host)
    stat = read_proc_stat(host)
    return PacketCounters(
        time_s=time.monotonic() if now is None else now,
        processed=tuple(row[0] for row in columns) if not isinstance(softnet, Absent) else softnet,
        backlog_drops=sum(row[1] for row in columns) if not isinstance(softnet, Absent) else softnet,
        squeezes=sum(row[2] for row in columns) if not isinstance(softnet, Absent) else softnet,
        ipv6=_subtract_if_known(_read_ipv6_packets(host), loopback.ipv6),
        ipv4=_subtract_if_known(_read_ipv4_packets(host), loopback.not_ipv6),
        loopback=loopback.not_ipv6 is None,
        interfaces=_read_packets_and_bytes(host),
        cpus={} if isinstance(stat, Absent) else stat.cpus,
    )


def rates_between(before: PacketCounters, after: PacketCounters) -> PacketRates | Absent:
    """Rates between two reads; Absent where no time passed. A counter that ran backwards gives 0."""
    seconds = after.time_s - before.time_s
    if seconds <= 0:
        return Absent("no time passed between the two reads", "invalid")
    busiest = _busiest_softirq_cpu_and_share(before, after)
    return PacketRates(
        seconds=seconds,
        ipv6=_rate_between(before.ipv6, after.ipv6, seconds),
        ipv4=_rate_between(before.ipv4, after.ipv4, seconds),
        processed=_rate_between(_sum_packets(before.processed), _sum_packets(after.processed), seconds),
        backlog_drops=_rate_between(before.backlog_drops, after.backlog_drops, seconds),
        squeezes=_rate_between(before.squeezes, after.squeezes, seconds),
        interfaces={
            name: (max(0, now[0] - then[0]) / seconds, max(0, now[1] - then[1]) / seconds)
            for name, now in after.interfaces.items()
            if (then := before.interfaces.get(name)) is not None
        },
        loopback=before.loopback or after.loopback,
        busiest_cpu=busiest[0] if busiest else None,
        busiest_softirq=busiest[1] if busiest else None,
    )


def _sum_packets(values: tuple[int, ...] | Absent) -> int | Absent:
    return values if isinstance(values, Absent) else sum(values)


def _rate_between(before: int | Absent, after: int | Absent, seconds: float) -> float | Absent:
    if isinstance(before, Absent):
        return before
    if isinstance(after, Absent):
        return after
    return max(0, after - before) / seconds


def read_softnet(host: Host) -> list[list[int]] | Absent:
    """Rows by CPU: packets processed, dropped, and squeezes (net/core/net-procfs.c), then columns that are not used."""
    text = host.read_file_text(SOFTNET, 4 << 20)
    if isinstance(text, Absent):
        return text
    lines = (line.split()[:15] for line in text.splitlines() if line.strip())
    rows = [row if (row := parse_hexadecimal_list(words)) is not None else [] for words in lines]
    if not rows or any(len(row) < 3 for row in rows):
        return Absent(f"{SOFTNET} is not in a known form", "invalid", SOFTNET)
    return rows


def _read_ipv6_packets(host: Host) -> int | Absent:
    text = host.read_file_text(SNMP6)
    if isinstance(text, Absent):
        return text if text.kind != "missing" else Absent("this kernel runs without IPv6", "missing", SNMP6)
    counted = _ip6_in_receives(text)
    return Absent(f"{SNMP6} does not count Ip6InReceives", "invalid", SNMP6) if counted is None else counted


def _ip6_in_receives(text: str) -> int | None:
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "Ip6InReceives":
            return parse_unsigned(words[1])
    return None


class _LoopbackReceives(NamedTuple):
    """Packets that came in by lo: of IPv6, and of all protocols. None where the host does not tell."""

    ipv6: int | None
    total: int | None

    @property
    def not_ipv6(self) -> int | None:
        """Return those that are not of IPv6."""
        return None if self.total is None or self.ipv6 is None else self.total - self.ipv6


def _read_loopback_receives(host: Host) -> _LoopbackReceives:
    text, total = host.read_file_text(SNMP6_LO), host.read_integer(LO)
    six = _ip6_in_receives(text) if not isinstance(text, Absent) else None
    if isinstance(text, Absent) and text.kind == "missing" and not isinstance(total, Absent):
        six = 0  # lo is there, and has no IPv6
    return _LoopbackReceives(six, None if isinstance(total, Absent) else total)


def _subtract_if_known(count: int | Absent, part: int | None) -> int | Absent:
    return count if isinstance(count, Absent) or part is None else max(0, count - max(0, part))


def _read_ipv4_packets(host: Host) -> int | Absent:
    counters = read_protocol_counters(host, SNMP)
    if isinstance(counters, Absent):
        return counters
    return counters.get("Ip_InReceives", Absent(f"{SNMP} does not count InReceives", "invalid", SNMP))


def read_protocol_counters(host: Host, path: str) -> dict[str, int] | Absent:
    """Return counters by "PROTOCOL_NAME". Two lines each: names, then numbers, both with the same head."""
    text = host.read_file_text(path)
    if isinstance(text, Absent):
        return text
    counters: dict[str, int] = {}
    for names, numbers in pairwise(text.splitlines()):
        head, _, rest = names.partition(":")
        if re.match(r"\s*[A-Za-z]", rest) and re.fullmatch(
            rf"{re.escape(head)}:(?: -?[0-9]{{1,19}})+\s*", numbers
        ):
            values = map(int, numbers.split()[1:])
            counters |= {f"{head}_{name}": n for name, n in zip(rest.split(), values, strict=False)}
    return counters


def _read_packets_and_bytes(host: Host) -> dict[str, tuple[int, int]]:
    counters: dict[str, tuple[int, int]] = {}
    names = host.list_names("/sys/class/net")
    for name in names if not isinstance(names, Absent) else ():
        folder = f"/sys/class/net/{name}/statistics"
        packets, size = host.read_integer(f"{folder}/rx_packets"), host.read_integer(f"{folder}/rx_bytes")
        if name != "lo" and not isinstance(packets, Absent) and not isinstance(size, Absent):
            counters[name] = (packets, size)
    return counters


def _busiest_softirq_cpu_and_share(before: PacketCounters, after: PacketCounters) -> tuple[int, float] | None:
    shares = {
        cpu: (now.softirq_s - then.softirq_s) / (now.total_s - then.total_s)
        for cpu, now in after.cpus.items()
        if (then := before.cpus.get(cpu)) is not None and now.total_s > then.total_s
    }
    return max(shares.items(), key=lambda item: item[1]) if shares else None
