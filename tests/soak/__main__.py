"""What takes too long for the suite, at random: nothing crashes, nothing escapes, nothing is left.

    python -m tests.soak [recordings|extremes|trees|pilot|bursts|kills|traces ...] [--recordings 20000]
                         [--extremes 20000] [--trees 5000] [--seconds 600] [--kills 1000] [--traces 1] [--seed 1]

Without names all of them. `kills` and `traces` need root: they make loop devices and namespaces of their own. Every
state, lock and directory is below a temporary one; the exit status is 0 where all figures of trouble are 0.
"""

import argparse
import importlib
import sys
import time
from typing import Any

PARTS = {
    "recordings": "recordings",
    "extremes": "extremes",
    "trees": "trees",
    "pilot": "seconds",
    "bursts": "seconds",
    "kills": "kills",
    "traces": "traces",
}
COUNTS = {
    "recordings": 20_000,
    "extremes": 20_000,
    "trees": 5_000,
    "seconds": 600,
    "kills": 1_000,
    "traces": 1,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which (default: all)")
    for name, usual in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    well = True
    for part in chosen.parts or PARTS:
        began = time.monotonic()
        soak: Any = importlib.import_module(f"tests.soak.{part}").soak
        figures = soak(getattr(chosen, PARTS[part]), chosen.seed)
        print(f"{figures.summary()}; {time.monotonic() - began:.0f} s", flush=True)
        well = well and figures.well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
