"""The command line. What is not needed is not imported: `--version` answers as fast as a bare interpreter."""

import os
import resource
import sys

from hostdx.probes.children.environment import STARTED_AS, read_env_variable, withhold_secret_variables

# Triage needs 52 MB of address space, a run and its children 80 (Python 3.11, x86-64). CPython may raise for ever,
# using a CPU, where memory ends within a step (`probes/reading/time_limit.py`), so too little is refused before.
MIN_ADDRESS_SPACE_BYTES = 96 << 20


def main() -> None:
    """The console script `hostdx`."""
    withhold_secret_variables()
    if sys.argv[1:] in (["--version"], ["--version", "--json"]):
        from hostdx.app import __version__
        from hostdx.app.terminal.output import print_result

        print_result(_version_document(__version__) if "--json" in sys.argv else f"hostdx {__version__}")
        sys.exit(0)
    try:
        _require_address_space()
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


def _require_address_space() -> None:
    """Raises `MemoryError` where a limit of this process leaves less than hostdx needs."""
    if any(
        0 <= resource.getrlimit(n)[0] < MIN_ADDRESS_SPACE_BYTES
        for n in (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    ):
        raise MemoryError


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
