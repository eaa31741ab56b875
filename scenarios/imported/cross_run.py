"""What several results say together: the box's odd runs, trends and steps, as findings and series."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes import units
from probes.units import listed
from scenarios import events as ev
from scenarios.experiment.trend import LEAST_ROUNDS
from scenarios.finding import Evidence, Finding, Remedy, Severity
from scenarios.imported.box import position
from scenarios.imported.findings import said
from scenarios.imported.results import Box, Corner, History, Odd, Placed
from scenarios.imported.snapshot import Snapshot

_NUMBERED = re.compile(r"(.{0,80}?)run (\d{1,6})")
_SCATTER = 2.0  # largest over smallest of a series without slope or step
_BELOW_HARD, _NEAR_HARD, _NEAR_EASY = 0.0, 1 / 3, 2 / 3


def title_of(name: str) -> str:
    """A workload as a person calls it: `IOR easy`, `mdtest hard write`."""
    head, _, rest = name.partition("-")
    return " ".join((head.upper() if head == "ior" else head, rest.replace("-", " "))).strip()


def box_findings(box: Box) -> list[Finding]:
    below = [o for o in box.odd if o.kind == "easy below hard"]
    elsewhere = [o for o in box.odd if o.kind == "elsewhere"]
    found = [_below(box, name, [o for o in below if o.workload == name]) for name in _names(below)]
    found += [
        _elsewhere(box, name, [o for o in elsewhere if o.workload == name]) for name in _names(elsewhere)
    ]
    return [*found, *(_placed(box, p) for p in box.placed)]


def _names(odd: Sequence[Odd]) -> list[str]:
    return list(dict.fromkeys(o.workload for o in odd))


def _below(box: Box, name: str, odd: Sequence[Odd]) -> Finding:
    """No vote is taken: the hard pattern of the same run is the witness."""
    hard = name.replace("easy", "hard")
    count = f"{len(odd)} of {len(box.runs)} runs" if len(box.runs) > 1 else "the run"
    severity: Severity = "warning" if name.startswith("ior") else "notice"
    return Finding(
        id=f"io500.box-{name}", severity=severity, subject=box.title or "box",
        title=f"{title_of(name)} lies below {title_of(hard)} in {count}: {_runs([o.run for o in odd])}",
        evidence=tuple(
            Evidence(f"{o.run}: {title_of(name)} {said(o.value, o.unit)}, {title_of(hard)} {said(o.other, o.unit)}")
            for o in odd[:40]
        ),
        remedy=(
            Remedy(
                title="The easy pattern must be the faster one: look at the nodes and storage targets of these runs "
                "(slow disks, a degraded array, a node on a slower link) and repeat them on other nodes"
            ),
        ),
    )  # fmt: skip


def _runs(names: Sequence[str]) -> str:
    """`runs 2, 3, 5 to 10`: neighbours joined, a common beginning said once; other names as they are."""
    found = [_NUMBERED.fullmatch(name) for name in names]
    heads = {m[1] for m in found if m is not None}
    if None in found or len(heads) != 1:
        return listed(names, 20)
    numbers = [int(m[2]) for m in found if m is not None]
    parts: list[str] = []
    start = last = numbers[0]
    for number in [*numbers[1:], -1]:
        if number == last + 1:
            last = number
            continue
        joined = f"{start} to {last}" if last > start + 1 else f"{start}, {last}"
        parts.append(str(start) if start == last else joined)
        start = last = number
    return f"{heads.pop()}run{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def _elsewhere(box: Box, name: str, odd: Sequence[Odd]) -> Finding:
    worst = min(odd, key=lambda o: o.value)
    slow = worst.value < worst.other
    return Finding(
        id=f"io500.odd-{name}", severity="warning" if slow else "notice", subject=box.title or "box",
        title=f"{title_of(name)} of {_runs([o.run for o in odd])} lies far {'below' if slow else 'above'} the "
        "other runs",
        evidence=tuple(
            Evidence(f"{o.run}: {said(o.value, o.unit)}, median of the others {said(o.other, o.unit)}") for o in odd
        ),
    )  # fmt: skip


def _placed(box: Box, point: Placed) -> Finding:
    hard, easy, meta_hard, meta_easy = box.corners
    parts, advice = [], []
    if point.bandwidth is not None:
        words, todo = _axis(point.bandwidth, hard, easy)
        parts.append(f"bandwidth {said(point.bandwidth, 'B/s')} {words}")
        advice += [todo] if todo else []
    if point.metadata is not None:
        words, todo = _axis(point.metadata, meta_hard, meta_easy)
        parts.append(f"metadata {said(point.metadata, 'IOPS')} {words}")
        advice += [todo] if todo else []
    where = f" ({point.direction})" if point.direction else ""
    return Finding(
        id="io500.placed", severity="notice" if advice else "ok", subject=f"{point.name}{where}",
        title=f"{point.name}{where} in the box: {'; '.join(parts)}",
        remedy=tuple(Remedy(title=text) for text in dict.fromkeys(advice)),
    )  # fmt: skip


def _axis(value: float, hard: Corner, easy: Corner) -> tuple[str, str]:
    """Where it lies between hard and easy, and which way tuning should go."""
    place = position(value, hard, easy)
    bandwidth = hard.unit == "B/s"
    if place is None:
        return "cannot be placed: the box has no extent", ""
    if place < _BELOW_HARD:
        text = f"lies below {title_of(hard.workload)} ({said(hard.median, hard.unit)})"
        todo = (
            "Slower than small unaligned writes to one shared file: look for single-process I/O, synchronous writes, "
            "locking or too few clients first"
            if bandwidth
            else "Slower than mdtest hard: look for many processes in one shared directory and for small files"
        )
        return text, todo
    if place > 1:
        return (
            f"lies above {title_of(easy.workload)} ({said(easy.median, easy.unit)}): served by a cache, or "
            "run on more nodes",
            "",
        )
    text = (
        f"lies {units.percent(place)} of the way from {title_of(hard.workload)} to {title_of(easy.workload)}"
    )
    if place >= _NEAR_EASY:
        return text, ""
    todo = (
        "Towards easy: larger transfers (1 MiB and more), aligned to the stripe, sequential, a file for each process "
        "or collective buffering"
        if bandwidth
        else "Towards easy: a directory for each process, fewer and larger files, no shared-directory creates"
    )
    return text, todo if place < _NEAR_HARD or bandwidth else ""


def series(found: Sequence[History]) -> list[ev.SeriesVerdict]:
    return [
        ev.SeriesVerdict(
            t=0.0, workload=h.workload, rounds=len(h.values), verdict=h.verdict, slope_per_round=h.slope,
            ci95=h.ci95, p=h.p, reason=h.reason, explain="", smallest_effect=h.smallest_effect,
        )
        for h in _leading(found)
    ]  # fmt: skip


def _leading(found: Sequence[History]) -> list[History]:
    """One value a workload: its first."""
    first: dict[str, History] = {}
    for h in found:
        first.setdefault(h.workload, h)
    return list(first.values())


def history_findings(found: Sequence[History], order: Sequence[Snapshot]) -> list[Finding]:
    leading = _leading(found)
    made = [_step(h, order) for h in leading if h.steps]
    made += [_scatter(h) for h in leading if _scatters(h)]
    if len(leading) > 1 or made:
        made.append(_overview(leading, len(order)))
    return made


def _step(h: History, order: Sequence[Snapshot]) -> Finding:
    loss = any(s.ratio < 1 for s in h.steps)
    words = [
        f"{units.effect(s.ratio)} after {order[s.before].name}"
        + (f" ({order[s.before].began})" if order[s.before].began else "")
        for s in h.steps
    ]
    return Finding(
        id="trend.step", severity="warning" if loss else "notice", subject=h.workload,
        title=f"{h.workload} changed its level: {'; '.join(words)}",
        evidence=(Evidence(", ".join(said(v, h.unit) for v in h.values[:40])),),
    )  # fmt: skip


def _scatters(h: History) -> bool:
    undecided = h.undecided and not h.steps and len(h.values) >= LEAST_ROUNDS
    return undecided and max(h.values) >= _SCATTER * min(h.values)


def _scatter(h: History) -> Finding:
    """Neither a slope nor a step explains it: said, so that "undecided" is not taken for "fine"."""
    factor = units.times(max(h.values) / min(h.values))
    return Finding(
        id="trend.scatter", severity="warning", subject=h.workload,
        title=f"{h.workload} scatters from result to result over a factor of {factor[:-2]}: no slope can be "
        "estimated",
        evidence=(Evidence(", ".join(said(v, h.unit) for v in h.values[:40])),),
    )  # fmt: skip


def _overview(leading: Sequence[History], results: int) -> Finding:
    worse = [h for h in leading if h.degrades]
    better = [h for h in leading if not h.degrades and (h.faster or h.steps)]
    same = [h for h in leading if not h.steps and h.equal]
    rest = len(leading) - len(worse) - len(better) - len(same)
    parts = [f"{len(worse)} of {len(leading)} workloads degrade over {results} results"]
    parts += [f"{len(better)} gained"] if better else []
    parts += [f"{len(same)} did not change"] if same else []
    parts += [f"{rest} undecided"] if rest else []
    severity: Severity = "warning" if worse else "notice" if rest == len(leading) else "ok"
    return Finding(
        id="trend.overview", severity=severity, title=", ".join(parts), subject="trend",
        evidence=tuple(Evidence(h.workload) for h in worse),
    )  # fmt: skip
