"""A checkup's part is a run of its own: it ends by itself, with the whole, and also where the whole is killed."""

import os
import signal
import time
from pathlib import Path

import pytest

from hostdx.app.recordings.answers import ranked_items
from hostdx.app.recordings.reader import load_recording
from tests.app.launcher import run_hostdx, start_hostdx
from tests.needs import one_always

pytestmark = [pytest.mark.real]
ASKED = ("run", "checkup", "--only", "dstate", "--budget", "300")


def part_of(directory: Path) -> Path:
    """The part's recording, once it has begun to watch."""
    end = time.monotonic() + 40
    while time.monotonic() < end:
        for path in directory.glob("state/hostdx/recordings/*.parts/1-dstate.jsonl"):
            if b'"progress"' in path.read_bytes():
                return path
        time.sleep(0.1)
    raise AssertionError("no part was begun")


@pytest.mark.parametrize("ending", one_always("kill", "stop"))
def test_what_a_part_measured_until_the_end_of_the_whole_stands(ending: str, tmp_path: Path) -> None:
    run = start_hostdx(tmp_path, *ASKED)
    try:
        part = part_of(tmp_path)
        if ending == "stop":
            assert run_hostdx(tmp_path, "stop").returncode == 0
        else:
            os.kill(run.pid, signal.SIGKILL)
        run.communicate(timeout=30)
    finally:
        run.kill()
    end = time.monotonic() + 20
    while load_recording(part).ended is None and time.monotonic() < end:
        time.sleep(0.1)
    ended = load_recording(part).ended
    assert ended is not None and ended.status == "interrupted"
    recording = load_recording(part.parent.with_suffix(".jsonl"))
    if ending == "stop":
        assert [ranked_item.scenario for ranked_item in ranked_items(recording) if ranked_item.recording] == [
            "dstate"
        ]  # the host may have its own
        assert recording.ended is not None and recording.ended.status == "interrupted"
        assert "dstate" in run_hostdx(tmp_path, "report").stdout
