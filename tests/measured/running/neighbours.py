"""Runs of `hostdx run storage` beside a neighbour that begins at some time, and quiet ones: is it told?

    python -m tests.measured.running.neighbours [--runs 5] [--quiet 20] [--budget 30] [--dir /var/tmp]
        [--only dd,find] [--starts "0 s,5 s"] [--keep FOLDER]

Two like directories of one disk, so that every difference is a false verdict. A neighbour (dd with fsync, fio random
reads, a CPU hog, a memory hog, find) begins with the run, 5 or 15 s later, or 5 s before. Asked: named (its process is
the culprit of a disturbance) or told (the trust line has a disturbance) in at least 95 %, never a check mark at the
disturbances; of quiet runs at most one of 20 called disturbed; no false verdict in either. Quiet runs need a quiet
machine. `--keep`: the recordings are left there.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.validity import MARKS, TrustSign, list_trust_signs
from tests.measured.running.storage_runs import two_directories

PYTHON = sys.executable
REAL = Path(PYTHON).resolve()
HOG = "while True: pass"
MEMORY = "import time; b = bytearray(2 << 30)\nwhile True:\n  for i in range(0, len(b), 4096): b[i] = 1"
# By name: a shell's words ($0 is a folder of its own on the measured disk), and what its processes are called
# (children that were reaped in between count for their shell).
NEIGHBOURS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "dd": (
        'while :; do dd if=/dev/zero of="$0/dd" bs=1M count=256 conv=fsync 2>/dev/null; done',
        ("dd", "sh"),
    ),
    "fio": (
        'fio --name=n --filename="$0/fio" --size=256M --rw=randread --bs=4k --direct=1 --ioengine=psync --thread '
        "--time_based --runtime=600 >/dev/null",
        ("fio",),
    ),
    "cpu": (f"ln -s {REAL} $0/hog; exec $0/hog -c '{HOG}'", ("hog",)),
    "memory": (f"ln -s {REAL} $0/hoard; exec $0/hoard -c '{MEMORY}'", ("hoard",)),
    "find": ("while :; do find / -xdev >/dev/null 2>&1; done", ("find", "sh")),
}
STARTS: Mapping[str, float] = {"all along": -5.0, "0 s": 0.0, "5 s": 5.0, "15 s": 15.0}


class NeighbourResult(NamedTuple):
    is_named: bool
    is_told: bool
    false: int
    signs: Sequence[TrustSign]
    trouble: str = ""


@contextmanager
def run_neighbour(load: str, parent: str, after_s: float) -> Iterator[None]:
    """Begins `after_s` seconds from now (negative: that long before the caller goes on); ended with its children."""
    with tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=parent) as folder:
        written = Path(folder, "pid")

        def begin() -> None:  # no child of ours: those are told from strangers by their parents
            subprocess.run(
                ["setsid", "--fork", "sh", "-c", f'echo $$ >"$0/pid"; {NEIGHBOURS[load][0]}', folder],
                check=True,
            )

        timer = threading.Timer(max(0.0, after_s), begin)
        timer.start()
        try:
            if after_s < 0:
                threading.Event().wait(-after_s)
            yield
        finally:
            timer.cancel()
            timer.join()
            if written.exists():
                os.killpg(int(written.read_text()), signal.SIGKILL)


def run_storage(
    pair: Sequence[str], budget: float, env: Mapping[str, str], recording: Path, names: tuple[str, ...] = ()
) -> NeighbourResult:
    words = [word for path in pair for word in ("--dir", path)]
    done = subprocess.run(
        [PYTHON, "-m", "hostdx.app.cli", "run", "storage", "--json", "--yes", f"--budget={budget:g}", "--size=128M",
         f"--events={recording}", *words],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        return NeighbourResult(False, False, 0, (), f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return seen_in(load_recording(recording), names)


def seen_in(session: RunSession, names: tuple[str, ...]) -> NeighbourResult:
    disturbances = [disturbance for look in session.watched for disturbance in look.told]
    disturbances += [guard.disturbance for guard in session.guards if guard.disturbance is not None]
    culprits = [disturbance.culprit.name for disturbance in disturbances if disturbance.culprit is not None]
    signs = list_trust_signs(session)
    return NeighbourResult(
        is_named=any(culprit.startswith(names) for culprit in culprits),
        is_told=bool(disturbances) and not any("0 of" in sign.text and sign.state == "ok" for sign in signs),
        false=sum(v.verdict in ("slower", "faster") for v in session.verdicts.values()),
        signs=[
            sign for sign in signs if "disturb" in sign.text or "other" in sign.text or "task" in sign.text
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quiet", type=int, default=20)
    parser.add_argument("--budget", type=float, default=30.0)
    parser.add_argument("--only", default=",".join(NEIGHBOURS))
    parser.add_argument("--starts", default=",".join(STARTS))
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as state, two_directories(arguments.dir) as pair:
        Path(state, "run").mkdir(0o700)
        env = {**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": f"{state}/run"}

        def count_run(kind: str, label: str, result: NeighbourResult, recording: Path) -> None:
            tally[f"{kind} runs"] += not result.trouble
            tally[f"{kind} named"] += result.is_named
            tally[f"{kind} told"] += result.is_told or result.is_named
            tally[f"{kind} false"] += bool(result.false)
            notes = result.trouble or "; ".join(f"{MARKS[s.state]} {s.text}" for s in result.signs)
            print(
                f"  {label}: {'named' if result.is_named else 'told' if result.is_told else '-'}; {notes}",
                flush=True,
            )
            if arguments.keep is not None and recording.exists():
                shutil.copy(recording, arguments.keep / f"{label.replace(' ', '-')}.jsonl")

        recording = Path(state, "recording.jsonl")
        for load in filter(None, arguments.only.split(",")):
            for start in arguments.starts.split(","):
                for number in range(arguments.runs):
                    recording.unlink(missing_ok=True)
                    with run_neighbour(load, arguments.dir, STARTS[start]):
                        result = run_storage(pair, arguments.budget, env, recording, NEIGHBOURS[load][1])
                    count_run("disturbed", f"{load} {start} {number + 1}", result, recording)
        for number in range(arguments.quiet):
            recording.unlink(missing_ok=True)
            count_run(
                "quiet", f"quiet {number + 1}", run_storage(pair, arguments.budget, env, recording), recording
            )
    print(
        f"neighbours: named {tally['disturbed named']}, named or told {tally['disturbed told']} of "
        f"{tally['disturbed runs']} (asked: 95 %), false verdicts in {tally['disturbed false']}\n"
        f"quiet: called disturbed {tally['quiet told']} of {tally['quiet runs']} (asked: 1 of 20), "
        f"false verdicts in {tally['quiet false']}"
    )


if __name__ == "__main__":
    main()
