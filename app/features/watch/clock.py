"""A time of day as an option."""

import re

import click


def check_clock(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Return HH:MM as it is. Raises BadParameter where the text is none."""
    if value is not None and not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value):
        raise click.BadParameter(f"{value!r} is no time of day; write 02:30")
    return value
