"""What `hostdx triage` prints for a person: each finding with what to do, ready to be typed."""

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms import markdown
from hostdx.app.report.triage_text import triage_document, triage_lines
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy


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
    session = RunSession()
    session.apply(ev.Found(t=0.0, finding=finding))
    session.apply(ev.Checked(t=0.0, rule="iosched.choice", state="spoke"))
    lines = ["".join(words for words, _ in line) for line in triage_lines(session)]
    assert "1 of 1 checks found something: 1 notice" in lines
    commands = [line.strip() for line in lines if line.startswith("    ")]
    assert commands == [*remedy.commands, *remedy.persistent, *remedy.undo]
    assert any(remedy.warning in line for line in lines)
    assert "```sh\necho none > /sys/block/sda/queue/scheduler" in markdown.render_markdown(
        triage_document(session)
    )
