"""What `hostdx triage` prints for a person: each finding with what to do, ready to be typed."""

from __future__ import annotations

from app.cli_triage import _lines
from app.session import Session
from scenarios import events as ev
from scenarios.finding import Evidence, Finding, Remedy


def test_a_finding_is_printed_with_its_remedy() -> None:
    remedy = Remedy(
        title="Use none on sda",
        commands=("echo none > /sys/block/sda/queue/scheduler",),
        persistent=("echo rule > /etc/udev/rules.d/x.rules",),
        undo=("rm -f /etc/udev/rules.d/x.rules",),
        warning="tuned sets it too",
    )
    finding = Finding(
        id="iosched.choice",
        severity="notice",
        title="sda runs bfq",
        evidence=(Evidence("sda"),),
        remedy=(remedy,),
    )
    session = Session()
    session.apply(ev.Found(t=0.0, finding=finding))
    session.apply(ev.Checked(t=0.0, rule="iosched.choice", state="spoke"))
    lines = _lines(session)
    assert "1 of 1 checks speak: 1 finding" in lines
    text = "\n".join(lines)
    for word in (
        "do: Use none on sda",
        "beware: tuned",
        "echo none >",
        "to last: echo rule",
        "to undo: rm -f",
    ):
        assert word in text
