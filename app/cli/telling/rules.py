"""`hostdx rules`: every read-only rule, and what one of them looks at, when it speaks and why."""

import inspect

import click

from hostdx.app.cli.look import add_color_option
from hostdx.app.report import json_document
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output import print_parts, print_problem, print_result
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.rule import HostRule

MAX_ROWS = 50  # looked through for names of columns


@add_color_option
@click.command()
@click.option(
    "--explain", metavar="ID", help="What this rule reads, when it finds something, why, and what to do."
)
@click.option(
    "--tables",
    is_flag=True,
    help="The tables that your own rules can use, with their columns on this host.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def rules(explain: str | None, tables: bool, as_json: bool) -> int:
    """The read-only rules that triage asks. Your own go to /etc/hostdx/knowledge.d/*.toml."""
    from hostdx.scenarios.triage.rules.known import load_written_rules
    from hostdx.scenarios.triage.triage import all_rules

    rules_by_id = {rule.id: rule for rule in all_rules()}
    for problem in load_written_rules().problems:
        print_problem(f"a rule was left out: {problem}")
    if tables:
        from hostdx.scenarios.triage.rules.known import TABLES

        host = Host()
        for name, table in TABLES.items():
            print_parts([(f"{name:<12}", "strong"), (f" {_first_line(table.__doc__)}", "")])
            rows = table(host)
            if isinstance(rows, Absent):
                print_parts([(f"{'':<12} not on this host: {rows.reason}", "unknown")])
            else:
                columns = sorted({column for row in rows[:MAX_ROWS] for column in row})
                print_parts([(f"{'':<12} {', '.join(columns) or 'no row on this host'}", "dim")])
        return 0
    if explain is not None:
        near = [rule_id for rule_id in rules_by_id if rule_id.startswith(explain)]
        if explain not in rules_by_id and len(near) != 1:
            raise Failure(f"--explain {explain}: no such rule; `hostdx rules` lists them", USAGE)
        rule = rules_by_id.get(explain) or rules_by_id[near[0]]
        print_parts([(rule.id, "strong"), (f": {rule.title}", "")])
        for line in _rule_detail(rule):
            print_parts([(line, "")])
        return 0
    if as_json:
        listed = [
            {"id": r.id, "title": r.title, "detail": list(_rule_detail(r))} for r in rules_by_id.values()
        ]
        print_result(
            json_document.to_json_text(
                {"schema": "hostdx/1", "rules": listed, "problems": list(load_written_rules().problems)}
            )
        )
        return 0
    width = max(map(len, rules_by_id), default=0)
    for rule in rules_by_id.values():
        print_parts([(f"{rule.id:<{width}}", "strong"), (f"  {rule.title}", "")])
    return 0


def _rule_detail(rule: HostRule) -> tuple[str, ...]:
    """Of a rule that is code: what it says of itself."""
    if rule.detail:
        return rule.detail
    return tuple(line for line in (inspect.getdoc(rule.check) or "").splitlines() if line)


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0] if text else ""
