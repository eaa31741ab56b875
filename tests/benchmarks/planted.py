"""`hostdx` as it is, but that `null` has a planted latency: `python -m tests.benchmarks.planted run null ...`.

The share stands in $PLANTED (0.2: a fifth longer, in the second of the two). Everything else is the program itself:
command line, runner, supervisor, recording, result.
"""

from __future__ import annotations

import os
import sys

from app.cli import main
from scenarios import registry
from scenarios.null import Null


class Slower(Null):
    def __init__(self) -> None:
        super().__init__(stretch=float(os.environ["PLANTED"]))


if __name__ == "__main__":
    registry.BUILT_IN["null"] = f"{Slower.__module__}:{Slower.__name__}"
    sys.exit(main())
