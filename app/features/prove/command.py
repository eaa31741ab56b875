"""`hostdx prove FINDING`: a finding's remedy against today's values, as a run of the scenario `prove`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from contextlib import closing

import click

from hostdx.app.features.prove.sources import (
    SettingsChoice,
    find_worst_finding,
    settings_of_finding,
    settings_of_findings,
    settings_of_profile,
)
from hostdx.app.terminal.failure import COULD_NOT, USAGE, Failure
from hostdx.app.terminal.output import print_note
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import UsageError
from hostdx.scenarios.prove.kinds import MAY_LOSE

LOADS = ("--load", "--cmd", "--pid", "--cgroup")
SHOWN = 12  # of the settings that are left out


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.argument("finding", required=False)
@click.option("--all", "all_findings", is_flag=True, help="Try the settings of all findings' remedies.")
@click.option("--profile", default="", metavar="NAME", help="Try the settings of a tuned profile.")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be done, and do nothing.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def prove(
    finding: str | None, *, all_findings: bool, profile: str, only_plan: bool, options: tuple[str, ...]
) -> int:
    """Try a finding's remedy on this host before you believe it.

    FINDING is an id of `hostdx triage`, such as memory.swappiness. OPTIONS are those of `hostdx run prove`: a load
    (--load, --cmd, --pid or --cgroup), --budget, --yes.
    """
    if finding is not None and finding.startswith("-"):
        options = (finding, *options)
        finding = None
    if sum((finding is not None, all_findings, bool(profile))) != 1:
        raise Failure("prove: name one finding of `hostdx triage`, or --all, or --profile NAME", USAGE)
    with closing(Host()) as host:
        try:
            choice = _choose_settings(host, finding, profile, f"--{MAY_LOSE}" in options)
        except UsageError as why:
            raise Failure(f"prove: {why}", USAGE) from None
    for line in choice.left_out[:SHOWN]:
        print_note(f"left out: {line}")
    if len(choice.left_out) > SHOWN:
        print_note(f"left out: {len(choice.left_out) - SHOWN} more")
    if not choice.settings:
        raise Failure(
            "prove: no setting is left that can be switched and put back while the host runs", COULD_NOT
        )
    return _run_or_plan_prove(choice, options, "plan" if only_plan else "run")


def _choose_settings(host: Host, name: str | None, profile: str, may_lose: bool = False) -> SettingsChoice:
    if profile:
        return settings_of_profile(host, profile, may_lose=may_lose)
    from hostdx.scenarios.triage.triage import examine_live_host

    began = time.monotonic()
    _, findings = examine_live_host(lambda: time.monotonic() - began)
    if name is None:
        return settings_of_findings(host, findings, may_lose=may_lose)
    finding = find_worst_finding(findings, name)
    if finding is None:
        raise Failure(
            f"prove: {name}: triage has no such finding on this host now; `hostdx triage` lists them", USAGE
        )
    choice = settings_of_finding(host, finding, may_lose=may_lose)
    if not choice.is_applied_whole:
        raise Failure(f"prove: {name}: {_explain_other_way(finding, choice)}", COULD_NOT)
    return choice


def _explain_other_way(finding: Finding, choice: SettingsChoice) -> str:
    """Return why the remedy cannot be switched back and forth, and how else it can be proved."""
    why = (
        choice.left_out[0]
        if choice.left_out
        else "its remedy is no setting that can be switched while the host runs"
    )
    if finding.prove:
        command = shlex.join(("hostdx", "run", finding.prove, *finding.prove_options))
        return f"{why}; `{command}` measures what it is about"
    return f"{why}; measure before and after it: `hostdx baseline save before`, then `hostdx compare --against before`"


def _run_or_plan_prove(choice: SettingsChoice, options: Sequence[str], verb: str) -> int:
    """Run or plan the scenario with these settings and the user's own options."""
    from hostdx.app.cli.commands import hostdx

    words = [word for setting in choice.settings for word in ("--setting", setting)]
    if choice.finding:
        words += ["--finding", choice.finding, "--as-one"]
    if not any(option.partition("=")[0] in LOADS for option in options):
        if not choice.load:
            raise Failure(
                "prove: name the load that the settings should help: --cmd 'COMMAND', --pid N, --cgroup FOLDER or "
                "--load NAME (`hostdx explain prove`)",
                USAGE,
            )
        words += ["--load", choice.load]
    status = hostdx.main(args=[verb, "prove", *words, *options], prog_name="hostdx", standalone_mode=False)
    return status if isinstance(status, int) else 0
