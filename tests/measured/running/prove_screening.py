"""Does a screening of eight settings find the two that act, and never a dummy?

    python -m tests.measured.running.prove_screening [--runs 5] [--budget 240]      (root)

Two control groups compete on one core. More weight for the first, or less for the second, gives the first 2 of 3
instead of 1 of 2 (both: 4 of 5). The other six settings are the weights of empty groups. The settings come in another
order in each run. No setting of the host itself is switched, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.scenarios.prove.planters import GROUPS, burn_cpus, own_groups

EMPTY = tuple(f"empty{number}" for number in range(6))


def screen_once(settings: list[str], load: list[str], budget: float, state: str) -> dict[str, object]:
    """Return which settings the screening called, the dummies too, and the outcome of those that were tried alone."""
    words = [*(word for setting in settings for word in ("--setting", setting)), *load]
    done = subprocess.run(
        [sys.executable, "-m", "hostdx.app.cli", "run", "prove", *words, f"--budget={budget:g}",
         "--yes", "--json", "--quiet"],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": state},
    )  # fmt: skip
    if done.returncode:
        return {"error": f"exit {done.returncode}: {done.stderr.strip()[-200:]}"}
    document = json.loads(done.stdout)
    called = [
        effect["label"].split("/")[-2:]
        for effect in document["screening"]["effects"]
        if not effect["ci95"][0] <= 1 <= effect["ci95"][1]
    ]
    alone = {
        "/".join(line["setting"].split("/")[-2:]): (line["outcome"], line.get("ratio"))
        for line in document["settings"]["settings"]
        if line.get("stage", "alone") == "alone"
    }
    return {"called": sorted("/".join(label) for label in called), "alone": alone}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--budget", type=float, default=240.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng, cpu = random.Random(arguments.seed), max(os.sched_getaffinity(0))
    with (
        tempfile.TemporaryDirectory() as state,
        own_groups("cpu", "one", "other", *EMPTY) as groups,
        burn_cpus(cpu, cpu) as burners,
    ):
        for group, burner in zip(groups, burners, strict=False):
            (group / "cgroup.procs").write_text(str(burner.pid))
        values = ("2048", "512", *("2048" for _ in EMPTY))
        settings = [
            f"cgroup:{group.relative_to(GROUPS)}/cpu.shares={value}"
            for group, value in zip(groups, values, strict=True)
        ]
        load = ["--cgroup", str(groups[0]), "--progress", "cpu"]
        for number in range(arguments.runs):
            rng.shuffle(settings)
            began = time.monotonic()
            answer = screen_once(settings, load, arguments.budget, state)
            took_s = time.monotonic() - began
            print(f"{number + 1:2} (load {os.getloadavg()[0]:.1f}, {took_s:.0f} s): {answer}", flush=True)
            assert all(Path(group / "cpu.shares").read_text() == "1024\n" for group in groups)


if __name__ == "__main__":
    main()
