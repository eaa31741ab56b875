"""What one run of the battery says by itself: the figures, how steady they were, and what to compare them with."""

import math
from collections.abc import Iterable, Sequence

from hostdx.probes.engine.battery_loads import Slot
from hostdx.probes.engine.measured import Measured
from hostdx.probes.units import count_noun, format_factor, format_percent, metric_quantity
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.experiment.statistics.stats import sample_deviation
from hostdx.scenarios.kernel.plan import TITLES
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("kernel")

UNSTEADY = 0.10  # relative standard error of a figure's mean: such a run shows no effect below a fifth


class BenchmarkFigures:
    """The rounds' values by load and slot, in order. `dropped_reasons`: what could not be measured (any more), and
    why.
    """

    def __init__(self) -> None:
        self.values: dict[tuple[str, Slot], list[float]] = {}
        self.dropped_reasons: dict[tuple[str, Slot], str] = {}
        self.rounds = 0
        self.disturbed = 0

    def add(self, measured: Iterable[tuple[str, Slot, Measured]], *, disturbed: bool) -> None:
        self.rounds += 1
        self.disturbed += disturbed
        if disturbed:
            return
        for load, slot, slice_ in measured:
            for value in slice_.values.values():
                self.values.setdefault((load, slot), []).append(value)

    def mean(self, load: str, slot: Slot) -> float | None:
        values = self.values.get((load, slot))
        return math.fsum(values) / len(values) if values else None

    def relative_mean_error(self, load: str, slot: Slot) -> float | None:
        """The standard error of the mean as a share of it."""
        values = self.values.get((load, slot), [])
        mean = self.mean(load, slot)
        if len(values) < 2 or not mean:
            return None
        return sample_deviation(values) / math.sqrt(len(values)) / mean


def build_findings(plan: Plan, figures: BenchmarkFigures) -> list[Finding]:
    return [_figures_recorded_finding(plan, figures), *_unsteady_findings(plan, figures)]


def _figures_recorded_finding(plan: Plan, figures: BenchmarkFigures) -> Finding:
    errors = sorted(e for key in figures.values if (e := figures.relative_mean_error(*key)) is not None)
    middle = (
        f" (half have a standard error below {format_percent(errors[len(errors) // 2])})" if errors else ""
    )
    return SAYS.finding(
        "recorded",  # one run alone compares nothing: no green for what is not known
        figures=len(figures.values),
        rounds=count_noun(figures.rounds, "round"),
        middle=middle,
        evidence=[Evidence(line) for line in _figure_sentences(plan, figures)],
    )


def _figure_sentences(plan: Plan, figures: BenchmarkFigures) -> Iterable[str]:
    """`system call: 4.47 M calls/s on one CPU, 8.4 M calls/s on all (1.9 ×)`."""
    for workload in plan.workloads:
        unit = workload.metrics[0].unit
        single_mean, all_ = (figures.mean(workload.id, slot) for slot in ("one", "all"))
        if single_mean is None:
            continue
        line = f"{workload.title}: {_format_value(single_mean, unit)} on one CPU"
        if all_ is not None:
            line += f", {_format_value(all_, unit)} on all ({format_factor(all_ / single_mean)})"
        yield line


def _format_value(value: float, unit: str) -> str:
    return str(metric_quantity(value, unit))


def _unsteady_findings(plan: Plan, figures: BenchmarkFigures) -> list[Finding]:
    titles = {w.id: w.title for w in plan.workloads}
    loud: Sequence[tuple[str, Slot, float]] = sorted(
        (
            (*key, error)
            for key in figures.values
            if (error := figures.relative_mean_error(*key)) is not None and error > UNSTEADY
        ),
        key=lambda entry: -entry[2],
    )
    if not loud:
        return []
    return [
        SAYS.finding(
            "unsteady",
            loud=len(loud),
            figures=len(figures.values),
            limit=UNSTEADY,
            evidence=[
                SAYS.evidence("unsteady", load=titles[load], slot=TITLES[slot], error=error)
                for load, slot, error in loud
            ],
        )
    ]
