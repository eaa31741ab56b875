"""Runs a module of this very tree as a program: `python -P start.py MODULE ARGUMENT...`. Standard library only.

A checkout, an installed wheel, a package's folder and what the bundle was unpacked to need no other way.
"""

import fcntl
import os
import runpy
import sys

TREE = os.path.abspath(__file__).removesuffix("/hostdx/probes/children/start.py")  # noqa: PTH100 (pathlib is slower)


def main() -> None:
    held = os.open(__file__, os.O_RDONLY | os.O_CLOEXEC)  # to the process' end: the bundle's sweep sees it
    try:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        pass  # a file system without locks
    if TREE not in sys.path:
        sys.path.insert(0, TREE)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
