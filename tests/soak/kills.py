"""Every scenario killed with SIGKILL at random moments: the runner, its supervisor too, and `hostdx undo` itself.

    python -m tests.soak kills [--kills 1000] [--seed 1]

Every second kill waits for the journal to hold a change first. What the journal held is read with the runner stopped,
so that it is what the kill met. Afterwards one more `hostdx undo`: then the disk's queue is byte for byte as before, no
file, journal or process is left, and the network is as it was. Needs root.
"""

import difflib
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from hostdx.app.terminal.failure import Failure
from hostdx.app.undo.journal import peek_journal
from tests.app.launcher import run_hostdx, start_hostdx
from tests.real.iosched_kill import kill_all, left_behind, list_journals
from tests.real.loop_disk import LoopDisk
from tests.real.network_state import network_state
from tests.real.short_runs import scenario_names, short_run
from tests.soak.figures import Figures

LONGEST_S = 6.0
CHANGE_WITHIN_S = 20.0  # a run that waits for another's end, or only looks, makes none
AFTER_CHANGE_S = 3.0
SETTLED_S = 60.0  # on a busy machine a supervisor takes its time


def soak(count: int, seed: int) -> Figures:
    figures = Figures(f"{count} kills (seed {seed})")
    rng = random.Random(seed)
    scenarios = scenario_names()
    network = network_state().splitlines()
    with tempfile.TemporaryDirectory(prefix="hostdx-soak-") as folder, LoopDisk(Path(folder)) as disk:
        for number in range(count):
            name = scenarios[number % len(scenarios)]
            changing = (
                number // len(scenarios) + number
            ) % 2 == 0  # each scenario in turn one way and the other
            kill_once(Path(folder), disk, name, rng, figures, changing=changing)
        for line in difflib.ndiff(network, network_state().splitlines()):
            if line[0] in "+-":
                figures.bad("left", f"the network is not as it was before: {line}")
    return figures


def kill_once(
    place: Path, disk: LoopDisk, name: str, rng: random.Random, figures: Figures, *, changing: bool
) -> None:
    before, changes = disk.queue(), False
    longest_s = AFTER_CHANGE_S if changing else LONGEST_S
    after_s, victim = rng.uniform(0.05, longest_s), rng.choice(("runner", "both", "both", "undo"))
    with tempfile.TemporaryFile() as errors:
        runner = start_hostdx(place, *short_run(name, disk), stdout=subprocess.DEVNULL, stderr=errors)
        if changing:
            until = time.monotonic() + CHANGE_WITHIN_S
            while runner.poll() is None and not has_pending(place) and time.monotonic() < until:
                time.sleep(0.02)
        try:
            runner.wait(after_s)
        except subprocess.TimeoutExpired:
            runner.send_signal(signal.SIGSTOP)
            changes = has_pending(place)
            runner.kill()
            if victim != "runner":
                kill_all(place)
        if runner.wait() == -signal.SIGKILL:
            figures.good(
                f"killed ({victim}), changes pending" if changes else f"killed ({victim}), nothing to undo"
            )
        else:
            figures.good("ended before")
            if runner.returncode not in (0, 3):
                errors.seek(0)
                figures.bad("crashes", f"{name}: status {runner.returncode}: {errors.read()[-300:].decode()}")
            elif runner.returncode == 3:
                errors.seek(0)
                print(f"  {name} was not run: {errors.read()[-200:].decode().strip()}", flush=True)
    if victim == "undo":
        for _ in range(2):
            process = start_hostdx(place, "undo", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(rng.uniform(0.1, 2.0))
            except subprocess.TimeoutExpired:
                process.kill()
            process.wait()
    deadline = time.monotonic() + SETTLED_S
    while True:
        undo = run_hostdx(place, "undo")
        problems = left_behind(place, disk, before)
        if not problems:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    for problem in problems:
        figures.bad(
            "left", f"{name}, {victim} after {after_s:.2f} s: {problem}; undo: {undo.stderr.strip()[-200:]}"
        )


def has_pending(place: Path) -> bool:
    """A journal holds a change that is not undone. One that goes meanwhile holds none."""
    for path in list_journals(place):
        try:
            if peek_journal(path)[1]:
                return True
        except Failure:
            continue
    return False
