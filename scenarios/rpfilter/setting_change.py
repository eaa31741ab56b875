"""How IPv4's rp_filter is changed on some interfaces and on no others.

The larger of `all` and an interface's own counts (Documentation/networking/ip-sysctl.rst). So `all` is set to 0 where
it would overrule, and each interface's own to what it shall be; those that are not meant keep what they have in effect.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from probes.system.firewall.rp_filter import WORDS, RpFilter
from probes.types import Absent
from probes.units import listed
from scenarios.finding import Remedy
from scenarios.rules.texts import texts

SAYS = texts("rpfilter")


def loose(setting: RpFilter) -> Remedy | None:
    """Loose where it is strict; None where nothing is strict."""
    wanted = {name: 2 for name, mode in setting.active.items() if mode == 1}
    if not wanted:
        return None
    return _change(setting, wanted, SAYS.text("loose"), "")


def strict(setting: RpFilter, interfaces: tuple[str, ...]) -> Remedy:
    """Strict on these, as they are set themselves."""
    title = SAYS.text("strict", interfaces=listed(interfaces, 4))
    return _change(setting, dict.fromkeys(interfaces, 1), title, SAYS.text("strict-drops"))


def switched_off(setting: RpFilter) -> Remedy:
    """For its cost: off wherever it is in effect."""
    return _change(setting, dict.fromkeys(setting.active, 0), SAYS.text("off"), SAYS.text("off-warning"))


def effects(setting: RpFilter, wanted: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """What is in effect before and after, by interface, where it changes."""
    return {
        name: (before, wanted[name])
        for name in setting.own
        if name in wanted and (before := setting.effective(name)) != wanted[name]
    }


def _change(setting: RpFilter, wanted: Mapping[str, int], title: str, warning: str) -> Remedy:
    new = {name: wanted.get(name, setting.effective(name)) for name in setting.own}
    old: dict[str, int] = dict(setting.own)
    if not isinstance(setting.default, Absent):  # interfaces that are yet to come: as they would have been
        old["default"] = setting.default
        new["default"] = max(setting.everywhere, setting.default) if any(wanted.values()) else 0
    old["all"], new["all"] = setting.everywhere, 0  # last: until then no interface falls below what it had
    changed = [name for name in new if new[name] != old[name]]
    moves = [
        f"{name} from {WORDS.get(before, before)} to {WORDS.get(after, after)}"
        for name, (before, after) in effects(setting, wanted).items()
    ]
    lines = " ".join(shlex.quote(f"{_key(name)} = {new[name]}") for name in changed)
    return SAYS.remedy(
        "rp-filter",
        title=title,
        new=tuple(f"{_key(name)}={new[name]}" for name in changed),
        lines=lines,
        old=tuple(f"{_key(name)}={old[name]}" for name in reversed(changed)),
        moves="; ".join(moves),
        warning=warning,
    )


def _key(name: str) -> str:
    """With slashes, for an interface's name may hold dots: sysctl(8)."""
    return f"net/ipv4/conf/{name}/rp_filter"
