"""Scenario `kernel` compared with itself, and with something planted between: the program itself, run by run.

    python -m tests.measured.running.kernel_pairs [--pairs 10] [--budget 60] [--dir /var/tmp] [--only pairs|planted]

Asked: of ten pairs of runs with nothing between, none calls an effect; a seccomp filter, a limit to one CPU and another
file system (needs root: ext4 and XFS on a loop device) are each found, and named as the one thing that changed. Prints
also how far two runs of a load lie apart on this host, by group: what `knowledge/loads.toml` holds. A run takes its
budget and five seconds: ten pairs 22 min, the planted ones 13 min. On a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from app.recordings.sides import read_run_summaries
from scenarios.analysis.compare.comparison import ComparedRecordings, compare_recordings
from scenarios.analysis.compare.effects import effect_name, ratio_text_with_interval
from scenarios.analysis.compare.run_summary import RunSummary
from scenarios.triage.knowledge.loads import group_of

CONFINED = "tests.measured.running.confined"


class Asked(NamedTuple):
    budget: float
    directory: str
    env: Mapping[str, str]


class Planted(NamedTuple):
    """`groups`: of which at least one load must be slower; `component`: what alone must be named."""

    name: str
    groups: frozenset[str]
    component: str


SECCOMP = Planted("seccomp", frozenset({"system calls"}), "security modules")
ONE_CPU = Planted("one-cpu", frozenset({"CPU"}), "limits")
FILE_SYSTEM = Planted("ext4 to XFS", frozenset({"files", "storage"}), "file system")


def one(asked: Asked, confined: str = "", directory: str = "") -> RunSummary | str:
    """One run of the program, summed up; or why there is none."""
    command = ["run", "kernel", "--json", "--yes", "--quiet", f"--budget={asked.budget:g}"]
    command.append(f"--dir={directory or asked.directory}")
    module, env = (CONFINED, {**asked.env, "CONFINED": confined}) if confined else ("app.cli", asked.env)
    done = subprocess.run(
        [sys.executable, "-m", module, *command], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
    return read_run_summaries([Path(json.loads(done.stdout)["recording"])])[0]


def told(found: ComparedRecordings) -> str:
    """The effects called, then what is said to have changed."""
    called = [f"{effect_name(e)} {ratio_text_with_interval(e)}" for e in found.effects if e.is_different]
    attribution = found.fingerprints.attribution
    changed = ", ".join(attribution.components) or "nothing"
    return f"{len(called)} of {len(found.effects)} called; changed: {changed}; {'; '.join(called) or '-'}"


def pairs(count: int, asked: Asked) -> list[str]:
    """Prints each pair; the lines to end with."""
    runs: list[RunSummary] = []
    called = refused = 0
    for number in range(count):
        pair = [one(asked), one(asked)]
        both = [run for run in pair if isinstance(run, RunSummary)]
        runs += both
        if len(both) < 2:
            refused += 1
            print(f"  {number + 1:2}: {'; '.join(run for run in pair if isinstance(run, str))}", flush=True)
            continue
        found = compare_recordings(both[:1], both[1:])
        called += any(e.is_different for e in found.effects)
        print(f"  {number + 1:2} (load {os.getloadavg()[0]:.1f}): {told(found)}", flush=True)
    return [
        f"called an effect where there is none: {called} of {count - refused} pairs (asked: 0 of 10), "
        f"{refused} refused",
        *spreads(runs),
    ]


def spreads(runs: Sequence[RunSummary]) -> Iterator[str]:
    """By group: the standard deviation of one run's result, and against what the runs' own blocks tell of it."""
    if len(runs) < 3:
        return
    by_group: dict[str, list[tuple[float, float]]] = {}
    for key in set.intersection(*(set(run.figures) for run in runs)):
        figures = [run.figures[key] for run in runs]
        within = [f.variance for f in figures if f.variance]
        inside = math.sqrt(statistics.fmean(within)) if within else math.nan
        spread = statistics.stdev(f.log_mean for f in figures)
        by_group.setdefault(group_of(key.workload).name, []).append((spread, spread / inside))
    yield f"run-to-run standard deviation over {len(runs)} runs (median load, worst load, against the blocks'):"
    for name, found in sorted(by_group.items()):
        deviations, ratios = zip(*found, strict=True)
        yield (
            f"  {name:<14} {statistics.median(deviations):6.2%}  {max(deviations):6.2%}  "
            f"{statistics.median(ratios):4.1f} times"
        )


def planted(asked: Asked) -> Iterator[str]:
    """Two runs a side, in the order A B B A."""
    for what in (SECCOMP, ONE_CPU):
        yield judged(what, [one(asked, word) for word in ("", what.name, what.name, "")])
    with file_systems(asked.directory) as made:
        runs = [one(asked, directory=place) for place in made]
    yield judged(FILE_SYSTEM, runs)


def judged(what: Planted, runs: Sequence[RunSummary | str]) -> str:
    """`runs`: A B B A."""
    done = [run for run in runs if isinstance(run, RunSummary)]
    if len(done) < len(runs):
        return f"{what.name}: not measured: {next(run for run in runs if isinstance(run, str))}"
    found = compare_recordings([done[0], done[3]], [done[1], done[2]])
    print(f"  {what.name}: {told(found)}", flush=True)
    hit = any(e.is_different and e.group in what.groups for e in found.effects)
    put = found.fingerprints.attribution.components == (what.component,)
    return f"{what.name}: {'found' if hit else 'MISSED'}, {'put' if put else 'NOT put'} to {what.component}"


@contextmanager
def file_systems(parent: str) -> Iterator[Iterator[str]]:
    """One mount point on one loop device, and on it ext4, XFS, XFS, ext4 in turn."""
    with tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=parent) as folder:
        image, mounted = Path(folder, "image"), Path(folder, "mounted")
        mounted.mkdir()
        with image.open("wb") as file:
            file.truncate(4 << 30)
        loop = sh("losetup", "--direct-io=on", "--find", "--show", str(image))
        try:
            yield (
                place for kind in ("ext4", "xfs", "xfs", "ext4") for place in _mounted(loop, kind, mounted)
            )
        finally:
            sh("losetup", "--detach", loop)


def _mounted(loop: str, kind: str, mounted: Path) -> Iterator[str]:
    sh(f"mkfs.{kind}", "-q", "-F" if kind == "ext4" else "-f", loop)
    sh("mount", loop, str(mounted))
    try:
        yield str(mounted)
    finally:
        sh("umount", str(mounted))


def sh(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--only", choices=("pairs", "planted"))
    chosen = parser.parse_args()
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as state:
        Path(state, "run").mkdir(0o700)
        env = {**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": f"{state}/run"}
        asked = Asked(chosen.budget, chosen.dir, env)
        if chosen.only != "planted":
            print("the battery twice, nothing between", flush=True)
            lines += pairs(chosen.pairs, asked)
        if chosen.only != "pairs":
            print("with something planted between", flush=True)
            lines += planted(asked)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
