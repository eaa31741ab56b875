"""How much of a reference is divided out: all of what is shared, nothing of what is its own."""

import math
import random
from pathlib import Path

import pytest

from hostdx.scenarios.experiment.reference import judge_beside_reference, log_steps, weaken_reference
from hostdx.scenarios.experiment.treated_trend import TreatedTrend, treated_trend
from hostdx.scenarios.fstrim.rounds import read_trim_rounds, trend_of_rounds
from tests.every_case import every_case

Three = tuple[list[float], list[float], list[float]]
ROUNDS = Path(__file__).parents[2] / "fixtures" / "rounds" / "throttled-sata.jsonl"


@every_case("values", [[1.0, 0.0, 2.0], [1.0, math.inf, 2.0], [1.0, -1.0, 2.0]])
def test_a_block_without_a_value_gives_no_steps(values: list[float]) -> None:
    assert log_steps(values, [1.0, 2.0, 3.0]) == []
    assert weaken_reference(values, 0.5)[1] == values[1]


def test_a_disk_slowed_round_by_round_in_a_guest_is_seen() -> None:
    """Real rounds: 4 % less each, a real trim before the eighth, with reads that scatter by a factor of two."""
    past = read_trim_rounds(ROUNDS)
    assert past.bad == 0 and [r.trim_before for r in past.rounds].index(True) == 7
    trend = trend_of_rounds(past.rounds)
    assert trend.trend.verdict == "slower" and trend.trend.ci95 is not None
    assert trend.trend.ci95[0] <= -0.04 <= trend.trend.ci95[1]
    [jump] = trend.jumps
    # The reads jumped at that round as well: how much of it the trim gave is not known, and so it is not called.
    assert jump.gave > 0.25 and jump.before_round == 8 and not jump.called
    assert jump.ci95[0] <= 0.96**-8 - 1 <= jump.ci95[1] or jump.ci95[0] <= 0.96**-7 - 1 <= jump.ci95[1]
    first = trend_of_rounds(past.rounds[:7])
    assert first.trend.verdict == "slower" and first.jumps == ()


def series(seed: int, rounds: int, loss: float, drift: float, step_at: int, scatter: float) -> TreatedTrend:
    """The host drifts by `drift` a round and steps once, for load and reads alike; the disk alone loses `loss`."""
    rng = random.Random(seed)
    values, reads = [], []
    for i in range(rounds):
        host = drift * i - 0.3 * (step_at and i >= step_at)
        values.append(math.exp(host + i % 12 * math.log1p(-loss) + rng.gauss(0, 0.03)))
        reads.append(math.exp(host + rng.gauss(0, scatter)))
    return treated_trend(values, reads, [i == 12 for i in range(rounds)])


def test_a_host_that_drifts_or_steps_by_itself_is_not_the_disk() -> None:
    called = 0
    for seed in range(40):
        drifting, stepping = series(seed, 24, 0.0, -0.02, 0, 0.03), series(seed, 24, 0.0, 0.0, 12, 0.03)
        for trend in (drifting, stepping):
            called += trend.trend.verdict in ("slower", "faster") or any(jump.called for jump in trend.jumps)
    assert called <= 4  # 5 % of 80


@pytest.mark.parametrize(("scatter", "most_of_40"), [(0.03, 38), (0.3, 16)])
def test_a_loss_is_found_beside_calm_reads_and_often_beside_wild_ones(
    scatter: float, most_of_40: int
) -> None:
    trends = [series(seed, 24, 0.02, 0.0, 0, scatter) for seed in range(40)]
    assert sum(trend.trend.verdict == "slower" for trend in trends) >= most_of_40
    assert not [trend for trend in trends if trend.trend.verdict == "faster"]


def draw_blocks(seed: int, stepped: int, gain: float, scatter: float = 0.05) -> tuple[Three, Three]:
    """Three phases of 12; from phase `stepped` on the host, so load and reads alike, is 30 % slower."""
    rng = random.Random(seed)
    values: list[list[float]] = []
    reads: list[list[float]] = []
    for phase in range(3):
        host = -0.3 * (phase >= stepped) + gain * (phase == 2)
        values.append([math.exp(host + rng.gauss(0, 0.05)) for _ in range(12)])
        reads.append([math.exp(host - gain * (phase == 2) + rng.gauss(0, scatter)) for _ in range(12)])
    return (values[0], values[1], values[2]), (reads[0], reads[1], reads[2])


def test_a_step_of_the_host_while_waiting_is_not_the_trim() -> None:
    """By itself the shared part, seen within the phases, would call nearly all of these."""
    judgements = [judge_beside_reference(*draw_blocks(seed, stepped=2, gain=0.0), 0.05) for seed in range(40)]
    assert sum(judgement.verdict in ("slower", "faster") for judgement in judgements) <= 2
    assert any(judgement.reason for judgement in judgements)


def test_a_trim_that_took_longer_than_the_control_must_give_more_than_longer_idling_might() -> None:
    """Idling gave 5 %, the trim 40 %: ten times the control's length leaves nothing that can be called."""
    values, reads = ([[level] * 12 for level in (1.0, 1.05, 1.47)], [[1.0] * 12] * 3)
    arguments = ((values[0], values[1], values[2]), (reads[0], reads[1], reads[2]), 0.05)
    assert judge_beside_reference(*arguments).verdict == "faster"
    long = judge_beside_reference(*arguments, longer=10.0)
    assert long.verdict == "inconclusive" and long.reason
    assert long.ratio == judge_beside_reference(*arguments).ratio


def test_a_block_without_a_value_is_undecided() -> None:
    values, reads = draw_blocks(1, 9, 0.3)
    values[1][3] = 0.0
    undecided = judge_beside_reference(values, reads, 0.05)
    assert undecided.verdict == "inconclusive" and undecided.reason
