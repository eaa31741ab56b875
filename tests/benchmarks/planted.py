"""`hostdx` as it is, but with a latency planted into the second side: `python -m tests.benchmarks.planted run null`.

The share stands in $PLANTED (0.2: a fifth longer), for `null` and `storage`. Everything else is the program itself:
command line, runner, supervisor, recording, result.
"""

from __future__ import annotations

import os
import sys

from app.cli import main
from scenarios import registry
from scenarios.null import Null
from scenarios.storage import Storage


class Slower(Null):
    def __init__(self) -> None:
        super().__init__(stretch=float(os.environ["PLANTED"]))


class SlowerDisk(Storage):
    def __init__(self) -> None:
        super().__init__(stretch={"B": float(os.environ["PLANTED"])})


if __name__ == "__main__":
    registry.BUILT_IN["null"] = f"{Slower.__module__}:{Slower.__name__}"
    registry.BUILT_IN["storage"] = f"{SlowerDisk.__module__}:{SlowerDisk.__name__}"
    sys.exit(main())
