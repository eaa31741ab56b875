"""What got worse since the host's baseline is a finding of a checkup's part."""

from pathlib import Path

import pytest

from hostdx.app.recordings import baselines
from hostdx.app.run.inner_run import InnerRun
from hostdx.scenarios.kernel.scenario import KernelScenario
from tests.fakes.streams.small_recordings import recorded

pytestmark = pytest.mark.usefixtures("own_state")


def _ended(place: Path, rate: float) -> InnerRun:
    part = InnerRun(place / "whole.jsonl", KernelScenario(), {})
    part.recording.write_bytes(recorded(place, "now", rate, day=9).read_bytes())
    part._apply_new_events(lambda event: None)
    return part


def test_a_part_tells_what_got_worse(tmp_path: Path) -> None:
    assert _ended(tmp_path, 400.0).run_outcome.findings == ()  # no baseline: nothing to say
    baselines.save_baseline("july", [recorded(tmp_path, "old", 1000.0)])
    (finding,) = _ended(tmp_path, 400.0).run_outcome.findings
    assert (finding.id, finding.severity) == ("kernel.worse", "warning") and "july" in finding.title
    (finding,) = _ended(tmp_path, 1000.0).run_outcome.findings
    assert (finding.id, finding.severity) == ("kernel.worse", "ok")


def test_a_baseline_that_is_no_help_is_none(tmp_path: Path) -> None:
    saved = baselines.save_baseline("july", [recorded(tmp_path, "old", 1000.0)])
    saved.recordings[0].write_bytes(b"")
    assert _ended(tmp_path, 400.0).run_outcome.findings == ()
    baselines.save_baseline("site", [recorded(tmp_path, "far", 1000.0, host="reference")])
    assert _ended(tmp_path, 400.0).run_outcome.findings == ()  # another host's is asked for by name only
