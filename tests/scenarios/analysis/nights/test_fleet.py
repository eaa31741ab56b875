"""What all nodes of a fleet have in a night is no node's own."""

from collections.abc import Sequence

from msgspec.structs import replace

from hostdx.scenarios.analysis.nights.fleet import MIN_OTHER_NODES, OtherNight, remove_common_effects
from hostdx.scenarios.analysis.nights.history import NightRun, night_run
from tests.scenarios.analysis.nights.test_history import steady

NIGHTS, BAD = 24, 8


def node_nights(name: str, level: float, worse: float, seed: int) -> list[NightRun]:
    """Its last nights are by so much worse."""
    takes = [*steady(NIGHTS, level, seed), *steady(BAD, level * worse, seed + 100, first=NIGHTS)]
    return [replace(night_run(n, take, None), host=name) for n, take in enumerate(takes, 1)]


def other_nights(runs: Sequence[NightRun]) -> list[OtherNight]:
    return [OtherNight(run.host, run.wall, {f.key: f.log for f in run.figures}) for run in runs]


def test_of_too_few_others_nothing_is_taken_off() -> None:
    runs = node_nights("n1", 1000.0, 0.8, 1)
    few = {f"n{n}": other_nights(node_nights(f"n{n}", 1000.0, 0.8, n)) for n in range(2, 1 + MIN_OTHER_NODES)}
    assert remove_common_effects(runs, few) == runs
