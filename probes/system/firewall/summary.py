"""The firewall at a glance: who manages it, how many rules, and whether packets are checked for their way back.

Each is told in a few words and, where a view has room for less, in fields: `service`, `service_running`, `rule_count`,
`reverse_path_rules` (the protocols that rules check).
"""

from collections.abc import Iterator

from probes.host import Host
from probes.system.firewall.firewalld import CONF, firewalld, running
from probes.system.firewall.firewalld import settings as written
from probes.system.firewall.reverse_path import Protocol, ReversePathRule
from probes.system.firewall.rp_filter import CONF as SETTINGS
from probes.system.firewall.rp_filter import WORDS, RpFilter, rp_filter
from probes.system.firewall.rules import Ruleset, ruleset
from probes.system.summary import NONE
from probes.types import Absent, Entry, Fact, Json, Unread, entry, present
from probes.units import listed

UFW = "/etc/ufw/ufw.conf"
LEGACY = (("IPv4", "/proc/net/ip_tables_names"), ("IPv6", "/proc/net/ip6_tables_names"))
MOST_NAMES = 3
PROTOCOLS: tuple[Protocol, ...] = ("IPv4", "IPv6")


def firewall_facts(host: Host) -> Iterator[Entry]:
    """Apart from `summary_facts`: it asks programs, each a few milliseconds here, 3 s at most.

    What it asks is remembered in the host, so that the rules after it do not ask again.
    """
    yield from _manager(host)
    read = _explained(ruleset(host))
    source = ", ".join(read.sources) if isinstance(read, Ruleset) else read.source
    yield entry("firewall", "rules", read if isinstance(read, Absent) else _sizes(read.sizes), source)
    if isinstance(read, Ruleset):
        yield Fact("firewall", "rule_count", sum(read.sizes.values()), source)
        checked: list[Json] = [protocol for protocol in PROTOCOLS if _checks(read, protocol)]
        yield Fact("firewall", "reverse_path_rules", checked, source)
    legacy = [f"{protocol} {names}" for protocol, path in LEGACY if (names := _tables(host, path))]
    if legacy:
        yield Fact("firewall", "iptables_legacy", "; ".join(legacy), ", ".join(path for _, path in LEGACY))
    checks = read if isinstance(read, Absent) else _checks(read, "IPv6") or NONE
    yield entry("firewall", "reverse_path_ipv6", checks, source)
    yield _ipv4(read, rp_filter(host), source)


def _manager(host: Host) -> Iterator[Entry]:
    """The service that writes the rules. Rules can be there without one, and one without its rules."""
    found, service = [], NONE
    up: bool | Absent = Absent("no service is known")
    daemon = firewalld(host)
    if not isinstance(daemon, Absent):
        version = f" {daemon.version}" if present(daemon.version) else ""
        up = daemon.running
        state = "" if isinstance(up, Absent) else ", running" if up else ", not running"
        found.append(f"firewalld{version}{state}")
        service = "firewalld"
    elif daemon.kind == "permission":  # its folder is root's on EL; whether it runs can be asked by anybody
        if running(host) is not True:
            yield Unread("firewall", "manager", daemon)
            return
        found.append("firewalld, running")
        service, up = "firewalld", True
    ufw = host.text(UFW)
    if present(ufw) and written(ufw).get("ENABLED", "").lower() == "yes":
        found.append("ufw, enabled")
        service = "ufw" if service == NONE else service
    if not found and isinstance(ufw, Absent) and ufw.kind == "captured":  # who is not in a dump may be there
        yield Unread(
            "firewall", "manager", Absent(f"the captured tree has neither {CONF} nor {UFW}", "captured", CONF)
        )
        return
    source = f"{CONF}, {UFW}"
    if not found and (table := _left_by_firewalld(host)):
        found, source = [f"{table} is loaded, firewalld not seen"], f"{source}, nft list ruleset"
    yield Fact("firewall", "manager", "; ".join(found) or NONE, source)
    yield Fact("firewall", "service", service, source)
    if present(up):
        yield Fact("firewall", "service_running", up, source)


def _left_by_firewalld(host: Host) -> str:
    """Its table without its files: another container's or an earlier system's; empty where there is none."""
    read = ruleset(host)
    tables = () if isinstance(read, Absent) else read.sizes
    return next((table for table in tables if table.split()[-1:] == ["firewalld"]), "")


def _explained(read: Ruleset | Absent) -> Ruleset | Absent:
    """A refusal begins with what is missing: a screen has room for the first words only."""
    if isinstance(read, Absent) and read.kind == "permission":
        return Absent(f"needs root: {read.reason}", read.kind, read.source)
    return read


def _sizes(sizes: dict[str, int]) -> str:
    filled = sorted(((size, table) for table, size in sizes.items() if size), key=lambda pair: -pair[0])
    words = [f"{size} in {table}" for size, table in filled[:MOST_NAMES]]
    if len(filled) > MOST_NAMES:
        words.append(f"{sum(size for size, _ in filled[MOST_NAMES:])} in {len(filled) - MOST_NAMES} more")
    return ", ".join(words) or NONE


def _tables(host: Host, path: str) -> str:
    names = host.text(path)
    return ", ".join(sorted(set(names.split()))) if present(names) else ""


def _checks(read: Ruleset, protocol: Protocol) -> str:
    """`strict, every packet`; several, in the order of the ruleset."""
    rules = [r for r in read.in_effect if protocol in r.protocols and r.check != "type"]
    return "; ".join(dict.fromkeys(f"{_kind(rule)}, {_who(rule)}" for rule in rules))


def _kind(rule: ReversePathRule) -> str:
    return "check" if rule.check == "unknown" else rule.check


def _who(rule: ReversePathRule) -> str:
    if rule.every_packet:
        return "every packet"
    if rule.every_flow:
        return f"packets with {' '.join(rule.conditions)}"
    hook = rule.first_hook
    forwarded = "forwarded " if hook is not None and hook.name == "forward" else ""
    if rule.new_only:
        return f"first packets of a {forwarded}flow"
    return f"{forwarded}packets" if forwarded or hook is None else f"packets in {hook.name}"


def _ipv4(read: Ruleset | Absent, setting: RpFilter | Absent, source: str) -> Entry:
    """The setting counts beside the rules: either may be in force without the other."""
    name = "reverse_path_ipv4"
    if isinstance(setting, Absent):
        return entry(
            "firewall", name, read if isinstance(read, Absent) else _checks(read, "IPv4") or NONE, source
        )
    words = [f"rp_filter {_modes(setting)}"]
    if isinstance(read, Absent):
        words.append("rules unknown")
    elif rules := _checks(read, "IPv4"):
        words.insert(0, rules)
    return Fact("firewall", name, "; ".join(words), f"{SETTINGS}/*/rp_filter, {source}")


def _modes(setting: RpFilter) -> str:
    """One word where all interfaces have the same, else those that have it."""
    by_mode: dict[int, list[str]] = {}
    for interface in setting.own:
        by_mode.setdefault(setting.effective(interface), []).append(interface)
    if len(by_mode) < 2:
        return next((WORDS.get(mode, str(mode)) for mode in by_mode), "off")
    told = []
    for mode, names in sorted(by_mode.items(), reverse=True):
        if mode:
            told.append(f"{WORDS.get(mode, mode)} on {listed(names, MOST_NAMES)}")
    return ", ".join(told)
