"""`hostdx completion SHELL`: the script that makes the shell complete commands, scenarios, options and recordings."""

import os
from pathlib import Path

import click
from click import shell_completion

from hostdx.app.terminal.output import print_result


@shell_completion.add_completion_class
class BashCompletion(shell_completion.BashComplete):
    """Click's own splits words as bash does, at every colon: `demo:st` would never be completed."""

    source_template = Path(__file__).with_suffix(".bash").read_text("utf-8")

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("HOSTDX_LINE", "")
        words = shell_completion.split_arg_string(line)
        incomplete = "" if not words or line[-1:].isspace() else words.pop()
        return words[1:], incomplete


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the completion script; for bash: hostdx completion bash > /etc/bash_completion.d/hostdx"""
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None
    complete = kind(ctx.find_root().command, {}, "hostdx", "_HOSTDX_COMPLETE")
    print_result(complete.source_template % complete.source_vars())
    return 0
