"""A recording of one load in eight blocks, written by hand: the smallest that can be compared."""

from pathlib import Path

import msgspec

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric, Plan, Workload


def record_small(
    folder: Path, name: str, rate: float, *, scenario: str = "kernel", host: str = "n1", day: int = 1
) -> Path:
    workload = Workload(id="syscall", title="system call", metrics=(Metric("calls/s", "calls/s"),))
    wall = f"2026-11-{day:02}T10:00:00Z"
    events: list[ev.AnyEvent] = [
        ev.Began(
            t=0.0, schema=ev.SCHEMA, version="0.1.0", scenario=scenario, command=[], host=host, wall=wall,
            seed=1, pid=1, pid_start=1, boot_id=name, options={},
        ),
        ev.Planned(t=0.0, plan=Plan(scenario=scenario, title="", question="", workloads=(workload,))),
        *(
            ev.Block(
                t=1.0, workload="syscall", variant="one", group=n, index=n, seconds=0.04,
                values={"calls/s": rate + n},
            )
            for n in range(8)
        ),
        ev.RunEnded(t=2.0, status="done"),
    ]  # fmt: skip
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return path
