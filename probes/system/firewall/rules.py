"""The reverse-path checks that are loaded now, from every place that a ruleset can be read from.

Finds `-m rpfilter` in what ip6tables-save and iptables-save print (iptables-extensions(8)).
"""

import shlex
from itertools import pairwise

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.firewall.reverse_path import (
    PRIORITIES,
    ChainHook,
    Form,
    Key,
    Protocol,
    ReversePathRule,
    RulesetChains,
)
from hostdx.probes.system.firewall.ruleset_text import parse_nft_listing
from hostdx.probes.types import Absent, is_present

# Where the built-in chains sit: linux/netfilter_ipv6.h, enum nf_ip6_hook_priorities.
_PRIORITY = PRIORITIES | {"nat": PRIORITIES["dstnat"]}
_BUILT_IN = {"PREROUTING": "prerouting", "INPUT": "input", "FORWARD": "forward", "OUTPUT": "output"}
_COUNTED = lazy_pattern(r"^\[([0-9]{1,20}):[0-9]{1,20}\] ")


def parse_iptables(
    text: str, protocol: Protocol, form: Form, source: str
) -> tuple[ReversePathRule, ...] | Absent:
    """The rpfilter rules of one `*-save` output (with or without `-c`)."""
    table = ""
    chains = RulesetChains()
    keyed_rules: list[tuple[Key, ReversePathRule]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#") or line == "COMMIT":
            continue
        if line.startswith("*"):
            table = line[1:]
            continue
        if not table:
            return Absent("this is not what iptables-save prints", "invalid", source)
        if line.startswith(":"):
            name = line[1:].split()[0]
            if name in _BUILT_IN:
                chains.base[(table, name)] = ChainHook(_BUILT_IN[name], _PRIORITY.get(table, 0))
            continue
        counted = _COUNTED.match(line)
        words = _split_shell_words(line[counted.end() :] if counted else line)
        if len(words) < 2 or words[0] != "-A":
            continue
        key = (table, words[1])
        target = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-j", "-g")), "")
        if target:
            end = next(i for i, w in enumerate(words) if w in ("-j", "-g"))
            chains.add_jump(
                key, (table, target), _is_only_for_new_flows(words), " ".join(_join_conditions(words[2:end]))
            )
        if ("-m", "rpfilter") in pairwise(words):
            rule = _make_rule(protocol, form, key, words, key in chains.spared, source)
            counter = int(counted[1]) if counted else None
            keyed_rules.append((key, chains.locate_rule(key, msgspec.structs.replace(rule, packets=counter))))
        chains.read[key] += 1
        if target not in ("", "LOG", "NFLOG") and not _accepts_neighbour_discovery(words, target):
            chains.decided.add(key)
        if target == "ACCEPT" and len(words) == 8 and "ESTABLISHED" in _find_conntrack_states(words):
            chains.spared.add(key)
    return chains.rules_with_hooks(keyed_rules)


def _split_shell_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an unbalanced quote in a comment
        return line.split()


def _accepts_neighbour_discovery(words: list[str], target: str) -> bool:
    """Neighbour discovery let past (types 133 to 137): connection tracking calls it untracked, never new."""
    kinds = [value for word, value in pairwise(words) if word == "--icmpv6-type"]
    return (
        target == "ACCEPT"
        and bool(kinds)
        and all(kind in ("133", "134", "135", "136", "137") for kind in kinds)
    )


def _join_conditions(words: list[str]) -> list[str]:
    """Options that stand before the check, without comments: `-i eth1`, `-p udp -m udp --dport 53`."""
    condition_words: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--comment":
            next(rest, "")
        elif word == "comment" and condition_words[-1:] == ["-m"]:
            condition_words.pop()
        else:
            condition_words.append(word)
    return [shlex.join(condition_words)] if condition_words else []


def _find_conntrack_states(words: list[str]) -> set[str]:
    for word, value in pairwise(words):
        if word in ("--ctstate", "--state"):
            return set(value.split(","))
    return set()


def _is_only_for_new_flows(words: list[str]) -> bool:
    states = _find_conntrack_states(words)
    return bool(states) and "ESTABLISHED" not in states


def _make_rule(
    protocol: Protocol, form: Form, key: tuple[str, ...], words: list[str], guarded: bool, source: str
) -> ReversePathRule:
    loose = "--loose" in words
    flags = ["saddr"]
    if "--validmark" in words:
        flags.append("mark")
    if not loose:
        flags.append("iif")
    return ReversePathRule(
        form=form,
        protocols=(protocol,),
        family="ip6" if protocol == "IPv6" else "ip",
        table=key[0],
        chain=key[1],
        hooks=(),
        check="loose" if loose else "strict",
        flags=tuple(flags),
        new_only=guarded or _is_only_for_new_flows(words),
        statement=shlex.join(words),
        source=source,
        conditions=tuple(_join_conditions(words[2 : list(pairwise(words)).index(("-m", "rpfilter"))])),
        exact=True,
    )


# Terse first: a set of a hundred thousand addresses is not what is looked for (nft(8), -t, from 0.9.3 on). The second
# is what sos keeps.
_NATIVE = (
    ("nft", "-a", "-t", "list", "ruleset"),
    ("nft", "-a", "list", "ruleset"),
    ("nft", "list", "ruleset"),
)
_LEGACY = (
    ("IPv6", "/proc/net/ip6_tables_names", ("ip6tables-legacy-save", "ip6tables-save")),
    ("IPv4", "/proc/net/ip_tables_names", ("iptables-legacy-save", "iptables-save")),
)
_NFT_SAVE: dict[Protocol, tuple[str, ...]] = {
    "IPv6": ("ip6tables-nft-save", "ip6tables-save"),
    "IPv4": ("iptables-nft-save", "iptables-save"),
}


class Ruleset(msgspec.Struct, frozen=True, kw_only=True):
    """`rules` are all reverse-path checks, in effect or not; `sources` the commands that answered.

    `sizes`: how many rules, of whatever kind, nf_tables holds by table ("inet firewalld").
    """

    rules: tuple[ReversePathRule, ...]
    sources: tuple[str, ...]
    sizes: dict[str, int] = {}

    @property
    def rules_in_effect(self) -> tuple[ReversePathRule, ...]:
        return tuple(rule for rule in self.rules if rule.is_reached)


@compute_once_per_host
def read_ruleset(host: Host) -> Ruleset | Absent:
    """The live ruleset's reverse-path checks; Absent where none of it could be read (not root, no tool)."""
    native = _read_nf_tables(host)
    legacy = _read_legacy_iptables(host)
    if isinstance(native, Absent) and isinstance(legacy, Absent):
        return native
    parts = [part for part in (native, legacy) if is_present(part)]
    return Ruleset(
        rules=tuple(rule for part in parts for rule in part.rules),
        sources=tuple(source for part in parts for source in part.sources),
        sizes={table: size for part in parts for table, size in part.sizes.items()},
    )


def _read_nf_tables(host: Host) -> Ruleset | Absent:
    """Return what nf_tables holds: nft's own rules and those of iptables-nft."""
    first: Absent | None = None
    for command in _NATIVE:
        text = host.read_command(*command, timeout_s=3.0)
        listing = text if isinstance(text, Absent) else parse_nft_listing(text, " ".join(command))
        if not isinstance(listing, Absent):
            read = Ruleset(rules=listing.rules, sources=(" ".join(command),), sizes=listing.sizes)
            return _with_saved_details(host, read)
        if listing.kind in ("permission", "tool"):
            return listing
        first = listing if first is None else first  # an Absent is false
    return Absent("the ruleset could not be read") if first is None else first


def _with_saved_details(host: Host, read: Ruleset) -> Ruleset:
    """Replaces the foreign matches of iptables-nft by what iptables-save says of them (flags, counters)."""
    rules, sources = list(read.rules), list(read.sources)
    for protocol, commands in _NFT_SAVE.items():
        vague = [r for r in rules if r.form == "iptables-nft" and r.protocols == (protocol,)]
        if not vague:
            continue
        saved = _save_rules(host, protocol, "iptables-nft", commands)
        if isinstance(saved, Absent) or len(saved.rules) < len(vague):
            continue
        rules = [r for r in rules if r not in vague] + list(saved.rules)
        sources.extend(saved.sources)
    return Ruleset(rules=tuple(rules), sources=tuple(sources), sizes=read.sizes)


def _read_legacy_iptables(host: Host) -> Ruleset | Absent:
    """Return what ip_tables and ip6_tables hold. Asked only where a table is loaded: asking loads the modules."""
    rules: list[ReversePathRule] = []
    sources: list[str] = []
    absent: Absent | None = None
    for protocol, names, commands in _LEGACY:
        loaded = host.read_file_text(names)
        if isinstance(loaded, Absent):
            if absent is None and loaded.kind == "permission":
                absent = loaded
            continue
        if not {"raw", "mangle"} & set(loaded.split()):
            continue  # rpfilter is valid in these two only: xt_rpfilter.c, rpfilter_check
        saved = _save_rules(host, "IPv6" if protocol == "IPv6" else "IPv4", "iptables-legacy", commands)
        if isinstance(saved, Absent):
            absent = saved if absent is None else absent
            continue
        rules.extend(saved.rules)
        sources.extend(saved.sources)
    if not sources:
        none = Absent("no legacy iptables table is loaded", "missing", "/proc/net/ip6_tables_names")
        return none if absent is None else absent
    return Ruleset(rules=tuple(rules), sources=tuple(sources))


def _save_rules(host: Host, protocol: Protocol, form: Form, commands: tuple[str, ...]) -> Ruleset | Absent:
    last = Absent("no iptables-save was found", "tool")
    for command in commands:
        text = host.read_command(command, "-c", timeout_s=3.0)
        if isinstance(text, Absent):
            text = host.read_command(command, timeout_s=3.0) if not host.live else text
        if isinstance(text, Absent):
            last = text
            continue
        rules = parse_iptables(text, protocol, form, command)
        if isinstance(rules, Absent):
            last = rules
            continue
        return Ruleset(rules=rules, sources=(command,))
    return last
