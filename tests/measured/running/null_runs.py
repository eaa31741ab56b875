"""Ten runs of `hostdx run null` and ten with a planted fifth, on this machine as it is.

    python -m tests.measured.running.null_runs [--runs 10] [--budget 20] [--dir DIR]

Asked: at most two of the ten call a difference where there is none; the planted one is found in at least nine of ten,
in a load of the disk. Runs that were refused count as not found and are
named. Prints each run's verdicts; recordings lie in a directory that is removed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

DIFFERENT = ("slower", "faster")


class RunAnswer(NamedTuple):
    verdicts: list[dict[str, Any]]
    trouble: str


def run_null(planted: float, budget: float, directory: str, env: Mapping[str, str]) -> RunAnswer:
    command = ["run", "null", "--json", "--yes", f"--budget={budget:g}", f"--dir={directory}"]
    return told_by(
        command,
        {**env, "PLANTED": str(planted)},
        "tests.measured.running.planted" if planted else "hostdx.app.cli",
    )


def told_by(command: Sequence[str], env: Mapping[str, str], module: str = "hostdx.app.cli") -> RunAnswer:
    """The verdicts of a run of the program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *command], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return RunAnswer([], f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return RunAnswer(json.loads(done.stdout)["verdicts"], "")


def line_of(verdict: Mapping[str, Any]) -> str:
    ratio = "-" if verdict["ratio"] is None else f"{verdict['ratio']:.3f}"
    smallest = "-" if verdict["smallest_effect"] is None else f"{verdict['smallest_effect']:.1%}"
    note = f"; {verdict['reason']}" if verdict["reason"] and not verdict["groups"] else ""
    head = f"{verdict['workload']}: {verdict['verdict']} {ratio} ±{smallest}"
    return f"{head} ({verdict['groups']} groups, {verdict['seconds']:.0f} s{note})"


class NullTally(NamedTuple):
    different: int = 0  # runs that called any difference
    hits: int = 0  # runs that called a load of the disk slower
    everywhere: int = 0  # ... every one of them that was started
    refused: int = 0


def run_series(planted: float, options: argparse.Namespace, env: Mapping[str, str]) -> NullTally:
    tally = NullTally()
    for number in range(options.runs):
        answer = run_null(planted, options.budget, options.dir, env)
        load = os.getloadavg()[0]
        if answer.trouble:
            print(f"  {number + 1:2}: {answer.trouble}", flush=True)
            tally = tally._replace(refused=tally.refused + 1)
            continue
        verdicts = [v for v in answer.verdicts if v["groups"]]
        disk = [v["verdict"] for v in verdicts if not v["control"]]
        tally = tally._replace(
            different=tally.different + any(v["verdict"] in DIFFERENT for v in verdicts),
            hits=tally.hits + ("slower" in disk),
            everywhere=tally.everywhere + (bool(disk) and all(word == "slower" for word in disk)),
        )
        print(
            f"  {number + 1:2} (load {load:.1f}): {'; '.join(line_of(v) for v in answer.verdicts)}",
            flush=True,
        )
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=20.0)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--planted", type=float, default=0.2)
    parser.add_argument("--only", choices=("null", "planted"))
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as state:
        Path(state, "run").mkdir(0o700)
        env = {**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": f"{state}/run"}
        if options.only != "planted":
            print("the same against itself", flush=True)
            tally = run_series(0.0, options, env)
            lines.append(
                f"called a difference where there is none: {tally.different} of {options.runs - tally.refused} runs "
                f"(asked: at most 2 of 10), {tally.refused} refused"
            )
        if options.only != "null":
            print(f"with a latency {options.planted:.0%} longer planted into the second", flush=True)
            tally = run_series(options.planted, options, env)
            lines.append(
                f"planted difference found: {tally.hits} of {options.runs} (asked: at least 9 of 10)"
            )
            lines.append(
                f"found in every load of the disk that was started: {tally.everywhere} of {options.runs}"
            )
    print("\n".join(lines))


if __name__ == "__main__":
    main()
