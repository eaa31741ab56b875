"""`--color auto|always|never`, and how wide a line may be."""

from __future__ import annotations

import shutil
import sys

import click

from app.output import colour

LEAST, MOST = 40, 160  # cells


def _set(_ctx: click.Context, _parameter: click.Parameter, value: str) -> None:
    colour(value)


def color_option() -> click.Option:
    return click.Option(
        ("--color",),
        type=click.Choice(("auto", "always", "never")),
        default="auto",
        callback=_set,
        expose_value=False,
        is_eager=True,
        help="Use colour; auto: on a terminal, unless NO_COLOR is set.",
    )


def line_width() -> int:
    """Of the terminal that stdout is; else of a line in a file."""
    if sys.stdout is None or not sys.stdout.isatty():
        from app.report.end_of_run import WIDE  # not for every command

        return WIDE
    return min(MOST, max(LEAST, shutil.get_terminal_size((80, 24)).columns))
