"""Which loads of the two sides are alike: what was done under one name is compared only where it was the same."""

from collections.abc import Collection, Sequence

import msgspec

from hostdx.probes.units import join_names
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, RunSummary

UNKNOWN = "not given"
MAX_SHOWN_CONDITIONS = 6  # conditions of one load, and values of one condition


class Unlike(msgspec.Struct, frozen=True, kw_only=True):
    """A load whose conditions differ; `differing_conditions`: by condition, the values of side A and of side B."""

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


def without_loads(runs: Sequence[RunSummary], unlike: Sequence[Unlike]) -> list[RunSummary]:
    """The runs without the figures of these loads."""
    dropped_keys = {key for unlike_load in unlike for key in unlike_load.keys}
    if not dropped_keys:
        return list(runs)
    return [
        msgspec.structs.replace(run, figures={k: f for k, f in run.figures.items() if k not in dropped_keys})
        for run in runs
    ]


def rename_by_conditions(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Loads of one name under several conditions get these into their names: none is held against another."""
    conditions_by_key: dict[FigureKey, list[dict[str, str]]] = {}
    for run in runs:
        for key in run.figures:
            conditions_by_key.setdefault(key, []).append(run.loads[key].conditions)
    names = {key: differing_conditions(conditions) for key, conditions in conditions_by_key.items()}
    return [_rename_loads(run, names) for run in runs]


def differing_conditions(loads: Sequence[dict[str, str]]) -> list[str]:
    """The conditions in which they are not all the same."""
    names = dict.fromkeys(name for conditions in loads for name in conditions)
    return [name for name in names if len({conditions.get(name, UNKNOWN) for conditions in loads}) > 1]


def name_with_conditions(load: str, conditions: dict[str, str], names: Sequence[str]) -> str:
    """`random-read read (iodepth 16)`."""
    words = ", ".join(f"{name} {conditions.get(name, UNKNOWN)}" for name in names)
    return f"{load} ({words})" if words else load


def _rename_loads(run: RunSummary, names: dict[FigureKey, list[str]]) -> RunSummary:
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


MIN_TWIN_FIGURES = 3  # fewer can agree by chance


def without_twins(runs: Sequence[RunSummary]) -> tuple[list[RunSummary], tuple[tuple[str, str], ...]]:
    """Each result once, and which other (first) holds the same figures (second). Only imported results are copies."""
    distinct_runs: list[RunSummary] = []
    twins: list[tuple[str, str]] = []
    names_by_figures: dict[Collection[tuple[FigureKey, float]], str] = {}
    for run in runs:
        figures = frozenset((key, figure.value) for key, figure in run.figures.items())
        if not run.boot and len(figures) >= MIN_TWIN_FIGURES:
            if figures in names_by_figures:
                twins.append((run.name, names_by_figures[figures]))
                continue
            names_by_figures[figures] = run.name
        distinct_runs.append(run)
    return distinct_runs, tuple(twins)
