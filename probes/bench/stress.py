"""stress-ng as a second opinion on the CPUs, where it is installed: its own compiled loops, by its own count.

It stops at an interrupt and prints its metrics then: a sample need not last the second that its options count in.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

import msgspec

from probes.bench.measured import BenchRefused
from probes.command import tool
from probes.imports.cpu.stress_ng import METRICS_LINE
from probes.system.processor.cpulist import as_list

START_S, A_CPU_S = 0.05, 0.002  # until all of its processes work
END_S = 10.0
AT_MOST_S = "5"  # it ends by itself, should nobody be left to interrupt it


class StressLoad(msgspec.Struct, frozen=True):
    id: str
    title: str
    arguments: tuple[str, str]  # what comes before and after the number of workers; the latter may be empty


LOADS = (
    StressLoad("stress-int64", "stress-ng int64", ("--cpu", "--cpu-method int64")),
    StressLoad("stress-double", "stress-ng double", ("--cpu", "--cpu-method double")),
    StressLoad("stress-vecmath", "stress-ng vecmath (vector instructions)", ("--vecmath", "")),
)


def installed() -> str | None:
    return tool("stress-ng")


async def bogo_rate(load: StressLoad, cpus: Sequence[int], seconds: float) -> float:
    """Bogo operations a second of real time, all workers together, one a CPU of `cpus`. Raises BenchRefused."""
    path = installed()
    if path is None:
        raise BenchRefused("stress-ng is not installed (package stress-ng)")
    option, more = load.arguments
    child = await asyncio.create_subprocess_exec(
        path,
        option,
        str(len(cpus)),
        *more.split(),
        "--taskset",
        as_list(frozenset(cpus)),
        "--metrics-brief",
        "--timeout",
        AT_MOST_S,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd="/",
        env=os.environ | {"LC_ALL": "C"},
        start_new_session=True,
    )
    try:
        await asyncio.sleep(START_S + A_CPU_S * len(cpus) + seconds)
        if child.returncode is None:
            child.send_signal(signal.SIGINT)
        said, _ = await asyncio.wait_for(child.communicate(), END_S)
    except TimeoutError:
        raise BenchRefused("stress-ng did not stop") from None
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
    lines = said.decode("utf-8", "replace").splitlines()
    found = next((match for line in lines if (match := METRICS_LINE.match(line))), None)
    try:
        return float(found[6]) if found else 0.0
    except ValueError:
        return 0.0
