"""Both ends of an experiment, faked: a clock that does not wait, a run that collects, variants with noise."""

from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun
from tests.fakes.variant_bench import FakeVariantBench

__all__ = ["FakeClock", "FakeRun", "FakeVariantBench"]
