"""`hostdx compare A… -- B…`: what differs between two sides of recordings, and how sure that is."""

from collections.abc import Sequence

import click
import msgspec

from hostdx.app.cli.look import add_color_option
from hostdx.app.cli.options import format_option, margin_option, output_option
from hostdx.app.report.json_document import to_json_text
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output_file import deliver_text
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings
from hostdx.scenarios.analysis.compare.run_summary import RunSummary
from hostdx.scenarios.contract import events as ev


class TwoSidesCommand(click.Command):
    """Click drops `--`: what stands after it is side B; options may stand on either side of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["hostdx.b"] = []
        if "--" in args:
            at = args.index("--")
            after = args[at + 1 :]
            options = next(
                (n for n, word in enumerate(after) if word.startswith("-") and word != "-"), len(after)
            )
            ctx.meta["hostdx.b"] = after[:options]
            args = [*args[:at], *after[options:]]
        return super().parse_args(ctx, args)


@add_color_option
@click.command(cls=TwoSidesCommand, short_help="Two sides of recordings, compared.")
@click.argument("recordings", nargs=-1, metavar="A... -- B...")
@click.option("--against", metavar="NAME", help="The baseline of this name is A; all recordings are B.")
@margin_option("effect")
@click.option(
    "--odd",
    is_flag=True,
    help="Which of five or more recordings differs from the others, and in which load.",
)
@click.option("--anyway", is_flag=True, help="Also compare loads that were not the same.")
@format_option(
    "md", "html", "json", "csv", help="csv: the numbers, a row a load; `hostdx man` says the columns."
)
@click.option("--one-page", is_flag=True, help="Write what fits one page (md, html).")
@output_option
@click.option(
    "--fail-on", type=click.Choice(("slower",)), help="Exit with status 1 if a load of B is slower."
)
@click.pass_context
def compare(
    ctx: click.Context,
    recordings: tuple[str, ...],
    against: str | None,
    margin: float,
    odd: bool,
    anyway: bool,
    form: str,
    one_page: bool,
    output: str | None,
    fail_on: str | None,
) -> int:
    """What differs between two sides of recordings. Each side: paths, names, `last`, `demo:NAME`, or directories.

    Two recordings need no `--`. Side A is the baseline: before the change, the old node, the old kernel.
    """
    if odd and fail_on:
        raise Failure("compare: --fail-on is of two sides; --odd has none", USAGE)
    if one_page and (odd or form not in ("md", "html")):
        raise Failure("compare: --one-page is for md and html of two sides", USAGE)
    if odd:
        return _find_and_print_outliers([*recordings, *ctx.meta["hostdx.b"]], against, anyway, form, output)
    a, b = _split_sides(recordings, tuple(ctx.meta["hostdx.b"]), against)
    result = _compare_resolved(a, b, margin, anyway)
    if result.measures_nothing_alike and form in (
        "document",
        "html",
        "md",
    ):  # what differs of the hosts is no answer
        raise Failure(f"compare: {_explain_nothing_compared(result)}")
    if form == "json":
        document = {"schema": ev.SCHEMA, **msgspec.to_builtins(result)}
        deliver_text("compare", output, to_json_text(document) + "\n")
    elif form == "csv":
        from hostdx.app.report.forms import csv_rows

        deliver_text("compare", output, csv_rows.csv_of_comparison(result))
    else:
        from hostdx.app.report.delivery import deliver_document
        from hostdx.app.report.results.comparison import comparison_document, comparison_page

        deliver_document(
            "compare", output, comparison_page(result) if one_page else comparison_document(result), form
        )
    if not (form == "document" or result.effects or result.scores):
        raise Failure(f"compare: nothing compared: {_explain_nothing_compared(result)}")
    if fail_on:
        from hostdx.scenarios.analysis.compare.worse import worse_effects

        return int(bool(worse_effects(result)))
    return 0


def _find_and_print_outliers(
    recordings: Sequence[str], against: str | None, anyway: bool, form: str, output: str | None
) -> int:
    """`against`: the pile has those of the baseline as well."""
    from hostdx.app.recordings.baselines import baseline_recordings
    from hostdx.app.recordings.sides import find_recordings, read_run_summaries
    from hostdx.scenarios.analysis.compare.conditions import name_loads_by_conditions, without_repeated_runs
    from hostdx.scenarios.analysis.compare.odd import MIN_RUNS, compared_run_of, find_outliers

    if form == "csv":
        raise Failure("compare: --format csv is of two sides; --odd has md, html and json", USAGE)
    runs, twins = without_repeated_runs(
        read_run_summaries(
            find_recordings([*map(str, baseline_recordings(against) if against else ()), *recordings])
        )
    )
    if len(runs) < MIN_RUNS:
        raise Failure(
            f"compare: --odd needs {MIN_RUNS} different results and more; there are {len(runs)}", USAGE
        )
    outliers = find_outliers(
        [compared_run_of(run) for run in (runs if anyway else name_loads_by_conditions(runs))]
    )
    if form == "json":
        deliver_text(
            "compare",
            output,
            to_json_text({"schema": ev.SCHEMA, "twins": twins, **msgspec.to_builtins(outliers)}) + "\n",
        )
    else:
        from hostdx.app.report.delivery import deliver_document
        from hostdx.app.report.results.comparison import outlier_results_document

        deliver_document("compare", output, outlier_results_document(outliers, twins), form)
    if not outliers.loads:
        raise Failure(
            f"compare: no load that {MIN_RUNS} of them have under the same conditions; --anyway takes all"
        )
    return 0


def _split_sides(
    first: tuple[str, ...], second: tuple[str, ...], against: str | None
) -> tuple[Sequence[str], Sequence[str]]:
    if against is not None:
        from hostdx.app.recordings.baselines import baseline_recordings

        if second:
            raise Failure("compare: --against names A; give the recordings of B without `--`", USAGE)
        return [str(path) for path in baseline_recordings(against)], first or ("last",)
    if not second and len(first) == 2:
        return first[:1], first[1:]
    if not first or not second:
        raise Failure(
            "compare: two sides are needed: `hostdx compare OLD… -- NEW…`; `hostdx recordings` lists yours",
            USAGE,
        )
    return first, second


def _explain_nothing_compared(result: ComparedRecordings) -> str:
    if result.invalid and not result.unlike:
        return f"{result.invalid[0].load} in {result.invalid[0].run} is invalid: {result.invalid[0].reason}"
    if result.measures_nothing_alike:
        sides = (f"{', '.join(side.scenarios)} ({name})" for name, side in (("A", result.a), ("B", result.b)))
        return f"{' and '.join(sides)} have no load in common; compare two runs of one scenario"
    if not result.unlike:
        return "no load in common; `hostdx recordings` says what each measured"
    first = result.unlike[0]
    return f"{first.title} is not comparable: {first.differences_text}; --anyway compares all the same"


def _compare_resolved(a: Sequence[str], b: Sequence[str], margin: float, anyway: bool) -> ComparedRecordings:
    from hostdx.app.recordings.sides import find_recordings, read_run_summaries
    from hostdx.scenarios.analysis.compare.comparison import compare_recordings

    left, right = find_recordings(a), find_recordings(b)
    if both := set(left) & set(right):
        raise Failure(f"compare: {sorted(both)[0]} stands on both sides", USAGE)
    runs_a, runs_b = read_run_summaries(left, right), read_run_summaries(right, left)
    _refuse_unrelated_runs(runs_a, runs_b)
    return compare_recordings(runs_a, runs_b, margin=margin, anyway=anyway)


def _refuse_unrelated_runs(runs_a: Sequence[RunSummary], runs_b: Sequence[RunSummary]) -> None:
    """Of several runs on one side, each must have measured something that the other side did: one that did not would
    take every load of its side from the comparison, which then finds no difference.
    """
    for own_runs, other_runs in ((runs_a, runs_b), (runs_b, runs_a)):
        other_loads = {key.workload for run in other_runs for key in run.loads}
        strangers = [run.name for run in own_runs if not other_loads & {key.workload for key in run.loads}]
        if strangers and len(strangers) < len(own_runs):
            raise Failure(
                f"compare: {strangers[0]} has no load in common with the other side; compare without it",
                USAGE,
            )
