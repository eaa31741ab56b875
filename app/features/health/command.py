"""`hostdx health`: whether this node is fit for the next job."""

from __future__ import annotations

import sys
import time

import click

from hostdx.app.cli.options import DirectoryParameter, NumberParameter
from hostdx.app.features.health.check import Answer
from hostdx.app.features.health.forms import FORMS, NAGIOS, Form
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output import print_line, print_result
from hostdx.scenarios.contract.plan import Option

WITHIN = Option(name="within", kind="number", unit="s", help="", least=5, most=600)


class NagiosCommand(click.Command):
    """By the plug-in rules of Nagios a wrong command line is UNKNOWN (3), on stdout."""

    def make_context(self, *args: object, **extra: object) -> click.Context:
        words = [*args[1]] if len(args) > 1 and isinstance(args[1], list) else sys.argv[1:]
        try:
            return super().make_context(*args, **extra)  # type: ignore[arg-type]
        except click.UsageError as error:
            if not any("nagios" in word for word in words):
                raise
            print_line(f"HOSTDX {NAGIOS[Answer.NOT_SURE][1]} - {error.format_message()}")
            raise SystemExit(NAGIOS[Answer.NOT_SURE][0]) from None


@click.command(cls=NagiosCommand)
@click.option(
    "--within",
    type=NumberParameter(WITHIN),
    default="15s",
    metavar="TIME",
    show_default=True,
    help="Answer in this time.",
)
@click.option(
    "--class",
    "class_name",
    metavar="NAME|FILE.json",
    help="Class of the node (`fleet judge --save-class NAME`; default: this host's own baseline).",
)
@click.option(
    "--dir", "directory", type=DirectoryParameter(), help="Directory on the local disk to measure in."
)
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True)
@click.option(
    "--explain",
    is_flag=True,
    help="Print how often a check of this class drains a fit node and finds a slow one, and stop.",
)
def health(within: float, class_name: str | None, directory: str | None, form: Form, explain: bool) -> int:
    """Is this idle node fit for the next job? Changes no setting; answers in time even if a mount hangs.

    Asks the read-only rules, looks for what the last job left behind, and compares short loads (CPU, memory, local
    disk) with the node's class. Exit status: 0 fit, 1 not fit, 3 not sure; with --format nagios 0, 2, 3.
    """
    began = time.monotonic()
    from hostdx.app.features.health.check import check_node, make_failed_check
    from hostdx.app.features.health.forms import exit_status_of, format_check, format_error_rates
    from hostdx.app.features.health.node_class import MIN_RUNS, class_of_own_baseline, read_node_class
    from hostdx.app.features.health.speed import predicted_error_rates

    try:
        node_class = read_node_class(class_name) if class_name else class_of_own_baseline()
        if explain:
            if node_class is None:
                raise Failure(
                    f"health: --explain needs a class: --class NAME, or a baseline of this host with {MIN_RUNS} runs"
                )
            for line in format_error_rates(predicted_error_rates(node_class)):
                print_line(line)
            return 0
        check = check_node(began, within, node_class, directory or "")
    except Failure as why:
        if form != "nagios":
            raise
        check = make_failed_check(why)
    if text := format_check(check, form):
        print_result(text)
    return exit_status_of(check, form)
