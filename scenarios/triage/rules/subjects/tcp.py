"""One row about TCP, UDP and IP: counters since boot, buffers, tables."""

import re
from functools import partial

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.network.nic import read_nics
from hostdx.probes.system.network.packet_rates import NETSTAT, SNMP, read_protocol_counters
from hostdx.probes.system.nodes.memory import read_memory
from hostdx.probes.system.processor.cpu import read_cpu
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow

# column -> the file below /proc/sys/net, and which of its numbers
_SETTINGS = {
    "rmem": ("ipv4/tcp_rmem", 2),
    "wmem": ("ipv4/tcp_wmem", 2),
    "rmem_max": ("core/rmem_max", 0),
    "wmem_max": ("core/wmem_max", 0),
    "scaling": ("ipv4/tcp_window_scaling", 0),
    "sack": ("ipv4/tcp_sack", 0),
    "moderate": ("ipv4/tcp_moderate_rcvbuf", 0),
    "timestamps": ("ipv4/tcp_timestamps", 0),
    "least_pages": ("ipv4/tcp_mem", 0),
    "pressure_pages": ("ipv4/tcp_mem", 1),
    "most_pages": ("ipv4/tcp_mem", 2),
    "arp_most": ("ipv4/neigh/default/gc_thresh3", 0),
}


def tcp_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: TCP's counters since boot (RFC 4022, and Linux's own in /proc/net/netstat), buffers in bytes."""
    values: dict[str, int] = {}
    for path in (SNMP, NETSTAT):
        if is_present(counters := read_protocol_counters(host, path)):
            values |= counters
    for prefix, name in (("conntrack", "nf_conntrack"), ("arp", "arp_cache")):
        values |= {f"{prefix}_{key}": count for key, count in _sum_of_stat_table(host, name).items()}
    if not values and not any(
        is_present(host.read_file_text(f"/proc/sys/net/{name}", 4096)) for name, _ in _SETTINGS.values()
    ):
        text = host.read_file_text(SNMP)
        return text if isinstance(text, Absent) else Absent(f"{SNMP} reports nothing about TCP", "invalid")

    def sysctl_number(name: str, position: int) -> Value:
        text = host.read_file_text(f"/proc/sys/net/{name}", 4096)
        words = text.split() if is_present(text) else []
        good = len(words) > position and re.fullmatch(r"-?[0-9]{1,19}", words[position])
        return (
            int(words[position])
            if good
            else (text if isinstance(text, Absent) else Absent(f"{name}: no number"))
        )

    cards = host.compute_once(read_nics).values()
    speeds = [c.speed_mbit for c in cards if c.physical and is_present(c.speed_mbit) and c.state == "up"]
    columns: dict[str, Value] = {
        **values,
        **{column: partial(sysctl_number, *place) for column, place in _SETTINGS.items()},
        "pages": partial(_tcp_buffer_pages, host),
        "memory": lambda: host.compute_once(read_memory).total,
        "x86": lambda: read_cpu(host).vendor in ("GenuineIntel", "AuthenticAMD"),
        "fastest": max(speeds) * 1_000_000 if speeds else Absent("no card that is up reports its speed"),
    }
    return [SubjectRow("", columns)]


def _tcp_buffer_pages(host: Host) -> Value:
    """Pages that TCP's buffers hold (net/ipv4/proc.c, sockstat)."""
    text = host.read_file_text("/proc/net/sockstat", 65536)
    pages_match = re.search(r"^TCP: .* mem ([0-9]{1,18})", text, re.MULTILINE) if is_present(text) else None
    return int(pages_match[1]) if pages_match else Absent("/proc/net/sockstat reports no TCP memory")


def _sum_of_stat_table(host: Host, name: str) -> dict[str, int]:
    """/proc/net/stat: names, then hexadecimal counters of each CPU; `entries` is the same in each line."""
    text = host.read_file_text(f"/proc/net/stat/{name}", 1 << 20)
    lines = text.splitlines() if is_present(text) else []
    names = lines[0].replace(",", " ").split() if lines else []
    wanted = {"entries": "entries", "drop": "drop", "early_drop": "early_drop", "table_fulls": "fulls"}
    wanted["insert_failed"] = "insert_failed"
    counters: dict[str, int] = {}
    for line in lines[1:]:
        for key, word in zip(names, line.replace(",", " ").split(), strict=False):
            if key in wanted and re.fullmatch(r"[0-9a-fA-F]{1,16}", word):
                count = int(word, 16)
                counters[wanted[key]] = count if key == "entries" else counters.get(wanted[key], 0) + count
    return counters


_PORTS = lazy_pattern(r"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} (?!0A)", re.MULTILINE)


def reserved_port_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: the ports from which NFS and its helpers connect, `least` to `most`, and how many of them are `used`: by
    connections that are open or wait for their end (/proc/net/tcp; net/sunrpc/xprtsock.c).
    """
    least, most = (host.read_integer(f"/proc/sys/sunrpc/{name}_resvport") for name in ("min", "max"))
    if isinstance(least, Absent) or isinstance(most, Absent):
        return least if isinstance(least, Absent) else Absent("there is no max_resvport", "missing")
    texts = [host.read_file_text(f"/proc/net/{name}", 16 << 20) for name in ("tcp", "tcp6")]
    ports = {int(port, 16) for text in texts if is_present(text) for port in _PORTS.findall(text)}
    used = sum(least <= port <= most for port in ports) if any(map(is_present, texts)) else texts[0]
    columns: dict[str, Value] = {"least": least, "most": most, "used": used}
    return [SubjectRow("", columns)]


_HEAD = lazy_pattern(r"^qdisc (\S+) \S+ (?:dev (\S+) )?(.*)$", re.MULTILINE)
_SENT = lazy_pattern(
    r"Sent ([0-9]{1,19}) bytes ([0-9]{1,19}) pkt \(dropped ([0-9]{1,19}), overlimits ([0-9]{1,19})"
)
_RATE = lazy_pattern(r"\b(?:rate|bandwidth) ([0-9.]{1,12})([KMGT]?)bit\b")
_FACTORS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def qdisc_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per discipline by `tc -s qdisc show` (tc(8)): packets sent, dropped since it was set; `rate` in bit/s."""
    text = host.read_command("tc", "-s", "qdisc", "show")
    if isinstance(text, Absent):
        return text
    heads = list(_HEAD.finditer(text))
    rows = []
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        kind, card, rest = head[1], head[2] or "", head[3]
        qdisc_text = text[head.start() : after.start() if after else len(text)]
        counts = _SENT.search(qdisc_text)
        rate = _RATE.search(rest)
        columns: dict[str, Value] = {
            "name": card,
            "kind": kind,
            "words": rest,
            "sent": int(counts[2]) if counts else Absent("tc reports no counts"),
            "dropped": int(counts[3]) if counts else Absent("tc reports no counts"),
            "rate": float(rate[1]) * _FACTORS[rate[2]] if rate else Absent("it has no rate"),
            # what a child of mq drops is counted by mq as well
            "child": " parent " in f" {rest} ",
            "software": card == "lo" or not is_present(host.resolve_path(f"/sys/class/net/{card}/device")),
        }
        rows.append(SubjectRow(f"{card} {kind}".strip(), columns))
    return rows
