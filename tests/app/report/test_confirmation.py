"""The run that proves a finding about a disk measures it against another one."""

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.confirmation import local_mounts
from hostdx.scenarios.contract import events as ev

ROOT, DATA, FAST = ("/", "/dev/vda1"), ("/data", "/dev/sdb1"), ("/fast", "/dev/nvme0n1p2")


def make_host(*mounts: tuple[str, str]) -> RunSession:
    session = RunSession()
    for path, source in mounts:
        for name, value in (("type", "ext4"), ("source", source), ("options", "rw,relatime")):
            fact = ev.FactRead(t=0.0, subject=f"mount:{path}", name=name, value=value, source="mountinfo")
            session.apply(fact)
    return session


def test_a_foreign_recording_s_type_of_a_file_system_that_is_no_word_is_none_of_ours() -> None:
    session = make_host(ROOT)
    session.apply(ev.FactRead(t=0.0, subject="mount:/data", name="type", value={"a": 1}, source="mountinfo"))
    assert list(local_mounts(session)) == [ROOT]
