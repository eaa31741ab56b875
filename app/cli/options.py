"""A scenario's declared options as parameters of the command line, and the chosen values on their way back."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hostdx.probes import units
from hostdx.probes.types import Json
from hostdx.scenarios.contract import option_value
from hostdx.scenarios.contract.declared_options import COMMON_OPTIONS
from hostdx.scenarios.contract.model import Scenario
from hostdx.scenarios.contract.plan import Option

DIRECTORIES = "dir"  # the option that may also be given as arguments
_ALONE = "directories"

if TYPE_CHECKING:
    _ParamType = click.ParamType[int]
else:
    _ParamType = click.ParamType  # a plain class before click 8.3


class BytesParameter(_ParamType):
    """`512M`, `4GiB`, `1048576`: binary multiples."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        size = units.parse_size(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size between 1 byte and 1 EiB; write 512M or 4GiB", param, ctx)
        return size


class DirectoryParameter(click.Path):
    """Made absolute: the runner's child processes and a later reader of the recording stand somewhere else.

    Not looked at here, as click would: on a mount that does not answer stat(2) never returns.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = os.fsdecode(value)
        if not text:
            self.fail("an empty path", param, ctx)
        try:
            return os.path.abspath(text)  # noqa: PTH100 (a Path would keep `..`)
        except OSError:  # the current directory is gone
            self.fail(f"{text!r} is relative to a current directory that is gone", param, ctx)


class NumberParameter(click.ParamType[float]):
    """A finite number within what the option allows: `nan` passes every comparison that should stop it."""

    name = "number"

    def __init__(self, option: Option) -> None:
        self._option = option

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return option_value.parse_number(self._option, str(value))
        except ValueError as why:
            self.fail(str(why), param, ctx)


def declared_options(scenario: Scenario) -> tuple[Option, ...]:
    """The scenario's own options, and the common ones that it does not declare itself.

    What it would ignore is not offered: one that only watches has no budget, margin or order, and one that names some
    of the common options has left the others out on purpose.
    """
    if not scenario.measures or any(option in COMMON_OPTIONS for option in scenario.options):
        return scenario.options
    own = {option.name for option in scenario.options}
    return (*scenario.options, *(option for option in COMMON_OPTIONS if option.name not in own))


def make_parameters(options: Sequence[Option]) -> list[click.Parameter]:
    """An option each; directories may also stand alone, as in `run storage /a /b`."""
    click_parameters: list[click.Parameter] = [_click_option(option) for option in options]
    for option in options:
        if option.name == DIRECTORIES and option.kind == "path":
            click_parameters.append(
                click.Argument(
                    [_ALONE],
                    nargs=-1 if option.multiple else 1,
                    required=False,
                    type=DirectoryParameter(readable=False, file_okay=False),
                    metavar="[DIRECTORY]..." if option.multiple else "[DIRECTORY]",
                )
            )
    return click_parameters


def take_chosen_options(options: Sequence[Option], values: dict[str, Any]) -> dict[str, Json]:
    """Return what was typed; what was not typed is left out, so that the scenario's default holds. Raises
    UsageError.
    """
    chosen_values: dict[str, Json] = {}
    if alone := values.pop(_ALONE, None):
        if values.get(f"opt_{DIRECTORIES}"):  # which one is the baseline could only be guessed
            raise click.UsageError("give directories either with --dir or as plain arguments, not both")
        values = {**values, f"opt_{DIRECTORIES}": alone}
    for option in options:
        value = values.get(_parameter_name(option))
        if option.required and option.name == DIRECTORIES and not value:
            raise click.MissingParameter(param_type="option", param_hint=f"'--{option.name}'")
        if value is None or value == () or (option.kind == "flag" and not value):
            continue
        chosen_values[option.name] = list(value) if isinstance(value, tuple) else value
    return chosen_values


def _parameter_name(option: Option) -> str:
    return "opt_" + option.name.replace("-", "_")


def _click_option(option: Option) -> click.Option:
    kind: Any = {
        # the scenario says what is wrong with it
        "path": DirectoryParameter(readable=False, file_okay=option.name != DIRECTORIES),
        "text": click.STRING,
        "integer": NumberParameter(option),
        "number": NumberParameter(option),
        "bytes": BytesParameter(),
        "flag": click.BOOL,
        "choice": click.Choice(option.choices) if option.choices else click.STRING,
    }[option.kind]
    declaration = (f"--{option.name}", _parameter_name(option))
    if option.kind == "flag":
        return click.Option(declaration, is_flag=True, default=False, help=option.help, hidden=option.hidden)
    return click.Option(
        declaration,
        type=kind,
        multiple=True,
        callback=None if option.multiple else _single_value,
        required=option.required
        and option.name != DIRECTORIES,  # it may stand alone: `take_chosen_options` looks
        help=_help_with_default(option),
        hidden=option.hidden,
        metavar=_option_metavar(option),
    )


def _single_value(_ctx: click.Context, param: click.Parameter, values: Sequence[Any]) -> Any:
    """Of an option that was given twice click silently takes the last."""
    if len(values) > 1:
        raise click.BadParameter("given twice; it can be given once", param=param)
    return values[0] if values else None


def _help_with_default(option: Option) -> str:
    """A sentence, as the command's own options have; the screens show the bare words."""
    sentence = f"{option.help[:1].upper()}{option.help[1:]}."
    if option.default in (None, "", [], False) or isinstance(option.default, list | dict):
        return sentence
    default = f"{option.default:g}" if isinstance(option.default, float) else option.default
    return f"{sentence}  [default: {default}]"


def _option_metavar(option: Option) -> str | None:
    if option.choices:
        return None
    if option.unit:
        return {"s": "TIME", "share": "SHARE"}[option.unit]
    return {"path": "PATH", "text": "TEXT", "integer": "N", "number": "X", "bytes": "SIZE"}.get(option.kind)


Command = TypeVar("Command", bound="Callable[..., object] | click.Command")


def format_option(*forms: str, help: str) -> Callable[[Command], Command]:
    """The form of a document; `document` is for our own screen, which draws it."""
    return click.option(
        "--format",
        "form",
        type=click.Choice((*forms, "document")),
        metavar=f"[{'|'.join(forms)}]",
        default="md",
        show_default=True,
        help=help,
    )


def margin_option(subject: str) -> Callable[[Command], Command]:
    margin = next(option for option in COMMON_OPTIONS if option.name == "margin")
    help_text = f"Smallest {subject} that matters: 0.05 or 5%."
    return click.option(
        "--margin",
        type=NumberParameter(margin),
        default=0.05,
        metavar="SHARE",
        show_default=True,
        help=help_text,
    )


output_option = click.option(
    "-o", "--output", type=click.Path(), help="Write to this file instead of stdout."
)
