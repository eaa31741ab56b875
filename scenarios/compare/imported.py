"""Another tool's result as one run of a comparison: its measures, and what the file tells of its host."""

from __future__ import annotations

import math

from probes.imports.model import Measure, Result
from scenarios.compare.run_summary import Figure, FigureKey, Load, Take
from scenarios.plan import Metric


def imported(result: Result, name: str) -> Take:
    """`name` is what is shown and tells results apart: each counts as a boot of its own, nothing tells otherwise."""
    figures: dict[FigureKey, Figure] = {}
    loads: dict[FigureKey, Load] = {}
    for measure in result.measures:
        if not measure.judged or not measure.value > 0:
            continue
        key = FigureKey(measure.workload, measure.metric)
        figures[key] = _figure(measure)
        metric = Metric(measure.metric, measure.unit, measure.better, of=measure.of)
        loads[key] = Load(measure.workload, metric, conditions=measure.conditions)
    return Take(
        name=name,
        host=result.host or name,
        boot="",
        wall=result.began or "",
        scenario=result.tool,
        version=result.version or "",
        status="failed" if result.fatal else "done",
        facts={(noted.subject or "run", noted.name): noted.value for noted in result.facts},
        absent=frozenset(),
        figures=figures,
        loads=loads,
    )


def _figure(measure: Measure) -> Figure:
    """The value as the tool gives it; the spread of its repetitions, where it kept them."""
    sign = 1.0 if measure.better == "more" else -1.0
    log = sign * math.log(measure.value)
    runs = [run for run in measure.runs if run > 0 and math.isfinite(run)]
    if len(runs) < 2:
        return Figure(log, measure.value, max(1, len(runs)))
    mean = math.fsum(runs) / len(runs)
    variance = math.fsum((run / mean - 1) ** 2 for run in runs) / (len(runs) - 1) / len(runs)
    return Figure(log, measure.value, len(runs), variance, len(runs))
