"""A scenario's options as it declares them: `options.toml` in its folder.

`common` names those that it shares with others (`scenarios/options.toml`), which come last. `"{name}"` stands for a
value that its code goes by, in a text or alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from probes.types import Json
from scenarios.knowledge.load import tables
from scenarios.plan import Option


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    option: tuple[Option, ...]
    common: tuple[str, ...] = ()


def declared(scenario: str, **values: Json) -> tuple[Option, ...]:
    """In the order of the file. scenario: a path in its folder; values: for the names in braces."""
    found = _read(Path(scenario), **values)
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
