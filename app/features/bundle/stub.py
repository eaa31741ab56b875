# The bundle's __main__.py. Every Python reads it, from 2.7 on: nothing newer may stand here.  # ruff: noqa: UP031, UP036
import os
import sys

KNOWN = ("python3.14", "python3.13", "python3.12", "python3.11")


def find_newer_python():
    # type: () -> str
    """A Python that will do, as the shell finds it; else what to look for."""
    for folder in os.environ.get("PATH", "").split(":"):
        for name in KNOWN:
            path = folder + "/" + name
            if path.startswith("/usr/") and os.access(path, os.X_OK):
                return path
    return "python3.11"


if sys.version_info < (3, 11):
    sys.stderr.write(
        "hostdx: needs Python 3.11 or newer, and this is %d.%d; start it as: %s %s\n"
        % (sys.version_info[0], sys.version_info[1], find_newer_python(), sys.argv[0])
    )
    sys.exit(3)

import hostdx_unpack  # type: ignore[import-not-found]  # noqa: E402 (its syntax is new)

hostdx_unpack.main()
