"""What a cost means: the arithmetic, its bounds, and the remedies by where a check comes from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.scenarios.rpfilter.cost_model import PacketCost, cost_at_line_rate, gbit_per_s_at_full_core


def test_one_core_holds_what_its_nanoseconds_allow() -> None:
    """1550 ns a frame are 645 thousand frames/s; of 1538 B on the wire that is 7.94 Gbit/s."""
    assert gbit_per_s_at_full_core(1550.0, 1500, False) == pytest.approx(7.938, rel=1e-3)
    assert gbit_per_s_at_full_core(0.0, 1500, False) == 0.0


@given(st.floats(1e8, 1e12), st.floats(1.0, 1e4), st.floats(1.0, 1e5))
def test_none_merged_and_all_merged_are_bounds(bits: float, ns: float, path: float) -> None:
    lines = cost_at_line_rate(PacketCost(ns, (ns, ns), path), bits)
    assert [(x.mtu, x.merged) for x in lines] == [(1500, False), (1500, True), (9000, False), (9000, True)]
    by = {(x.mtu, x.merged): x for x in lines}
    assert by[(1500, False)].check.cores > by[(9000, False)].check.cores > by[(9000, True)].check.cores
    assert by[(1500, False)].check.cores > by[(1500, True)].check.cores
    for line in lines:
        assert line.core_gbit_per_s < line.core_gbit_without
        assert line.check.cores == pytest.approx(line.packets_per_s * ns / 1e9)
