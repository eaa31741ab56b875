"""`hostdx` as it is, but with a latency planted into the second side.

`python -m tests.measured.running.planted run null`.

The share stands in $PLANTED (0.2: a fifth longer), for `null` and `storage`. Everything else is the program itself:
command line, runner, supervisor, recording, result.
"""

import os
import sys

from hostdx.app.cli import main
from hostdx.scenarios.contract import registry
from hostdx.scenarios.null.scenario import Null
from hostdx.scenarios.storage.scenario import Storage


class Slower(Null):
    def __init__(self) -> None:
        super().__init__(stretch=float(os.environ["PLANTED"]))


class SlowerDisk(Storage):
    def __init__(self) -> None:
        super().__init__(stretch={"B": float(os.environ["PLANTED"])})


PLANTED = {Slower.id: Slower, SlowerDisk.id: SlowerDisk}

if __name__ == "__main__":
    load = registry.load_scenario
    registry.load_scenario = lambda name: PLANTED[name]() if name in PLANTED else load(name)
    sys.exit(main())
