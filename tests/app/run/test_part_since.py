"""What got worse since the host's baseline is a finding of a checkup's part."""

from pathlib import Path

import pytest

from hostdx.app.recordings import baselines
from hostdx.app.run.inner_run import InnerRun
from hostdx.scenarios.kernel.scenario import KernelScenario
from tests.fakes.streams.small_recordings import record_small

pytestmark = pytest.mark.usefixtures("own_state")


def _end_part(place: Path, rate: float) -> InnerRun:
    part = InnerRun(place / "whole.jsonl", KernelScenario(), {})
    part.recording.write_bytes(record_small(place, "now", rate, day=9).read_bytes())
    part._apply_new_events(lambda event: None)
    return part


def test_a_part_tells_what_got_worse(tmp_path: Path) -> None:
    assert _end_part(tmp_path, 400.0).run_outcome.findings == ()  # no baseline: nothing to say
    baselines.add_to_baseline("july", [record_small(tmp_path, "old", 1000.0)])
    (finding,) = _end_part(tmp_path, 400.0).run_outcome.findings
    assert (finding.id, finding.severity) == ("kernel.worse", "warning") and "july" in finding.title
    (finding,) = _end_part(tmp_path, 1000.0).run_outcome.findings
    assert (finding.id, finding.severity) == ("kernel.worse", "ok")


def test_a_baseline_that_is_no_help_is_none(tmp_path: Path) -> None:
    baseline = baselines.add_to_baseline("july", [record_small(tmp_path, "old", 1000.0)])
    baseline.recordings[0].write_bytes(b"")
    assert _end_part(tmp_path, 400.0).run_outcome.findings == ()
    baselines.add_to_baseline("site", [record_small(tmp_path, "far", 1000.0, host="reference")])
    assert _end_part(tmp_path, 400.0).run_outcome.findings == ()  # another host's is asked for by name only
