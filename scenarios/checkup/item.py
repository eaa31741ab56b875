"""One line of a checkup's answer, as its recording holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from probes.types import Json
from scenarios.finding import NextStep, Severity

EXTRA = "checkup"  # the name of the Extra event that carries the items
# "rule": what triage's rules say of the host, and no part of the checkup measured
State: TypeAlias = Literal["cause", "rule", "remark", "cleared", "open", "not measured", "resolution"]
ORDER: tuple[State, ...] = ("cause", "rule", "remark", "cleared", "open", "not measured", "resolution")


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the answer. `rank` counts from 1; 0 for the resolution, which is no suspect."""

    scenario: str
    state: State
    words: str
    severity: Severity | Literal["unknown"] = "unknown"
    rank: int = 0
    seconds: float = 0.0
    recording: str = ""
    following: tuple[NextStep, ...] = ()
    about: tuple[str, ...] = ()  # the findings that it names, by their keys


def as_json(items: Sequence[Item]) -> Json:
    plain: Json = msgspec.to_builtins(list(items))
    return plain


def items_of(value: Json) -> tuple[Item, ...]:
    """From a recording, which may come from anybody; empty for what is no answer of a checkup."""
    try:
        return tuple(msgspec.convert(value, list[Item]))
    except msgspec.ValidationError:
        return ()


def line(one: Item) -> str:
    """`1. not the disk (no difference over 3 %)`."""
    return f"{one.rank}. {one.words}" if one.rank else one.words
