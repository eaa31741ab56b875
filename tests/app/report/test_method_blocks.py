"""The method table says what a block really lasted: blocks bounded in bytes end earlier than planned."""

from __future__ import annotations

import pytest

from app.recordings.session import RunSession
from app.report.method import method_parts
from scenarios.contract import events as ev
from scenarios.contract.plan import Metric, Plan, Workload
from scenarios.contract.results.document import Table
from tests.every_case import every_case


@every_case(
    ("seconds", "cell"),
    [(1.5, "1.5 to 5 s"), (2.5, "1.5 to 5 s"), (0.4, "1.5 to 5 s planned, 0.4 s measured")],
)
def test_what_a_block_lasted_is_said_where_it_is_not_what_was_planned(seconds: float, cell: str) -> None:
    load = Workload(id="churn", title="new files", metrics=(Metric(name="MB/s", unit="MB/s"),), block_s=1.5)
    session = RunSession()
    session.apply(ev.Planned(t=0.0, plan=Plan(scenario="fstrim", title="", question="", workloads=(load,))))
    for index in range(6):
        phase: ev.Phase = "warmup" if index == 0 else "before"
        took = 9.0 if index == 0 else seconds  # the warm-up does not count
        session.apply(
            ev.Block(
                t=float(index), workload="churn", variant="before", group=index, index=index, seconds=took,
                values={"MB/s": 1.0}, phase=phase,
            )
        )  # fmt: skip
    [table] = [part for part in method_parts(session, "x") if isinstance(part, Table)]
    assert table.rows[0][1] == cell


@pytest.mark.parametrize(
    ("event", "length", "by"),
    [
        (
            ev.SliceLengthChosen(
                t=1.0, workload="reads", seconds=0.5, why="carry-over", blocks=True, bias=(-0.1, -0.02)
            ),
            "blocks of 0.5 s, each flushed",
            "work that one variant left to the other: it shifted the ratio by 2 % to 9.5 %",
        ),
        (ev.SliceLengthChosen(t=1.0, workload="reads", seconds=0.1, why="budget"), "100 ms",
         "the budget: fewer operations than a slice should hold"),
    ],
)  # fmt: skip
def test_why_slices_are_as_long_is_said_with_its_figure(
    event: ev.SliceLengthChosen, length: str, by: str
) -> None:
    load = Workload(id="reads", title="random read", metrics=(Metric(name="IOPS", unit="IOPS"),))
    session = RunSession()
    session.apply(ev.Planned(t=0.0, plan=Plan(scenario="null", title="", question="", workloads=(load,))))
    session.apply(event)
    rows = [row for part in method_parts(session, "x") if isinstance(part, Table) for row in part.rows]
    [row] = [row for row in rows if length in row]
    assert by in row
