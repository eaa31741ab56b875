"""The firewall at a glance: who manages it, how many rules, and whether packets are checked for their way back.

Each is told in a few words and, where a view has room for less, in fields: `service`, `service_running`, `rule_count`,
`reverse_path_rules` (the protocols that rules check).
"""

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.system.firewall.firewalld import CONF, is_firewalld_running, read_firewalld
from hostdx.probes.system.firewall.firewalld import parse_firewalld_settings as written
from hostdx.probes.system.firewall.reverse_path import Protocol, ReversePathRule
from hostdx.probes.system.firewall.rp_filter import CONF as SETTINGS
from hostdx.probes.system.firewall.rp_filter import WORDS, RpFilter, rp_filter
from hostdx.probes.system.firewall.rules import Ruleset, read_ruleset
from hostdx.probes.system.summary import NONE
from hostdx.probes.types import Absent, Fact, FactOrUnread, Json, UnreadFact, is_present, make_fact
from hostdx.probes.units import join_names

UFW = "/etc/ufw/ufw.conf"
LEGACY = (("IPv4", "/proc/net/ip_tables_names"), ("IPv6", "/proc/net/ip6_tables_names"))
MAX_NAMES = 3
PROTOCOLS: tuple[Protocol, ...] = ("IPv4", "IPv6")


def firewall_facts(host: Host) -> Iterator[FactOrUnread]:
    """Apart from `summary_facts`: it asks programs, each a few milliseconds here, 3 s at most.

    What it asks is remembered in the host, so that the rules after it do not ask again.
    """
    yield from _firewall_manager_facts(host)
    read = _say_needs_root(read_ruleset(host))
    source = ", ".join(read.sources) if isinstance(read, Ruleset) else read.source
    yield make_fact(
        "firewall", "rules", read if isinstance(read, Absent) else _rules_by_table_text(read.sizes), source
    )
    if isinstance(read, Ruleset):
        yield Fact("firewall", "rule_count", sum(read.sizes.values()), source)
        checked: list[Json] = [protocol for protocol in PROTOCOLS if _checks_text(read, protocol)]
        yield Fact("firewall", "reverse_path_rules", checked, source)
    legacy = [f"{protocol} {names}" for protocol, path in LEGACY if (names := _loaded_text(host, path))]
    if legacy:
        yield Fact("firewall", "iptables_legacy", "; ".join(legacy), ", ".join(path for _, path in LEGACY))
    checks = read if isinstance(read, Absent) else _checks_text(read, "IPv6") or NONE
    yield make_fact("firewall", "reverse_path_ipv6", checks, source)
    yield _ipv4_fact(read, rp_filter(host), source)


def _firewall_manager_facts(host: Host) -> Iterator[FactOrUnread]:
    """The service that writes the rules. Rules can be there without one, and one without its rules."""
    managers, service = [], NONE
    up: bool | Absent = Absent("no service is known")
    daemon = read_firewalld(host)
    if not isinstance(daemon, Absent):
        version = f" {daemon.version}" if is_present(daemon.version) else ""
        up = daemon.running
        state = "" if isinstance(up, Absent) else ", running" if up else ", not running"
        managers.append(f"firewalld{version}{state}")
        service = "firewalld"
    elif daemon.kind == "permission":  # its folder is root's on EL; whether it runs can be asked by anybody
        if is_firewalld_running(host) is not True:
            yield UnreadFact("firewall", "manager", daemon)
            return
        managers.append("firewalld, running")
        service, up = "firewalld", True
    ufw = host.read_file_text(UFW)
    if is_present(ufw) and written(ufw).get("ENABLED", "").lower() == "yes":
        managers.append("ufw, enabled")
        service = "ufw" if service == NONE else service
    # who is not in a dump may be there
    if not managers and isinstance(ufw, Absent) and ufw.kind == "captured":
        yield UnreadFact(
            "firewall", "manager", Absent(f"the captured tree has neither {CONF} nor {UFW}", "captured", CONF)
        )
        return
    source = f"{CONF}, {UFW}"
    if not managers and (table := _leftover_firewalld_table(host)):
        managers, source = [f"{table} is loaded, firewalld not seen"], f"{source}, nft list ruleset"
    yield Fact("firewall", "manager", "; ".join(managers) or NONE, source)
    yield Fact("firewall", "service", service, source)
    if is_present(up):
        yield Fact("firewall", "service_running", up, source)


def _leftover_firewalld_table(host: Host) -> str:
    """Its table without its files: another container's or an earlier system's; empty where there is none."""
    read = read_ruleset(host)
    tables = () if isinstance(read, Absent) else read.sizes
    return next((table for table in tables if table.split()[-1:] == ["firewalld"]), "")


def _say_needs_root(read: Ruleset | Absent) -> Ruleset | Absent:
    """A refusal begins with what is missing: a screen has room for the first words only."""
    if isinstance(read, Absent) and read.kind == "permission":
        return Absent(f"needs root: {read.reason}", read.kind, read.source)
    return read


def _rules_by_table_text(sizes: dict[str, int]) -> str:
    filled = sorted(((size, table) for table, size in sizes.items() if size), key=lambda pair: -pair[0])
    words = [f"{size} in {table}" for size, table in filled[:MAX_NAMES]]
    if len(filled) > MAX_NAMES:
        words.append(f"{sum(size for size, _ in filled[MAX_NAMES:])} in {len(filled) - MAX_NAMES} more")
    return ", ".join(words) or NONE


def _loaded_text(host: Host, path: str) -> str:
    names = host.read_file_text(path)
    return ", ".join(sorted(set(names.split()))) if is_present(names) else ""


def _checks_text(read: Ruleset, protocol: Protocol) -> str:
    """`strict, every packet`; several, in the order of the ruleset."""
    rules = [r for r in read.rules_in_effect if protocol in r.protocols and r.check != "type"]
    return "; ".join(dict.fromkeys(f"{_check_kind_text(rule)}, {_checked_text(rule)}" for rule in rules))


def _check_kind_text(rule: ReversePathRule) -> str:
    return "check" if rule.check == "unknown" else rule.check


def _checked_text(rule: ReversePathRule) -> str:
    if rule.checks_every_packet:
        return "every packet"
    if rule.checks_every_flow:
        return f"packets with {' '.join(rule.conditions)}"
    hook = rule.first_hook
    forwarded = "forwarded " if hook is not None and hook.name == "forward" else ""
    if rule.new_only:
        return f"first packets of a {forwarded}flow"
    return f"{forwarded}packets" if forwarded or hook is None else f"packets in {hook.name}"


def _ipv4_fact(read: Ruleset | Absent, setting: RpFilter | Absent, source: str) -> FactOrUnread:
    """The setting counts beside the rules: either may be in force without the other."""
    name = "reverse_path_ipv4"
    if isinstance(setting, Absent):
        return make_fact(
            "firewall", name, read if isinstance(read, Absent) else _checks_text(read, "IPv4") or NONE, source
        )
    words = [f"rp_filter {_rp_filter_modes_text(setting)}"]
    if isinstance(read, Absent):
        words.append("rules unknown")
    elif rules := _checks_text(read, "IPv4"):
        words.insert(0, rules)
    return Fact("firewall", name, "; ".join(words), f"{SETTINGS}/*/rp_filter, {source}")


def _rp_filter_modes_text(setting: RpFilter) -> str:
    """One word where all interfaces have the same, else those that have it."""
    by_mode: dict[int, list[str]] = {}
    for interface in setting.own:
        by_mode.setdefault(setting.effective_mode(interface), []).append(interface)
    if len(by_mode) < 2:
        return next((WORDS.get(mode, str(mode)) for mode in by_mode), "off")
    mode_words = []
    for mode, names in sorted(by_mode.items(), reverse=True):
        if mode:
            mode_words.append(f"{WORDS.get(mode, mode)} on {join_names(names, MAX_NAMES)}")
    return ", ".join(mode_words)
