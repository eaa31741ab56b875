"""Which loads of the two sides are alike: what was done under one name is compared only where it was the same."""

from collections.abc import Collection, Sequence

import msgspec

from probes.units import listed
from scenarios.compare.run_summary import FigureKey, Take

UNKNOWN = "not given"
MOST_SHOWN = 6  # conditions of one load, and values of one condition


class Unlike(msgspec.Struct, frozen=True, kw_only=True):
    """A load whose conditions differ; `differing`: by condition, the values of side A and of side B."""

    keys: tuple[FigureKey, ...]
    title: str
    differing: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]

    @property
    def said(self) -> str:
        """`iodepth 128 / 16`."""
        parts = [
            f"{name} {listed(a, MOST_SHOWN)} / {listed(b, MOST_SHOWN)}"
            for name, (a, b) in self.differing.items()
        ]
        return listed(parts, MOST_SHOWN)


def unlike_loads(a: Sequence[Take], b: Sequence[Take]) -> tuple[Unlike, ...]:
    """Of the loads that both sides have. What one result does not say may be anything."""
    left, right = ({key for run in side for key in run.figures} for side in (a, b))
    found: dict[tuple[str, str], Unlike] = {}
    for key in sorted(left & right):
        loads = [[run.loads[key] for run in side if key in run.loads] for side in (a, b)]
        names = dict.fromkeys(name for side in loads for load in side for name in load.conditions)
        differing = {}
        for name in names:
            values = [
                tuple(dict.fromkeys(load.conditions.get(name, UNKNOWN) for load in side)) for side in loads
            ]
            if len({*values[0], *values[1]}) > 1:
                differing[name] = (values[0], values[1])
        if differing:
            title = loads[0][0].title
            known = found.get((title, str(differing)))
            keys = (*known.keys, key) if known else (key,)
            found[title, str(differing)] = Unlike(keys=keys, title=title, differing=differing)
    return tuple(found.values())


class InvalidLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A load of one run whose figures are never compared: the tool calls them invalid, or it worked too shortly."""

    run: str
    load: str
    reason: str


def invalid_loads(runs: Sequence[Take]) -> tuple[InvalidLoad, ...]:
    return tuple(
        InvalidLoad(run=run.name, load=load, reason=reason)
        for run in runs
        for load, reason in {key.workload: reason for key, reason in run.invalid.items()}.items()
    )


def without(runs: Sequence[Take], unlike: Sequence[Unlike]) -> list[Take]:
    """The runs without the figures of these loads."""
    gone = {key for one in unlike for key in one.keys}
    if not gone:
        return list(runs)
    return [
        msgspec.structs.replace(run, figures={k: f for k, f in run.figures.items() if k not in gone})
        for run in runs
    ]


def by_conditions(runs: Sequence[Take]) -> list[Take]:
    """Loads of one name under several conditions get these into their names: none is held against another."""
    known: dict[FigureKey, list[dict[str, str]]] = {}
    for run in runs:
        for key in run.figures:
            known.setdefault(key, []).append(run.loads[key].conditions)
    names = {key: differing(given) for key, given in known.items()}
    return [_renamed(run, names) for run in runs]


def differing(given: Sequence[dict[str, str]]) -> list[str]:
    """The conditions in which they are not all the same."""
    names = dict.fromkeys(name for conditions in given for name in conditions)
    return [name for name in names if len({conditions.get(name, UNKNOWN) for conditions in given}) > 1]


def conditioned(load: str, conditions: dict[str, str], names: Sequence[str]) -> str:
    """`random-read read (iodepth 16)`."""
    words = ", ".join(f"{name} {conditions.get(name, UNKNOWN)}" for name in names)
    return f"{load} ({words})" if words else load


def _renamed(run: Take, names: dict[FigureKey, list[str]]) -> Take:
    keys = {
        key: msgspec.structs.replace(
            key, workload=conditioned(key.workload, run.loads[key].conditions, names[key])
        )
        for key in run.figures
    }
    return msgspec.structs.replace(
        run,
        figures={keys[key]: figure for key, figure in run.figures.items()},
        loads={keys[key]: run.loads[key] for key in run.figures},
    )


FEWEST_FIGURES = 3  # fewer can agree by chance


def distinct(runs: Sequence[Take]) -> tuple[list[Take], tuple[tuple[str, str], ...]]:
    """Each result once, and which other (first) holds the same figures (second). Only imported results are copies."""
    kept: list[Take] = []
    twins: list[tuple[str, str]] = []
    seen: dict[Collection[tuple[FigureKey, float]], str] = {}
    for run in runs:
        figures = frozenset((key, figure.value) for key, figure in run.figures.items())
        if not run.boot and len(figures) >= FEWEST_FIGURES:
            if figures in seen:
                twins.append((run.name, seen[figures]))
                continue
            seen[figures] = run.name
        kept.append(run)
    return kept, tuple(twins)
