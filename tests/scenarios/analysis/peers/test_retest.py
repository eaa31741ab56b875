"""Screen and retest of like nodes: who is named, who is not, and what each round asks for."""

import pytest

from hostdx.scenarios.analysis.peers.retest import MIN_ROUNDS, RetestedMeasure, suspect_standings_by_measure
from hostdx.scenarios.analysis.peers.screen import peers_for, screen_nodes
from tests.fakes.many_nodes import Nodes, draw_heavy, draw_usual, screen_and_measure


def different_nodes(standings: tuple[RetestedMeasure, ...]) -> set[str]:
    return {suspect.node for suspect in standings if suspect.is_different}


@pytest.mark.parametrize("noise", [draw_usual, draw_heavy])
def test_nobody_is_named_among_like_nodes(noise: object) -> None:
    wrong = 0
    for seed in range(20):
        nodes = Nodes(60, 100 + seed, noise=noise)  # type: ignore[arg-type]
        wrong += len(different_nodes(suspect_standings_by_measure(*screen_and_measure(nodes))))
    assert wrong <= 1


def test_too_few_rounds_name_nobody() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001"], 0.5)
    screen = screen_nodes(nodes.all())
    rounds = nodes.rounds(screen)
    assert len(rounds) >= MIN_ROUNDS
    early = suspect_standings_by_measure(screen, rounds[: MIN_ROUNDS - 1])
    assert not different_nodes(early) and any(suspect.is_undecided for suspect in early)


def test_many_slow_nodes_are_all_kept_until_they_are_decided() -> None:
    nodes = Nodes(200, 9)
    slow = [f"node{n:04}" for n in range(8)]
    nodes.slow(slow, 0.8)
    assert different_nodes(suspect_standings_by_measure(*screen_and_measure(nodes))) == set(slow)


def test_where_there_are_fewer_than_eight_peers_all_are_taken() -> None:
    nodes = Nodes(7, 11)
    nodes.slow(["node0000"], 0.5)
    screen = screen_nodes(nodes.all())
    assert set(peers_for(screen, ["node0000"], 3)) == set(nodes.levels) - set(screen.suspects)
