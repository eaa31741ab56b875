"""How much a run may write: the device's own amplification counts, a neighbour's writes do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.engine.disk.budget import GIB, PRESUMED_SYNCED, SEVERAL, WriteBudget
from probes.engine.measured import WriteBudgetSpent

MIB = 1 << 20


def begun(budget: WriteBudget, load: str = "fsync", share: float = 0.5) -> WriteBudget:
    budget.begin(load, share, PRESUMED_SYNCED)
    return budget


def test_what_a_file_system_adds_is_charged_also_for_what_was_written_before_it_was_known() -> None:
    budget = begun(WriteBudget(8 * GIB))
    budget.charge(4 * MIB, 148 * MIB, "fsync")
    assert (
        budget.write_amplification("fsync") == PRESUMED_SYNCED
    )  # one stretch alone may hold a neighbour's writes
    for _ in range(SEVERAL):
        budget.charge(4 * MIB, 148 * MIB, "fsync")
    assert budget.write_amplification("fsync") == 37.0
    assert budget.spent_bytes == (1 + SEVERAL) * 148 * MIB


def test_a_neighbours_burst_is_forgotten_and_what_it_was_charged_is_given_back() -> None:
    budget = begun(WriteBudget(8 * GIB))
    for _ in range(SEVERAL):
        budget.charge(4 * MIB, 900 * MIB, "fsync")  # a neighbour wrote meanwhile
    assert budget.refusal_text(64 * MIB, "fsync")
    budget.charge(4 * MIB, 8 * MIB, "fsync")  # and here it did not
    assert budget.write_amplification("fsync") == 2.0
    assert budget.spent_bytes == (1 + SEVERAL) * 8 * MIB
    assert budget.refusal_text(64 * MIB, "fsync") == ""


def test_too_little_to_tell_is_put_together_until_it_tells() -> None:
    budget = begun(WriteBudget(8 * GIB))
    for _ in range(8):
        budget.charge(MIB // 8, 90 * MIB, "fsync")
    assert budget.write_amplification("fsync") == PRESUMED_SYNCED
    for _ in range(SEVERAL * 8):
        budget.charge(MIB // 8, MIB // 4, "fsync")
    assert budget.write_amplification("fsync") == 2.0


def test_never_less_than_what_we_wrote_and_without_counters_just_that() -> None:
    budget = WriteBudget(8 * GIB)
    budget.charge(10 * MIB, 0, "x")
    budget.charge(10 * MIB, None, "y")
    assert budget.spent_bytes == 20 * MIB


def test_a_load_has_its_share_and_the_next_one_the_rest() -> None:
    budget = begun(WriteBudget(GIB))
    for _ in range(8):
        budget.charge(64 * MIB, 64 * MIB, "fsync")
    with pytest.raises(WriteBudgetSpent) as said:
        budget.check(MIB, "fsync")
    assert (said.value.most_bytes, said.value.load_bytes, said.value.share) == (GIB, GIB // 2, 0.5)
    assert said.value.lacking_bytes == MIB
    budget.begin("stream", 1.0)
    budget.check(512 * MIB, "stream")
    with pytest.raises(WriteBudgetSpent) as said:
        budget.check(64 * MIB, "stream", times=9)
    assert said.value.lacking_bytes == 64 * MIB  # beyond the 512 MiB that are left


@given(st.integers(1, 64), st.floats(1, 40), st.floats(0.1, 1))
def test_what_is_not_refused_stays_within_the_share(mib: int, amplified: float, share: float) -> None:
    budget = WriteBudget(8 * GIB)
    budget.charge(2 * GIB, None)
    budget.begin("fsync", share, PRESUMED_SYNCED)
    for _ in range(2000):
        if budget.refusal_text(mib * MIB, "fsync"):
            break
        budget.charge(mib * MIB, int(mib * MIB * amplified), "fsync")
    # the first stretches are written on trust
    assert budget.spent_bytes <= 2 * GIB + share * 6 * GIB + SEVERAL * mib * MIB * amplified
