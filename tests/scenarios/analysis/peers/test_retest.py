"""Screen and retest of like nodes: who is named, who is not, and what each round asks for."""

import itertools
import math

import pytest

from hostdx.scenarios.analysis.peers.node import PeerNode
from hostdx.scenarios.analysis.peers.retest import (
    MAX_ROUNDS,
    MIN_ROUNDS,
    RetestedSuspect,
    loads_left,
    next_suspects,
    suspect_standings,
)
from hostdx.scenarios.analysis.peers.screen import DRAWN, MIN_PEERS, peers_for, screen_nodes
from tests.fakes.many_nodes import HARDWARE, Nodes, heavy, screened, usual


def named(found: tuple[RetestedSuspect, ...]) -> set[str]:
    return {one.node for one in found if one.is_different}


@pytest.mark.parametrize("count", [10, 100])
def test_a_slow_node_is_named_with_an_interval_round_what_was_planted(count: int) -> None:
    hits = 0
    for seed in range(20):
        nodes = Nodes(count, seed)
        nodes.slow(["node0003"], 0.85)
        judged = suspect_standings(*screened(nodes))
        assert named(judged) <= {"node0003"}
        for one in judged:
            if one.is_different:
                assert (
                    one.is_slower and one.ci95 is not None and one.ratio is not None and one.ratio < 1 / 1.05
                )
                hits += one.ci95[0] < 0.85 < one.ci95[1]
    assert hits >= 19


@pytest.mark.parametrize("noise", [usual, heavy])
def test_nobody_is_named_among_like_nodes(noise: object) -> None:
    wrong = 0
    for seed in range(20):
        nodes = Nodes(60, 100 + seed, noise=noise)  # type: ignore[arg-type]
        wrong += len(named(suspect_standings(*screened(nodes))))
    assert wrong <= 1


def test_a_fast_node_is_named_as_such() -> None:
    nodes = Nodes(40, 5)
    nodes.slow(["node0009"], 1.3)
    (one,) = [s for s in suspect_standings(*screened(nodes)) if s.is_different]
    assert one.node == "node0009" and one.is_faster


def test_without_retests_nobody_is_named_however_far_off() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001"], 0.5)
    found = screen_nodes(nodes.all())
    assert next(iter(found.suspects)) == "node0001"
    assert all(one.is_not_measured for one in suspect_standings(found, []))
    assert next_suspects(found, []) == tuple(found.suspects)


def test_too_few_rounds_name_nobody() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001"], 0.5)
    found = screen_nodes(nodes.all())
    rounds = nodes.rounds(found)
    assert len(rounds) >= MIN_ROUNDS
    early = suspect_standings(found, rounds[: MIN_ROUNDS - 1])
    assert not named(early) and any(one.is_undecided for one in early)


def test_a_wild_value_in_the_screen_names_nobody() -> None:
    """The chance that picked a node is no part of the estimate."""
    nodes = Nodes(30, 7)
    first = nodes.all()
    first[4].logs[nodes.keys[0]] -= 0.4
    found = screen_nodes(first)
    assert "node0004" in found.suspects
    assert "node0004" not in named(suspect_standings(found, nodes.rounds(found)))


def test_rounds_end_and_shrink() -> None:
    nodes = Nodes(400, 8, noise=heavy)
    found, rounds = screened(nodes)
    asked = [sum(name in found.suspects for name in one) for one in rounds]
    assert len(rounds) <= MAX_ROUNDS
    assert all(later <= (before + 1) // 2 + 2 for before, later in itertools.pairwise(asked))
    assert next_suspects(found, [*rounds, *rounds, *rounds, *rounds]) == ()


def test_a_suspect_that_did_not_answer_is_asked_again() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001"], 0.5)
    found = screen_nodes(nodes.all())
    first = {node.name: node for node in nodes.all() if node.name != "node0001"}
    assert "node0001" not in next_suspects(found, [first])
    assert next_suspects(found, [first], silent=["node0001"])[0] == "node0001", (
        "as far off as the screen told"
    )
    assert {found.columns[place].key.workload for place in found.suspects["node0001"]} <= loads_left(
        found, [first], ["node0001"]
    )


def test_only_what_is_open_is_measured_again() -> None:
    nodes = Nodes(40, 14, measures=6)
    nodes.slow(["node0001"], 0.7, 2)
    found = screen_nodes(nodes.all())
    mine = {found.columns[place].key.workload for place in found.suspects["node0001"]}
    assert loads_left(found, [], ["node0001"]) == mine and "load-2" in mine
    assert loads_left(found, [], tuple(found.suspects)) > mine
    rounds = nodes.rounds(found)
    assert [key.workload for key in rounds[-1]["node0001"].logs] == ["load-2"], "what came back is not"
    assert not loads_left(found, rounds, ["node0001"]) and named(suspect_standings(found, rounds)) == {
        "node0001"
    }


def test_many_slow_nodes_are_all_kept_until_they_are_decided() -> None:
    nodes = Nodes(200, 9)
    slow = [f"node{n:04}" for n in range(8)]
    nodes.slow(slow, 0.8)
    assert named(suspect_standings(*screened(nodes))) == set(slow)


def test_peers_are_drawn_by_the_seed_and_are_no_suspects() -> None:
    nodes = Nodes(100, 10)
    nodes.slow(["node0002"], 0.7)
    found = screen_nodes(nodes.all())
    one, same, other = (peers_for(found, ["node0002"], seed) for seed in (1, 1, 2))
    assert one == same != other and len(one) == DRAWN
    assert not set(one) & set(found.suspects)
    assert peers_for(found, ["no such node"], 1) == ()


def test_where_there_are_fewer_than_eight_peers_all_are_taken() -> None:
    nodes = Nodes(7, 11)
    nodes.slow(["node0000"], 0.5)
    found = screen_nodes(nodes.all())
    assert set(peers_for(found, ["node0000"], 3)) == set(nodes.levels) - set(found.suspects)


def test_other_hardware_is_no_peer() -> None:
    nodes = Nodes(30, 12)
    nodes.slow([f"node{n:04}" for n in range(10)], 0.3)
    first = [
        PeerNode(name=n.name, logs=n.logs, hardware=HARDWARE if i >= 10 else (("CPU", "an older one"),))
        for i, n in enumerate(nodes.all())
    ]
    found = screen_nodes(first)
    assert [len(group.nodes) for group in found.groups] == [20, 10]
    assert all(
        abs(found.columns[place].log_distance(name)) < 0.2
        for name, ps in found.suspects.items()
        for place in ps
    )


def test_fewer_than_five_are_not_judged() -> None:
    assert screen_nodes(Nodes(MIN_PEERS - 1, 13).all()).columns == ()
    assert screen_nodes([]).groups == ()


def test_equal_figures_have_a_spread_all_the_same() -> None:
    key = Nodes(1, 0).keys[0]
    same = [PeerNode(name=str(n), logs={key: 1.0}) for n in range(9)]
    found = screen_nodes(same)
    assert found.columns[0].spread > 0 and not found.suspects and math.isclose(found.columns[0].centre, 1.0)
