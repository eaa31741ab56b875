"""What a person on SSH pays: start against a bare Textual app, bytes a second and CPU of the live and the home screen.

`python -m tests.measured.terminal [--recording FILE]` prints a table; nothing is asserted. The recording (of a run in
trains) is followed beside the made-up run, as if it were under way. The live screen follows a recording that
grows in real time, as under a run (two blocks a second, a pulse every second); its writer is not counted.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from hostdx.app.recordings.reader import read_events
from hostdx.app.terminal.process import process_identity
from tests.fakes.streams.story import storage
from tests.fakes.terminals.terminal import Terminal

HOSTDX = [sys.executable, "-P", "-m", "hostdx.app.cli"]
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("READY")
Bare().run()
"""
SETTLE_S = 2.0


def start_cost(argv: list[str], words: str, env: dict[str, str]) -> tuple[float, float, float]:
    """Seconds until the words stand on the screen, CPU seconds of the app's own process until then, and bytes."""
    terminal = Terminal(argv, (120, 40), env)
    try:
        seconds = terminal.wait(words)
        return seconds, own_cpu_s(terminal.pid), terminal.bytes
    finally:
        terminal.close()


def own_cpu_s(pid: int) -> float:
    """Of all its threads, to the nanosecond (psutil's are hundredths of a second)."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def print_starts(rounds: int, env: dict[str, str]) -> None:
    """The first round is not counted: it writes the bytecode that an installed hostdx has."""
    cases = {
        "bare Textual app": ([sys.executable, "-c", BARE], "READY"),
        "home: what is this host": (HOSTDX, "SUSPECTS"),
        "home: scenarios listed": (HOSTDX, "not run yet"),
    }
    costs = [{name: start_cost(*case, env) for name, case in cases.items()} for _ in range(rounds + 1)][1:]
    print(f"start, {rounds} alternated starts at 120x40, load {os.getloadavg()[0]:.1f}")
    for kind, reduce in (
        ("median", statistics.median),
        ("minimum", min),
    ):  # a busy machine moves the minimum least
        base: list[float] = []
        for name in cases:
            typical = [reduce([round[name][n] for round in costs]) for n in range(3)]
            base = base or typical
            times = "   ".join(
                f"{kind_of_time} {typical[n] * 1e3:5.0f} ms {typical[n] / base[n]:5.2f} x"
                for n, kind_of_time in enumerate(("wall", "CPU"))
            )
            print(f"  {kind:<8}{name:<26} {times}   {typical[2]:7.0f} B")


def cost_of(terminal: Terminal, seconds: float) -> tuple[float, float]:
    """(bytes a second, CPU share in percent of a core) after the first paint has settled."""
    terminal.pump(SETTLE_S)
    before, cpu, at = terminal.bytes, terminal.cpu_s(), time.perf_counter()
    terminal.pump(seconds)
    span = time.perf_counter() - at
    return (terminal.bytes - before) / span, 100 * (terminal.cpu_s() - cpu) / span


def grow_recording(path: Path, skip_s: float, *, again: bool = False, recording: Path | None = None) -> None:
    """Writes the made-up storage run in real time, from `skip_s` on; `again`: over and over, without its end."""
    run = storage() if recording is None else list(read_events(recording))
    if again:
        body, length = run[1:-1], run[-1].t
        for turn in range(1, 20):
            run[-1:] = [msgspec.structs.replace(e, t=e.t + turn * length) for e in body] + run[-1:]
    me = process_identity()
    run[0] = msgspec.structs.replace(run[0], pid=me.pid, pid_start=me.start, boot_id=me.boot_id)
    began = time.perf_counter()
    with path.open("ab") as file:
        for event in run:
            wait = event.t - skip_s - (time.perf_counter() - began)
            if wait > 0:
                time.sleep(wait)
            file.write(msgspec.json.encode(event) + b"\n")
            file.flush()


def live_cost(
    size: tuple[int, int], seconds: float, env: dict[str, str], recording: Path | None = None
) -> tuple[float, float]:
    path = Path(env["XDG_STATE_HOME"]) / f"grow-{size[0]}{'-trains' if recording else ''}.jsonl"
    options = ["--grow", str(path), *(["--recording", str(recording)] if recording else [])]
    writer = subprocess.Popen([sys.executable, "-m", "tests.measured.terminal", *options])
    try:
        while not path.exists() or path.stat().st_size < 5000:
            time.sleep(0.05)
        terminal = Terminal([*HOSTDX, "attach", str(path)], size, env)
        try:
            terminal.wait("live")
            return cost_of(terminal, seconds)
        finally:
            terminal.close()
    finally:
        writer.kill()
        writer.wait()


def idle_cost(size: tuple[int, int], seconds: float, env: dict[str, str]) -> tuple[float, float]:
    terminal = Terminal(HOSTDX, size, env)
    try:
        terminal.wait("checks found")
        terminal.expect(lambda: not terminal.shows("still reading"), "the end of triage")
        terminal.pump(SETTLE_S)  # the pulse's child is there from now on
        return cost_of(terminal, seconds)
    finally:
        terminal.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--grow", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--recording", type=Path, help="a recording of a run in trains")
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.grow:
        grow_recording(chosen.grow, 5.0, again=chosen.again, recording=chosen.recording)
        return
    with tempfile.TemporaryDirectory() as state:
        env = {"XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": f"{state}/run", "PYTHONPATH": os.getcwd()}  # noqa: PTH109
        env["PYTHONDONTWRITEBYTECODE"] = ""
        print_starts(chosen.rounds, env)
        print(f"running, over {chosen.seconds:.0f} s from 2 s after the first paint")
        if chosen.recording:
            for size in ((120, 40), (80, 24)):
                rate, cpu = live_cost(size, chosen.seconds, env, chosen.recording)
                print(
                    f"  trains      {size[0]}x{size[1]:<4} {rate:7.0f} B/s  {cpu:4.1f} % of a core   (4 kB/s, 3 %)"
                )
        for name, measure, size, limit in (
            ("live", live_cost, (120, 40), "4 kB/s, 3 %"),
            ("live", live_cost, (80, 24), "4 kB/s"),
            ("home, idle", idle_cost, (120, 40), "300 B/s"),
        ):
            rate, cpu = measure(size, chosen.seconds, env)
            print(
                f"  {name:<11} {size[0]}x{size[1]:<4} {rate:7.0f} B/s  {cpu:4.1f} % of a core   (at most {limit})"
            )


if __name__ == "__main__":
    main()
