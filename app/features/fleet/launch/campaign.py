"""A fleet run from the nodes' plans to the last retest: each node's answer is kept as it comes."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from hostdx.app.features.fleet.folder import TRIAGE, FleetFolder, FleetRunHead, NodeAnswer
from hostdx.app.features.fleet.launch.agreement import ask_which_may_start, read_plan
from hostdx.app.features.fleet.launch.call import NodeCall
from hostdx.app.features.fleet.launch.engine import ConnectionEngine, fold_nodes, groups_by_node
from hostdx.app.features.fleet.launch.errand import NodeBundle, NodeOrder
from hostdx.app.features.fleet.summary import summarise_answer
from hostdx.app.recordings.reader import BrokenRecording, read_events
from hostdx.app.terminal.failure import COULD_NOT, USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.peers.judgement import AnswerState
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Plan

TOLD_EVERY_S = 10.0
LOOK_S = 120.0  # a plan or a triage: seconds, and half a minute of a host that answers slowly
MAX_LOOK_BYTES = 8 << 20  # bytes of a plan or of a triage's document
MAX_RECORDING_BYTES = 64 << 20
SILENT_S = 60.0  # a run pulses every second
LONGEST_S = 86400.0
LEAD_S = 30.0  # until nodes that begin together have their bundles


class LaunchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the nodes are reached and how many of them at once. `at_once` 0: as many as load nothing that they share.

    `per`: a source of groups, of each of which `at_once` (else one) measure at a time.
    """

    rsh: str = "ssh"
    fanout: int = 64
    at_once: int = 0
    python: str = ""
    become: str = ""
    per: str = ""
    connect_s: float = 10.0
    most_s: float = 0.0
    yes: bool = False


class FleetCampaign:
    def __init__(
        self, folder: FleetFolder, head: FleetRunHead, parcel: NodeBundle, manner: LaunchSettings
    ) -> None:
        self.folder, self.head, self.manner = folder, head, manner
        self._engine = ConnectionEngine(
            manner.rsh, manner.connect_s, self._take_answer, self._show_progress, shared=bool(parcel.shared)
        )
        self._racks = groups_by_node(head.nodes, manner.per) if manner.per else {}
        self._answers = folder.read_answers()
        self._errand = NodeOrder(
            **structs.asdict(parcel), argv=(), python=manner.python, become=manner.become, connect_s=manner.connect_s
        )  # fmt: skip
        self._round = 0
        self._keeps: Callable[[NodeAnswer], bool] = lambda _answer: True
        self._asked = self._done = 0
        self._told_s = time.monotonic()
        self._stage_name = ""

    @property
    def was_interrupted(self) -> bool:
        return self._engine.interrupted

    def answer_of(self, node: str, round: int) -> NodeAnswer | None:
        return self._answers.get((node, round))

    def answered_nodes(self, round: int = 0) -> list[str]:
        return [node for node in self.head.nodes if self._state_or_empty(node, round) == "answered"]

    def unanswered_nodes(self, nodes: Iterable[str], round: int) -> list[str]:
        """Those without an answer yet: of an earlier start, what was answered stands."""
        return [node for node in nodes if self._state_or_empty(node, round) != "answered"]

    def triage_nodes(self, *, ask_programs: bool = False) -> None:
        """Every node's triage. `ask_programs`: the nodes ask their own programs, too."""
        errand = self._order_to_read((TRIAGE, "--json", *(["--programs"] if ask_programs else [])))
        self._call_nodes(
            "triage",
            self.unanswered_nodes(self.head.nodes, 0),
            0,
            lambda _node: errand,
            self.manner.fanout,
            _triage_state_and_reason,
        )

    def fetch_plans(self, nodes: Sequence[str], arguments: Sequence[str], round: int = 0) -> dict[str, Plan]:
        """Return what each node would do. One that has no plan has its answer."""
        plans_by_node: dict[str, Plan] = {}
        errand = self._order_to_read(("plan", self.head.scenario, *arguments, "--json"))
        place = self.folder.path / "plans"

        def call(node: str) -> NodeCall:
            def judge(path: Path, status: int) -> tuple[AnswerState, str]:
                plan, state, reason = read_plan(path, self.head.scenario, status)
                path.unlink(missing_ok=True)
                if plan is not None:
                    plans_by_node[node] = plan
                return state, reason

            return NodeCall(node, errand, place / f"{node}.json", judge, time.monotonic)

        self._keeps = lambda answer: answer.node not in plans_by_node
        self._run_calls("plans", [call(node) for node in nodes], round, self.manner.fanout, {})
        if place.exists():
            place.rmdir()
        return {node: plans_by_node[node] for node in nodes if node in plans_by_node}

    def ask_consents(self, plans: Mapping[str, Plan], round: int = 0) -> dict[str, Plan]:
        """Those that may be carried out; the others are skipped. Raises Failure where none may."""
        may = ask_which_may_start(
            plans, yes=self.manner.yes, show=print_note, fold=lambda nodes: fold_nodes(list(nodes))
        )
        for node in plans:
            if node not in may:
                self._write_answer(NodeAnswer(node, 0, "skipped", "its changes were not agreed to"), round)
        if plans and not may:
            raise Failure(
                "fleet: nobody agreed to the changes; look at them above, then add --yes", COULD_NOT
            )
        return {node: plan for node, plan in plans.items() if node in may}

    def measure_nodes(
        self, round: int, plans: Mapping[str, Plan], arguments: Sequence[str], *, as_planned: bool = True
    ) -> None:
        """Each node by its own plan, and by no other: it refuses where its plan is another one by then.

        Not `as_planned`: by one that asks for nothing; the node refuses where it would.
        """
        nodes = self.unanswered_nodes(plans, round)
        shared = {shared_name for node in nodes for shared_name in plans[node].shares}
        begin_s = 0.0
        if self.head.together:
            if len(nodes) > self.manner.fanout:
                raise Failure(f"fleet: --together: {len(nodes)} nodes need --fanout {len(nodes)}", USAGE)
            shared, begin_s = set(), time.time() + LEAD_S
        at_once = self.manner.at_once or (1 if shared or self._racks else self.manner.fanout)
        if shared and not (self.manner.at_once or self._racks) and len(nodes) > 1:
            names = ", ".join(sorted(shared)[:3])
            print_note(
                f"one node at a time: all of them load {names}; --at-once N measures more, --per one a rack"
            )
        in_turn = at_once < len(nodes) and not self.head.together and not self._engine.tree

        def errand_for(node: str) -> NodeOrder:
            plan = plans[node]
            return structs.replace(
                self._errand,
                argv=(
                    "run",
                    self.head.scenario,
                    *arguments,
                    "--events=-",
                    "--quiet",
                    *([f"--consent={plan.digest}"] if as_planned else []),
                ),
                records=True,
                begin_s=begin_s,
                ahead=("plan", self.head.scenario, *arguments, "--json") if in_turn else (),
                most_bytes=MAX_RECORDING_BYTES,
                most_s=self.manner.most_s or min(LONGEST_S, 2 * plan.seconds + 300),
                silence_s=SILENT_S,
            )

        def judge(path: Path, _status: int) -> tuple[AnswerState, str]:
            return _recording_state_and_reason(path, self.head.scenario)

        shared_name = "measurement" if round == 0 else f"retest {round}"
        self._call_nodes(shared_name, nodes, round, errand_for, at_once, judge)

    def _order_to_read(self, argv: tuple[str, ...]) -> NodeOrder:
        most_s = self.manner.most_s or LOOK_S
        return structs.replace(  # what it says comes at its end
            self._errand, argv=argv, most_bytes=MAX_LOOK_BYTES, most_s=most_s, silence_s=most_s
        )

    def _call_nodes(
        self,
        stage_name: str,
        nodes: Sequence[str],
        round: int,
        order_of: Callable[[str], NodeOrder],
        at_once: int,
        judge: Callable[[Path, int], tuple[AnswerState, str]],
    ) -> None:
        self._keeps = lambda _answer: True
        place = self.folder.answer_path
        recording = self.head.scenario != TRIAGE
        calls = [
            NodeCall(node, order_of(node), place(node, round, recording=recording), judge, time.monotonic)
            for node in nodes
        ]
        self._run_calls(stage_name, calls, round, at_once, self._racks)

    def _run_calls(
        self, stage_name: str, calls: Sequence[NodeCall], round: int, at_once: int, racks: Mapping[str, str]
    ) -> None:
        if not calls or self.was_interrupted:
            return
        self._stage_name, self._round, self._asked, self._done = stage_name, round, len(calls), 0
        self._engine.run_calls(calls, self.manner.fanout, at_once, racks)
        self._print_progress()

    def _take_answer(self, answer: NodeAnswer) -> None:
        self._done += 1
        if self._keeps(answer):
            self._write_answer(answer, self._round)

    def _write_answer(self, answer: NodeAnswer, round: int) -> None:
        file = str(Path(answer.file).relative_to(self.folder.path)) if answer.file is not None else None
        line = structs.replace(answer, round=round, file=file)
        self._answers[answer.node, round] = line
        self.folder.append_answer(line)

    def _state_or_empty(self, node: str, round: int) -> str:
        line = self._answers.get((node, round))
        return line.state if line is not None else ""

    def _show_progress(self) -> None:
        if time.monotonic() >= self._told_s + TOLD_EVERY_S:
            self._print_progress()

    def _print_progress(self) -> None:
        self._told_s = time.monotonic()
        print_note(f"{self._stage_name}: {self._done} of {count_noun(self._asked, 'node')} ended")


def unanswered_lines(campaign: FleetCampaign) -> Iterable[str]:
    """The nodes that did not answer, together where the reason is the same."""
    from hostdx.app.features.fleet.report import state_words

    alike: dict[tuple[str, str], list[str]] = {}
    for node in campaign.head.nodes:
        line = campaign.answer_of(node, 0)
        if line is not None and line.state != "answered":
            alike.setdefault((line.state, line.reason), []).append(node)
    for (state, reason), nodes in sorted(alike.items(), key=lambda pair: -len(pair[1])):
        yield f"{count_noun(len(nodes), 'node')} {state_words(state)}: {fold_nodes(nodes)}: {reason}"


def _triage_state_and_reason(path: Path, _status: int) -> tuple[AnswerState, str]:
    """As the judgement reads it."""
    wrong = summarise_answer(path).wrong
    return ("rubbish", f"its document {wrong}") if wrong else ("answered", "")


def _recording_state_and_reason(path: Path, scenario: str) -> tuple[AnswerState, str]:
    """Return how the run ended, by a recording that is whole and of what was asked for."""
    began: ev.Began | None = None
    ended: ev.RunEnded | None = None
    try:
        for event in read_events(path):
            if began is None and isinstance(event, ev.Began):
                began = event
            elif isinstance(event, ev.RunEnded):
                ended = event
    except BrokenRecording as why:
        return "rubbish", why.text
    if began is None or began.scenario != scenario:
        return "rubbish", "its recording is one of another scenario"
    if ended is None:
        return "rubbish", "its recording has no end"
    states: dict[str, AnswerState] = {"done": "answered", "interrupted": "interrupted"}
    return states.get(ended.status, "skipped"), ended.reason or ""
