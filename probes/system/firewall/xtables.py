"""Finds `-m rpfilter` in what ip6tables-save and iptables-save print (iptables-extensions(8))."""

import shlex
from itertools import pairwise

import msgspec

from probes.reading.patterns import lazy_pattern
from probes.system.firewall.reverse_path import PRIORITIES, Chains, Form, Hook, Key, Protocol, ReversePathRule
from probes.types import Absent

# Where the built-in chains sit: linux/netfilter_ipv6.h, enum nf_ip6_hook_priorities.
_PRIORITY = PRIORITIES | {"nat": PRIORITIES["dstnat"]}
_BUILT_IN = {"PREROUTING": "prerouting", "INPUT": "input", "FORWARD": "forward", "OUTPUT": "output"}
_COUNTED = lazy_pattern(r"^\[([0-9]{1,20}):[0-9]{1,20}\] ")


def rules_from_save(
    text: str, protocol: Protocol, form: Form, source: str
) -> tuple[ReversePathRule, ...] | Absent:
    """The rpfilter rules of one `*-save` output (with or without `-c`)."""
    table = ""
    chains = Chains()
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
                chains.base[(table, name)] = Hook(_BUILT_IN[name], _PRIORITY.get(table, 0))
            continue
        counted = _COUNTED.match(line)
        words = _split_words(line[counted.end() :] if counted else line)
        if len(words) < 2 or words[0] != "-A":
            continue
        key = (table, words[1])
        target = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-j", "-g")), "")
        if target:
            end = next(i for i, w in enumerate(words) if w in ("-j", "-g"))
            chains.add_jump(key, (table, target), _only_new(words), " ".join(_join_conditions(words[2:end])))
        if ("-m", "rpfilter") in pairwise(words):
            rule = _make_rule(protocol, form, key, words, key in chains.spared, source)
            counter = int(counted[1]) if counted else None
            keyed_rules.append((key, chains.locate_rule(key, msgspec.structs.replace(rule, packets=counter))))
        chains.read[key] += 1
        if target not in ("", "LOG", "NFLOG") and not _is_neighbour_rule(words, target):
            chains.decided.add(key)
        if target == "ACCEPT" and len(words) == 8 and "ESTABLISHED" in _find_states(words):
            chains.spared.add(key)
    return chains.place_rules(keyed_rules)


def _split_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an unbalanced quote in a comment
        return line.split()


def _is_neighbour_rule(words: list[str], target: str) -> bool:
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


def _find_states(words: list[str]) -> set[str]:
    for word, value in pairwise(words):
        if word in ("--ctstate", "--state"):
            return set(value.split(","))
    return set()


def _only_new(words: list[str]) -> bool:
    states = _find_states(words)
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
        new_only=guarded or _only_new(words),
        statement=shlex.join(words),
        source=source,
        conditions=tuple(_join_conditions(words[2 : list(pairwise(words)).index(("-m", "rpfilter"))])),
        exact=True,
    )
