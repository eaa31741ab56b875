"""A scenario's declared options as parameters of the command line, and the chosen values on their way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from probes.types import Json
from scenarios.model import COMMON_OPTIONS, Scenario
from scenarios.plan import Option

_SUFFIXES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


if TYPE_CHECKING:
    _ParamType = click.ParamType[int]
else:
    _ParamType = click.ParamType  # a plain class before click 8.3


class Bytes(_ParamType):
    """`512M`, `4GiB`, `1048576`: binary multiples."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip().lower()
        number = text.rstrip("kmgtib")
        suffix = text[len(number) :].replace("ib", "").replace("b", "")
        try:
            size = float(number) * _SUFFIXES[suffix]
        except (ValueError, KeyError):
            self.fail(f"{value!r} is not a size; write 512M or 4GiB", param, ctx)
        if not 0 <= size < 1 << 60:
            self.fail(f"{value!r} is not a size between 0 and 1 EiB", param, ctx)
        return int(size)


def declared(scenario: Scenario) -> tuple[Option, ...]:
    """The scenario's own options, and the common ones that it does not declare itself."""
    own = {option.name for option in scenario.options}
    return (*scenario.options, *(option for option in COMMON_OPTIONS if option.name not in own))


def parameters(options: Sequence[Option]) -> list[click.Parameter]:
    return [_parameter(option) for option in options]


def chosen(options: Sequence[Option], values: dict[str, Any]) -> dict[str, Json]:
    """What was typed; what was not typed is left out, so that the scenario's default holds."""
    found: dict[str, Json] = {}
    for option in options:
        value = values.get(_identifier(option))
        if value is None or value == () or (option.kind == "flag" and not value):
            continue
        found[option.name] = list(value) if isinstance(value, tuple) else value
    return found


def _identifier(option: Option) -> str:
    return "opt_" + option.name.replace("-", "_")


def _parameter(option: Option) -> click.Option:
    kind: Any = {
        "path": click.Path(readable=False),  # the scenario says what is wrong with it
        "text": click.STRING,
        "integer": click.INT,
        "number": click.FLOAT,
        "bytes": Bytes(),
        "flag": click.BOOL,
        "choice": click.Choice(option.choices) if option.choices else click.STRING,
    }[option.kind]
    declaration = (f"--{option.name}", _identifier(option))
    if option.kind == "flag":
        return click.Option(declaration, is_flag=True, default=False, help=option.help, hidden=option.hidden)
    return click.Option(
        declaration,
        type=kind,
        multiple=option.multiple,
        required=option.required,
        help=_help(option),
        hidden=option.hidden,
        metavar=_metavar(option),
    )


def _help(option: Option) -> str:
    if option.default in (None, "", [], False) or isinstance(option.default, list | dict):
        return option.help
    return f"{option.help}  [default: {option.default}]"


def _metavar(option: Option) -> str | None:
    if option.choices:
        return None
    return {"path": "PATH", "text": "TEXT", "integer": "N", "number": "X", "bytes": "SIZE"}.get(option.kind)
