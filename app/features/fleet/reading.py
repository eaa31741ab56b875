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

from hostdx.app.features.fleet.folder import FleetFolder
from hostdx.app.features.fleet.summary import AnswerSummary, is_answer_file, summarise_answer
from hostdx.app.recordings.store import files_below
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.probes.children.parent_death import die_with_parent
from hostdx.probes.files.rights import KILLED
from hostdx.probes.imports.path_names import distinct_short_names
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, PlannedLoad
from hostdx.scenarios.analysis.peers.facts import FactTable
from hostdx.scenarios.analysis.peers.judge import judge_fleet
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement, MissingNode
from hostdx.scenarios.analysis.peers.node import PeerNode

_ALONE = 64  # files, up to which another process costs more than it saves
_BATCH = 16
_MAX_PROCESSES = 8


class AnswerSource(NamedTuple):
    """A file and whose answer it is; `node` is empty where only the file itself can tell."""

    path: Path
    node: str = ""
    round: int = 0


class FleetAnswers:
    """What was read. `measured`: of each round the sums of each node's logs with their counts."""

    def __init__(self) -> None:
        self.table = FactTable()
        self.loads: dict[FigureKey, PlannedLoad] = {}
        self.rounds: dict[int, dict[str, PeerNode]] = {0: {}}
        self.missing: list[MissingNode] = []
        self.scenario_names: dict[str, None] = {}
        self.files: dict[str, str] = {}
        self.together = False
        self._counts: dict[tuple[str, int, FigureKey], int] = {}

    def judge_answers(self, margin: float) -> FleetJudgement:
        later = [self.rounds[n] for n in sorted(self.rounds) if n > 0]
        return judge_fleet(
            list(self.rounds[0].values()), self.table, self.loads, later,
            margin=margin, missing=self.missing, measurement_names=tuple(self.scenario_names), files=self.files,
            together=self.together,
        )  # fmt: skip

    def add(self, name: str, round_: int, answer: AnswerSummary, path: Path) -> None:
        if answer.wrong or answer.skipped:
            self.missing.append(
                MissingNode(
                    node=name,
                    state="unreadable" if answer.wrong else "skipped",
                    reason=answer.wrong,
                    round=round_,
                )
            )
            return
        self.scenario_names[answer.scenario] = None
        nodes = self.rounds.setdefault(round_, {})
        for key, load in answer.loads.items():
            self.loads.setdefault(key, load)
        earlier = nodes.get(name)
        if earlier is None:
            self.files.setdefault(name, str(path))
            if round_ == 0:
                self.table.add(name, answer.facts, answer.unread)
            nodes[name] = PeerNode(
                name=name,
                logs=answer.logs,
                hardware=answer.hardware,
                findings=answer.findings,
                looked=answer.looked,
            )
            return
        for key, log in answer.logs.items():  # one node's several runs are one measure
            count = self._counts.get((name, round_, key), int(key in earlier.logs))
            earlier.logs[key] = math.fsum((earlier.logs.get(key, 0.0) * count, log)) / (count + 1)
            self._counts[name, round_, key] = count + 1


def read_fleet_answers(arguments: Sequence[str]) -> FleetAnswers:
    """Of folders of a fleet run, of other folders, or of files. Raises Failure where there is nothing to read."""
    fleet = FleetAnswers()
    sources: list[AnswerSource] = []
    for argument in arguments:
        path = Path(argument)
        if (path / "fleet.json").is_file():
            sources += _answers_of_fleet_run(path, fleet)
        elif path.is_dir():
            sources += _answers_below_noting_refused(path, fleet)
        elif path.exists():
            sources.append(AnswerSource(path))
        else:
            raise Failure(f"fleet: {argument}: no such file or directory", USAGE)
    sources = list(dict.fromkeys(sources))
    if not sources and not fleet.missing:
        raise Failure(
            f"fleet: {', '.join(arguments[:3])}: no recording (*.jsonl, *.jsonl.gz) and no triage (*.json) in it",
            USAGE,
        )
    unnamed = [file_path.path for file_path in sources if not file_path.node]
    parts = (
        dict(zip(unnamed, distinct_short_names([str(path) for path in unnamed]), strict=True))
        if unnamed
        else {}
    )
    waiting: list[tuple[AnswerSource, AnswerSummary]] = []
    hosts: dict[str, None] = {}
    for source, answer in _read_answers(sources):
        if source.node:
            fleet.add(source.node, source.round, answer, source.path)
        elif len(hosts) > 1:
            fleet.add(answer.host or parts[source.path], 0, answer, source.path)
        else:  # a name that all of them have tells nothing
            waiting.append((source, answer))
            if answer.host:
                hosts[answer.host] = None
            if len(hosts) > 1:
                _add_answers_by_host(fleet, waiting, parts)
    one_for_all = len(hosts) == 1 and sum(bool(answer.host) for _, answer in waiting) > 1
    _add_answers_by_host(fleet, waiting, parts, one_for_all=one_for_all)
    return fleet


def _add_answers_by_host(
    fleet: FleetAnswers,
    waiting: list[tuple[AnswerSource, AnswerSummary]],
    parts: dict[Path, str],
    *,
    one_for_all: bool = False,
) -> None:
    for source, answer in waiting:
        part = parts.get(source.path, "")
        fleet.add(
            (part if one_for_all and part else answer.host or part) or source.path.name,
            0,
            answer,
            source.path,
        )
    waiting.clear()


def _read_answers(sources: Sequence[AnswerSource]) -> Iterator[tuple[AnswerSource, AnswerSummary]]:
    """In order. Children inherit what is imported, and end with us."""
    paths = [source.path for source in sources]
    workers = min(_MAX_PROCESSES, len(os.sched_getaffinity(0)))
    if len(paths) <= _ALONE or workers < 2:
        yield from zip(sources, map(summarise_answer, paths), strict=True)
        return
    begin = partial(_set_up_worker, os.getpid())
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), begin) as pool:
        try:
            yield from zip(sources, pool.map(summarise_answer, paths, chunksize=_BATCH), strict=True)
        except BrokenProcessPool:
            raise Failure(f"fleet: a process that read the answers was {KILLED}") from None


def _set_up_worker(parent: int) -> None:
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's, who ends us


def _answers_below_noting_refused(folder: Path, fleet: FleetAnswers) -> Iterator[AnswerSource]:
    def add_refused(name: str, why: str) -> None:
        fleet.missing.append(MissingNode(node=name, state="unreadable", reason=why))

    yield from map(AnswerSource, files_below("fleet", folder, is_answer_file, add_refused))


def _answers_of_fleet_run(path: Path, fleet: FleetAnswers) -> Iterator[AnswerSource]:
    """Yield what `hostdx fleet run` left, taken up at any time."""
    folder = FleetFolder(path)
    head = folder.read_head()
    answers = folder.read_answers()
    fleet.together = fleet.together or head.together
    for (node, round_), line in sorted(answers.items(), key=lambda item: item[0][1]):
        inside = _file_inside(path, line.file) if line.state == "answered" and line.file else None
        if inside is not None:
            yield AnswerSource(inside, node, max(0, round_))
        else:
            state = "rubbish" if line.state == "answered" else line.state
            reason = line.reason or ("names no file of this folder" if line.state == "answered" else "")
            fleet.missing.append(
                MissingNode(node=node, state=state, reason=reason, round=round_, seconds=line.seconds)
            )
    answered_nodes = {node for node, _ in answers}
    fleet.missing += [
        MissingNode(node=node, state="interrupted", reason="not reached before the run ended")
        for node in dict.fromkeys(head.nodes)
        if node not in answered_nodes
    ]


def _file_inside(folder: Path, name: str) -> Path | None:
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
