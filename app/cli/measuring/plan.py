"""`hostdx plan SCENARIO`: what a run would do. Changes nothing."""

import os
import time
from typing import Any

import click
import msgspec

from hostdx.app.cli.look import color_option
from hostdx.app.cli.measuring.event_stream import events_option, make_stream_header
from hostdx.app.cli.measuring.several_runs import check_follows_earlier_runs
from hostdx.app.cli.root_option import live_or_captured_host
from hostdx.app.cli.scenario_command import ScenarioGroup
from hostdx.app.recordings.writer import encode_event
from hostdx.app.report.json_document import to_json_text as encoded_document
from hostdx.app.report.plan_text import plan_lines
from hostdx.app.state import journal_dir
from hostdx.app.terminal import failure
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output import print_line, print_parts, print_problem, print_raw, print_result
from hostdx.app.undo.journal_disk import journal_disk_refusal
from hostdx.app.undo.leftovers import leftover_lines
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import network_file_systems
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, RunRefused, Scenario, UsageError
from hostdx.scenarios.contract.plan import Option, Plan


def _print_plan(
    scenario: Scenario,
    options: tuple[Option, ...],
    chosen: dict[str, Json],
    *,
    as_json: bool,
    events: bool,
    root: str | None,
) -> int:
    began = time.monotonic()
    check_follows_earlier_runs("plan", scenario, chosen)  # what the run would refuse
    if events:
        print_raw(encode_event(make_stream_header(scenario.id, chosen)))
    plan, reason, status = _make_plan(scenario, live_or_captured_host(root), OptionMap(chosen, options))
    left = leftover_lines() if root is None else []
    if not events:
        for line in left:  # what such a run left is shown below as the host's own
            print_problem(line)
    if events:
        for line in left:
            print_raw(encode_event(ev.Note(t=time.monotonic() - began, text=line)))
        t = time.monotonic() - began
        if plan is not None:
            print_raw(encode_event(ev.Planned(t=t, plan=plan)))
        end: ev.Status = "done" if not status else ("skipped" if status == failure.COULD_NOT else "failed")
        print_raw(encode_event(ev.RunEnded(t=t, status=end, reason=reason or None, exit=status)))
        return status
    if as_json:
        body = msgspec.to_builtins(plan) if plan is not None else {"scenario": scenario.id, "refusal": reason}
        print_result(encoded_document({"schema": ev.SCHEMA, **body}))
    elif plan is not None and not reason:
        for parts in plan_lines(plan):
            print_parts(parts)
    elif plan is not None and plan.reads and scenario.reads_anyway:
        print_line(f"hostdx run {scenario.id} only reads here: {'; '.join(plan.reads)}")
    if reason:
        raise Failure(failure.scenario_failure_text("plan", scenario.id, reason), status)
    return status


def _make_plan(scenario: Scenario, host: Host, options: OptionMap) -> tuple[Plan | None, str, int]:
    """The plan, why not, and the exit status."""
    try:
        with host.read_static_parts_once():
            blocked = scenario.blocking_reason(host)
            if blocked and not (host.live and scenario.reads_anyway):
                return None, blocked, failure.COULD_NOT
            plan = scenario.prepare(host, options).plan.with_digest()
            why = blocked or plan.refusal or journal_disk_refusal(host, journal_dir(), plan)
        plan = msgspec.structs.replace(plan, refusal=why, shares=_network_file_systems_used(host, plan))
    except UsageError as why:
        return None, str(why), failure.USAGE
    except RunRefused as why:
        return None, str(why), failure.COULD_NOT
    return plan, plan.refusal, failure.COULD_NOT if plan.refusal else 0


def _network_file_systems_used(host: Host, plan: Plan) -> tuple[str, ...]:
    """The network file systems that it makes its directories in."""
    places = [os.path.dirname(a.target) for a in plan.actions if a.resource == "directory"]  # noqa: PTH120
    return network_file_systems(host, places)


def _plan_command_options() -> list[click.Parameter]:
    return [
        click.Option(("--json", "as_json"), is_flag=True, help="Print the plan as one JSON document."),
        events_option,
        color_option(),
        click.Option(("--root",), type=click.Path(), help="Plan for a captured tree, not this host."),
    ]


plan: Any = ScenarioGroup(
    name="plan",
    action=_print_plan,
    extra=_plan_command_options,
    help="Show what a run would do; changes and measures nothing.",
)
