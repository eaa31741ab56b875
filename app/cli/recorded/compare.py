"""`hostdx compare A… -- B…`: what differs between two sides of recordings, and how sure that is."""

from collections.abc import Sequence

import click
import msgspec

from app.cli.look import with_colour
from app.cli.options import form_option, margin_option, output_option
from app.failure import USAGE, Failure
from app.output_file import deliver
from app.report.json_document import encoded
from scenarios import events as ev
from scenarios.compare.comparison import ComparedRecordings


class TwoSides(click.Command):
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


@with_colour
@click.command(cls=TwoSides, short_help="Two sides of recordings, compared.")
@click.argument("recordings", nargs=-1, metavar="A... -- B...")
@click.option(
    "--against", metavar="NAME", help="The baseline of this name is side A; all recordings are side B."
)
@margin_option("effect")
@click.option(
    "--odd",
    is_flag=True,
    help="All recordings are one pile: which of five and more lie apart, in which load.",
)
@click.option("--anyway", is_flag=True, help="Compare loads that were not the same as well.")
@form_option(
    "md", "html", "json", "csv", help="csv: the numbers, a row a load; `hostdx man` says the columns."
)
@output_option
@click.pass_context
def compare(
    ctx: click.Context,
    recordings: tuple[str, ...],
    against: str | None,
    margin: float,
    odd: bool,
    anyway: bool,
    form: str,
    output: str | None,
) -> int:
    """What differs between two sides of recordings. Each side: paths, names, `last`, `demo:NAME`, or directories.

    Two recordings need no `--`. Side A is the baseline: before the change, the old node, the old kernel.
    """
    if odd:
        return _odd([*recordings, *ctx.meta["hostdx.b"]], against, anyway, form, output)
    a, b = _sides(recordings, tuple(ctx.meta["hostdx.b"]), against)
    found = _compared(a, b, margin, anyway)
    if form == "json":
        document = {"schema": ev.SCHEMA, **msgspec.to_builtins(found)}
        deliver("compare", output, encoded(document) + "\n")
    elif form == "csv":
        from app.report.forms import csv_rows

        deliver("compare", output, csv_rows.compared(found))
    else:
        from app.report.forms.delivery import deliver_document
        from app.report.results.comparison import comparison

        deliver_document("compare", output, comparison(found), form)
    if not (form == "document" or found.effects or found.scores):
        raise Failure(f"compare: nothing compared: {_why_not(found)}")
    return 0


def _odd(recordings: Sequence[str], against: str | None, anyway: bool, form: str, output: str | None) -> int:
    """`against`: the pile has those of the baseline as well."""
    from app.recording.baselines import recordings as kept
    from app.recording.sides import paths, takes
    from scenarios.compare.conditions import by_conditions, distinct
    from scenarios.compare.odd import LEAST_RUNS, member, odd_runs

    if form == "csv":
        raise Failure("compare: --format csv is of two sides; --odd has md, html and json", USAGE)
    runs, twins = distinct(takes(paths([*map(str, kept(against) if against else ()), *recordings])))
    if len(runs) < LEAST_RUNS:
        raise Failure(
            f"compare: --odd needs {LEAST_RUNS} different results and more; there are {len(runs)}", USAGE
        )
    found = odd_runs([member(run) for run in (runs if anyway else by_conditions(runs))])
    if form == "json":
        deliver(
            "compare",
            output,
            encoded({"schema": ev.SCHEMA, "twins": twins, **msgspec.to_builtins(found)}) + "\n",
        )
    else:
        from app.report.forms.delivery import deliver_document
        from app.report.results.odd_runs import odd_document

        deliver_document("compare", output, odd_document(found, twins), form)
    if not found.loads:
        raise Failure(
            f"compare: no load that {LEAST_RUNS} of them have under the same conditions; --anyway takes all"
        )
    return 0


def _sides(
    first: tuple[str, ...], second: tuple[str, ...], against: str | None
) -> tuple[Sequence[str], Sequence[str]]:
    if against is not None:
        from app.recording.baselines import recordings as kept

        if second:
            raise Failure(
                "compare: --against names side A; give the recordings of side B without `--`", USAGE
            )
        return [str(path) for path in kept(against)], first or ("last",)
    if not second and len(first) == 2:
        return first[:1], first[1:]
    if not first or not second:
        raise Failure(
            "compare: two sides are needed: `hostdx compare OLD… -- NEW…`; `hostdx recordings` lists yours",
            USAGE,
        )
    return first, second


def _why_not(found: ComparedRecordings) -> str:
    if found.invalid and not found.unlike:
        return f"{found.invalid[0].load} in {found.invalid[0].run} is invalid: {found.invalid[0].reason}"
    if not found.unlike:
        return "no load in common; `hostdx recordings` says what each measured"
    first = found.unlike[0]
    return f"{first.title} is not comparable: {first.said}; --anyway compares all the same"


def _compared(a: Sequence[str], b: Sequence[str], margin: float, anyway: bool) -> ComparedRecordings:
    from app.recording.sides import paths, takes
    from scenarios.compare.comparison import compared

    left, right = paths(a), paths(b)
    if both := set(left) & set(right):
        raise Failure(f"compare: {sorted(both)[0]} stands on both sides", USAGE)
    return compared(takes(left, right), takes(right, left), margin=margin, anyway=anyway)
