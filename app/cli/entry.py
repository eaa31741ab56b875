"""From the arguments to an exit status: whatever goes wrong is one line on stderr, never a traceback."""

import os
from collections.abc import Sequence

import click

from hostdx.app.terminal import failure
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output import print_problem, take_write_error


def run_command_line(arguments: Sequence[str]) -> int:
    take_write_error()
    status = _run_arguments(arguments)
    if why := take_write_error():
        print_problem(
            f"stdout: cannot be written: {why}; output incomplete: write it elsewhere, run it again"
        )
        return status or failure.COULD_NOT
    return status


def _run_arguments(arguments: Sequence[str]) -> int:
    from hostdx.app.cli.commands import hostdx as commands

    if "_HOSTDX_COMPLETE" in os.environ:  # the shell asks: it registers how bash does
        import hostdx.app.cli.telling.completion  # noqa: F401

    try:
        status = commands.main(args=list(arguments), prog_name="hostdx", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.UsageError as error:
        print_problem(_usage_problem_line(error))
        return failure.USAGE
    except click.ClickException as error:
        print_problem(error.format_message())
        return failure.USAGE
    except Failure as why:
        print_problem(why.text)
        return why.status
    except (click.Abort, KeyboardInterrupt):
        return failure.INTERRUPTED
    except BrokenPipeError:
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        if os.environ.get("HOSTDX_TRACEBACK"):
            raise
        from hostdx.app import bug_report

        print_problem(bug_report.save_traceback_and_get_line(error))
        return failure.COULD_NOT


def _usage_problem_line(error: click.UsageError) -> str:
    """`run storage: no such option: --foo; see `hostdx run storage --help``."""
    path = error.ctx.command_path if error.ctx is not None else "hostdx"
    group = error.ctx.command if error.ctx is not None else None
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and isinstance(group, click.Group):
        # its message would be the whole help
        message = f"which command? {', '.join(group.commands or group.list_commands(error.ctx))}"
    else:
        message = " ".join(error.format_message().split()).rstrip(".")
    message = message[:1].lower() + message[1:] if message[1:2].islower() else message
    words = path.removeprefix("hostdx").strip()
    return f"{words + ': ' if words else ''}{message}; see `{path} --help`"
