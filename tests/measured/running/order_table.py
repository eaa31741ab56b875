"""Which order gives what: the effect of every verdict by order, over the bundled recordings and over fresh runs.

    python -m tests.measured.running.order_table                              the bundled recordings
    python -m tests.measured.running.order_table RECORDING ...                others
    python -m tests.measured.running.order_table --fresh [--kinds K,K] [--runs N] [--scenarios S,S] [--budget S]

--fresh, as root: on a loop device of its own in DIR ($TMPDIR): `direct` (XFS with direct I/O), `ext4`, `ext4-nojournal`
and `xfs` (through the page cache of the image's file system). Exit status 1 where a verdict claims a difference that
one order alone does not show on the same side.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import baseline_and_variant_values
from tests.app.launcher import argv, own_env
from tests.real.own_disk import OwnDisk, sh

DEMOS = Path(__file__).parents[3] / "app" / "recordings" / "demos"
KINDS = {
    "direct": (("mkfs.xfs", "-q"), True),
    "ext4": (("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"), False),
    "ext4-nojournal": (("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0"), False),
    "xfs": (("mkfs.xfs", "-q"), False),
}
WORDS = {
    "box": ("--dir", "{directory}"),
    "fullstack": ("--dir", "{directory}", "--only", "streams", "--size", "96M", "--streams", "2"),
    "workload": (
        "--variant", "image: TMPDIR={directory}", "--variant", "memory: TMPDIR=/dev/shm",
        "--cmd", "sh -c 'f=$(mktemp); dd if=/dev/zero of=$f bs=64k count=600 conv=fdatasync; rm $f'",
    ),
    "fstrim": ("--dir", "{directory}"),  # of direct I/O: a cache takes no trim
    "iosched": ("--dir", "{directory}", "--scheduler", "none", "--scheduler", "mq-deadline"),
}  # fmt: skip


BUDGETED = ("box", "fullstack", "workload")


@contextmanager
def make_disk(place: Path, kind: str) -> Iterator[Path]:
    """A directory on a file system of that kind; nothing of it is left."""
    own_disk = OwnDisk(place / f"{kind}.img", place / kind)
    make, is_direct = KINDS[kind]
    own_disk.begin()
    sh("truncate", "-s", "24G", str(own_disk.image))
    direct = "--direct-io=on" if is_direct else "--direct-io=off"
    try:
        own_disk.device = sh("losetup", direct, "--find", "--show", str(own_disk.image)).removeprefix("/dev/")
        sh(*make, f"/dev/{own_disk.device}")
        sh("mount", f"/dev/{own_disk.device}", str(own_disk.mountpoint))
        directory = own_disk.mountpoint / "data"
        directory.mkdir()
        yield directory
    finally:
        own_disk.drop()
        own_disk.mountpoint.rmdir()
        own_disk.image.unlink(missing_ok=True)


def run_fresh(place: Path, scenario: str, kind: str, budget_s: float) -> Path | None:
    """The recording of a run; None where it did not end."""
    recording = place / f"{scenario}-{kind}-{len(list(place.glob('*.jsonl')))}.jsonl"
    with make_disk(place, kind) as directory:
        texts = [word.format(directory=directory) for word in WORDS[scenario]]
        words = ["run", scenario, "--yes", "--quiet", "--recording", str(recording)]
        words += ["--budget", f"{budget_s:g}"] if scenario in BUDGETED else []
        done = subprocess.run(
            argv(*words, *texts), env=own_env(place), capture_output=True, text=True, check=False
        )
    if done.returncode not in (0, 1):
        print(f"{scenario} on {kind}: exit status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return recording


def print_verdicts(name: str, session: RunSession) -> int:
    """A line for each verdict; how many claim what one order alone does not show."""
    wrong = 0
    for verdict in session.verdicts.values():
        order = verdict.order
        pair = f"{verdict.workload}, {verdict.metric}: {verdict.variant}/{verdict.baseline}"[:52]
        left, right = baseline_and_variant_values(session, verdict)
        ratio = "–" if verdict.ratio is None else f"{verdict.ratio:.3f}"
        by_order = "one order only" if verdict.groups else "–"
        if order is not None:
            first, second = order.ratios
            by_order = (
                f"{first:7.3f} {second:7.3f}  {order.groups[0]:3}:{order.groups[1]:<3} {order.second:6.3f}"
            )
            by_order += "  established" if order.is_established else ""
            wrong += verdict.is_different and (first < 1) != (second < 1)
        quotient = f"{right / left:8.3f}" if left and right else "       –"
        print(f"{name:24} {pair:52} {verdict.verdict:23} {ratio:>6} {quotient}  {by_order}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="order_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recordings", nargs="*", type=Path)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--scenarios", default="box,workload,fullstack")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--budget", type=float, default=60.0)
    chosen = parser.parse_args()
    print(
        f"{'recording':24} {'load, metric: pair':52} {'verdict':23} {'ratio':>6} {'B / A':>8}  "
        f"{'A first':>7} {'B first':>7}  groups  second"
    )
    wrong = 0
    if not chosen.fresh:
        for path in chosen.recordings or sorted(DEMOS.glob("*.jsonl")):
            wrong += print_verdicts(path.stem, load_recording(path))
    else:
        with tempfile.TemporaryDirectory(
            dir=os.environ.get("TMPDIR", "/var/tmp"), prefix="hostdx-order-"
        ) as folder:
            for scenario in chosen.scenarios.split(","):
                for kind in chosen.kinds.split(","):
                    for _ in range(chosen.runs):
                        recording = run_fresh(Path(folder), scenario, kind, chosen.budget)
                        if recording is not None:
                            wrong += print_verdicts(recording.stem, load_recording(recording))
                            sys.stdout.flush()
    print(f"verdicts that the orders contradict: {wrong}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
