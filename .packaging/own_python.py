"""The program of the self-contained build: an interpreter that PyInstaller froze, for hostdx's tree beside it.

`hostdx ARGUMENT...` starts itself anew as `hostdx -I start.py hostdx.app.cli ARGUMENT...`: so every process of
hostdx's is started, and known as one.
"""

import os
import runpy
import sys
from pathlib import Path

START = Path("hostdx/probes/children/start.py")
TREE = Path(getattr(sys, "_MEIPASS", "")) / "hostdx"
LIBRARIES = "LD_LIBRARY_PATH"


def main() -> None:
    # what the loader set for itself must not reach the host's programs, which would take our libraries for theirs
    own = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("_PYI_")}
    before = os.environ.pop(f"{LIBRARIES}_ORIG", None)
    if own or before is not None:
        os.environ.pop(LIBRARIES, None)
    if before:
        os.environ[LIBRARIES] = before
    if sys.argv[1:2] in (["-I"], ["-P"]) and sys.argv[2:3] == [str(TREE / START)]:
        sys.argv = sys.argv[2:]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return
    os.environ["HOSTDX_STARTED_AS"] = sys.executable
    os.execv(sys.executable, [sys.executable, "-I", str(TREE / START), "hostdx.app.cli", *sys.argv[1:]])


if __name__ == "__main__":
    main()
