"""No wait for a child is without a limit: one that lives on is killed, one that ends is heard at once."""

import os
import signal
import time
from pathlib import Path

import pytest

from hostdx.probes.children.bounded_wait import reap_or_kill
from hostdx.scenarios.fullstack.measurement import own_links


def test_one_that_ends_tells_what_it_used() -> None:
    if (pid := os.fork()) == 0:
        os._exit(0)
    usage = reap_or_kill(pid)
    assert usage is not None and usage.ru_maxrss > 0


@pytest.mark.parametrize("number", [signal.SIGSTOP, None])
def test_one_that_lives_on_is_killed(number: signal.Signals | None) -> None:
    if (pid := os.fork()) == 0:
        while True:
            signal.pause()
    if number:
        os.kill(pid, number)
    began = time.monotonic()
    assert reap_or_kill(pid, 0.1) is None
    assert time.monotonic() - began < 5.0
    assert not Path(f"/proc/{pid}").exists()


def test_settings_that_are_never_written_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_links, "SETTINGS_S", 0.1)
    monkeypatch.setattr(own_links, "_write_in_own_mounts", lambda place, settings: time.sleep(600))
    assert own_links._apply_settings_or_reason("/sys/x", {"a": "1"}) == own_links.SILENT
    monkeypatch.setattr(own_links, "SETTINGS_S", 5.0)
    monkeypatch.setattr(own_links, "_write_in_own_mounts", lambda place, settings: None)
    assert own_links._apply_settings_or_reason("/sys/x", {"a": "1"}) == ""
