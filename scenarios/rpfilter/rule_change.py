"""How an admin's own rule is changed so that established flows go free: commands where they change nothing else.

A rule is changed in its place, whole, wherever that is enough: what narrows it, what stands before it and what it
logs stay as they are. Commands that would check other packets than before could cut the admin off; where they cannot
be told for sure, the rule is shown and the change is left to a person.
"""

from __future__ import annotations

import re
import shlex

from probes.system.firewall.reverse_path import CONNTRACK, ReversePathRule
from scenarios.finding import Remedy

LOOSE = "`loose` does not help: it costs as much as `strict`, the lookup is the same."
VERIFY = (
    "nft list ruleset | grep -E 'fib saddr .*(missing|exists|oif 0|oifname)'  # none, in FORWARD, or `ct state new`",
)
VERIFY_IPTABLES = ("ip6tables-save | grep rpfilter  # none, in FORWARD, or --ctstate NEW",)
STAYS = "New flows stay checked; packets that connection tracking knows, or calls invalid or untracked, no longer are."
ORDER = "Read the numbers again before each command: a reload changes them."
LASTS = "# the same change in what loads the rules (/etc/nftables.conf, /etc/sysconfig/nftables.conf)"
_DROPS = re.compile(r' drop(?: comment "[^"]*")?$')
_ACCEPTS = re.compile(r'\bexists (?:(?:counter|log)\b.*)?accept(?: comment "[^"]*")?$')
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def in_nftables(rule: ReversePathRule, sense: str) -> Remedy:
    """nft(8). `sense`: why the check should stay, empty where it protects little."""
    tracked = bool(rule.hooks) and all(h.name != "ingress" and h.priority > CONNTRACK for h in rule.hooks)
    hook = rule.first_hook
    if rule.exact and _DROPS.search(rule.statement):
        if tracked:
            return _in_place(rule, sense)
        if rule.direct and not rule.ahead and hook is not None and hook.name == "prerouting":
            return _moved(rule, sense)
    elif rule.exact and tracked and rule.direct and _ACCEPTS.search(rule.statement) and not rule.conditions:
        return _let_past(rule, sense)
    return _by_hand_nft(rule, sense, tracked)


def deleted(rule: ReversePathRule, sense: str) -> Remedy:
    """For a rule in firewalld's table where firewalld is not there: no file and no daemon to change it by."""
    where = _where(rule)
    if rule.exact:
        after = f" index {rule.number - 1}" if rule.number else ""
        word = "add" if rule.number else "insert"
        undo = f"nft {word} rule {where}{after} {shlex.quote(rule.statement)}"
    else:
        undo = f"# the rule as it was: {shown(rule)}"
    return Remedy(
        title="nftables: delete the rule; it is in firewalld's table, but firewalld does not run here",
        commands=(
            _checked(rule),
            f"nft delete rule {where} {_handle(rule)}",
        ),
        persistent=(
            "# it comes back with whatever loads this table: /etc/nftables.conf, a script, or firewalld when it is"
            " started (then IPv6_rpfilter in its file decides)",
        ),
        verify=(f"nft list chain {where}",),
        undo=(undo,),
        warning=f"{sense} {ORDER} {LOOSE}",
    )


def _where(rule: ReversePathRule) -> str:
    return " ".join(map(shlex.quote, (rule.family, rule.table, rule.chain)))


def _handle(rule: ReversePathRule) -> str:
    return f"handle {'HANDLE' if rule.handle is None else rule.handle}"


def _checked(rule: ReversePathRule) -> str:
    """A reload gives handles anew: another rule may have this one by now."""
    listing = f"nft -a list chain {_where(rule)}"
    if rule.handle is None:
        return f"{listing}  # shows the HANDLE of the rule: {shown(rule)}"
    return f"{listing}  # go on only if handle {rule.handle} still is: {shown(rule)}"


def _in_place(rule: ReversePathRule, sense: str) -> Remedy:
    where = _where(rule)
    changed = shlex.quote(f"ct state new {rule.statement}")
    return Remedy(
        title="nftables: check only the first packet of a flow, in the same place",
        commands=(
            _checked(rule),
            f"nft replace rule {where} {_handle(rule)} {changed}",
        ),
        persistent=(LASTS,),
        verify=(f"nft list chain {where}",),
        undo=(
            f"nft -a list chain {where}  # the changed rule has a new handle",
            f"nft replace rule {where} handle HANDLE {shlex.quote(rule.statement)}",
        ),
        warning=f"{_stays(sense)} {ORDER} {LOOSE}",
    )


def _moved(rule: ReversePathRule, sense: str) -> Remedy:
    """A chain before connection tracking (priority -200) cannot tell established flows."""
    where = _where(rule)
    own = f"{shlex.quote(rule.family)} {shlex.quote(rule.table)} hostdx_rpf"
    after = f" index {rule.number - 1}" if rule.number else ""  # behind what lets neighbour discovery past
    changed = shlex.quote(f"ct state new {rule.statement}")
    return Remedy(
        title="nftables: check only the first packet of a flow, in a chain after connection tracking",
        commands=(
            f"nft add chain {own} '{{ type filter hook prerouting priority -150; policy accept; }}'",
            f"nft add rule {own} {changed}",
            _checked(rule),
            f"nft delete rule {where} {_handle(rule)}",
        ),
        persistent=(LASTS,),
        verify=(f"nft list table {shlex.quote(rule.family)} {shlex.quote(rule.table)}", *VERIFY),
        undo=(
            f"nft {'add' if rule.number else 'insert'} rule {where}{after} {shlex.quote(rule.statement)}",
            f"nft flush chain {own}",
            f"nft delete chain {own}",
        ),
        warning=f"{_stays(sense)} {ORDER} {LOOSE}",
    )


def _let_past(rule: ReversePathRule, sense: str) -> Remedy:
    """It accepts what has a way back, and its chain drops the rest: NixOS does so."""
    where = _where(rule)
    return Remedy(
        title="nftables: let established flows past before the check",
        commands=(f"nft insert rule {where} ct state established,related accept",),
        persistent=(
            "# the same in what loads the rules, at the chain's start (NixOS: firewall.checkReversePath)",
        ),
        verify=(f"nft list chain {where}",),
        undo=(
            f"nft -a list chain {where}  # the handle of the rule that was inserted",
            f"nft delete rule {where} handle HANDLE",
        ),
        warning=f"{_stays(sense)} Established flows then skip the rest of this chain. {LOOSE}",
    )


def _by_hand_nft(rule: ReversePathRule, sense: str, tracked: bool) -> Remedy:
    how = "set `ct state new` before the check in it, and leave everything else as it is"
    if not tracked:
        how = (
            "its chain is before connection tracking: write it into one after it (priority above -200), with"
            " `ct state new` before the check, and with all that narrows it and all exceptions before it"
        )
    return Remedy(
        title=f"nftables, by hand: {how}",
        commands=(
            f"nft -a list chain {_where(rule)}  # the rule, with what stands before it",
            f"# the rule as read: {shown(rule)}",
        ),
        persistent=(LASTS,),
        verify=(f"nft list chain {_where(rule)}",),
        undo=(f"# the rule as it was: {shown(rule)}",),
        warning=f"{_widening(rule)} {_stays(sense)} {LOOSE}",
    )


def in_iptables(rule: ReversePathRule, sense: str) -> Remedy:
    """iptables-extensions(8), rpfilter and conntrack."""
    command = "ip6tables" if "IPv6" in rule.protocols else "iptables"
    if rule.form == "iptables-legacy":
        command += "-legacy"
    spec = rule.statement.removeprefix(f"-A {rule.chain} ")
    title = f"{command}: check only the first packet of a flow"
    saved = ("service ip6tables save  # EL", "netfilter-persistent save  # Debian, Ubuntu")
    verify = (f"{command}-save | grep rpfilter  # none, in FORWARD, or --ctstate NEW",)
    fresh = "-m conntrack --ctstate NEW"
    here, chain = f"{command} -t {shlex.quote(rule.table)}", shlex.quote(rule.chain)
    listing = f"{here} -L {chain} -n --line-numbers"
    if rule.exact and rule.table == "mangle":
        return Remedy(
            title=f"{title}, in the same place",
            commands=(
                f"{listing}  # the rule's number",
                f"{here} -R {chain} NUMBER {fresh} {spec}",
            ),
            persistent=saved,
            verify=verify,
            undo=(f"{listing}  # the rule's number", f"{here} -R {chain} NUMBER {spec}"),
            warning=f"{_stays(sense)} {ORDER} {LOOSE}",
        )
    if rule.exact and rule.direct and not rule.ahead:
        return Remedy(
            title=f"{title}, after connection tracking",
            commands=(
                f"{command} -t mangle -I PREROUTING {fresh} {spec}",
                f"{here} -D {chain} {spec}",
            ),
            persistent=saved,
            verify=verify,
            undo=(
                f"{here} -I {chain} {rule.number + 1} {spec}",
                f"{command} -t mangle -D PREROUTING {fresh} {spec}",
            ),
            warning=f"{_stays(sense)} {LOOSE}",
        )
    how = f"set `{fresh}` before the check in it, and leave everything else as it is"
    if rule.table != "mangle":
        how = (
            "its table is before connection tracking: write it into mangle's PREROUTING with"
            f" `{fresh}`, and with all that narrows it and all exceptions before it"
        )
    return Remedy(
        title=f"{command}, by hand: {how}",
        commands=(
            f"{here} -S  # the rule, with what stands before it",
            f"# the rule as read: {shown(rule)}",
        ),
        persistent=saved,
        verify=verify,
        undo=(f"# the rule as it was: {shown(rule)}",),
        warning=f"{_widening(rule)} {_stays(sense)} {LOOSE}",
    )


def shown(rule: ReversePathRule) -> str:
    """On one line, whatever its comments hold."""
    return _UNPRINTABLE.sub("?", rule.statement)


def _stays(sense: str) -> str:
    return f"{STAYS} {sense}".strip()


def _widening(rule: ReversePathRule) -> str:
    whom = f"It affects {rule.payers}." if rule.every_flow else ""
    return f"{whom} A check that applies to more packets than this one can cut off your connection.".strip()
