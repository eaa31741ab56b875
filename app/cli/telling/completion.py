"""`hostdx completion SHELL`: the script that makes the shell complete commands, scenarios, options and recordings."""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from app.output import out

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' line=${COMP_LINE:0:COMP_POINT} last response completion type value
    response=$(env HOSTDX_LINE="$line" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    last=${line##*[[:space:]]}
    COMPREPLY=()
    for completion in $response; do
        type=${completion%%%%,*} value=${completion#*,}
        case $type in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            plain)
                # bash breaks words at a colon and replaces only what stands behind it
                if [[ $COMP_WORDBREAKS == *:* && $last == *:* ]]; then
                    value=${value#"${last%%"${last##*:}"}"}
                fi
                COMPREPLY+=("$value")
                ;;
        esac
    done
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


@add_completion_class
class Bash(BashComplete):
    """Click's own splits words as bash does, at every colon: `demo:st` would never be completed."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("HOSTDX_LINE", "")
        words = split_arg_string(line)
        incomplete = "" if not words or line[-1:].isspace() else words.pop()
        return words[1:], incomplete


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print the completion script; for bash: hostdx completion bash > /etc/bash_completion.d/hostdx"""
    kind = get_completion_class(shell)
    assert kind is not None
    complete = kind(ctx.find_root().command, {}, "hostdx", "_HOSTDX_COMPLETE")
    out(complete.source_template % complete.source_vars())
    return 0
