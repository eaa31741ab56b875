"""Who is measured again: suspects and peers in an order that is drawn."""

from __future__ import annotations

from app.fleet.launch.rounds import drawn
from scenarios.peers.screen import screen
from tests.fakes.many_nodes import Nodes


def test_suspects_do_not_all_run_first() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001", "node0002"], 0.5)
    found = screen(nodes.all())
    suspects = tuple(found.suspects)
    orders = [drawn(found, suspects, seed) for seed in range(20)]
    assert all(set(suspects) < set(names) for names in orders)
    assert any(set(names[: len(suspects)]) != set(suspects) for names in orders)
    assert drawn(found, suspects, 3) == drawn(found, suspects, 3)
