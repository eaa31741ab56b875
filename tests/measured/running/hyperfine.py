"""`hostdx run workload` and hyperfine on the same pairs of commands, in turn: who calls a difference.

    python -m tests.measured.running.hyperfine [--times 20] [--planted 0 5 10] [--budget 18] [--seed 1]

A command counts so far that it takes about a tenth of a second; the other one so much further that it takes the
planted per cent longer. hyperfine runs as its manual shows it (`--warmup 3 -N`, its own number of runs), all of the
first and then all of the second. It judges nothing itself: `apart` is its own printed summary read as people read
it (the mean ratio is further from 1 than its ±), `welch` its repository's scripts/welch_ttest.py (p < 0.05). Either
must be 2.5 % at least, as it would otherwise call what nobody asked for; hostdx's margin is the same (`--margin
2.5%`). Who is first is drawn (`--seed`).

A line each time that both were run, the planted differences in turn, so that what a cut run has is comparable; at the
end or where it is stopped (Ctrl-C, SIGTERM) a table: by planted difference how often each called it slower, faster
(wrong), alike (wrong where something is planted) or nothing, with the exact 95 % interval of the wrong ones, and the
median seconds. 20 times with the default budget take some 27 min on a quiet machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, stdev, variance
from typing import NamedTuple

from scenarios.experiment.statistics.distributions import t_quantile
from tests.measured.simulation.verdict_table import exact_interval

MARGIN = 0.025
WORDS = ("slower", "faster", "alike", "nothing")
PYTHON = str(Path(sys.executable).resolve())


class Called(NamedTuple):
    """`word`: of the second command: slower, faster, alike (hostdx's "no material difference") or nothing."""

    word: str
    seconds: float


def cpu_s(argv: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def counting(to: int) -> list[str]:
    return [PYTHON, "-S", "-E", "-c", f"for _ in range({to}): pass"]


def pair(planted: float, wanted_s: float = 0.1) -> tuple[str, str]:
    """Two command lines, the second one longer by `planted` in CPU time, its start included."""
    start = min(cpu_s(counting(0)) for _ in range(10))
    far = min(cpu_s(counting(2_000_000)) for _ in range(10))
    each = (far - start) / 2_000_000
    to = round((wanted_s - start) / each)
    longer = to + round(planted * wanted_s / each)
    return shlex.join(counting(to)), shlex.join(counting(longer))


def hyperfine(first: str, second: str, folder: str) -> dict[str, Called]:
    out = Path(folder) / "hyperfine.json"
    began = time.monotonic()
    subprocess.run(
        ["hyperfine", "-N", "--warmup", "3", "--style", "none", "--export-json", str(out), first, second],
        check=True,
        capture_output=True,
    )
    took = time.monotonic() - began
    a, b = (result["times"] for result in json.loads(out.read_text())["results"])
    ratio = fmean(b) / fmean(a)
    spread = ratio * math.hypot(stdev(a) / fmean(a), stdev(b) / fmean(b))  # as its summary prints it
    apart = abs(ratio - 1) > spread
    errors = variance(a) / len(a), variance(b) / len(b)
    freedom = sum(errors) ** 2 / sum(e**2 / (len(x) - 1) for e, x in zip(errors, (a, b), strict=True))
    welch = abs(fmean(b) - fmean(a)) > t_quantile(0.975, max(1, int(freedom))) * math.sqrt(sum(errors))
    word = "slower" if ratio > 1 + MARGIN else "faster" if ratio < 1 / (1 + MARGIN) else "nothing"
    return {
        "hyperfine, apart": Called(word if apart else "nothing", took),
        "hyperfine, welch": Called(word if welch else "nothing", took),
    }


def hostdx(first: str, second: str, budget: float, env: Mapping[str, str]) -> Called:
    began = time.monotonic()
    variants = [f"--variant={name}: cmd={shlex.quote(cmd)}" for name, cmd in (("a", first), ("b", second))]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", "run", "workload", *variants, "--yes", "--json",
         f"--budget={budget:g}", f"--margin={100 * MARGIN:g}%"],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return Called(f"exit {done.returncode}: {done.stderr.strip()[-200:]}", time.monotonic() - began)
    word = next(v["verdict"] for v in json.loads(done.stdout)["verdicts"] if v["metric"] == "wall")
    known = {"slower": "slower", "faster": "faster", "no material difference": "alike"}
    return Called(known.get(word, "nothing"), time.monotonic() - began)


class Told:
    """What was called, by planted difference and tool."""

    def __init__(self) -> None:
        self.calls: dict[float, dict[str, list[Called]]] = {}
        self.loads: list[float] = []

    def add(self, planted: float, found: Mapping[str, Called]) -> None:
        for name, called in found.items():
            self.calls.setdefault(planted, {}).setdefault(name, []).append(called)

    def table(self) -> None:
        if not self.calls:
            return
        print(f"load {min(self.loads):.1f} to {max(self.loads):.1f}")
        for planted, tools in sorted(self.calls.items()):
            for name, calls in sorted(tools.items()):
                words = [c.word for c in calls]
                wrong = words.count("faster") + words.count("alike" if planted else "slower")
                low, high = (100 * bound for bound in exact_interval(wrong, len(words)))
                counts = "  ".join(f"{word} {words.count(word):2}" for word in WORDS)
                other = sorted(set(words) - set(WORDS))
                print(
                    f"{planted:3g} %  {name:<18} {counts}  of {len(words):2}  wrong {low:.0f} to {high:.0f} %  "
                    f"median {median(c.seconds for c in calls):.1f} s " + "; ".join(other),
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--planted", type=float, nargs="+", default=[0, 5, 10])
    parser.add_argument("--budget", type=float, default=18.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    rng, told = random.Random(asked.seed), Told()
    try:
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": f"{folder}/run"}
            pairs = {planted: pair(planted / 100) for planted in asked.planted}
            for number, planted in itertools.product(range(asked.times), asked.planted):
                once(number + 1, planted, pairs[planted], rng.random() < 0.5, asked.budget, env, told)
    finally:
        told.table()


def once(
    number: int,
    planted: float,
    commands: tuple[str, str],
    ours_first: bool,
    budget: float,
    env: Mapping[str, str],
    told: Told,
) -> None:
    told.loads.append(os.getloadavg()[0])
    found: dict[str, Called] = {}
    for ours in (ours_first, not ours_first):
        found |= (
            {"hostdx": hostdx(*commands, budget, env)}
            if ours
            else hyperfine(*commands, env["XDG_STATE_HOME"])
        )
    told.add(planted, found)
    said = "  ".join(
        f"{name}: {called.word} ({called.seconds:.1f} s)" for name, called in sorted(found.items())
    )
    print(f"{number:3}  {planted:3g} %  load {told.loads[-1]:.1f}  {said}", flush=True)


if __name__ == "__main__":
    main()
