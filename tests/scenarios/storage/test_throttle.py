"""Throttles are recognised in what a metered disk gives, and in nothing that an unmetered one does."""

import pytest

from hostdx.scenarios.storage.throttling.detection import cap_of
from tests.fakes.throttled_disk import bucket, courses
from tests.needs import some_always

SEEDS = some_always(range(1, 4), range(4, 11))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_burst_of_two_gigabytes_is_named_with_its_size(seed: int) -> None:
    mb = 1 << 20
    rate, size = 250e6 / mb, 2e9 / mb
    cap = cap_of(courses(bucket(rate, size), operation_s=8e-3, workers=8, blocks=17, seed=seed, drift=0.05))
    assert cap is not None
    assert cap.rate * mb == pytest.approx(250e6, rel=0.05)
    assert cap.burst_operations * mb == pytest.approx(2e9, rel=0.1)
    assert cap.burst_rate * mb == pytest.approx(1e9, rel=0.2)
    assert cap.refill_s == pytest.approx(8, rel=0.1)
