"""What a scenario declares of itself: its words and options in `options.toml` of its folder.

`common` names the options that it shares with others (`options.toml` here), which come last. `"{name}"` stands
for a value that its code goes by, in a text or alone. `[scenario]` holds what `Scenario` asks for.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from hostdx.probes.types import Json
from hostdx.scenarios.contract.card import card_of
from hostdx.scenarios.contract.knowledge_file import read_toml_tables
from hostdx.scenarios.contract.plan import Option

T = TypeVar("T")


class ScenarioWords(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
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


class _OptionsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    option: tuple[Option, ...]
    common: tuple[str, ...] = ()
    scenario: ScenarioWords | None = None


def declared_options(scenario: str, **values: Json) -> tuple[Option, ...]:
    """In the order of the file. scenario: a path in its folder; values: for the names in braces."""
    return _own_and_common_options(_read_options_file(Path(scenario), **values))


def apply_declaration(scenario: str, **values: Json) -> Callable[[type[T]], type[T]]:
    """Decorates a scenario's class with all that its file says, and with its folder's name and card."""
    options_file = _read_options_file(Path(scenario), **values)
    id = Path(scenario).parent.name

    def with_words(kind: type[T]) -> type[T]:
        attributes: dict[str, object] = msgspec.to_builtins(options_file.scenario)
        for name, value in {
            **attributes,
            "id": id,
            "card": card_of(id),
            "options": _own_and_common_options(options_file),
        }.items():
            setattr(kind, name, value)
        return kind

    return with_words


def _own_and_common_options(options_file: _OptionsFile) -> tuple[Option, ...]:
    return (
        *options_file.option,
        *(option for option in COMMON_OPTIONS if option.name in options_file.common),
    )


def _read_options_file(path: Path, **values: Json) -> _OptionsFile:
    return msgspec.convert(_fill_holes(read_toml_tables(path.parent / "options.toml"), values), _OptionsFile)


def _fill_holes(value: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(value, dict):
        return {key: _fill_holes(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill_holes(item, values) for item in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    return values[value[1:-1]] if value[1:-1] in values else value.format_map(values)


COMMON_OPTIONS = _read_options_file(Path(__file__)).option
