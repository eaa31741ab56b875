"""The command line. What is not needed is not imported: `--version` answers as fast as a bare interpreter."""

import os
import sys

from hostdx.probes.children.environment import STARTED_AS, read_env_variable, withhold_secret_variables


def main() -> None:
    """The console script `hostdx`."""
    withhold_secret_variables()
    if sys.argv[1:] in (["--version"], ["--version", "--json"]):
        from hostdx.app import __version__
        from hostdx.app.terminal.output import print_result

        print_result(_version_document(__version__) if "--json" in sys.argv else f"hostdx {__version__}")
        sys.exit(0)
    try:
        if not sys.argv[1:] and all(s is not None and s.isatty() for s in (sys.stdin, sys.stdout)):
            from hostdx.app.tui.app import (
                open_home,  # click is not needed for it, and costs a tenth of the start
            )

            status = open_home()
        else:
            from hostdx.app.cli.entry import run_command_line

            status = run_command_line(sys.argv[1:])
    except KeyboardInterrupt:  # while it was still being imported
        status = 130
    except (MemoryError, SystemError, ImportError) as error:
        # the linker's words: glibc, elf/dl-load.c
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        os.write(2, b"hostdx: not enough memory to start; free some, or raise the limit (ulimit -v)\n")
        sys.exit(3)
    from hostdx.app.terminal.output import drop_unwritten_output

    drop_unwritten_output()
    sys.exit(status)


def _version_document(version: str) -> str:
    """Return what a bug report or an inventory asks for, in one line of JSON."""
    import json

    python = ".".join(map(str, sys.version_info[:3]))
    code = os.path.realpath(__file__).removesuffix("/app/cli/__init__.py")
    return json.dumps(
        {
            "version": version,
            "python": python,
            "interpreter": sys.executable,
            "machine": os.uname().machine,
            "code": code,
            "bundle": read_env_variable(STARTED_AS) or None,
        }
    )
