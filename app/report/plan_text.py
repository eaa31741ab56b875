"""A plan in words, made here for the command line and the screen: what it would do, before anything happens.

Text may come from the host: whoever shows it makes it safe.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from hostdx.probes.units import format_duration, format_percent, format_size
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.plan import Plan, PlannedWrite
from hostdx.scenarios.experiment.wording import mark_if_control

NAME = 12  # cells of a row's name
WARNED = "▲ changes"


class PlanRow(NamedTuple):
    """One line, of any length. `name` stands before the first of its kind; `role` is a role of the screen's theme."""

    name: str
    words: str
    role: str = "text"
    indent: int = 0


def plan_rows(plan: Plan) -> list[PlanRow]:
    """Everything below the question. A row with the role `picture` is a line of a drawing."""
    rows = [PlanRow("✗ cannot", plan.refusal, "critical"), PlanRow("", "")] if plan.refusal else []
    row_name = "compares" if len(plan.variants) > 1 else "measures"
    rows += _rows_named_once(row_name, variant_column_lines(plan))
    if plan.differs:
        rows.append(PlanRow("", differences_text(plan), "dim"))
    rows += [PlanRow("", sentence, "dim") for sentence in plan.common]
    if plan.workloads:
        titles = (mark_if_control(w.title, control=w.control) for w in plan.workloads)
        rows.append(PlanRow("with", "; ".join(titles)))  # a title may have a comma
    if plan.seconds:  # before the changes: with many of them the screen ends there
        rows.append(PlanRow("takes", _measuring_and_other_time(plan)))
    rows += _rows_named_once("writes", [written_text(item) for item in plan.writes] or ["nothing"])
    rows += _all_change_rows(plan)
    rows += _rows_named_once("leaves out", plan.left_out, "dim")
    if plan.rights:
        rows.append(PlanRow("needs", ", ".join(plan.rights)))
    if plan.picture:
        rows += [PlanRow("", ""), *(PlanRow("", line, "picture") for line in plan.picture), PlanRow("", "")]
    return rows + _rows_named_once("notes", plan.sentences)


def _rows_named_once(name: str, lines: Sequence[str], role: str = "text") -> list[PlanRow]:
    return [PlanRow("" if n else name, line, role) for n, line in enumerate(lines)]


def differences_text(plan: Plan) -> str:
    differences = "; ".join(plan.differs)
    return f"they also differ in: {differences}; verdicts therefore hold for “this stack”: all of it together"


def variant_column_lines(plan: Plan) -> list[str]:
    """The variants in columns: what each is called, what it is, its details."""
    same = all(v.label in ("", v.id) for v in plan.variants)
    columns = [(v.id, "" if same else v.label, v.detail) for v in plan.variants]
    widths = [max(map(cell_len, column)) for column in zip(*columns, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True) if width
        ).rstrip()
        for row in columns
    ]


def _measuring_and_other_time(plan: Plan) -> str:
    other = plan.seconds - plan.measuring_s
    if not plan.measuring_s:
        return format_duration(plan.seconds)
    measuring = f"at most {format_duration(plan.measuring_s)} of measuring"
    return f"{measuring} + {format_duration(other)} of preparation" if other >= 1 else measuring


def _all_change_rows(plan: Plan) -> list[PlanRow]:
    rows: list[PlanRow] = []
    for action in plan.actions:
        if action.needs_consent:
            name = "" if rows else WARNED
            rows += [row._replace(name="" if n else name) for n, row in enumerate(change_rows(action))]
    if not rows:
        rows.append(PlanRow("changes", "no setting of the host"))
    quiet = [f"{action.title}, removed afterwards" for action in plan.actions if not action.needs_consent]
    return rows + _rows_named_once("makes", quiet, "dim")


def change_rows(action: Action) -> list[PlanRow]:
    """An action with its exact old and new value, how it is undone, and its risk."""
    rows = [PlanRow("", action.title, "strong")]
    if action.kind == "attribute":
        old = action.old or "value read when it is changed"
        rows.append(PlanRow("", action.target, "text", 2))
        rows.append(
            PlanRow("", f"now {old}  becomes {action.new or ''}  then the old value again", "strong", 2)
        )
        rows += [PlanRow("", f"also saved and restored: {path}", "dim", 2) for path in action.side_paths]
    elif action.kind == "command":
        undo = "cannot be undone" if action.irreversible else f"undone by {' '.join(action.undo)}"
        rows.append(PlanRow("", f"runs {' '.join(action.apply)}", "text", 2))
        rows.append(PlanRow("", undo, "warning" if action.irreversible else "dim", 2))
    elif action.resource == "file":
        rows.append(PlanRow("", f"writes {action.target}, kept until it is removed", "text", 2))
    else:
        rows.append(PlanRow("", f"{action.resource} {action.target}, removed afterwards", "text", 2))
    if action.risk:
        rows.append(PlanRow("", f"risk: {action.risk}", "dim", 2))
    return rows


def written_text(item: PlannedWrite) -> str:
    share = item.endurance_share
    wear = (
        "rated endurance unknown" if share is None else f"{format_percent(share)} of its rated endurance used"
    )
    place_text = f" at {item.where}" if item.where else ""
    return f"at most {format_size(item.bytes)} in all to {item.device}{place_text}, {wear}"


def plan_lines(plan: Plan) -> list[list[tuple[str, str]]]:
    """For the command line, each of (text, role): as on the screen, with what is read and the digest that `--consent`
    takes."""
    lines = [[(plan.question or plan.title, "strong")], [("", "")]]
    rows = plan_rows(plan)
    rows += [PlanRow("reads", "; ".join(plan.reads), "dim")] if plan.reads else []
    rows += [PlanRow("plan", plan.digest, "dim")] if plan.digest else []
    for row in rows:
        if row.role == "picture" or not row.words:
            lines.append([(row.words, "")])
            continue
        name = "warning" if row.name == WARNED else "dim"
        lines.append([(f"  {row.name:<{NAME}}{' ' * row.indent}", name), (row.words, row.role)])
    return lines
