"""How the output looks: colours, the width of a line, and of the commands that open the app its own options."""

import re
import shutil
import sys
from collections.abc import Callable
from typing import Any

import click

from hostdx.app.terminal.output import set_colour

THEMES = ("dark", "light", "colour-blind", "high-contrast", "terminal")
MIN_COLUMNS, MAX_COLUMNS = 40, 160  # cells


def color_option() -> click.Option:
    return click.Option(
        ("--color",),
        type=click.Choice(("auto", "always", "never")),
        default="auto",
        callback=lambda _ctx, _parameter, value: set_colour(value),
        expose_value=False,
        is_eager=True,
        help="Use colour; auto: on a terminal, unless NO_COLOR is set.",
    )


def add_color_option(command: click.Command) -> click.Command:
    """With the option, behind its own ones."""
    command.params.append(color_option())
    return command


def output_line_width() -> int:
    """Of the terminal that stdout is; else of a line in a file."""
    if sys.stdout is None or not sys.stdout.isatty():
        from hostdx.app.report.delivery import WIDE  # not for every command

        return WIDE
    return min(MAX_COLUMNS, max(MIN_COLUMNS, shutil.get_terminal_size((80, 24)).columns))


def appearance_options() -> list[click.Parameter]:
    return [
        click.Option(("--ascii", "ascii_only"), is_flag=True, help="Draw with ASCII characters only."),
        click.Option(("--no-mouse",), is_flag=True, help="Leave the mouse to the terminal."),
        click.Option(
            ("--theme",), type=click.Choice(THEMES), help="Colours of the app (default: dark; Ctrl-T changes them)."
        ),
    ]  # fmt: skip


def recording_argument_decorator(
    *, default: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.argument("recording", required=False, default=default, shell_complete=complete_recording)


def complete_recording(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    from hostdx.app.recordings import store as recordings

    names = ["last", *recordings.list_demo_arguments(), *recordings.recording_file_names()]
    items = [CompletionItem(name) for name in names if name.startswith(incomplete) and name.isprintable()]
    return items or [CompletionItem(incomplete, type="file")]


def check_hh_mm(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Return HH:MM as it is. Raises BadParameter where the text is none."""
    if value is not None and not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value):
        raise click.BadParameter(f"{value!r} is no time of day; write 02:30")
    return value
