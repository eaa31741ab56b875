"""`hostdx man`: the manual page in roff, made from the commands and options as they are declared."""

from collections.abc import Iterator
from typing import cast

import click
import msgspec

from hostdx.app import __version__
from hostdx.app.terminal.output import print_result
from hostdx.probes.files.safe_read import read_shipped_toml


class _ManualTexts(msgspec.Struct):
    about: str
    files: dict[str, str]
    status: dict[str, str]


@click.command()
@click.pass_context
def man(ctx: click.Context) -> int:
    """Print the manual page; to read it: hostdx man | man -l -"""
    print_result("\n".join(render_man_page(ctx.find_root())).rstrip())
    return 0


def render_man_page(root: click.Context) -> Iterator[str]:
    group = root.command
    assert isinstance(group, click.Group)
    texts = read_shipped_toml(__file__, "man.toml", _ManualTexts)
    yield f'.TH HOSTDX 1 "" "hostdx {__version__}" "User Commands"'
    yield ".ad l"  # choices of an option leave no blanks to widen
    yield from (".SH NAME", "hostdx \\- why is this host slower than it should be, and what proves it?")
    yield from (".SH SYNOPSIS", ".B hostdx", "[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]")
    yield from (".SH DESCRIPTION", ".B hostdx", _escape_roff(texts.about))
    yield ".SH OPTIONS"
    yield from _option_lines(group, root)
    yield ".SH COMMANDS"
    for name in group.list_commands(root):
        command = group.get_command(root, name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, info_name=name, parent=root)
        usage = " ".join(command.collect_usage_pieces(context))
        yield from (
            ".SS",
            f"hostdx {name} {_escape_roff(usage)}",
            _escape_roff(command.get_short_help_str(400)),
        )
        yield from _option_lines(command, context)
        if isinstance(command, click.Group):
            yield from _subcommand_lines(command, context)
    from hostdx.app.feature import import_target, own_features

    tables = [table for feature in own_features() for table in feature.columns]
    from hostdx.app.report.forms.csv_rows import COMPARED, MEASURED  # 60 ms that no other command needs

    for columns, title in (
        (MEASURED, "REPORT \\-\\-FORMAT CSV"),
        (COMPARED, "COMPARE \\-\\-FORMAT CSV"),
        *((cast("dict[str, str]", import_target(table.target)), table.title) for table in tables),
    ):
        yield f".SH {title}"
        for column, meaning in columns.items():
            yield from (".TP", f".B {_escape_roff(column)}", _escape_roff(meaning))
    for title, font, meanings in (("EXIT STATUS", "B", texts.status), ("FILES", "I", texts.files)):
        yield f".SH {title}"
        for name, meaning in meanings.items():
            yield from (".TP", f".{font} {_escape_roff(name)}", _escape_roff(meaning))


def _subcommand_lines(group: click.Group, context: click.Context) -> Iterator[str]:
    """Yield the options that all commands take once, then those of each command."""
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    below = {
        name: subcommand
        for name, subcommand in commands.items()
        if subcommand is not None and not subcommand.hidden
    }
    entries = {name: list(_option_lines(subcommand, context)) for name, subcommand in below.items()}
    shared = [e for e in next(iter(entries.values()), []) if all(e in own for own in entries.values())]
    yield from shared
    for name, command in below.items():
        title = f"\\fB{_escape_roff(str(context.info_name))} {_escape_roff(name)}\\fR"
        own = [entry for entry in entries[name] if entry not in shared]
        yield from (".TP", title, _escape_roff(command.get_short_help_str(400)))
        if own:
            yield from (".RS", *own, ".RE")


def _option_lines(command: click.Command, context: click.Context) -> Iterator[str]:
    """An entry each, of several lines of roff; not --help, and no argument that the usage line names already."""
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and record[1] and not getattr(parameter, "hidden", False):
            name = _escape_roff(record[0]).replace("|", "|\\:")  # a line may end between two choices
            yield f".TP\n\\fB{name}\\fR\n{_escape_roff(record[1])}"


def _escape_roff(text: str) -> str:
    """In roff a backslash, a leading dot or quote and a hyphen mean something else (groff_man_style(7))."""
    shown = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown[:1] in (".", "'") else shown
