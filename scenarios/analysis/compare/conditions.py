"""Which loads of the two sides are alike: what was done under one name is compared only where it was the same."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

import msgspec

from hostdx.probes.units import join_names
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, RunSummary

UNKNOWN = "not given"
LoadKey = TypeVar("LoadKey", bound=Hashable)
MAX_SHOWN_CONDITIONS = 6  # conditions of one load, and values of one condition


class Unlike(msgspec.Struct, frozen=True, kw_only=True):
    """A load whose conditions differ; `differing`: by condition, the values of side A and of side B."""

    keys: tuple[FigureKey, ...]
    title: str
    differing: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]

    @property
    def differences_text(self) -> str:
        """`iodepth 128 / 16`."""
        parts = [
            f"{name} {join_names(a, MAX_SHOWN_CONDITIONS)} / {join_names(b, MAX_SHOWN_CONDITIONS)}"
            for name, (a, b) in self.differing.items()
        ]
        return join_names(parts, MAX_SHOWN_CONDITIONS)


def unlike_loads(a: Sequence[RunSummary], b: Sequence[RunSummary]) -> tuple[Unlike, ...]:
    """Of the loads that both sides have. What one result does not say may be anything."""
    left, right = ({key for run in side for key in run.figures} for side in (a, b))
    unlike_by_title: dict[tuple[str, str], Unlike] = {}
    for key in sorted(left & right):
        loads = [[run.loads[key] for run in side if key in run.loads] for side in (a, b)]
        names = dict.fromkeys(name for side in loads for load in side for name in load.conditions)
        differing = {}
        for name in names:
            values = [tuple(dict.fromkeys(x.conditions.get(name, UNKNOWN) for x in side)) for side in loads]
            if len({*values[0], *values[1]}) > 1:
                differing[name] = (values[0], values[1])
        if differing:
            title = loads[0][0].title
            earlier = unlike_by_title.get((title, str(differing)))
            keys = (*earlier.keys, key) if earlier else (key,)
            unlike_by_title[title, str(differing)] = Unlike(keys=keys, title=title, differing=differing)
    return tuple(unlike_by_title.values())


class InvalidLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A load of one run whose figures are never compared: the tool calls them invalid, or it worked too shortly."""

    run: str
    load: str
    reason: str


def invalid_loads(runs: Sequence[RunSummary]) -> tuple[InvalidLoad, ...]:
    return tuple(
        InvalidLoad(run=run.name, load=load, reason=reason)
        for run in runs
        for load, reason in {key.workload: reason for key, reason in run.invalid.items()}.items()
    )


def repeated_loads(runs: Sequence[RunSummary]) -> frozenset[FigureKey]:
    """Return the loads that are a repetition of another in every run, as "all CPUs" where all hosts have one."""
    loads = [(key, run.loads[key].is_repetition) for run in runs for key in run.figures]
    return frozenset(key for key, _ in loads) - {key for key, is_repetition in loads if not is_repetition}


def without_loads(runs: Sequence[RunSummary], dropped_keys: Collection[FigureKey]) -> list[RunSummary]:
    """The runs without the figures of these loads."""
    if not dropped_keys:
        return list(runs)
    return [
        msgspec.structs.replace(run, figures={k: f for k, f in run.figures.items() if k not in dropped_keys})
        for run in runs
    ]


def name_loads_by_conditions(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Loads of one name under several conditions get these into their names: none is held against another."""
    names = differing_conditions_by_load(
        (key, run.loads[key].conditions) for run in runs for key in run.figures
    )
    return [_name_loads_by_conditions(run, names) for run in runs]


def differing_conditions_by_load(
    loads: Iterable[tuple[LoadKey, dict[str, str]]],
) -> dict[LoadKey, list[str]]:
    """By load the conditions in which its results are not all the same."""
    conditions_by_load: dict[LoadKey, list[dict[str, str]]] = {}
    for load, conditions in loads:
        conditions_by_load.setdefault(load, []).append(conditions)
    return {load: _differing_conditions(each) for load, each in conditions_by_load.items()}


def _differing_conditions(loads: Sequence[dict[str, str]]) -> list[str]:
    names = dict.fromkeys(name for conditions in loads for name in conditions)
    return [name for name in names if len({conditions.get(name, UNKNOWN) for conditions in loads}) > 1]


def name_with_conditions(load: str, conditions: dict[str, str], names: Sequence[str]) -> str:
    """`random-read read (iodepth 16)`."""
    words = ", ".join(f"{name} {conditions.get(name, UNKNOWN)}" for name in names)
    return f"{load} ({words})" if words else load


def _name_loads_by_conditions(run: RunSummary, names: dict[FigureKey, list[str]]) -> RunSummary:
    keys = {
        key: msgspec.structs.replace(
            key, workload=name_with_conditions(key.workload, run.loads[key].conditions, names[key])
        )
        for key in run.figures
    }
    return msgspec.structs.replace(
        run,
        figures={keys[key]: figure for key, figure in run.figures.items()},
        loads={keys[key]: run.loads[key] for key in run.figures},
    )


OneResult = TypeVar("OneResult", bound="NamedResult")
MIN_TWIN_FIGURES = 3  # fewer can agree by chance


class NamedResult(Protocol):
    @property
    def name(self) -> str: ...


def without_repeated_runs(runs: Sequence[RunSummary]) -> tuple[list[RunSummary], tuple[tuple[str, str], ...]]:
    """Only imported results are copies."""
    return separate_repeated_results(
        runs, lambda run: [] if run.boot else [(key, figure.value) for key, figure in run.figures.items()]
    )


def separate_repeated_results(
    results: Sequence[OneResult], figures_of: Callable[[OneResult], Iterable[Hashable]]
) -> tuple[list[OneResult], tuple[tuple[str, str], ...]]:
    """Return each result once, and the names of those that hold the figures of another, each with that one's."""
    distinct: list[OneResult] = []
    twins: list[tuple[str, str]] = []
    names_by_figures: dict[frozenset[Hashable], str] = {}
    for result in results:
        figures = frozenset(figures_of(result))
        if len(figures) >= MIN_TWIN_FIGURES and figures in names_by_figures:
            twins.append((result.name, names_by_figures[figures]))
        else:
            names_by_figures[figures] = result.name
            distinct.append(result)
    return distinct, tuple(twins)
