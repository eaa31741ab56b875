"""What the nodes' runs would change, in groups, and whether a person agrees to each: the plans come from the nodes."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from hostdx.app.run import consent
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.scenarios.analysis.peers.judgement import AnswerState
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.plan import Plan

_DIGEST = re.compile(r"[0-9a-f]{16}", re.ASCII)
_WORDS = 200  # characters of a node's own text
_MAX_ACTIONS = 100
MAX_PLAN_BYTES = 8 << 20
_plans = Decoder(Plan)


class SharedChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change that several nodes would make, and by the value that is there now the nodes that have it."""

    action: Action  # of the first of them
    nodes_by_old_value: dict[str, tuple[str, ...]]


class ConsentGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that would make the same changes, whatever is there now."""

    nodes: tuple[str, ...]
    changes: tuple[SharedChange, ...]


def read_plan(path: Path, scenario: str, exit_status: int) -> tuple[Plan | None, AnswerState, str]:
    """Return what `plan --json` said on a node; None with the state and the reason where nothing is to be run there."""
    try:
        plan: Plan = _plans.decode(read_trusted_file(path, MAX_PLAN_BYTES))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OSError) as error:
        refused = _read_plan_refusal(path)
        return (None, "skipped", refused) if refused else (None, "rubbish", f"its plan is none: {error}")
    if plan.refusal or exit_status:
        return None, "skipped", plan.refusal or f"exit status {exit_status}"
    if plan.scenario != scenario or not _DIGEST.fullmatch(plan.digest) or len(plan.actions) > _MAX_ACTIONS:
        return None, "rubbish", "its plan is not one of the scenario that was asked for"
    return plan, "answered", ""


class _PlanRefusal(msgspec.Struct):
    refusal: str


def _read_plan_refusal(path: Path) -> str:
    """Of a plan that was not made: there is nothing else in it."""
    try:
        return msgspec.json.decode(read_trusted_file(path, MAX_PLAN_BYTES), type=_PlanRefusal).refusal
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OSError):
        return ""


def group_plans_to_consent(plans: Mapping[str, Plan]) -> list[ConsentGroup]:
    """Of the plans that somebody must agree to, the largest group first."""
    alike: dict[bytes, list[str]] = {}
    for node, plan in plans.items():
        if plan.needs_consent:
            changes = [msgspec.structs.replace(action, old=None) for action in _actions_needing_consent(plan)]
            alike.setdefault(encode(changes, order="deterministic"), []).append(node)
    return [
        _group_with_old_values(nodes, [_actions_needing_consent(plans[node]) for node in nodes])
        for nodes in sorted(alike.values(), key=len, reverse=True)
    ]


def ask_which_may_start(
    plans: Mapping[str, Plan], *, yes: bool, show: Callable[[str], None], fold: Callable[[Iterable[str]], str]
) -> set[str]:
    """The nodes whose plans may be carried out: those that ask for nothing, and those of groups that were agreed to."""
    plan_groups = group_plans_to_consent(plans)
    may = {node for node, plan in plans.items() if not plan.needs_consent}
    for number, group in enumerate(plan_groups, 1):
        for line in consent_group_lines(group, fold):
            show(line)
        if yes or consent.ask_yes_no(
            f"go ahead on these {len(group.nodes)} nodes ({number} of {len(plan_groups)})? [y/N] "
        ):
            may |= set(group.nodes)
    return may


def consent_group_lines(group: ConsentGroup, fold: Callable[[Iterable[str]], str]) -> Iterable[str]:
    yield f"{len(group.nodes)} nodes ({fold(group.nodes)}) would change:"
    for change in group.changes:
        new = f" to {change.action.new[:_WORDS]}" if change.action.new is not None else ""
        yield f"  {change.action.title[:_WORDS]}: {change.action.target[:_WORDS]}{new}"
        for old, nodes in change.nodes_by_old_value.items():
            yield f"    now {old[:_WORDS] or 'nothing'} on {fold(nodes)}"
        for command in filter(None, (change.action.apply, change.action.undo)):
            yield f"    runs {' '.join(command)[:_WORDS]}"
        if change.action.risk:
            yield f"    risk: {change.action.risk[:_WORDS]}"


def _actions_needing_consent(plan: Plan) -> list[Action]:
    return [action for action in plan.actions if action.needs_consent]


def _group_with_old_values(nodes: Sequence[str], actions_by_node: Sequence[Sequence[Action]]) -> ConsentGroup:
    changes = []
    for actions in zip(*actions_by_node, strict=True):
        old: dict[str, list[str]] = {}
        for node, action in zip(nodes, actions, strict=True):
            old.setdefault(action.old or "", []).append(node)
        changes.append(
            SharedChange(action=actions[0], nodes_by_old_value={k: tuple(v) for k, v in old.items()})
        )
    return ConsentGroup(nodes=tuple(nodes), changes=tuple(changes))
