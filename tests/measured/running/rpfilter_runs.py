"""Ten runs of `hostdx run rpfilter`: is the IPv6 check called slower in all, and nothing else that should not be?

`python -m tests.measured.running.rpfilter_runs [RUNS] [BUDGET_S] [BLOCK_S]` (needs nft, and root or user namespaces).
Wanted: check slower in all; the trivial rule, and no rule against itself, slower or faster in at most two of ten.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any


def one_run(place: Path, budget_s: float, block_s: float) -> dict[str, dict[str, Any]]:
    """The verdicts by variant."""
    own = {"XDG_STATE_HOME": str(place / "state"), "XDG_RUNTIME_DIR": str(place / "run")}
    for path in own.values():
        Path(path).mkdir(mode=0o700, exist_ok=True)
    options = ["--again", "--budget", str(budget_s), "--block", str(block_s), "--yes", "--json"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "run", "rpfilter", *options],
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=budget_s * 3 + 60,
    )
    document = json.loads(done.stdout)
    if document["status"] != "done":
        raise SystemExit(f"run ended as {document['status']}: {document['reason']}")
    return {verdict["variant"]: verdict for verdict in document["verdicts"]}


def row(number: int, verdicts: dict[str, dict[str, Any]]) -> str:
    cells = []
    for variant in ("check", "trivial", "none-again"):
        verdict = verdicts[variant]
        delta = "" if verdict["delta"] is None else f"{verdict['delta']:+7.0f} ns"
        ratio = "" if verdict["ratio"] is None else f"{verdict['ratio']:.3f}"
        cells.append(f"{verdict['verdict']:<23} {ratio:>6} {delta:>11}")
    return f"{number:>3}  " + "  ".join(cells)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    budget_s = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
    block_s = float(sys.argv[3]) if len(sys.argv) > 3 else 0.2
    print(
        f"{runs} runs, {budget_s:g} s of measuring each, blocks of {block_s:g} s, load {os.getloadavg()[0]:.1f}"
    )
    heads = ("check / none", "trivial / none", "none / none")
    print("run  " + "  ".join(f"{head:<42}" for head in heads))
    counted: dict[str, Counter[str]] = {v: Counter() for v in ("check", "trivial", "none-again")}
    costs: list[float] = []
    with tempfile.TemporaryDirectory(prefix="hostdx-rpfilter-") as folder:
        for number in range(1, runs + 1):
            verdicts = one_run(Path(folder), budget_s, block_s)
            print(row(number, verdicts), flush=True)
            for variant, words in counted.items():
                words[verdicts[variant]["verdict"]] += 1
            if verdicts["check"]["delta"] is not None:
                costs.append(verdicts["check"]["delta"])
    for variant, words in counted.items():
        print(f"{variant}: " + ", ".join(f"{count} {word}" for word, count in words.most_common()))
    if costs:
        print(f"cost of the check: median {median(costs):.0f} ns, {min(costs):.0f} to {max(costs):.0f}")


if __name__ == "__main__":
    main()
