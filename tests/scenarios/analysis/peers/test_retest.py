"""Screen and retest of like nodes: who is named, who is not, and what each round asks for."""

import pytest

from hostdx.scenarios.analysis.peers.retest import (
    MIN_ROUNDS,
    RetestedSuspect,
    suspect_standings,
)
from hostdx.scenarios.analysis.peers.screen import peers_for, screen_nodes
from tests.fakes.many_nodes import Nodes, heavy, screened, usual


def named(found: tuple[RetestedSuspect, ...]) -> set[str]:
    return {one.node for one in found if one.is_different}


@pytest.mark.parametrize("noise", [usual, heavy])
def test_nobody_is_named_among_like_nodes(noise: object) -> None:
    wrong = 0
    for seed in range(20):
        nodes = Nodes(60, 100 + seed, noise=noise)  # type: ignore[arg-type]
        wrong += len(named(suspect_standings(*screened(nodes))))
    assert wrong <= 1


def test_too_few_rounds_name_nobody() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001"], 0.5)
    found = screen_nodes(nodes.all())
    rounds = nodes.rounds(found)
    assert len(rounds) >= MIN_ROUNDS
    early = suspect_standings(found, rounds[: MIN_ROUNDS - 1])
    assert not named(early) and any(one.is_undecided for one in early)


def test_many_slow_nodes_are_all_kept_until_they_are_decided() -> None:
    nodes = Nodes(200, 9)
    slow = [f"node{n:04}" for n in range(8)]
    nodes.slow(slow, 0.8)
    assert named(suspect_standings(*screened(nodes))) == set(slow)


def test_where_there_are_fewer_than_eight_peers_all_are_taken() -> None:
    nodes = Nodes(7, 11)
    nodes.slow(["node0000"], 0.5)
    found = screen_nodes(nodes.all())
    assert set(peers_for(found, ["node0000"], 3)) == set(nodes.levels) - set(found.suspects)
