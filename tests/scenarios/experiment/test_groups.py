"""The level beside a verdict is that of the groups which the verdict rests on."""

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.experiment.groups import GroupBlocks, level_values
from tests.every_case import every_case

IOPS = Metric("IOPS", "IOPS")


def group(index: int) -> GroupBlocks:
    group_blocks = GroupBlocks(index, "ABBA")
    for side, value in zip("ABBA", (1.0, 10.0, 20.0, 2.0), strict=True):
        group_blocks.add(side, Measured(seconds=0.02, values={"IOPS": value + 100 * index}))
    return group_blocks


def make_verdict(groups: int, batch: int = 1) -> ev.RunVerdict:
    return ev.RunVerdict(
        t=0.0, workload="w", metric="IOPS", baseline="A", variant="B", verdict="slower", groups=groups, batch=batch
    )  # fmt: skip


@every_case(
    ("verdicts", "values"),
    [
        ([make_verdict(1)], [15.0]),
        ([make_verdict(1, batch=2)], [15.0]),  # groups, whatever the batches are
        ([make_verdict(0)], [15.0, 115.0, 215.0]),  # not decided by groups: all there are
        ([], [15.0, 115.0, 215.0]),
    ],
)
def test_what_came_after_the_decision_is_no_part_of_the_level(
    verdicts: list[ev.RunVerdict], values: list[float]
) -> None:
    assert level_values([group(n) for n in range(3)], "B", IOPS, verdicts) == values
