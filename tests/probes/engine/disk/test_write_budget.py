"""How much a run may write: the device's own amplification counts, a neighbour's writes do not."""

from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.engine.disk.budget import GIB, PRESUMED_SYNCED, SEVERAL, WriteBudget

MIB = 1 << 20


def begin_load(budget: WriteBudget, load: str = "fsync", share: float = 0.5) -> WriteBudget:
    budget.set_load_share(load, share, PRESUMED_SYNCED)
    return budget


def test_what_a_file_system_adds_is_charged_also_for_what_was_written_before_it_was_known() -> None:
    budget = begin_load(WriteBudget(8 * GIB))
    budget.charge(4 * MIB, 148 * MIB, "fsync")
    assert (
        budget.write_amplification("fsync") == PRESUMED_SYNCED
    )  # one stretch alone may hold a neighbour's writes
    for _ in range(SEVERAL):
        budget.charge(4 * MIB, 148 * MIB, "fsync")
    assert budget.write_amplification("fsync") == 37.0
    assert budget.spent_bytes == (1 + SEVERAL) * 148 * MIB


@given(st.integers(1, 64), st.floats(1, 40), st.floats(0.1, 1))
def test_what_is_not_refused_stays_within_the_share(mib: int, amplified: float, share: float) -> None:
    budget = WriteBudget(8 * GIB)
    budget.charge(2 * GIB, None)
    budget.set_load_share("fsync", share, PRESUMED_SYNCED)
    for _ in range(2000):
        if budget.refusal_text(mib * MIB, "fsync"):
            break
        budget.charge(mib * MIB, int(mib * MIB * amplified), "fsync")
    # the first stretches are written on trust
    assert budget.spent_bytes <= 2 * GIB + share * 6 * GIB + SEVERAL * mib * MIB * amplified
