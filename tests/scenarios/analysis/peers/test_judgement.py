"""The whole judgement, from nodes and facts to what is said of them."""

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.analysis.peers.judge import judge_fleet
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement, MissingNode
from hostdx.scenarios.analysis.peers.node import PeerNode
from hostdx.scenarios.analysis.peers.screen import screen_nodes
from tests.fakes.many_nodes import HARDWARE, Nodes, table_of


def plant_fleet(count: int, seed: int = 1, *, retest: bool = True) -> FleetJudgement:
    nodes = Nodes(count, seed)
    nodes.slow(["node0003"], 0.8)

    def facts_of(name: str) -> dict[FactKey, Json]:
        return {
            ("cpu", "governor"): "powersave" if name == "node0003" else "performance",
            ("x", "serial"): name,
        }

    first = nodes.all()
    screen = screen_nodes(first)
    rounds = nodes.rounds(screen) if retest else []
    missing = [MissingNode(node="node9999", state="hung", reason="no answer for 60 s")]
    return judge_fleet(first, table_of(list(nodes.levels), facts_of), nodes.loads, rounds, missing=missing)


def test_below_ten_nodes_no_setting_is_named() -> None:
    (odd,) = plant_fleet(9, 2).odd
    assert odd.few and odd.settings


def test_like_nodes_have_a_smallest_difference() -> None:
    nodes = Nodes(100, 4)
    first = nodes.all()
    fleet = judge_fleet(first, table_of([], lambda _: {}), nodes.loads, nodes.rounds(screen_nodes(first)))
    assert not fleet.odd and fleet.smallest_difference is not None and 0.05 < fleet.smallest_difference < 0.15


def test_a_node_without_peers_says_what_it_has_otherwise() -> None:
    nodes = Nodes(12, 6).all()
    lone = PeerNode(name=nodes[0].name, logs=nodes[0].logs, hardware=(*HARDWARE, ("memory", "192 GiB")))
    fleet = judge_fleet([lone, *nodes[1:]], table_of([], lambda _: {}), Nodes(12, 6).loads)
    group = fleet.groups[1]
    assert group.named == (lone.name,) and group.unlike == (("memory", "192 GiB"),) and not group.judged
    assert lone.name not in fleet.measures[0].values
