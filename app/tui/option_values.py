"""Values of a scenario's options: from words as they are typed, and as words to be shown."""

import math
import os.path
import re
import shlex
from collections.abc import Sequence

from hostdx.probes import units
from hostdx.probes.types import Json
from hostdx.scenarios.contract.option_value import command_arguments, parse_number
from hostdx.scenarios.contract.plan import Option

# What is measured. Anything else comes from the keyboard only: a finding may come from anybody's recording, and
# `--workload` would run a command of his as the one who presses Enter.
PROPOSABLE = frozenset(
    {"dir", "pid", "started", "cgroup", "device", "link", "ioprio", "budget", "margin", "most-bytes", "size"}
)
_SCENARIO = re.compile(r"[a-z0-9][a-z0-9_.-]{0,60}")
_TEXT = re.compile(r"[A-Za-z0-9/_][A-Za-z0-9/_.:@-]{0,250}")  # of a cgroup or a device; never an option


def may_be_scenario_id(name: str) -> bool:
    """Return whether a finding's `prove` can be a scenario's id, and no option of `hostdx plan`."""
    return _SCENARIO.fullmatch(name) is not None


def parse_proposable_options(argv: Sequence[str], declared: Sequence[Option]) -> dict[str, Json]:
    """A finding's `prove_options`, written as on the command line, as values.

    Only what PROPOSABLE names, the scenario declares and is well-formed; what is left out has to be typed.
    """
    kinds = {o.name: o for o in declared if o.name in PROPOSABLE and not o.hidden}
    out: dict[str, Json] = {}
    words = list(argv)
    while words:
        name, _, value = words.pop(0).removeprefix("--").partition("=")
        option = kinds.get(name)
        if option is None:
            continue
        if option.kind == "flag":
            out[name] = True
            continue
        value = value or (words.pop(0) if words else "")
        if not _is_acceptable_value(option, value):
            continue
        if option.multiple:
            before = out.get(name)
            out[name] = [*(before if isinstance(before, list) else []), value]
        else:
            out[name] = value
    return out


def keeps_all_options(argv: Sequence[str], declared: Sequence[Option]) -> bool:
    """Return whether `parse_proposable_options` leaves none of it out: without `--order` it would be another run."""
    return _split_words(argv) == _split_words(command_arguments(parse_proposable_options(argv, declared)))


def _split_words(argv: Sequence[str]) -> list[str]:
    """`--dir=/a` and `--dir /a` are the same words."""
    parted = (word.split("=", 1) if word.startswith("--") else [word] for word in argv)
    return sorted(part for parts in parted for part in parts)


def _is_acceptable_value(option: Option, value: str) -> bool:
    if option.kind == "path":
        absolute = value.startswith("/") and os.path.normpath(value) == value
        return absolute and value.isprintable() and len(value) < 4096
    if option.kind == "bytes":
        return units.parse_size(value) is not None
    if option.kind in ("integer", "number"):
        try:
            number = float(value)
        except ValueError:
            return False
        least, most = option.least if option.least is not None else 0, option.most or 1 << 40
        return (
            math.isfinite(number)
            and least <= number <= most
            and (option.kind == "number" or value.isdecimal())
        )
    return _TEXT.fullmatch(value) is not None


def format_value(option: Option, values: dict[str, Json]) -> str:
    value = values.get(option.name, option.default)
    if option.kind == "flag":
        return "yes" if value else "no"
    if isinstance(value, list):
        return shlex.join(str(v) for v in value)
    if isinstance(value, float):
        value = _int_if_whole(value)
    return "" if value is None else str(value)


def _int_if_whole(number: float) -> int | float:
    """`340`, not `340.0`: as it was typed."""
    return int(number) if number.is_integer() else number


def explain_bad_value(option: Option, words: str) -> str:
    """Return why these words are no value of that option; empty where they are."""
    try:
        parse_value(option, words)
    except ValueError as error:
        return f"{option.name}: {error}"
    return ""


def parse_value(option: Option, words: str) -> Json:
    """The value; None for nothing (the default holds). Raises ValueError with the reason."""
    words = words.strip()
    if not words:
        return None
    if option.kind == "flag":
        return True
    several = shlex.split(words) if option.multiple else [words]
    if option.choices and not set(option.choices).issuperset(several):
        raise ValueError(f"one of {', '.join(option.choices)}")
    if option.multiple:
        return [*several]
    if option.kind in ("integer", "number"):
        return _int_if_whole(float(parse_number(option, words)))
    return words
