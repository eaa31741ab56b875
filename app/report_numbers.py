"""The report's numbers: effects with intervals, what each variant reached, trends, a drawing of the blocks."""

from __future__ import annotations

import math
from statistics import median

from app import wording
from app.document import Code, Heading, Part, Table, say
from app.plot import Axis, Series, nice_axis, plot
from app.printable import printable
from app.session import Session
from scenarios import events as ev
from scenarios.plan import Metric

WIDTH, HEIGHT = 78, 16
MARKS = "ABCDEFGH"
OPERATIONS_FOR_P99 = 1000


def numbers(session: Session) -> list[Part]:
    parts: list[Part] = []
    if any(wording.measured(v) for v in session.verdicts.values()):
        parts.append(_effects(session))
        parts.append(
            say(
                "A ratio is variant over baseline, turned so that under 1 is always slower; its interval is the 95 % "
                "one, paid for the looks. The smallest effect is what this run could have told from nothing."
            )
        )
    reached = _reached(session)
    if reached:
        parts += [Heading("What each variant reached"), reached]
        if "p99" in reached.header:
            parts.append(
                say("p99 is the latency that one operation in a hundred exceeded; it is never judged.")
            )
    if session.series:
        parts += [Heading("Over the rounds"), _trends(session)]
    for workload in session.blocks:
        parts += _drawing(session, workload)
    return parts


def _effects(session: Session) -> Table:
    header = (
        "workload",
        "metric",
        "compared",
        "verdict",
        "ratio",
        "95 %",
        "difference",
        "groups",
        "smallest effect",
    )
    rows = []
    for v in session.verdicts.values():
        if not wording.measured(v):
            continue
        title = wording.workload_title(session, v.workload)
        title = f"{title} (control)" if v.control and "control" not in title else title
        seen = wording.percent(v.smallest_effect)
        pair = f"{v.variant} / {v.baseline}"
        cells = (wording.ratio(v.ratio), wording.interval(v.ci95), wording.delta(v), str(v.groups), seen)
        rows.append((title, v.metric, pair, v.verdict, *cells))
    return Table(header, tuple(rows), frozenset({4, 5, 6, 7, 8}))


def _reached(session: Session) -> Table | None:
    """Medians over the steady blocks; onset, warm-up and disturbed ones are not in them."""
    rows: list[tuple[str, ...]] = []
    for workload, blocks in session.blocks.items():
        steady = [b for b in blocks if _counts(b)]
        for metric in dict.fromkeys(name for b in steady for name in b.values):
            for variant in dict.fromkeys(b.variant for b in steady):
                own = [b for b in steady if b.variant == variant and metric in b.values]
                values = [b.values[metric] for b in own]
                if values:
                    rows.append(
                        (
                            wording.workload_title(session, workload),
                            metric,
                            wording.variant_title(session, variant),
                            wording.number(median(values)),
                            f"{wording.number(min(values))} … {wording.number(max(values))}",
                            _p99(own),
                            str(len(values)),
                        )
                    )
    header = ("workload", "metric", "variant", "median", "least … most", "p99", "blocks")
    return Table(header, tuple(rows), frozenset({3, 4, 5, 6})).without_empty_columns() if rows else None


def _p99(blocks: list[ev.Block]) -> str:
    """Over all their operations, from 1000 a group on (the design's bound): with fewer it is one operation's luck."""
    groups: dict[int, int] = {}
    counts: dict[int, int] = {}
    for block in blocks:
        groups[block.group] = groups.get(block.group, 0) + block.operations
        for bound, count in block.histogram:
            counts[bound] = counts.get(bound, 0) + count
    total = sum(counts.values())
    if not total or median(groups.values()) < OPERATIONS_FOR_P99:
        return "–"
    passed = 0
    for bound in sorted(counts):
        passed += counts[bound]
        if passed >= 0.99 * total:
            return latency(bound)
    return "–"


def latency(nanoseconds: float) -> str:
    """`820 ns`, `52 µs`, `1.3 ms`, `2.1 s`."""
    for unit, least in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= least:
            return f"{wording.number(nanoseconds / least, 3)} {unit}"
    return f"{wording.number(nanoseconds, 3)} ns"


def _trends(session: Session) -> Table:
    header = ("workload", "rounds", "verdict", "slope a round", "95 %", "p", "per GB")
    rows = []
    for s in session.series:
        slope = "–" if s.slope_per_round is None else f"{s.slope_per_round * 100:+.2g} %"
        ci = "–" if s.ci95 is None else f"{s.ci95[0] * 100:+.2g} … {s.ci95[1] * 100:+.2g} %"
        p = "–" if s.p is None else f"{s.p:.2g}"
        per_gb = "–" if s.per_gb is None else f"{s.per_gb:.2g}"
        rows.append(
            (wording.workload_title(session, s.workload), str(s.rounds), s.verdict, slope, ci, p, per_gb)
        )
    return Table(header, tuple(rows), frozenset({1, 3, 4, 5, 6})).without_empty_columns()


def _drawing(session: Session, workload: str) -> list[Part]:
    blocks = [b for b in session.blocks[workload] if _counts(b)]
    metric = _leading(session, workload, blocks)
    values = [b.values[metric] for b in blocks if metric in b.values and math.isfinite(b.values[metric])]
    if len(values) < 2:
        return []
    variants = list(dict.fromkeys(b.variant for b in blocks))
    marks = {v: v if len(v) == 1 and v.isalnum() else MARKS[n % len(MARKS)] for n, v in enumerate(variants)}
    series = [
        Series(marks[v], [(b.t, b.values[metric]) for b in blocks if b.variant == v and metric in b.values])
        for v in variants
    ]
    times = [b.t for b in blocks]
    lines = plot(
        series, WIDTH, HEIGHT, Axis(math.floor(min(times)), math.floor(max(times)) + 1), nice_axis(values)
    )
    legend = ", ".join(f"{marks[v]} = {wording.variant_label(session, v)}" for v in variants)
    title = wording.workload_title(session, workload)
    return [
        Heading(f"{title}: {metric} by seconds into the run, one mark a block"),
        Code((*(line.rstrip() for line in lines), printable(legend))),
    ]


def _counts(block: ev.Block) -> bool:
    return not block.disturbed and block.phase not in ("warmup", "onset")


def _leading(session: Session, workload: str, blocks: list[ev.Block]) -> str:
    metrics: tuple[Metric, ...] = ()
    if session.plan is not None:
        metrics = next((w.metrics for w in session.plan.workloads if w.id == workload), ())
    if metrics:
        return metrics[0].name
    return next((name for b in blocks for name in b.values), "")
