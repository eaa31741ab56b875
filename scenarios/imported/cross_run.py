"""What several results say together: the box's odd runs, trends and steps, as findings and series."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes import units
from probes.units import listed
from scenarios import events as ev
from scenarios.experiment.trend import LEAST_ROUNDS
from scenarios.finding import Evidence, Finding
from scenarios.imported.box import position
from scenarios.imported.findings import said
from scenarios.imported.results import Box, Corner, History, Odd, Placed
from scenarios.imported.snapshot import Snapshot
from scenarios.rules.texts import texts

SAYS = texts("imported")

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
    easy, hard = title_of(name), title_of(hard)
    return SAYS.finding(
        "below",
        id=f"io500.box-{name}",
        severity="warning" if name.startswith("ior") else "notice",
        subject=box.title or "box",
        easy=easy,
        hard=hard,
        count=count,
        runs=_runs([o.run for o in odd]),
        evidence=[
            SAYS.evidence(
                "below",
                run=o.run,
                easy=easy,
                value=said(o.value, o.unit),
                hard=hard,
                other=said(o.other, o.unit),
            )
            for o in odd[:40]
        ],
    )


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
    return SAYS.finding(
        "elsewhere",
        id=f"io500.odd-{name}",
        severity="warning" if slow else "notice",
        subject=box.title or "box",
        load=title_of(name),
        runs=_runs([o.run for o in odd]),
        side="below" if slow else "above",
        evidence=[
            SAYS.evidence("elsewhere", run=o.run, value=said(o.value, o.unit), other=said(o.other, o.unit))
            for o in odd
        ],
    )


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
    return SAYS.finding(
        "placed",
        severity="notice" if advice else "ok",
        subject=f"{point.name}{where}",
        parts="; ".join(parts),
        remedy=[SAYS.remedy("advice", advice=text) for text in dict.fromkeys(advice)],
    )


def _axis(value: float, hard: Corner, easy: Corner) -> tuple[str, str]:
    """Where it lies between hard and easy, and which way tuning should go."""
    place = position(value, hard, easy)
    bandwidth = hard.unit == "B/s"
    if place is None:
        return "cannot be placed: the box has no extent", ""
    ends = {"hard": title_of(hard.workload), "easy": title_of(easy.workload)}
    if place < _BELOW_HARD:
        text = SAYS.text("below-hard", value=said(hard.median, hard.unit), **ends)
        return text, SAYS.text("slow-bandwidth" if bandwidth else "slow-metadata")
    if place > 1:
        return SAYS.text("above-easy", value=said(easy.median, easy.unit), **ends), ""
    text = SAYS.text("between", share=place, **ends)
    if place >= _NEAR_EASY:
        return text, ""
    todo = SAYS.text("towards-bandwidth" if bandwidth else "towards-metadata")
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
    return SAYS.finding(
        "step",
        severity="warning" if loss else "notice",
        subject=h.workload,
        steps="; ".join(words),
        values=_values(h),
    )


def _values(h: History) -> str:
    return ", ".join(said(v, h.unit) for v in h.values[:40])


def _scatters(h: History) -> bool:
    undecided = h.undecided and not h.steps and len(h.values) >= LEAST_ROUNDS
    return undecided and max(h.values) >= _SCATTER * min(h.values)


def _scatter(h: History) -> Finding:
    """Neither a slope nor a step explains it: said, so that "undecided" is not taken for "fine"."""
    factor = units.times(max(h.values) / min(h.values))
    return SAYS.finding("scatter", subject=h.workload, factor=factor[:-2], values=_values(h))


def _overview(leading: Sequence[History], results: int) -> Finding:
    worse = [h for h in leading if h.degrades]
    better = [h for h in leading if not h.degrades and (h.faster or h.steps)]
    same = [h for h in leading if not h.steps and h.equal]
    rest = len(leading) - len(worse) - len(better) - len(same)
    parts = [f"{len(worse)} of {len(leading)} workloads degrade over {results} results"]
    parts += [f"{len(better)} gained"] if better else []
    parts += [f"{len(same)} did not change"] if same else []
    parts += [f"{rest} undecided"] if rest else []
    return SAYS.finding(
        "overview",
        severity="warning" if worse else "notice" if rest == len(leading) else "ok",
        subject="trend",
        parts=", ".join(parts),
        evidence=[Evidence(h.workload) for h in worse],
    )
