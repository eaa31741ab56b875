"""Values of a scenario's options: from words as they are typed, and as words to be shown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from probes.types import Json
from scenarios.plan import Option


def given(argv: Sequence[str], declared: Sequence[Option]) -> dict[str, Json]:
    """Options written as on the command line (a finding's `prove_options`), as values; unknown ones are left out."""
    kinds = {o.name: o for o in declared}
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
        if option.multiple:
            before = out.get(name)
            out[name] = [*(before if isinstance(before, list) else []), value]
        else:
            out[name] = value
    return out


def shown(option: Option, values: dict[str, Json]) -> str:
    value = values.get(option.name, option.default)
    if option.kind == "flag":
        return "yes" if value else "no"
    if isinstance(value, list):
        return shlex.join(str(v) for v in value)
    if isinstance(value, float):
        value = _whole(value)
    return "" if value is None else str(value)


def _whole(number: float) -> int | float:
    """`340`, not `340.0`: as it was typed."""
    return int(number) if number.is_integer() else number


def wrong(option: Option, words: str) -> str:
    """Why these words are no value of that option; empty where they are."""
    try:
        parsed(option, words)
    except ValueError as error:
        return f"{option.name}: {error}"
    return ""


def parsed(option: Option, words: str) -> Json:
    """The value; None for nothing (the default holds). Raises ValueError with the reason."""
    words = words.strip()
    if not words:
        return None
    if option.kind == "flag":
        return True
    if option.multiple:
        return list(shlex.split(words))
    if option.kind in ("integer", "number"):
        try:
            return int(words) if option.kind == "integer" else _whole(float(words))
        except ValueError:
            raise ValueError(f"{words!r} is not a number") from None
    if option.choices and words not in option.choices:
        raise ValueError(f"one of {', '.join(option.choices)}")
    return words
