"""How long `hostdx fleet judge` takes for the recordings of 1,000 and of 10,000 nodes, and in how much memory.

    python -m tests.measured.reading.fleet [COUNT ...]

Made from a bundled recording of a kernel battery (100 kB): each node has a name, figures that differ by 2 %, and an
address of its own; in every second pile a third of the nodes is one population slower. Judged by the program itself,
in a process of its own; the memory is the largest of its processes, and of all together.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from app.recordings import store

ASKED = {1000: (10, 500), 10_000: (60, 1000)}  # seconds, MB


def recordings(folder: Path, count: int, *, slow_share: float = 0.0, seed: int = 1) -> None:
    """One file a node. Its blocks' values are scaled: a node is so much faster or slower in everything."""
    lines = store.resolve_recording("demo:kernel").read_text(encoding="utf-8").splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    changing = [n for n, event in enumerate(events) if event["type"] in ("run", "block", "train", "fact")]
    rng = random.Random(seed)
    for number in range(count):
        scale = rng.gauss(1.0, 0.02) * (0.85 if number < slow_share * count else 1.0)
        mine = list(lines)
        for n in changing:
            event = dict(events[n])
            if event["type"] == "run":
                event |= {"host": f"node{number:05}", "boot_id": f"boot-{number}"}
            elif event["type"] == "fact" and (event.get("subject"), event["name"]) == ("host", "name"):
                event["value"] = f"node{number:05}"
            elif event["type"] == "block":
                event["values"] = {name: value * scale for name, value in event["values"].items()}
            elif event["type"] == "train":
                event["values"] = {name: [v * scale for v in vs] for name, vs in event["values"].items()}
            else:
                continue
            mine[n] = json.dumps(event)
        address = {
            "type": "fact", "t": 0.1, "subject": "nic:eth0", "name": "address", "source": "test",
            "value": f"10.0.{number // 250}.{number}",
        }  # fmt: skip
        mine.insert(-1, json.dumps(address))
        (folder / f"slurm-{number:05}.jsonl").write_text("\n".join(mine) + "\n", encoding="utf-8")


def _resident(root: int) -> float:
    """MB of a process and its children now (shared pages counted once each: Pss)."""
    total, todo = 0, [root]
    while todo:
        pid = todo.pop()
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
            total += int(rollup.split("Pss:")[1].split()[0])
            for task in Path(f"/proc/{pid}/task").iterdir():
                todo += map(int, (task / "children").read_text(encoding="ascii").split())
        except (OSError, IndexError):
            continue
    return total / 1000


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(folder: Path) -> tuple[float, float, float, dict[str, Any]]:
    """Seconds, seconds of CPU, MB at most, and what it said."""
    began, cpu = time.perf_counter(), _cpu()
    argv = [sys.executable, "-P", "-m", "app.cli", "fleet", "judge", "--format", "json", str(folder)]
    with (
        tempfile.TemporaryDirectory() as state,
        tempfile.TemporaryFile() as out,
        subprocess.Popen(argv, stdout=out, env={**os.environ, "XDG_STATE_HOME": state}) as child,
    ):
        most = [0.0]
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.2):
                most[0] = max(most[0], _resident(child.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        child.wait()
        took = time.perf_counter() - began
        done.set()
        watcher.join()
        out.seek(0)
        said: dict[str, Any] = json.load(out)
    return took, _cpu() - cpu, most[0], said


def main() -> int:
    short = 0
    for count in [int(word) for word in sys.argv[1:]] or list(ASKED):
        for share in (0.0, 0.3):
            with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
                recordings(Path(place), count, slow_share=share)
                took, cpu, most, said = measured(Path(place))
            two = sum(measure["parts"] is not None for measure in said["measures"])
            seconds, memory = ASKED.get(count, (float("inf"), float("inf")))
            print(
                f"{count} recordings, {share:.0%} slower: {took:.1f} s ({cpu:.1f} s of CPU), {most:.0f} MB (asked: "
                f"{seconds} s, {memory} MB); {said['compared']} nodes compared in {len(said['measures'])} measures, "
                f"{two} of these in two populations",
                flush=True,
            )
            short += took > seconds or most > memory or bool(two) != bool(share) or said["compared"] != count
    return min(1, short)


if __name__ == "__main__":
    raise SystemExit(main())
