"""How an admin's own rule is changed so that established flows go free: commands where they change nothing else.

A rule is changed in its place, whole, wherever that is enough: what narrows it, what stands before it and what it
logs stay as they are. Commands that would check other packets than before could cut the admin off; where they cannot
be told for sure, the rule is shown and the change is left to a person.
"""

import re
import shlex
from collections.abc import Mapping

from hostdx.probes.system.firewall.reverse_path import CONNTRACK, ReversePathRule
from hostdx.probes.system.firewall.rp_filter import WORDS, RpFilter
from hostdx.probes.types import Absent
from hostdx.probes.units import join_names
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("rpfilter")

_DROPS = re.compile(r' drop(?: comment "[^"]*")?$')
_ACCEPTS = re.compile(r'\bexists (?:(?:counter|log)\b.*)?accept(?: comment "[^"]*")?$')
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def nftables_remedy(rule: ReversePathRule, sense: str) -> Remedy:
    """nft(8). `sense`: why the check should stay, empty where it protects little."""
    tracked = bool(rule.hooks) and all(h.name != "ingress" and h.priority > CONNTRACK for h in rule.hooks)
    hook = rule.first_hook
    if rule.exact and _DROPS.search(rule.statement):
        if tracked:
            return _in_place_remedy(rule, sense)
        if rule.direct and not rule.ahead and hook is not None and hook.name == "prerouting":
            return _moved_remedy(rule, sense)
    elif rule.exact and tracked and rule.direct and _ACCEPTS.search(rule.statement) and not rule.conditions:
        return _let_past_remedy(rule, sense)
    return _by_hand_nft_remedy(rule, sense, tracked)


def deletion_remedy(rule: ReversePathRule, sense: str) -> Remedy:
    """For a rule in firewalld's table where firewalld is not there: no file and no daemon to change it by."""
    chain_path = _nft_chain_words(rule)
    if rule.exact:
        after = f" index {rule.number - 1}" if rule.number else ""
        word = "add" if rule.number else "insert"
        undo = f"nft {word} rule {chain_path}{after} {shlex.quote(rule.statement)}"
    else:
        undo = f"# the rule as it was: {printable_statement(rule)}"
    return SAYS.remedy(
        "deleted",
        checked=_show_handle_command(rule),
        where=chain_path,
        handle=_nft_handle_words(rule),
        undo=undo,
        sense=sense,
    )


def _nft_chain_words(rule: ReversePathRule) -> str:
    return " ".join(map(shlex.quote, (rule.family, rule.table, rule.chain)))


def _nft_handle_words(rule: ReversePathRule) -> str:
    return f"handle {'HANDLE' if rule.handle is None else rule.handle}"


def _show_handle_command(rule: ReversePathRule) -> str:
    """A reload gives handles anew: another rule may have this one by now."""
    listing = f"nft -a list chain {_nft_chain_words(rule)}"
    if rule.handle is None:
        return f"{listing}  # shows the HANDLE of the rule: {printable_statement(rule)}"
    return f"{listing}  # go on only if handle {rule.handle} is still this rule: {printable_statement(rule)}"


def _in_place_remedy(rule: ReversePathRule, sense: str) -> Remedy:
    return SAYS.remedy(
        "in-place",
        checked=_show_handle_command(rule),
        where=_nft_chain_words(rule),
        handle=_nft_handle_words(rule),
        changed=f"ct state new {rule.statement}",
        statement=rule.statement,
        stays=_other_checks_stay_text(sense),
    )


def _moved_remedy(rule: ReversePathRule, sense: str) -> Remedy:
    """A chain before connection tracking (priority -200) cannot tell established flows."""
    table = f"{shlex.quote(rule.family)} {shlex.quote(rule.table)}"
    return SAYS.remedy(
        "moved",
        own=f"{table} hostdx_rpf",
        changed=f"ct state new {rule.statement}",
        checked=_show_handle_command(rule),
        where=_nft_chain_words(rule),
        handle=_nft_handle_words(rule),
        table=table,
        verify=SAYS.text("verify"),
        add="add" if rule.number else "insert",
        after=f" index {rule.number - 1}" if rule.number else "",  # behind what lets neighbour discovery past
        statement=rule.statement,
        stays=_other_checks_stay_text(sense),
    )


def _let_past_remedy(rule: ReversePathRule, sense: str) -> Remedy:
    """It accepts what has a way back, and its chain drops the rest: NixOS does so."""
    return SAYS.remedy("let-past", where=_nft_chain_words(rule), stays=_other_checks_stay_text(sense))


def _by_hand_nft_remedy(rule: ReversePathRule, sense: str, tracked: bool) -> Remedy:
    return SAYS.remedy(
        "by-hand-nft",
        how=SAYS.text("nft-tracked" if tracked else "nft-untracked"),
        where=_nft_chain_words(rule),
        shown=printable_statement(rule),
        widening=_warn_of_widening(rule),
        stays=_other_checks_stay_text(sense),
    )


def iptables_remedy(rule: ReversePathRule, sense: str) -> Remedy:
    """iptables-extensions(8), rpfilter and conntrack."""
    command = "ip6tables" if "IPv6" in rule.protocols else "iptables"
    if rule.form == "iptables-legacy":
        command += "-legacy"
    spec = rule.statement.removeprefix(f"-A {rule.chain} ")
    here, chain = f"{command} -t {shlex.quote(rule.table)}", shlex.quote(rule.chain)
    if rule.exact and rule.table == "mangle":
        return SAYS.remedy(
            "iptables-in-place",
            command=command,
            listing=f"{here} -L {chain} -n --line-numbers",
            here=here,
            chain=rule.chain,
            spec=spec,
            stays=_other_checks_stay_text(sense),
        )
    if rule.exact and rule.direct and not rule.ahead:
        return SAYS.remedy(
            "iptables-moved",
            command=command,
            here=here,
            chain=rule.chain,
            position=rule.number + 1,
            spec=spec,
            stays=_other_checks_stay_text(sense),
        )
    return SAYS.remedy(
        "iptables-by-hand",
        command=command,
        how=SAYS.text("iptables-mangle" if rule.table == "mangle" else "iptables-raw"),
        here=here,
        shown=printable_statement(rule),
        widening=_warn_of_widening(rule),
        stays=_other_checks_stay_text(sense),
    )


def printable_statement(rule: ReversePathRule) -> str:
    """On one line, whatever its comments hold."""
    return _UNPRINTABLE.sub("?", rule.statement)


def _other_checks_stay_text(sense: str) -> str:
    return f"{SAYS.text('stays')} {sense}".strip()


def _warn_of_widening(rule: ReversePathRule) -> str:
    whom = f"It affects {rule.payers_text}." if rule.checks_every_flow else ""
    return f"{whom} {SAYS.text('widening')}".strip()


def loosen_remedy(setting: RpFilter, interfaces: tuple[str, ...] = ()) -> Remedy | None:
    """Loose where it is strict, on these interfaces or on all; None where nothing is strict."""
    wanted = {
        n: 2 for n, mode in setting.active_modes.items() if mode == 1 and (not interfaces or n in interfaces)
    }
    if not wanted:
        return None
    return _rp_filter_remedy(setting, wanted, SAYS.text("loose"), "")


def tighten_remedy(setting: RpFilter, interfaces: tuple[str, ...]) -> Remedy:
    """Strict on these, as they are set themselves."""
    title = SAYS.text("strict", interfaces=join_names(interfaces, 4))
    return _rp_filter_remedy(setting, dict.fromkeys(interfaces, 1), title, SAYS.text("strict-drops"))


def switch_off_remedy(setting: RpFilter) -> Remedy:
    """For its cost: off wherever it is in effect."""
    return _rp_filter_remedy(
        setting, dict.fromkeys(setting.active_modes, 0), SAYS.text("off"), SAYS.text("off-warning")
    )


def effective_changes(setting: RpFilter, new_values: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return what is in effect before and after, by interface, where it changes."""
    return {
        name: (before, new_values[name])
        for name in setting.own
        if name in new_values and (before := setting.effective_mode(name)) != new_values[name]
    }


def _rp_filter_remedy(setting: RpFilter, wanted: Mapping[str, int], title: str, warning: str) -> Remedy:
    new = {name: wanted.get(name, setting.effective_mode(name)) for name in setting.own}
    old: dict[str, int] = dict(setting.own)
    if not isinstance(setting.default, Absent):  # interfaces that are yet to come: as they would have been
        old["default"] = setting.default
        new["default"] = max(setting.everywhere, setting.default) if any(wanted.values()) else 0
    old["all"], new["all"] = setting.everywhere, 0  # last: until then no interface falls below what it had
    changed = [name for name in new if new[name] != old[name]]
    moves = [
        f"{name} from {WORDS.get(before, before)} to {WORDS.get(after, after)}"
        for name, (before, after) in effective_changes(setting, wanted).items()
    ]
    lines = " ".join(shlex.quote(f"{_rp_filter_key(name)} = {new[name]}") for name in changed)
    return SAYS.remedy(
        "rp-filter",
        title=title,
        new=tuple(f"{_rp_filter_key(name)}={new[name]}" for name in changed),
        lines=lines,
        old=tuple(f"{_rp_filter_key(name)}={old[name]}" for name in reversed(changed)),
        moves="; ".join(moves),
        warning=warning,
    )


def _rp_filter_key(interface: str) -> str:
    """With slashes, for an interface's name may hold dots: sysctl(8)."""
    return f"net/ipv4/conf/{interface}/rp_filter"
