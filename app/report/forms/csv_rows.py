"""The numbers as CSV, for a spreadsheet or a script: a row a load and comparison, a side that was compared with nothing
in a row of its own.

`MEASURED` and `COMPARED` are the columns; the manual page prints them. A column whose unit is always the same has it in
its name; loads have units of their own, so the medians' stands beside them.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import baseline_and_variant_values, is_counted, shown_variant_value
from hostdx.app.report import wording
from hostdx.app.report.figures.latency import LatencySummary, latency_summaries
from hostdx.app.terminal.printable import make_cell_printable
from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings
from hostdx.scenarios.analysis.compare.effects import effect_name, effect_size_text
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.verdict.verdict import Interval, missable_share
from hostdx.scenarios.experiment.wording import effect_size_and_interval_cells

Value: TypeAlias = str | float | bool | None
Row: TypeAlias = dict[str, Value]

_column_meanings = read_shipped_toml(__file__, "columns.toml", dict[str, dict[str, str]])
_LOAD, _EFFECT, _OF_A_SIDE = _column_meanings["load"], _column_meanings["effect"], _column_meanings["side"]
_SIDES = ("baseline", "variant")
MEASURED = {
    "recording": "its name",
    **_LOAD,
    **{
        f"{side}_value": f"the {side}'s value, in `unit`; the largest where a tool reports that"
        for side in _SIDES
    },
    **_EFFECT,
    "groups": "that the verdict rests on",
    "measured_s": "how long it was measured",
    **{f"{side}_{name}": f"{side}: {meaning}" for side in _SIDES for name, meaning in _OF_A_SIDE.items()},
    "reason": "why there is no verdict",
}
COMPARED = {
    **_LOAD,
    **{f"{side}_mean": f"mean of the {side}'s runs, in `unit`" for side in _SIDES},
    **_EFFECT,
    "at_least": "yes: the interval is at least so wide, for want of repeated runs",
    **{f"{side}_runs": f"runs of the {side}" for side in _SIDES},
}


def csv_of_recording(session: RunSession, recording: str) -> str:
    """Of one recording."""
    latencies = {(entry.workload, entry.variant): entry for entry in latency_summaries(session)}
    rows = [_verdict_row(session, v, latencies) for v in session.verdicts.values()]
    compared = {(v.workload, side) for v in session.verdicts.values() for side in (v.baseline, v.variant)}
    rows += _uncompared_rows(session, compared, latencies)
    return _render_csv(MEASURED, ({"recording": recording, **row} for row in rows))


def csv_of_comparison(comparison: ComparedRecordings) -> str:
    """Of two sides of recordings."""
    a, b = (" ".join(side.names) for side in (comparison.a, comparison.b))
    return _render_csv(
        COMPARED,
        (
            {
                **_load_columns(effect_name(e), e.metric, control=e.control),
                "baseline": a,
                "variant": b,
                "baseline_mean": e.a,
                "variant_mean": e.b,
                **_effect_columns(str(e.verdict), effect_size_text(e), e.ratio, e.ci95, e.smallest_effect),
                "at_least": e.lower_bound,
                "baseline_runs": e.runs[0],
                "variant_runs": e.runs[1],
            }
            for e in comparison.effects
        ),
    )


def _verdict_row(
    session: RunSession, v: ev.RunVerdict, latencies: Mapping[tuple[str, str], LatencySummary]
) -> Row:
    row = _load_columns(wording.workload_title(session, v.workload), session.metric_of(v), control=v.control)
    row |= _effect_columns(
        str(v.verdict), effect_size_and_interval_cells(v)[0], v.ratio, v.ci95, missable_share(v)
    )
    row |= {"groups": v.groups, "measured_s": v.seconds, "reason": v.reason}
    for side, name, value in zip(
        _SIDES, (v.baseline, v.variant), baseline_and_variant_values(session, v), strict=True
    ):
        row[side] = name
        row |= _side_columns(side, value, latencies.get((v.workload, name)))
    return row


def _uncompared_rows(
    session: RunSession, compared: set[tuple[str, str]], latencies: Mapping[tuple[str, str], LatencySummary]
) -> Iterable[Row]:
    """What was measured and compared with nothing: one directory, a battery, the results of other tools."""
    for workload, blocks in session.blocks.items():
        steady = [b for b in blocks if is_counted(b) and (workload, b.variant) not in compared]
        for variant in session.order_variants(b.variant for b in steady):
            own = [b for b in steady if b.variant == variant]
            for name in dict.fromkeys(name for b in own for name in b.values):
                metric = session.find_metric(workload, name) or Metric(name, name)
                value = shown_variant_value(session, workload, name, variant)
                yield {
                    **_load_columns(wording.workload_title(session, workload), metric, control=False),
                    "variant": variant,
                    **_side_columns("variant", value, latencies.get((workload, variant))),
                }


def _load_columns(title: str, metric: Metric, *, control: bool) -> Row:
    return {
        "load": title,
        "metric": wording.metric_title(metric.name),
        "unit": metric.unit,
        "better": metric.better,
        "control": control,
    }


def _effect_columns(
    word: str, effect: str, ratio: float | None, ci95: Interval | None, could_be_missed: float | None
) -> Row:
    low, high = ci95 or (None, None)
    values = (word, effect, ratio, low, high, could_be_missed)
    return dict(zip(_EFFECT, values, strict=True))


def _side_columns(side: str, middle: float | None, latency: LatencySummary | None) -> Row:
    row: Row = {f"{side}_value": middle}
    if latency is not None:
        times = (latency.operations, latency.p50_ns, latency.p99_ns, latency.p999_ns)
        row |= {f"{side}_{name}": value for name, value in zip(_OF_A_SIDE, times, strict=True)}
    return row


def _render_csv(columns: Mapping[str, str], rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_safe_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue()


def _safe_cell(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return make_cell_printable(value)
        case int():
            return str(value)
        case float():
            return f"{value:.7g}" if math.isfinite(value) else ""
