"""How much a run may write: the device's own amplification counts, a neighbour's writes do not."""

from __future__ import annotations

from probes.bench.budget import BLOCKS_OF_A_BENCH, GIB, WriteBudget

MIB = 1 << 20


def test_what_a_file_system_adds_is_charged() -> None:
    budget = WriteBudget(8 * GIB)
    budget.spend(4 * MIB, 148 * MIB, "fsync")
    assert budget.amplification("fsync") == 37.0
    assert budget.spent_bytes == 148 * MIB
    budget.spend(4 * MIB, 160 * MIB, "fsync")
    assert budget.spent_bytes == 2 * 148 * MIB


def test_a_neighbours_writes_shrink_no_block_for_ever() -> None:
    budget = WriteBudget(8 * GIB)
    budget.benches = 1
    budget.spend(4 * MIB, 400 * MIB, "fsync")  # a neighbour wrote meanwhile
    cramped = budget.a_block("fsync", 0.5)
    budget.spend(4 * MIB, 8 * MIB, "fsync")  # and here it did not
    assert budget.amplification("fsync") == 2.0
    assert 49 * cramped < budget.a_block("fsync", 0.5) < 51 * cramped


def test_never_less_than_what_we_wrote_and_without_counters_just_that() -> None:
    budget = WriteBudget(8 * GIB)
    budget.spend(10 * MIB, 0, "x")
    budget.spend(10 * MIB, None, "y")
    assert budget.spent_bytes == 20 * MIB


def test_all_blocks_of_a_load_fit_and_what_is_too_much_is_refused() -> None:
    budget = WriteBudget(GIB)
    budget.benches = 2
    budget.spend(MIB, MIB, "seq")
    share = budget.a_block("seq", 1.0)
    for _ in range(2 * BLOCKS_OF_A_BENCH):
        assert budget.refusal(share, "seq") == ""
        budget.spend(share, share, "seq")
    assert "write budget is spent" in budget.refusal(GIB, "seq")
    assert budget.spent_bytes <= GIB
