"""Sentences with values in them: `{subject} runs at {speed:bits}`; every number by `hostdx.probes.units`."""

import os
import re
import shlex
from collections.abc import Callable, Sequence

from hostdx.probes import units
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.expression import (
    Expression,
    InvalidExpression,
    Names,
    Value,
    parse_expression,
)

FORMS: dict[str, Callable[[float], str]] = {
    "number": units.format_number,
    "size": units.format_size,
    "rate": units.format_rate,
    "bits": units.format_bit_rate,
    "hertz": units.format_frequency,
    "percent": units.format_percent,
    "duration": units.format_duration,
    "capacity": units.format_capacity,
    "elapsed": units.format_latency,
    "times": units.format_factor,
    "exact": lambda value: f"{value:,.0f}",
    "words": str,  # in a command: each word of a text is quoted by itself
}
_HOLE = lazy_pattern(r"\{([^{}]+?)(?::([a-z]+))?\}")

_OPTIONAL = lazy_pattern(r"\[\?([^\[\]]*)\]")
_CLAUSE = lazy_pattern(r"(?=[;,] )(?![^{}]*\})")  # of a template, outside of its braces
_PLAIN = lazy_pattern(r"\{(\w+)(?::([a-z]+))?\}")
_WITHIN_WORD = lazy_pattern(r"[^\s|;&(\"']$")
_COMMANDS = lazy_pattern(r"[|;&(]")


def fill_command(line: str, names: Names) -> str:
    """A command with values of the host in it, each quoted: what a host calls its things is never part of the shell.

    Empty where a value is not known: half a command helps nobody. And where one would be taken for an option: quoted
    or not, a word that begins with `-` is one, unless `--` stands before it in the same command.
    """
    holes = [hole_match for hole_match in _PLAIN.finditer(line) if hole_match[1] in names]
    if any(isinstance(names[hole[1]], Absent) or _would_be_option(line, hole, names) for hole in holes):
        return ""

    def fill_hole(hole: re.Match[str]) -> str:
        if hole[1] not in names or (hole[2] and hole[2] not in FORMS):
            return hole[0]  # `{print}` of awk
        shown_value = value_text(names[hole[1]], hole[2] or "")
        return shlex.join(shown_value.split()) if hole[2] == "words" else shlex.quote(shown_value)

    return _PLAIN.sub(fill_hole, line)


MAX_SINGLE_LINES = 4
MAX_LOOPED_VALUES = 24  # nobody reads or copies a line of 6 kB


def commands_for_rows(line: str, rows: Sequence[Names]) -> list[str]:
    """A command for each row, each once; of many that differ by one value alone one loop over its values.

    A loop over very many names the first, and how many are left.
    """
    filled = list(dict.fromkeys(command for row in rows if (command := fill_command(line, row))))
    holes = {hole[1] for row in rows[:1] for hole in _PLAIN.finditer(line) if hole[1] in row}
    varying = [name for name in holes if len({str(row[name]) for row in rows}) > 1]
    if len(filled) <= MAX_SINGLE_LINES or len(varying) != 1 or "#" in line:
        left = len(filled) - MAX_LOOPED_VALUES
        return [*filled[:MAX_LOOPED_VALUES], f"# and {left} more, which --json names"] if left > 0 else filled
    [name] = varying
    values = [*dict.fromkeys(shlex.quote(value_text(row[name])) for row in rows if fill_command(line, row))]
    left = len(values) - MAX_LOOPED_VALUES
    more = f"  # and {left} more, which --json names" if left > 0 else ""
    # `$x` stands where the value stood: what was a word of its own stays one
    body = fill_command(re.sub(rf"\{{{name}(:[a-z]+)?\}}", '"$x"', line), rows[0])
    return [f"for x in {' '.join(values[:MAX_LOOPED_VALUES])}; do {body}; done{more}"]


def fill_unquoted(line: str, names: Names) -> str:
    """With values in it and unquoted; empty where one is not known."""
    holes = [match for match in _PLAIN.finditer(line) if match[1] in names]
    if any(isinstance(names[hole[1]], Absent) for hole in holes):
        return ""
    return _PLAIN.sub(
        lambda match: value_text(names[match[1]], match[2] or "") if match[1] in names else match[0],
        line,
    )


def fill_line_for_each_value(line: str, names: Names) -> list[str]:
    """As `fill_unquoted`, once for each word of the value that is marked `:words`."""
    marked_hole = re.search(r"\{(\w+):words\}", line)
    value = names.get(marked_hole[1]) if marked_hole else None
    if marked_hole is None or not isinstance(value, str):
        return [fill_unquoted(line, names)]
    return [fill_unquoted(line.replace(marked_hole[0], word), names) for word in value.split()]


def _would_be_option(line: str, hole: re.Match[str], names: Names) -> bool:
    value, before = names[hole[1]], line[: hole.start()]
    if not (isinstance(value, str) and value_text(value).startswith("-")) or _WITHIN_WORD.search(before):
        return False
    return "--" not in _COMMANDS.split(before)[-1].split()


class SentenceTemplate:
    """A template; `[?, {channels} queues]` is left out where a value in it is unknown.

    Raises InvalidExpression where an expression in it is none, or its form is not known.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        self._holes: dict[str, tuple[Expression, str]] = {}
        for hole in _HOLE.finditer(template):
            form = hole[2] or ""
            if form and form not in FORMS:
                raise InvalidExpression(f"{template!r}: {form} is no form; there are {', '.join(FORMS)}")
            self._holes[hole[0]] = (parse_expression(hole[1]), form)
        if set("{}") & set(_HOLE.sub("", template)):
            raise InvalidExpression(f"{template!r}: a brace that no value fills")

    @property
    def expression_texts(self) -> list[str]:
        """The expressions in it."""
        return [expr.text for expr, _ in self._holes.values()]

    def fill_sentence(self, names: Names) -> str:
        return _HOLE.sub(lambda hole: self._hole_text(hole[0], names), self._without_unknown_parts(names))

    def fill_clauses(self, names: Names) -> str:
        """As `fill_sentence`, without the clauses (between `; ` or `, `) in which every value is unknown or empty."""
        kept: list[str] = []
        for clause in _CLAUSE.split(self._without_unknown_parts(names)):
            texts = [self._hole_text(hole[0], names) for hole in _HOLE.finditer(clause)]
            # the separator before a clause belongs to it
            if not texts or any(text not in ("", "unknown") for text in texts):
                kept.append(_HOLE.sub(lambda hole: self._hole_text(hole[0], names), clause))
        return re.sub(r"^[;,] ", "", "".join(kept))

    def _without_unknown_parts(self, names: Names) -> str:
        return _OPTIONAL.sub(lambda part: part[1] if self._is_known(part[1], names) else "", self.template)

    def _is_known(self, part: str, names: Names) -> bool:
        return not any(
            isinstance(self._holes[hole[0]][0].value(names), Absent) for hole in _HOLE.finditer(part)
        )

    def _hole_text(self, hole: str, names: Names) -> str:
        expr, form = self._holes[hole]
        return value_text(expr.value(names), form)


def value_text(value: Value, form: str = "") -> str:
    if isinstance(value, Absent):
        return "unknown"
    if form and isinstance(value, int | float):
        return FORMS[form](value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return units.format_number(value)
    if isinstance(value, tuple | list | frozenset):
        return ", ".join(value_text(item) for item in value)
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


def as_line_to_type(line: str) -> str:
    """As it can be typed here. A redirection is the shell's own: `sudo echo` would open the file without the rights."""
    if is_root() or line.startswith(("#", "sudo ")):
        return line
    command = line.partition("  # ")[0]
    if _WRITES.search(command) or (_CHANGES.match(command) and _SEVERAL.search(command)):
        return f"sudo sh -c {shlex.quote(line)}"
    return f"sudo {line}" if _CHANGES.match(command) else line
