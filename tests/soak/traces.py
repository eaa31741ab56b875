"""One run a scenario under strace: everything that is opened for writing is ours. Needs root and strace."""

import tempfile
from pathlib import Path

from tests.real.loop_disk import LoopDisk
from tests.real.short_runs import scenario_names
from tests.real.written_paths import trace_run
from tests.soak.figures import Figures


def soak(count: int, seed: int) -> Figures:
    """`count` runs of each; nothing is at random."""
    figures = Figures(f"{count} traced run{'s' * (count != 1)} of each scenario")
    with tempfile.TemporaryDirectory(prefix="hostdx-soak-") as folder, LoopDisk(Path(folder)) as disk:
        for name in scenario_names() * count:
            forbidden = trace_run(name, Path(folder), disk)
            figures.good("traced")
            for line in forbidden:
                figures.bad("escapes", line)
    return figures
