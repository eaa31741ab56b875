"""One recording summed up for a comparison: its host's facts, and one figure a load with the run's own spread.

A pure function of the events, read once and forgotten: a thousand recordings are compared in the memory of a few.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.cpu_model import is_emulated_cpu
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.card import card_of
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric, Plan, Variant, Workload
from hostdx.scenarios.contract.ranges import Number, Value
from hostdx.scenarios.contract.surroundings import lasting_cpu_share
from hostdx.scenarios.experiment.schedule.recorded_trains import blocks_in_batch

# The run's own spread is taken from at most so many stretches of it, one after the other: neighbouring blocks are
# alike (lag-1 correlation 0.58 measured for half-second blocks), stretches of several blocks much less.
STRETCHES = 8
MAX_FACTS = 25_000  # a host has some thousand
MAX_FINDINGS = 2_000  # different ones: there are some hundred rules

FactKey: TypeAlias = tuple[str, str]  # subject, name


class FigureKey(msgspec.Struct, frozen=True, order=True):
    """What makes two figures the same load. `variant` is empty where a recording has one only."""

    workload: str
    metric: str
    variant: str = ""


_key = lru_cache(4096)(FigureKey)  # of a thousand recordings the same few


class LoadFigure(msgspec.Struct, frozen=True):
    """A load's mean over one run. `log_mean` is turned so that more is better; `value` keeps the natural unit.

    `variance` is that of `log_mean`, from `stretches` parts of the run; None where the run has one value only.
    """

    log_mean: float
    value: float
    blocks: int
    variance: float | None = None
    stretches: int = 0


class PlannedLoad(msgspec.Struct, frozen=True):
    """What is known of a load from the plan that declared it. `variant_label`: in words, of a
    benchmark set, whose variants are parts of the load; the two that a run compares keep their ids. `is_repetition`: an
    earlier variant of the set is the same, as "all CPUs" where there is one.
    """

    title: str
    metric: Metric
    control: bool = False
    conditions: dict[str, str] = {}
    variant_label: str = ""
    is_repetition: bool = False


def name_with_variant(title: str, key: FigureKey, variant_label: str) -> str:
    """`system call, all CPUs`; without words for the variant `stream (A)`."""
    if variant_label:
        return f"{title}, {variant_label}"
    return f"{title} ({key.variant})" if key.variant else title


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `boot` tells boots apart (host and boot id), empty where nobody knows; `wall` is UTC, ISO 8601."""

    name: str
    host: str
    boot: str
    wall: str
    scenario: str
    version: str
    status: ev.Status | Literal["unfinished"]
    reason: str = ""  # why it did not end as it should
    facts: dict[FactKey, Json]
    absent: frozenset[FactKey]  # could not be read
    figures: dict[FigureKey, LoadFigure]
    loads: dict[FigureKey, PlannedLoad]
    disturbed: int = 0  # groups that were disturbed, and are not in the figures
    groups: int = 0
    left_out: int = 0  # lines with a number out of its range, and facts beyond MOST_FACTS
    invalid: dict[FigureKey, str] = {}  # figures that are never compared, and why
    findings: tuple[str, ...] = ()  # ids
    looked: bool = False  # the rules were asked
    others_cpu: float = 0.0  # share of all CPUs that other programs used all the time

    @property
    def was_in_guest(self) -> bool:
        """Measured in a virtual machine."""
        return self.facts.get(("virtualisation", "hypervisor")) not in (None, "none")

    @property
    def on_emulated_cpu(self) -> bool:
        return is_emulated_cpu(str(self.facts.get(("cpu", "model"), "")))


class BlockValues(ev.RunEvent, frozen=True, tag="block"):
    """A block without what a comparison does not look at: reading a thousand recordings takes half as long so."""

    workload: str
    variant: str
    group: Number
    values: dict[str, Value]
    phase: ev.Phase = "steady"


class GroupSummary(ev.RunEvent, frozen=True, tag="group"):
    workload: str
    index: Number
    disturbed: tuple[Disturbance, ...] = ()


class _FindingId(msgspec.Struct, frozen=True):
    id: str


class FoundId(ev.RunEvent, frozen=True, tag="finding"):
    finding: _FindingId


def _event_tag(kind: type[ev.RunEvent]) -> str:
    return str(kind.__struct_config__.tag)


_KINDS = (
    ev.Began,
    ev.Planned,
    ev.FactRead,
    ev.AbsentFact,
    ev.Checked,
    BlockValues,
    ev.SliceBatch,
    GroupSummary,
    FoundId,
    ev.LeftOutLine,
    ev.Watched,
    ev.RunEnded,
)
_BY_TAG = {_event_tag(kind): kind for kind in _KINDS}
# Of every event what is looked at here: of many kinds nothing but their time.
READ = tuple(
    _BY_TAG.get(tag := _event_tag(kind))
    or msgspec.defstruct(kind.__name__, (), bases=(ev.RunEvent,), frozen=True, tag=tag)
    for kind in ev.Common.__args__
)


class _SteadyBlocks:
    """The steady blocks of one workload and variant: (group, values by metric), in the order measured."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.values: dict[str, list[float]] = {}

    def add(self, block: ev.Block | BlockValues) -> None:
        self.groups.append(block.group)
        for metric, value in block.values.items():
            self.values.setdefault(metric, []).append(value)


def summarise_run(
    events: Iterable[ev.AnyEvent | BlockValues | GroupSummary | FoundId], name: str, *, spread: bool = True
) -> RunSummary:
    """Sums up one recording. `name` is the file's; `spread`: with each figure's own. Raises
    ValueError where the first event is not `run`.
    """
    began: ev.Began | None = None
    ended: ev.RunEnded | None = None
    plan: Plan | None = None
    facts: dict[FactKey, Json] = {}
    absent: set[FactKey] = set()
    blocks: defaultdict[tuple[str, str], _SteadyBlocks] = defaultdict(_SteadyBlocks)
    disturbed: set[tuple[str, int]] = set()
    groups: set[tuple[str, int]] = set()
    left_out = 0
    watched: list[ev.Watched] = []
    findings: dict[str, None] = {}
    looked = False
    for event in events:
        match event:  # the many first
            case BlockValues() | ev.Block():
                if event.phase == "steady":
                    blocks[event.workload, event.variant].add(event)
            case ev.FactRead() | ev.AbsentFact() if len(facts) + len(absent) >= MAX_FACTS:
                left_out += 1
            case ev.FactRead():
                facts[event.subject, event.name] = event.value
            case GroupSummary() | ev.Group():
                groups.add((event.workload, event.index))
                if event.disturbed:
                    disturbed.add((event.workload, event.index))
            case ev.SliceBatch(phase="steady"):
                for block in blocks_in_batch(event):
                    blocks[event.workload, block.variant].add(block)
                    groups.add((event.workload, block.group))
                    if event.disturbed:
                        disturbed.add((event.workload, block.group))
            case ev.Watched():
                watched.append(event)
            case ev.AbsentFact():
                absent.add((event.subject, event.name))
            case ev.Checked():
                looked = True
            case FoundId() | ev.Found() if len(findings) < MAX_FINDINGS:
                findings[event.finding.id] = None
            case ev.Began():
                began = event
            case ev.Planned():
                plan = event.plan
            case ev.LeftOutLine():
                left_out += 1
            case ev.RunEnded():
                ended = event
    if began is None:
        raise ValueError(f"{name}: does not begin with a run event")
    facts |= _run_facts(began, plan)
    is_battery = began is not None and card_of(began.scenario).role == "battery"
    parts = {v.id: v for v in plan.variants} if plan is not None and is_battery else {}
    figures, loads = _figures_and_loads(blocks, plan, parts, disturbed, spread=spread)
    return RunSummary(
        name=name,
        host=began.host,
        boot=f"{began.host}/{began.boot_id}" if began.boot_id else "",
        wall=began.wall,
        scenario=began.scenario,
        version=began.version,
        status=ended.status if ended is not None else "unfinished",
        reason=(ended.reason or "") if ended is not None else "",
        facts=facts,
        absent=frozenset(absent),
        figures=figures,
        loads=loads,
        disturbed=len(disturbed),
        groups=len(groups),
        left_out=left_out,
        invalid={
            FigureKey(w.id, m.name): m.invalid
            for w in (plan.workloads if plan is not None else ())
            for m in w.metrics
            if m.invalid
        },
        findings=tuple(findings),
        looked=looked,
        others_cpu=lasting_cpu_share(watched),
    )


def _run_facts(began: ev.Began, plan: Plan | None) -> dict[FactKey, Json]:
    """Return how it was measured and on what belongs to the fingerprint as well."""
    facts: dict[FactKey, Json] = {("run", "version"): began.version, ("run", "host"): began.host}
    if plan is None:
        return facts
    facts |= {(f"variant:{v.id}", name): value for v in plan.variants for name, value in v.facts.items()}
    return facts | {("option", name): value for name, value in plan.options.items() if value is not None}


def _figures_and_loads(
    blocks: dict[tuple[str, str], _SteadyBlocks],
    plan: Plan | None,
    parts: dict[str, Variant],
    disturbed: set[tuple[str, int]],
    *,
    spread: bool,
) -> tuple[dict[FigureKey, LoadFigure], dict[FigureKey, PlannedLoad]]:
    workloads = {w.id: w for w in plan.workloads} if plan is not None else {}
    variants = Counter(workload for workload, _ in blocks)
    first_of = {part.detail: part.id for part in reversed(parts.values())}
    repetitions = {part.id for part in parts.values() if part.detail and first_of[part.detail] != part.id}
    figures: dict[FigureKey, LoadFigure] = {}
    loads: dict[FigureKey, PlannedLoad] = {}
    for (workload, variant), measured in blocks.items():
        indices: Sequence[int] = range(len(measured.groups))
        if disturbed:
            indices = [n for n in indices if (workload, measured.groups[n]) not in disturbed]
        for metric in _judged_metrics(workloads.get(workload)):
            values = measured.values.get(metric.name, [])
            if len(values) != len(measured.groups):
                continue
            key = _key(workload, metric.name, variant if variants[workload] > 1 else "")
            figure = _load_figure(
                values if len(indices) == len(values) else [values[n] for n in indices],
                metric,
                with_variance=spread,
            )
            if figure is not None:
                figures[key] = figure
                planned = workloads[workload]
                loads[key] = PlannedLoad(
                    planned.title,
                    metric,
                    planned.control,
                    planned.conditions,
                    parts[key.variant].label if key.variant in parts else "",
                    key.variant in repetitions,
                )
    return figures, loads


def _judged_metrics(workload: Workload | None) -> tuple[Metric, ...]:
    return tuple(m for m in workload.metrics if m.judged) if workload is not None else ()


def _load_figure(values: list[float], metric: Metric, *, with_variance: bool) -> LoadFigure | None:
    """None without values, or where the run as a whole gave nothing: a stand-still has no ratio."""
    total = math.fsum(values)
    if not values or not total > 0 or not math.isfinite(total):
        return None
    sign = metric.sign
    mean, figure = total / len(values), metric.combine_blocks(values)
    if not figure > 0:
        return None
    parts = min(STRETCHES, len(values)) if with_variance else 0
    means = []
    for part in range(parts):
        stretch = values[part * len(values) // parts : (part + 1) * len(values) // parts]
        means.append(math.fsum(stretch) / len(stretch))
    variance = None
    if parts > 1:
        # of the mean, relative to it: the logarithm's, to first order, and defined where a stretch stood still
        variance = math.fsum((m / mean - 1) ** 2 for m in means) / (parts - 1) / parts
    return LoadFigure(sign * math.log(figure), figure, len(values), variance, parts if parts > 1 else 0)
