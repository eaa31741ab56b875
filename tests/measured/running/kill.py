"""Kills iosched runs with SIGKILL at random moments and looks at what `hostdx undo` leaves: nothing, each time.

    python -m tests.measured.running.kill [--moments 100] [--seed 1]

Needs root; makes a loop device of its own. Every second kill takes the supervisor along, as a power cut would.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.real.iosched_kill import kill_once
from tests.real.loop_disk import LoopDisk


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=6.0, help="seconds after the start")
    chosen = parser.parse_args()
    moments = random.Random(chosen.seed)
    outcome: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hostdx-kill-") as folder, LoopDisk(Path(folder)) as disk:
        for number in range(chosen.moments):
            after_s = moments.uniform(0.05, chosen.longest)
            alone = number % 2 == 0
            problems = kill_once(Path(folder), disk, after_s, supervisor_too=not alone)
            outcome["clean" if not problems else "left something"] += 1
            for problem in problems:
                print(f"{number:4d}  after {after_s:.2f} s  {'runner' if alone else 'both'}: {problem}")
    print(f"{chosen.moments} kills in {time.monotonic() - began:.0f} s: {dict(outcome)}")
    return 0 if outcome["left something"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
