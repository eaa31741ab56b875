"""Sentences with values in them: `{subject} runs at {speed:bits}`; every number by `probes.units`."""

import os
import re
import shlex
from collections.abc import Callable, Sequence

from probes import units
from probes.patterns import lazy_pattern
from probes.types import Absent
from scenarios.rules.expression import Expression, Invalid, Names, Value, expression

FORMS: dict[str, Callable[[float], str]] = {
    "number": units.number,
    "size": units.size,
    "rate": units.rate,
    "bits": units.bits,
    "hertz": units.frequency,
    "percent": units.percent,
    "duration": units.duration,
    "capacity": units.capacity,
    "elapsed": units.elapsed,
    "times": units.times,
    "exact": lambda value: f"{value:,.0f}",
    "words": str,  # in a command: each word of a text is quoted by itself
}
_HOLE = lazy_pattern(r"\{([^{}]+?)(?::([a-z]+))?\}")

_OPTIONAL = lazy_pattern(r"\[\?([^\[\]]*)\]")
_PLAIN = lazy_pattern(r"\{(\w+)(?::([a-z]+))?\}")
_WITHIN_WORD = lazy_pattern(r"[^\s|;&(\"']$")
_COMMANDS = lazy_pattern(r"[|;&(]")


def typed(line: str, names: Names) -> str:
    """A command with values of the host in it, each quoted: what a host calls its things is never part of the shell.

    Empty where a value is not known: half a command helps nobody. And where one would be taken for an option: quoted
    or not, a word that begins with `-` is one, unless `--` stands before it in the same command.
    """
    holes = [found for found in _PLAIN.finditer(line) if found[1] in names]
    if any(isinstance(names[hole[1]], Absent) or _is_option(line, hole, names) for hole in holes):
        return ""

    def one(found: re.Match[str]) -> str:
        if found[1] not in names or (found[2] and found[2] not in FORMS):
            return found[0]  # `{print}` of awk
        told = said(names[found[1]], found[2] or "")
        return shlex.join(told.split()) if found[2] == "words" else shlex.quote(told)

    return _PLAIN.sub(one, line)


MAX_SINGLE_LINES = 4


def for_all(line: str, rows: Sequence[Names]) -> list[str]:
    """A command for each row, each once; of many that differ by one value alone one loop over its values."""
    filled = list(dict.fromkeys(command for row in rows if (command := typed(line, row))))
    holes = {hole[1] for row in rows[:1] for hole in _PLAIN.finditer(line) if hole[1] in row}
    varying = [name for name in holes if len({str(row[name]) for row in rows}) > 1]
    if len(filled) <= MAX_SINGLE_LINES or len(varying) != 1 or "#" in line:
        return filled
    [name] = varying
    values = dict.fromkeys(shlex.quote(said(row[name])) for row in rows if typed(line, row))
    # `$x` stands where the value stood: what was a word of its own stays one
    body = typed(re.sub(rf"\{{{name}(:[a-z]+)?\}}", '"$x"', line), rows[0])
    return [f"for x in {' '.join(values)}; do {body}; done"]


def plain(line: str, names: Names) -> str:
    """With values in it and unquoted; empty where one is not known."""
    holes = [found for found in _PLAIN.finditer(line) if found[1] in names]
    if any(isinstance(names[hole[1]], Absent) for hole in holes):
        return ""
    return _PLAIN.sub(
        lambda found: said(names[found[1]], found[2] or "") if found[1] in names else found[0], line
    )


def plain_each(line: str, names: Names) -> list[str]:
    """As `plain`, once for each word of the value that is marked `:words`."""
    found = re.search(r"\{(\w+):words\}", line)
    value = names.get(found[1]) if found else None
    if found is None or not isinstance(value, str):
        return [plain(line, names)]
    return [plain(line.replace(found[0], word), names) for word in value.split()]


def _is_option(line: str, hole: re.Match[str], names: Names) -> bool:
    value, before = names[hole[1]], line[: hole.start()]
    if not (isinstance(value, str) and said(value).startswith("-")) or _WITHIN_WORD.search(before):
        return False
    return "--" not in _COMMANDS.split(before)[-1].split()


class Words:
    """A template; `[?, {channels} queues]` is left out where a value in it is unknown.

    Raises Invalid where an expression in it is none, or its form is not known.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        self._holes: dict[str, tuple[Expression, str]] = {}
        for found in _HOLE.finditer(template):
            form = found[2] or ""
            if form and form not in FORMS:
                raise Invalid(f"{template!r}: {form} is no form; there are {', '.join(FORMS)}")
            self._holes[found[0]] = (expression(found[1]), form)

    @property
    def names(self) -> list[str]:
        """The expressions in it."""
        return [expr.text for expr, _ in self._holes.values()]

    def filled(self, names: Names) -> str:
        told = _OPTIONAL.sub(lambda part: part[1] if self._known(part[1], names) else "", self.template)
        return _HOLE.sub(lambda found: self._one(found[0], names), told)

    def _known(self, part: str, names: Names) -> bool:
        return not any(
            isinstance(self._holes[found[0]][0].value(names), Absent) for found in _HOLE.finditer(part)
        )

    def _one(self, hole: str, names: Names) -> str:
        expr, form = self._holes[hole]
        return said(expr.value(names), form)


def said(value: Value, form: str = "") -> str:
    if isinstance(value, Absent):
        return "unknown"
    if form and isinstance(value, int | float):
        return FORMS[form](value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return units.number(value)
    if isinstance(value, tuple | list | frozenset):
        return ", ".join(said(one) for one in value)
    return " ".join(str(value).split())


_PLACES = r"['\"]?/(?:sys|proc|etc)/"
_WRITES = lazy_pattern(rf"(?:>>?|\|\s*tee(?: -a)?)\s*{_PLACES}|^cd {_PLACES}")
_CHANGES = lazy_pattern(
    rf"^(?:(?:rm|mkdir|mv|cp|chmod|sed) .*{_PLACES}|sysctl (?:-w |[\w./-]+=|--system)"
    r"|systemctl (?!--user|status|show|list)|(?:mount|umount|fsfreeze|cpupower frequency-set|tuned-adm (?:profile|off)"
    r"|udevadm (?:control|trigger)|grubby|nft|ip6?tables(?:-legacy)?|firewall-cmd|dmsetup|dmidecode|smartctl|hdparm"
    r"|ipmitool|mdadm|multipath|cryptsetup|ethtool -[GKLs]|tc qdisc (?:add|del|replace)|blockdev --set\w+|service"
    r"|netfilter-persistent|nvme|ip link set|nmcli connection modify|rpc\.nfsd|auditctl|aureport|turbostat|rdmsr"
    r"|lvs|lvextend|multipathd|chcpu|storcli)\b)"
)
_SEVERAL = lazy_pattern(r"[|&;<>]|\$\(")


def is_root() -> bool:
    return os.geteuid() == 0


def typable(line: str) -> str:
    """As it can be typed here. A redirection is the shell's own: `sudo echo` would open the file without the rights."""
    if is_root() or line.startswith(("#", "sudo ")):
        return line
    command = line.partition("  # ")[0]
    if _WRITES.search(command) or (_CHANGES.match(command) and _SEVERAL.search(command)):
        return f"sudo sh -c {shlex.quote(line)}"
    return f"sudo {line}" if _CHANGES.match(command) else line
