"""What nodes of a class give: of each load the level, and how far nodes and rounds scatter round it.

A class is made of recordings of the benchmark set: `fleet judge --save-class NAME`, or this host's own baseline.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

import msgspec

from hostdx.app.recordings.baselines import baseline_recordings, baselines_of_host
from hostdx.app.recordings.reader import BrokenRecording, load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import is_counted
from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.card import card_with_role

SCHEMA = "hostdx-class/1"
# of the benchmark set: CPU, memory, disk
LOADS = ("cpu-integer", "cpu-compress", "memory-copy", "randread-4k")
MIN_RUNS = 8  # with fewer the spread is hardly known
MAX_OWN_RUNS = 40  # of the own baseline: reading one takes 10 ms
MAX_CLASS_BYTES = 1 << 20
MIN_SPREAD = 0.005  # in logs: printed digits and rounding
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LoadKey = tuple[str, str]  # load and slot (one CPU, all CPUs)
Rounds = Mapping[LoadKey, Sequence[float]]  # logs of a load's values, round by round


class ClassLoad(msgspec.Struct, frozen=True):
    """A load of a class, in logs. `spread`: standard deviation of a node's level below that of the class;
    `scatter`: of a round below its node's level. `lowest`: how far the lowest node lies below."""

    load: str
    slot: str
    unit: str
    level: of.Logarithm
    spread: of.Deviation
    scatter: of.Deviation
    lowest: of.Deviation
    runs: of.Count


class NodeClass(msgspec.Struct, frozen=True, kw_only=True):
    schema: str
    name: str
    loads: tuple[ClassLoad, ...]


_decoder = msgspec.json.Decoder(NodeClass)


def level_of_logs(logs: Sequence[float]) -> of.Logarithm:
    """Return a load's level in a run: the median of its rounds, which a few disturbed ones do not move."""
    return median(logs)


def undisturbed_log_values(session: RunSession) -> dict[LoadKey, list[float]]:
    """Return the logs of the undisturbed rounds of the loads that `health` measures."""
    rounds: dict[LoadKey, list[float]] = {}
    for workload in LOADS:
        disturbed = {group.index for group in session.groups.get(workload, ()) if group.disturbed}
        for block in session.blocks.get(workload, ()):
            values = [value for value in block.values.values() if value > 0]
            if values and is_counted(block) and block.group not in disturbed:
                rounds.setdefault((workload, block.variant), []).append(math.log(values[0]))
    return rounds


def make_node_class(name: str, runs: Iterable[tuple[str, RunSession]]) -> NodeClass:
    """Make a class of runs, each with the name of its node. Several runs of a node count as one. Raises Failure."""
    levels: dict[LoadKey, dict[str, list[float]]] = {}
    scatters: dict[LoadKey, list[float]] = {}
    units: dict[LoadKey, str] = {}
    for number, (node, session) in enumerate(runs):
        for key, logs in undisturbed_log_values(session).items():
            if len(logs) > 2:
                levels.setdefault(key, {}).setdefault(node or str(number), []).append(level_of_logs(logs))
                scatters.setdefault(key, []).append(deviation_below_median(logs))
                load = session.find_workload(key[0])
                units[key] = load.metrics[0].unit if load is not None else ""
    loads = tuple(
        make_class_load(key, [fmean(own) for own in nodes.values()], scatters[key], units[key])
        for key, nodes in sorted(levels.items())
        if len(nodes) >= MIN_RUNS
    )
    if not loads:
        raise Failure(
            f"class {name}: needs {MIN_RUNS} nodes or nights with the loads {', '.join(LOADS)}; "
            f"`hostdx run {card_with_role('battery').id}` on each records them"
        )
    return NodeClass(schema=SCHEMA, name=name, loads=loads)


def make_class_load(
    key: LoadKey, levels: Sequence[float], scatters: Sequence[float], unit: str = ""
) -> ClassLoad:
    """`levels`: of each node; `scatters`: standard deviations of the rounds of each run. All in logs."""
    level, spread = median(levels), max(MIN_SPREAD, deviation_below_median(levels))
    scatter, lowest = max(MIN_SPREAD, median(scatters)), level - min(levels)
    return ClassLoad(*key, unit, level, spread, scatter, lowest, len(levels))


def deviation_below_median(values: Sequence[float]) -> of.Deviation:
    """Return the standard deviation of the half below the median: a node that is faster says nothing of slow ones."""
    middle = median(values)
    below = [(middle - value) ** 2 for value in values if value <= middle]
    return math.sqrt(math.fsum(below) / len(below))


def _class_path(name: str) -> Path:
    """Raises Failure."""
    if "/" in name:
        return Path(name)
    if not _NAME.fullmatch(name):
        raise Failure(f"class {name}: a name has letters, digits, `.`, `_` and `-`, 64 at most", USAGE)
    return state_dir() / "classes" / f"{name}.json"


def save_node_class(name: str, runs: Iterable[tuple[str, RunSession]]) -> Path:
    """Write a class under its name in the state directory, or to a path with a slash. Raises Failure."""
    path = _class_path(name)
    node_class = make_node_class(path.name.removesuffix(".json"), runs)
    if "/" not in name:
        make_private_dir(path.parent)
    write_bytes(
        "class", str(path), 0o644, msgspec.json.format(msgspec.json.encode(node_class), indent=1) + b"\n"
    )
    return path


def read_node_class(name: str) -> NodeClass:
    """Raises Failure."""
    path = _class_path(name)
    try:
        node_class = _decoder.decode(read_trusted_file(path, MAX_CLASS_BYTES))
    except OSError as error:
        raise Failure(
            f"class {name}: {path}: cannot be read: {error.strerror}; `hostdx fleet judge DIR --save-class {name}` "
            "makes one",
            USAGE,
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Failure(f"class {name}: {path}: is no class of hostdx: {error}", USAGE) from None
    if node_class.schema != SCHEMA:
        raise Failure(f"class {name}: {path}: has another schema; this hostdx reads {SCHEMA}", USAGE)
    return node_class


def class_of_own_baseline() -> NodeClass | None:
    """Return the class that this host's own nights or baseline make; None where they are too few."""
    host = os.uname().nodename
    for name in baselines_of_host(host, card_with_role("battery").id):
        try:
            runs = [(str(path), load_recording(path)) for path in baseline_recordings(name)[-MAX_OWN_RUNS:]]
            return make_node_class(f"own baseline {name}", runs)
        except (Failure, BrokenRecording):
            continue
    return None
