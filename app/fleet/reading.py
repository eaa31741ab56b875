"""Many nodes' answers, read: each is made small by itself, in as many processes as there are CPUs, and then folded.

Ten thousand recordings of a shared file system need the memory of their measures and facts, not of their events.
"""

import math
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import NamedTuple

from app.failure import USAGE, Failure
from app.fleet.folder import Folder
from app.fleet.summary import Summary, readable, summary
from probes.bench.engine.parent_death import tie_to
from probes.imports.path_names import told_apart
from probes.rights import KILLED
from scenarios.compare.run_summary import FigureKey, Load
from scenarios.peers.facts import FactTable
from scenarios.peers.judge import judge
from scenarios.peers.judgement import FleetJudgement, Missing
from scenarios.peers.node import Node

MOST_FILES = 100_000
_DEEPEST = 4  # folders below the one that was named
_ALONE = 64  # files, up to which another process costs more than it saves
_BATCH = 16
_MOST_PROCESSES = 8


class Source(NamedTuple):
    """A file and whose answer it is; `node` is empty where only the file itself can tell."""

    path: Path
    node: str = ""
    round: int = 0


class Fleet:
    """What was read. `measured`: of each round the sums of each node's logs with their counts."""

    def __init__(self) -> None:
        self.table = FactTable()
        self.loads: dict[FigureKey, Load] = {}
        self.rounds: dict[int, dict[str, Node]] = {0: {}}
        self.missing: list[Missing] = []
        self.what: dict[str, None] = {}
        self.files: dict[str, str] = {}
        self.together = False
        self._counts: dict[tuple[str, int, FigureKey], int] = {}

    def judged(self, margin: float) -> FleetJudgement:
        later = [self.rounds[n] for n in sorted(self.rounds) if n > 0]
        return judge(
            list(self.rounds[0].values()), self.table, self.loads, later,
            margin=margin, missing=self.missing, what=tuple(self.what), files=self.files,
            together=self.together,
        )  # fmt: skip

    def add(self, name: str, round_: int, found: Summary, path: Path) -> None:
        if found.wrong or found.skipped:
            self.missing.append(
                Missing(
                    node=name,
                    state="unreadable" if found.wrong else "skipped",
                    reason=found.wrong,
                    round=round_,
                )
            )
            return
        self.what[found.what] = None
        nodes = self.rounds.setdefault(round_, {})
        for key, load in found.loads.items():
            self.loads.setdefault(key, load)
        earlier = nodes.get(name)
        if earlier is None:
            self.files.setdefault(name, str(path))
            if round_ == 0:
                self.table.add(name, found.facts, found.unread)
            nodes[name] = Node(
                name=name,
                logs=found.logs,
                hardware=found.hardware,
                findings=found.findings,
                looked=found.looked,
            )
            return
        for key, log in found.logs.items():  # one node's several runs are one measure
            count = self._counts.get((name, round_, key), int(key in earlier.logs))
            earlier.logs[key] = math.fsum((earlier.logs.get(key, 0.0) * count, log)) / (count + 1)
            self._counts[name, round_, key] = count + 1


def fleet_of(arguments: Sequence[str]) -> Fleet:
    """Of folders of a fleet run, of other folders, or of files. Raises Failure where there is nothing to read."""
    fleet = Fleet()
    sources: list[Source] = []
    for argument in arguments:
        path = Path(argument)
        if (path / "fleet.json").is_file():
            sources += _of_run(path, fleet)
        elif path.is_dir():
            sources += [Source(one) for one in _below(path, fleet)]
        elif path.exists():
            sources.append(Source(path))
        else:
            raise Failure(f"fleet: {argument}: no such file or directory", USAGE)
    sources = list(dict.fromkeys(sources))
    if not sources and not fleet.missing:
        raise Failure(
            f"fleet: {', '.join(arguments[:3])}: no recording (*.jsonl, *.jsonl.gz) and no triage (*.json) in it",
            USAGE,
        )
    unnamed = [one.path for one in sources if not one.node]
    parts = dict(zip(unnamed, told_apart([str(path) for path in unnamed]), strict=True)) if unnamed else {}
    waiting: list[tuple[Source, Summary]] = []
    hosts: dict[str, None] = {}
    for source, found in _read(sources):
        if source.node:
            fleet.add(source.node, source.round, found, source.path)
        elif len(hosts) > 1:
            fleet.add(found.host or parts[source.path], 0, found, source.path)
        else:  # a name that all of them have tells nothing
            waiting.append((source, found))
            if found.host:
                hosts[found.host] = None
            if len(hosts) > 1:
                _by_host(fleet, waiting, parts)
    one_for_all = len(hosts) == 1 and sum(bool(found.host) for _, found in waiting) > 1
    _by_host(fleet, waiting, parts, one_for_all=one_for_all)
    return fleet


def _by_host(
    fleet: Fleet, waiting: list[tuple[Source, Summary]], parts: dict[Path, str], *, one_for_all: bool = False
) -> None:
    for source, found in waiting:
        part = parts.get(source.path, "")
        fleet.add(
            (part if one_for_all and part else found.host or part) or source.path.name, 0, found, source.path
        )
    waiting.clear()


def _read(sources: Sequence[Source]) -> Iterator[tuple[Source, Summary]]:
    """In order. Children inherit what is imported, and end with us."""
    paths = [source.path for source in sources]
    workers = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    if len(paths) <= _ALONE or workers < 2:
        yield from zip(sources, map(summary, paths), strict=True)
        return
    begin = partial(_begin, os.getpid())
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), begin) as pool:
        try:
            yield from zip(sources, pool.map(summary, paths, chunksize=_BATCH), strict=True)
        except BrokenProcessPool:
            raise Failure(f"fleet: a process that read the answers was {KILLED}") from None


def _begin(parent: int) -> None:
    tie_to(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's, who ends us


def _below(folder: Path, fleet: Fleet) -> Iterator[Path]:
    """In order of names. No link is followed: who answers must not name a file of ours."""
    seen = 0
    todo = [(folder, 0)]
    while todo:
        at, depth = todo.pop()
        try:
            entries = sorted(os.scandir(at), key=lambda entry: entry.name)
        except OSError as why:
            raise Failure(f"fleet: {at}: cannot be read: {why.strerror}", USAGE) from None
        for entry in entries:
            if entry.is_symlink():
                if readable(entry.name):
                    fleet.missing.append(
                        Missing(node=entry.name, state="unreadable", reason="a link; links are not followed")
                    )
            elif entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST:
                    todo.append((Path(entry.path), depth + 1))
            elif readable(entry.name):
                seen += 1
                if seen > MOST_FILES:
                    raise Failure(f"fleet: {folder}: more than {MOST_FILES} files; name fewer", USAGE)
                yield Path(entry.path)


def _of_run(path: Path, fleet: Fleet) -> Iterator[Source]:
    """What `hostdx fleet run` left, taken up at any time."""
    folder = Folder(path)
    head = folder.head()
    answers = folder.answers()
    fleet.together = fleet.together or head.together
    for (node, round_), line in sorted(answers.items(), key=lambda item: item[0][1]):
        inside = _inside(path, line.file) if line.state == "answered" and line.file else None
        if inside is not None:
            yield Source(inside, node, max(0, round_))
        else:
            state = "rubbish" if line.state == "answered" else line.state
            reason = line.reason or ("names no file of this folder" if line.state == "answered" else "")
            fleet.missing.append(
                Missing(node=node, state=state, reason=reason, round=round_, seconds=line.seconds)
            )
    told = {node for node, _ in answers}
    fleet.missing += [
        Missing(node=node, state="interrupted", reason="not reached before the run ended")
        for node in dict.fromkeys(head.nodes)
        if node not in told
    ]


def _inside(folder: Path, name: str) -> Path | None:
    """A file below the folder, by no link and no way out of it."""
    parts = Path(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        return None
    at = folder
    for part in parts:
        at = at / part
        if at.is_symlink():
            return None
    return at if at.is_file() else None
