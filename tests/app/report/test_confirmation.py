"""The run that proves a finding about a disk measures it against another one."""

from __future__ import annotations

from app.recordings.session import RunSession
from app.report.confirmation import confirmation_command, confirmation_options, local_mounts
from scenarios.contract import events as ev
from scenarios.contract.finding import Finding
from tests.every_case import every_case

ROOT, DATA, FAST = ("/", "/dev/vda1"), ("/data", "/dev/sdb1"), ("/fast", "/dev/nvme0n1p2")


def host(*mounts: tuple[str, str]) -> RunSession:
    session = RunSession()
    for path, source in mounts:
        for name, value in (("type", "ext4"), ("source", source), ("options", "rw,relatime")):
            fact = ev.FactRead(t=0.0, subject=f"mount:{path}", name=name, value=value, source="mountinfo")
            session.apply(fact)
    return session


def found(subject: str, *argv: str, prove: str = "storage") -> Finding:
    return Finding(id="a.b", severity="warning", title="x", subject=subject, prove=prove, prove_options=argv)


@every_case(
    ("finding", "mounts", "expected"),
    [
        (found("/data", "--dir", "/data"), (ROOT, DATA), ["--dir=/var/tmp", "--dir=/data"]),
        (found("nvme0n1"), (ROOT, DATA, FAST), ["--dir=/var/tmp", "--dir=/fast"]),
        (
            found("/", "--dir", "/"),
            (ROOT, DATA),
            ["--dir=/data", "--dir=/var/tmp"],
        ),  # its own usual directory
        (found("vda"), (ROOT, DATA), ["--dir=/data", "--dir=/var/tmp"]),
        (found("/", "--dir", "/"), (ROOT,), ["--dir=/var/tmp"]),  # there is nothing to compare it with
        (found("/var", "--dir", "/var"), (ROOT, ("/var", "/dev/sdc")), ["--dir=/var/tmp"]),
        (found("/n", "--dir", "/n"), (ROOT,), ["--dir", "/n"]),  # no local file system: as the rule says
        (found("9", "--pid", "9", prove="cpuwatch"), (ROOT, DATA), ["--pid", "9"]),
    ],
)
def test_what_is_suspected_is_measured_against_another_disk(
    finding: Finding, mounts: tuple[tuple[str, str], ...], expected: list[str]
) -> None:
    assert list(confirmation_options(finding, host(*mounts))) == expected


def test_the_command_can_be_pasted() -> None:
    assert (
        confirmation_command(found("/data", "--dir", "/data b"), host())
        == "hostdx run storage --dir '/data b'"
    )


def test_a_foreign_recording_s_type_of_a_file_system_that_is_no_word_is_none_of_ours() -> None:
    session = host(ROOT)
    session.apply(ev.FactRead(t=0.0, subject="mount:/data", name="type", value={"a": 1}, source="mountinfo"))
    assert list(local_mounts(session)) == [ROOT]
