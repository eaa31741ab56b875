"""A judged metric: what a look decided stays decided."""

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.budget import GroupPace
from hostdx.scenarios.experiment.groups import GroupBlocks
from hostdx.scenarios.experiment.judge import Judge
from tests.every_case import every_case
from tests.fakes import FakeClock

IOPS = Metric("IOPS", "IOPS")
READS = Workload(id="reads", title="reads", metrics=(IOPS,))


def group(index: int, ratio: float) -> GroupBlocks:
    group_blocks = GroupBlocks(index, "ABBA")
    for place, variant in enumerate(group_blocks.order):
        rate = 10_000 * (1 + 0.001 * ((7 * index + place) % 5)) * (ratio if variant == "B" else 1.0)
        group_blocks.add(variant, Measured(seconds=0.5, values={IOPS.name: rate}))
    return group_blocks


@every_case(
    ("first", "ratio", "word"), [(False, 0.93, "slower"), (True, 0.93, "inconclusive"), (True, 0.7, "slower")]
)
def test_more_than_half_of_the_groups_must_have_been_disturbed(first: bool, ratio: float, word: str) -> None:
    judge = Judge(READS, IOPS, ("A", "B"), family=1, margin=0.05, planned_groups=20)
    pace = GroupPace(FakeClock(), 60.0, 2.0)
    for index in range(20):
        blocks = group(index, ratio + 0.03 * (index % 4 - 1.5))
        blocks.loud = index % 2 == 1 or (first and index == 0)
        judge.add(blocks, pace)
    verdict = judge.conclude_verdict(1.0, pace, "")
    assert verdict.verdict == "slower" and verdict.groups % 2 == 0
    assert judge.keep_large_only_if_mostly_disturbed(verdict, "").verdict == word
