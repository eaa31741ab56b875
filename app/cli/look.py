"""How the output looks: colours, the width of a line, and of the commands that open the app its own options."""

import shutil
import sys

import click

from app.terminal.output import set_colour

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


def line_width() -> int:
    """Of the terminal that stdout is; else of a line in a file."""
    if sys.stdout is None or not sys.stdout.isatty():
        from app.report.end_of_run import WIDE  # not for every command

        return WIDE
    return min(MAX_COLUMNS, max(MIN_COLUMNS, shutil.get_terminal_size((80, 24)).columns))


def look_options() -> list[click.Parameter]:
    return [
        click.Option(("--ascii", "ascii_only"), is_flag=True, help="Draw with ASCII characters only."),
        click.Option(("--no-mouse",), is_flag=True, help="Leave the mouse to the terminal."),
        click.Option(
            ("--theme",), type=click.Choice(THEMES), help="Colours of the app (default: dark; Ctrl-T changes them)."
        ),
    ]  # fmt: skip
