"""The signs of trust: whose control it was, and what a recording claims beyond all measure is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.recording.reader import load
from app.recording.session import Session
from app.report import trust
from scenarios import events as ev

DEMO = Path(__file__).parents[3] / "app" / "recording" / "demos" / "iosched.jsonl"


@pytest.mark.parametrize("value", [1e308, -1e308, 0.0, 5e-324])
def test_blocks_beyond_all_measure(tmp_path: Path, value: float) -> None:
    made = []
    for line in DEMO.read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "block":
            event["values"] = dict.fromkeys(event["values"], value)
        if event["type"] == "verdict":
            event["drift"] = {}
        made.append(json.dumps(event))
    (tmp_path / "r.jsonl").write_text("\n".join(made) + "\n")
    assert trust.trust(load(tmp_path / "r.jsonl"))


def judged(workload: str, **more: Any) -> ev.Verdict:
    return ev.Verdict(t=1.0, workload=workload, metric="ns", baseline="none", groups=9, **more)


def test_with_several_loads_a_control_names_its_own() -> None:
    session = Session()
    for name in ("udp-ipv6", "udp-ipv4"):
        session.apply(judged(name, variant="check", verdict="slower"))
        session.apply(judged(name, variant="trivial", verdict="no material difference", control=True))
        said = [sign.text for sign in trust.trust(session) if "trivial" in sign.text]
        if name == "udp-ipv6":
            assert not any("udp" in text for text in said)  # one load: nothing to tell apart
    assert len(said) == 2 and "udp-ipv6" in said[0] and "udp-ipv4" in said[1]
