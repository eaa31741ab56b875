"""PeerPressure's ranking, by the paper's own properties."""

from __future__ import annotations

from fractions import Fraction

from scenarios.peers.setting import suspicion


def test_it_is_the_papers_formula() -> None:
    n, c, t, m = 97, 3, 40, 2
    exact = Fraction(n + c, n + c * t + c * m * (t - 1))
    assert suspicion(peers=n, values=c, entries=t, matching=m) == float(exact)


def test_one_entry_alone_is_certain() -> None:
    assert suspicion(peers=50, values=2, entries=1, matching=0) == 1.0


def test_a_sole_value_among_equals_leads_a_fact_that_differs_everywhere() -> None:
    sole = suspicion(peers=99, values=2, entries=300, matching=0)
    serial = suspicion(peers=99, values=100, entries=300, matching=0)
    shared = suspicion(peers=99, values=2, entries=300, matching=60)
    assert sole > serial > shared
