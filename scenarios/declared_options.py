"""What a scenario declares of itself: its words and options in `options.toml` of its folder.

`common` names the options that it shares with others (`scenarios/options.toml`), which come last. `"{name}"` stands
for a value that its code goes by, in a text or alone. `[scenario]` holds what `scenarios.model.Scenario` asks for.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from probes.types import Json
from scenarios.card import card_of
from scenarios.knowledge.load import tables
from scenarios.plan import Option

T = TypeVar("T")


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The class attributes of a scenario that are data; those with a default may be left to the class."""

    title: str
    question: str
    why: str
    answers: str
    takes_s: float = 0.0
    needs: str = ""
    suspect: str = ""
    checkup_s: float = 0.0
    checkup_first: bool = False
    measures: bool = True
    reads: tuple[str, ...] = ()
    reads_anyway: bool = False
    remembers: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    option: tuple[Option, ...]
    common: tuple[str, ...] = ()
    scenario: Words | None = None


def declared(scenario: str, **values: Json) -> tuple[Option, ...]:
    """In the order of the file. scenario: a path in its folder; values: for the names in braces."""
    return _options(_read(Path(scenario), **values))


def described(scenario: str, **values: Json) -> Callable[[type[T]], type[T]]:
    """Decorates a scenario's class with all that its file says, and with its folder's name and card."""
    found = _read(Path(scenario), **values)
    id = Path(scenario).parent.name

    def with_words(kind: type[T]) -> type[T]:
        said: dict[str, object] = msgspec.to_builtins(found.scenario)
        for name, value in {**said, "id": id, "card": card_of(id), "options": _options(found)}.items():
            setattr(kind, name, value)
        return kind

    return with_words


def _options(found: _File) -> tuple[Option, ...]:
    return (*found.option, *(option for option in COMMON_OPTIONS if option.name in found.common))


def _read(beside: Path, **values: Json) -> _File:
    return msgspec.convert(_filled(tables(beside.parent / "options.toml"), values), _File)


def _filled(value: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(value, dict):
        return {key: _filled(one, values) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, values) for one in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    return values[value[1:-1]] if value[1:-1] in values else value.format_map(values)


COMMON_OPTIONS = _read(Path(__file__)).option
