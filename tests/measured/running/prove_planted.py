"""Does `hostdx prove` find effects of known size, with the true value in its interval?

    python -m tests.measured.running.prove_planted [--plant NAME] [--runs 10] [--budget 60]      (root)

The planters are those of `tests/scenarios/prove/planters.py`. The true effect is measured by plain readings under both
values in turn, before and after the runs. Asked: nine of ten runs call it right. No setting of the host itself is
switched, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from tests.measured.running.guest_plants import GUEST_PLANTERS
from tests.scenarios.prove.planters import (
    Plant,
    busier_cpus,
    larger_share,
    lonely_share,
    long_way,
    longer_read_ahead,
    nicer_process,
)

PLANTERS = {
    "shares": larger_share,
    "cpuset": busier_cpus,
    "way": long_way,
    "nice": nicer_process,
    "ahead": longer_read_ahead,
    "nothing": lonely_share,
} | GUEST_PLANTERS


def prove_once(plant: Plant, budget: float, state: str) -> dict[str, Any]:
    """Return the line of the answer, or why there is none."""
    words = ["run", "prove", "--setting", plant.setting, *plant.words, f"--budget={budget:g}"]
    done = subprocess.run(
        [sys.executable, "-m", "hostdx.app.cli", *words, "--yes", "--json", "--quiet"],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": state},
        check=False,
    )
    if done.returncode:
        return {"outcome": f"exit {done.returncode}: {done.stderr.strip()[-200:]}"}
    document = json.loads(done.stdout)
    [line] = document["settings"]["settings"]
    reasons = [verdict["reason"] for verdict in document["verdicts"] if verdict["reason"]]
    return dict(line) | {"reason": "; ".join(reasons)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plant", choices=list(PLANTERS), default="shares")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=4, help="of plain readings, before and after")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as state, PLANTERS[arguments.plant]() as plant:
        truths, lines = [plant.measure_truth(arguments.rounds)], []
        print(f"{plant.setting} instead of {plant.old}: true {truths[0]:.3f}", flush=True)
        for number in range(arguments.runs):
            line = prove_once(plant, arguments.budget, state)
            lines.append(line)
            answer = {name: line.get(name) for name in ("outcome", "ratio", "ci95", "reason")}
            print(f"  {number + 1:2} (load {os.getloadavg()[0]:.1f}): {answer}", flush=True)
            assert plant.file.read_text().split() == plant.old.split(), "the value of before"
        truths.append(plant.measure_truth(arguments.rounds))
    helped, harmed = (sum(line["outcome"] == word for line in lines) for word in ("helps", "harms"))
    hits = [line["ci95"][0] <= truths[0] <= line["ci95"][1] for line in lines if line.get("ci95")]
    print(
        f"true {truths[0]:.3f} before, {truths[1]:.3f} after; "
        f"helps in {helped}, harms in {harmed} of {len(lines)}; ",
        end="",
    )
    print(f"the true value of before in the interval of {sum(hits)} of {len(hits)}")


if __name__ == "__main__":
    main()
