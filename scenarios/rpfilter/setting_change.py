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

FILE = "/etc/sysctl.d/90-rpfilter.conf"
STRICT_DROPS = (
    "Strict drops what comes in by another interface than the way back leads out by (several uplinks, a VPN)."
)


def loose(setting: RpFilter) -> Remedy | None:
    """Loose where it is strict; None where nothing is strict."""
    wanted = {name: 2 for name, mode in setting.active.items() if mode == 1}
    if not wanted:
        return None
    return _change(setting, wanted, "let rp_filter be loose (2) where it is strict", "")


def strict(setting: RpFilter, interfaces: tuple[str, ...]) -> Remedy:
    """Strict on these, as they are set themselves."""
    title = (
        f"let rp_filter be strict (1) on {listed(interfaces, 4)}, and leave the other interfaces as they are"
    )
    return _change(setting, dict.fromkeys(interfaces, 1), title, STRICT_DROPS)


def switched_off(setting: RpFilter) -> Remedy:
    """For its cost: off wherever it is in effect."""
    warning = (
        "Then nothing checks IPv4 sources here: packets with forged ones come in. Filter at the router (BCP 38/84)."
        " Packets of established flows skip the check anyway, so the gain may be small."
    )
    title = "switch rp_filter off: 0 in `all` and on every interface, since the larger of both counts"
    return _change(setting, dict.fromkeys(setting.active, 0), title, warning)


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
    return Remedy(
        title=title,
        commands=tuple(f"sysctl -w {shlex.quote(f'{_key(name)}={new[name]}')}" for name in changed),
        persistent=(f"printf '%s\\n' {lines} > {FILE}", "sysctl --system"),
        verify=("sysctl -a 2>/dev/null | grep '\\.rp_filter'",),
        undo=(
            f"rm {FILE}",
            *(f"sysctl -w {shlex.quote(f'{_key(name)}={old[name]}')}" for name in reversed(changed)),
        ),
        warning=f"In effect this takes {'; '.join(moves)}, and nothing else. {warning}".strip(),
    )


def _key(name: str) -> str:
    """With slashes, for an interface's name may hold dots: sysctl(8)."""
    return f"net/ipv4/conf/{name}/rp_filter"
