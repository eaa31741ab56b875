"""The imported files together: each result once, like loads only, their box, who lies apart, their course over time."""

import math
from collections.abc import Sequence

import msgspec

from probes.units import counted
from scenarios.compare.bounding_box import Box, boxes, marked, placed, points_of
from scenarios.compare.odd import LEAST_RUNS, Member, OddRuns, odd_runs
from scenarios.compare.run_summary import FigureKey
from scenarios.compare.snapshot import Imported, Snapshot, by_conditions, dated, distinct, snapshots
from scenarios.finding import Finding
from scenarios.imported.cross_run import box_findings, history_findings, odd_findings
from scenarios.imported.findings import note
from scenarios.imported.history import histories
from scenarios.imported.results import History
from scenarios.plan import Metric

_MOST_TWINS = 40


class Pile(msgspec.Struct, frozen=True, kw_only=True):
    """`order`: the results by date, or as they were given. `twins`: files with the figures of another, and that one."""

    files: tuple[Imported, ...]
    order: tuple[Snapshot, ...]
    boxes: tuple[Box, ...] = ()
    odd: OddRuns | None = None
    courses: tuple[History, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()


def piled(files: Sequence[Imported], *, series: bool = False) -> Pile:
    """`series`: the user says that the files are one series in time; else a trend needs their own word for it."""
    beside = any(file.result.kind.startswith("io500") for file in files)
    own, twins = distinct([file for file in files if not (beside and _is_application(file))])
    plain = snapshots(own)
    order = by_conditions(plain)
    found = boxes(plain)
    odd = odd_runs(_members(plain, order, found)) if len(order) >= LEAST_RUNS else None
    found = placed(
        marked(found, odd), [point for file in files for point in points_of(file.name, file.result)]
    )
    one = len(order) > 1 and (series or (len({s.series for s in order}) == 1 and bool(order[0].series)))
    together = histories(order) if one else []
    made = [f for box in found for f in box_findings(box)]
    made += odd_findings(odd) if odd is not None else []
    made += history_findings(together, order)
    if twins:
        first, of = twins[0]
        made.append(note("import.twins", f"{first}: {of}", count=counted(len(twins), "file")))
    hosts = sorted({s.host for s in order if s.host})
    if len(order) > 1 and not one:
        made.append(
            note("import.several-hosts" if len(hosts) > 1 else "import.no-series", ", ".join(hosts)[:500])
        )
    elif len(order) > 1 and not dated(order):
        made.append(note("import.not-dated", ""))
    return Pile(
        files=tuple(files), order=tuple(order), boxes=tuple(found), odd=odd, courses=tuple(together),
        twins=tuple(twins[:_MOST_TWINS]), findings=tuple(made),
    )  # fmt: skip


def _is_application(file: Imported) -> bool:
    """An IOR or Darshan result: beside IO500 results it is put into their box, not into their series."""
    return not file.result.kind.startswith("io500") and bool(points_of(file.name, file.result))


def _members(plain: Sequence[Snapshot], order: Sequence[Snapshot], found: Sequence[Box]) -> list[Member]:
    """Without the corners that the box's law calls broken: it needs no vote, and they have none."""
    broken = {(odd.run, odd.workload) for box in found for odd in box.odd}
    made = []
    for before, after in zip(plain, order, strict=True):
        logs: dict[FigureKey, float] = {}
        metrics: dict[FigureKey, Metric] = {}
        for old, new in zip(before.measures, after.measures, strict=True):
            if new.judged and new.value > 0 and (before.name, old.workload) not in broken:
                key = FigureKey(new.workload, new.metric)
                logs[key] = math.log(new.value) if new.better == "more" else -math.log(new.value)
                metrics[key] = Metric(new.metric, new.unit, new.better)
        facts = {(fact.subject or "run", fact.name): fact.value for fact in after.facts}
        made.append(Member(after.name, logs, metrics, facts))
    return made
