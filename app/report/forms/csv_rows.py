"""The numbers as CSV, for a spreadsheet or a script: a row a load and comparison, a side that was compared with nothing
in a row of its own.

`MEASURED` and `COMPARED` are the columns; the manual page prints them. A column whose unit is always the same has it in
its name; loads have units of their own, so the medians' stands beside them.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from statistics import median
from typing import TypeAlias

from app.printable import printable
from app.recording.session import Session
from app.recording.values import counts, values_beside
from app.report import wording
from app.report.figures.latency import Latency, percentiles
from probes.safe_read import own_data
from scenarios import events as ev
from scenarios.compare.comparison import ComparedRecordings
from scenarios.compare.effects import named, size
from scenarios.experiment.wording import effect_cells
from scenarios.plan import Metric
from scenarios.verdict.verdict import Interval

Value: TypeAlias = str | float | bool | None
Row: TypeAlias = dict[str, Value]

_FORMULA = tuple("=+-@＝＋－＠")  # a spreadsheet would compute what begins so
_told = own_data(__file__, "columns.toml", dict[str, dict[str, str]])
_LOAD, _EFFECT, _OF_A_SIDE = _told["load"], _told["effect"], _told["side"]
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


def measured(session: Session, recording: str) -> str:
    """Of one recording."""
    latencies = {(one.workload, one.variant): one for one in percentiles(session)}
    rows = [_verdict(session, v, latencies) for v in session.verdicts.values()]
    compared = {(v.workload, side) for v in session.verdicts.values() for side in (v.baseline, v.variant)}
    rows += _alone(session, compared, latencies)
    return _written(MEASURED, ({"recording": recording, **row} for row in rows))


def compared(found: ComparedRecordings) -> str:
    """Of two sides of recordings."""
    a, b = (" ".join(side.names) for side in (found.a, found.b))
    return _written(
        COMPARED,
        (
            {
                **_load(named(e), e.metric, control=e.control),
                "baseline": a,
                "variant": b,
                "baseline_mean": e.a,
                "variant_mean": e.b,
                **_effect(str(e.verdict), size(e), e.ratio, e.ci95, e.smallest_effect),
                "at_least": e.lower_bound,
                "baseline_runs": e.runs[0],
                "variant_runs": e.runs[1],
            }
            for e in found.effects
        ),
    )


def _verdict(session: Session, v: ev.RunVerdict, latencies: Mapping[tuple[str, str], Latency]) -> Row:
    metric = session.metric(v.workload, v.metric) or Metric(v.metric, v.metric)
    row = _load(wording.workload_title(session, v.workload), metric, control=v.control)
    row |= _effect(str(v.verdict), effect_cells(v)[0], v.ratio, v.ci95, v.smallest_effect)
    row |= {"groups": v.groups, "measured_s": v.seconds, "reason": v.reason}
    for side, name, value in zip(_SIDES, (v.baseline, v.variant), values_beside(session, v), strict=True):
        row[side] = name
        row |= _side(side, value, latencies.get((v.workload, name)))
    return row


def _alone(
    session: Session, compared: set[tuple[str, str]], latencies: Mapping[tuple[str, str], Latency]
) -> Iterable[Row]:
    """What was measured and compared with nothing: one directory, a battery, the results of other tools."""
    for workload, blocks in session.blocks.items():
        steady = [b for b in blocks if counts(b) and (workload, b.variant) not in compared]
        for variant in session.ordered(b.variant for b in steady):
            own = [b for b in steady if b.variant == variant]
            for name in dict.fromkeys(name for b in own for name in b.values):
                values = [b.values[name] for b in own if math.isfinite(b.values.get(name, math.nan))]
                metric = session.metric(workload, name) or Metric(name, name)
                middle = max if metric.of == "max" else median
                yield {
                    **_load(wording.workload_title(session, workload), metric, control=False),
                    "variant": variant,
                    **_side(
                        "variant", middle(values) if values else None, latencies.get((workload, variant))
                    ),
                }


def _load(title: str, metric: Metric, *, control: bool) -> Row:
    return {
        "load": title,
        "metric": wording.metric_title(metric.name),
        "unit": metric.unit,
        "better": metric.better,
        "control": control,
    }


def _effect(
    word: str, effect: str, ratio: float | None, ci95: Interval | None, smallest: float | None
) -> Row:
    low, high = ci95 or (None, None)
    found = (word, effect, ratio, low, high, smallest)
    return dict(zip(_EFFECT, found, strict=True))


def _side(side: str, middle: float | None, found: Latency | None) -> Row:
    row: Row = {f"{side}_value": middle}
    if found is not None:
        times = (found.operations, found.p50_ns, found.p99_ns, found.p999_ns)
        row |= {f"{side}_{name}": value for name, value in zip(_OF_A_SIDE, times, strict=True)}
    return row


def _written(columns: Mapping[str, str], rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue()


def _cell(value: Value) -> str:
    """Names come from hosts and users: none is a formula, nor more than a line."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            shown = printable(value)
            return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
        case int():
            return str(value)
        case float():
            return f"{value:.7g}" if math.isfinite(value) else ""
