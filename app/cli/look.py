"""The options that say how the app looks: of each command that opens it."""

from __future__ import annotations

import click

THEMES = ("dark", "light", "terminal")


def look_options() -> list[click.Parameter]:
    return [
        click.Option(("--ascii", "ascii_only"), is_flag=True, help="Draw with ASCII characters only."),
        click.Option(("--no-mouse",), is_flag=True, help="Leave the mouse to the terminal."),
        click.Option(
            ("--theme",), type=click.Choice(THEMES), help="Colours of the app (default: dark; Ctrl-T changes them)."
        ),
    ]  # fmt: skip
