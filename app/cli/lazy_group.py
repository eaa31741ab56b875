"""Commands that are imported when they are called for."""

import keyword
from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

import click


class LazyGroup(click.Group):
    """`command_modules`: by name, the module that has a command of that name, or `module:attribute`, and its line in
    --help ("": none)."""

    command_modules: ClassVar[Mapping[str, tuple[str, str]]]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.command_modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.command_modules:
            return None
        module, _, attribute = self.command_modules[cmd_name][0].partition(":")
        attribute = attribute or (f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name)
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def help_lines(self) -> list[tuple[str, str]]:
        return [(name, line) for name, (_, line) in self.command_modules.items() if line]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(self.help_lines())
