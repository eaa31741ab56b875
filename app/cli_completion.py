"""`hostdx completion SHELL`: the script that makes the shell complete commands, scenarios, options and recordings."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from app.output import out


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the completion script; for bash: hostdx completion bash > /etc/bash_completion.d/hostdx"""
    kind = get_completion_class(shell)
    assert kind is not None
    complete = kind(ctx.find_root().command, {}, "hostdx", "_HOSTDX_COMPLETE")
    out(complete.source_vars()["complete_func"] and complete.source_template % complete.source_vars())
    return 0
