"""Both ends of an experiment, faked: a clock that does not wait, a run that collects, arms with noise."""

from tests.fakes.arm import FakeArm
from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun

__all__ = ["FakeArm", "FakeClock", "FakeRun"]
