"""What an import gives, whatever the tool: measures in hostdx's own units, facts, doubts, and the kind's own struct.

Units: bytes, seconds, operations a second. `detail` holds the values as the tool printed them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import msgspec

from hostdx.probes.imports.numbers import is_claim_close
from hostdx.probes.imports.sample_series import SampleSeries, SampleTimes, thin_series
from hostdx.probes.types import Json

Better: TypeAlias = Literal["more", "less"]
Of: TypeAlias = Literal["mean", "median", "max"]


class ImportRefusedError(Exception):
    """Not a result that can be imported: `why` says what is wrong with it and where, `hint` what to do next."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


MIN_REPETITIONS, MAX_REPETITIONS = 3, 1000


class ImportedMeasure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measured value. `workload` and `metric` are the same in every result of the same benchmark.

    `runs` are the repetitions the value stands for, in the value's unit, `of` which of them it is. `seconds` is how
    long it ran. `judged`: False for a value shown beside the others (a metric of the tool's own definition).
    `conditions` are what the load was, each spelled one way: results with other conditions are of another load.
    `invalid`: why the tool calls the figure invalid, or why it cannot be judged; such a figure is never compared.
    """

    workload: str
    metric: str
    value: float
    unit: str
    better: Better = "more"
    seconds: float = 0.0
    runs: tuple[float, ...] = ()
    of: Of = "mean"
    judged: bool = True
    conditions: dict[str, str] = {}
    invalid: str = ""


class SharedFields(TypedDict, total=False):
    """What several measures of one load have in common."""

    seconds: float
    runs: tuple[float, ...]
    of: Of
    conditions: dict[str, str]
    invalid: str


def make_measures(
    workload: str,
    *entries: tuple[str, float | None, str],
    better: Better = "more",
    judged: bool = True,
    **shared: Unpack[SharedFields],
) -> list[ImportedMeasure]:
    """Of (metric, value, unit) those that the file has."""
    return [
        ImportedMeasure(
            workload=workload, metric=metric, value=value, unit=unit, better=better, judged=judged, **shared
        )
        for metric, value, unit in entries
        if value is not None
    ]


def join_repetitions_or_number_runs(
    runs: Sequence[Sequence[ImportedMeasure]], run_prefix: str = "run {n}: "
) -> list[ImportedMeasure]:
    """Return the measures of several calls of a tool. `run_prefix`: what numbers them, with `{n}` in it.

    Three calls or more that measured the same loads under the same conditions are repetitions: each of their measures
    is one, whose value is the median of its `runs` (the greatest, where it is of each call). Others are numbered, also
    two alike, which may be one before and one after a change.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, run in enumerate(runs):
        keys = tuple(
            (m.workload, m.metric, m.unit, m.of, *sorted(m.conditions.items()), m.invalid) for m in run
        )
        alike.setdefault(keys, []).append(number)
    calls: list[list[int]] = []
    for numbers in alike.values():
        calls += [numbers] if len(numbers) >= MIN_REPETITIONS else [[number] for number in numbers]
    measures: list[ImportedMeasure] = []
    for numbers in sorted(calls):
        prefix = run_prefix.replace("{n}", str(numbers[0] + 1)) if len(calls) > 1 else ""
        for same in zip(*(runs[number] for number in numbers), strict=True):
            joined = _join_repetitions(same) if len(same) > 1 else same[0]
            measures.append(msgspec.structs.replace(joined, workload=prefix + joined.workload))
    return measures


def _join_repetitions(same: Sequence[ImportedMeasure]) -> ImportedMeasure:
    values = tuple(value for measure in same for value in measure.runs or (measure.value,))
    is_greatest = same[0].of == "max"
    return msgspec.structs.replace(
        same[0],
        value=max(m.value for m in same) if is_greatest else median(values),
        of="max" if is_greatest else "median",
        runs=values[:MAX_REPETITIONS],
        seconds=math.fsum(measure.seconds for measure in same),
    )


class Noted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact of the file about the host or the run. `subject` as in `disk:sda`; "" is the run as a whole."""

    name: str
    value: Json
    unit: str = ""
    subject: str = ""


def make_facts(*entries: tuple[Any, ...], subject: str = "") -> list[Noted]:
    """Of (name, value) and (name, value, unit) those that the file has."""
    there = [(name, value, unit) for name, value, *unit in entries if value is not None]
    return [Noted(name=n, value=v, unit=u[0] if u else "", subject=subject) for n, v, u in there]


def parse_uname(text: object) -> tuple[str | None, list[Noted]]:
    """The host and the kernel's release of what `uname -a` printed; neither where it is no Linux's."""
    words = str(text or "").split()
    if len(words) < 3 or words[0] != "Linux":
        return None, []
    return words[1][:120], make_facts(("release", words[2][:200]), subject="kernel")


class MissingValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that such a file usually has and this one has not."""

    name: str
    reason: str


class OmittedFields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numeric fields of the file that are not imported: what they are, how many, and why."""

    name: str
    reason: str
    fields: int = 1


class Contradiction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the file claims against what its own parts give. `id` says which rule ("io500.total-is-product").

    `rule` is the formula of the recomputation, for the reader who checks it by hand.
    """

    id: str
    subject: str
    claimed: float | str
    recomputed: float | str
    unit: str = ""
    rule: str = ""


def compare_claim(
    identifier: str, subject: str, claimed: float, recomputed: float, rule: str, relative: float,
    absolute: float = 0.0, *, unit: str = "",
) -> list[Contradiction]:  # fmt: skip
    """Empty where the claim is as close to its parts as that."""
    if is_claim_close(claimed, recomputed, relative, absolute):
        return []
    return [
        Contradiction(
            id=identifier, subject=subject, claimed=claimed, recomputed=recomputed, unit=unit, rule=rule
        )
    ]


class ImportTrouble(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that limits what the file proves: an error the tool reported, an interrupted or invalid run.

    `id` says which; `said` is the tool's own text, data of the file. `fatal`: nothing was measured.
    """

    id: str
    subject: str = ""
    said: str = ""
    fatal: bool = False


def make_troubles(*entries: tuple[str, object]) -> list[ImportTrouble]:
    """Of (id, what is said) those that hold: a count over 0, a text that is not empty, True."""
    return [ImportTrouble(id=name, said="" if said is True else str(said)) for name, said in entries if said]


class SeriesPoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value of a series in time; `at_s` counts from the series' first sample."""

    series: str
    at_s: float
    value: float
    unit: str
    subject: str = ""


def points_to_draw(
    all_series: Iterable[SampleSeries], names: Mapping[tuple[str, str], str], max_points: int
) -> Iterator[SeriesPoint]:
    """Yield those of the series that are drawn. `names`: what each is called, by subject and metric."""
    for series in all_series:
        if name := names.get((series.subject, series.metric)):
            for at_s, value in thin_series(series, max_points):
                yield SeriesPoint(series=name, at_s=at_s, value=value, unit=series.unit)


class ImportResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One imported file. `began` is as the file gives it: ISO 8601 in UTC where the zone is known, else local."""

    kind: str
    tool: str
    version: str | None = None
    host: str | None = None
    began: str | None = None
    seconds: float | None = None
    measures: tuple[ImportedMeasure, ...] = ()
    facts: tuple[Noted, ...] = ()
    missing: tuple[MissingValue, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    troubles: tuple[ImportTrouble, ...] = ()
    points: tuple[SeriesPoint, ...] = ()
    recomputed: tuple[str, ...] = ()  # what was recomputed from the parts and agrees or is contradicted
    left_out: tuple[OmittedFields, ...] = ()
    detail: msgspec.Struct | None = None
    times: SampleTimes | None = None  # where the file has samples
    series: tuple[SampleSeries, ...] = ()  # every sample, to be judged; no document has them

    @property
    def is_fatal(self) -> bool:
        return (not self.measures and not self.facts) or any(t.fatal for t in self.troubles)
