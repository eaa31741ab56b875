"""Programs of a live host are asked as a sosreport has them: where they fit, within the time, and cited as commands."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from hostdx.probes.children import command as command_runner
from hostdx.probes.reading import asking_host
from hostdx.probes.reading.asking_host import AskingHost, load_programs
from hostdx.probes.reading.captured.sosreport import FOLDER, captured_file_name
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import matches_glob
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.rule import HostRule
from hostdx.scenarios.triage.triage import all_rules, apply_rule

ROOM = Path(asking_host.__file__).resolve().parents[2]
ZPOOL = """  pool: tank
 state: ONLINE
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        ONLINE       0     0     0
\t  mirror-0  ONLINE       0     0     0
\t    sda     ONLINE       0     0 12345
\t    sdb     ONLINE       0     0     0

errors: No known data errors
"""


class ScriptedPrograms:
    """What is there and what is printed; `asked` are the commands that were run."""

    def __init__(self, paths: Iterable[str], printed: dict[str, str | Absent]) -> None:
        self.paths, self.printed, self.asked = tuple(paths), printed, list[str]()

    def run(self, argv: tuple[str, ...], timeout_s: float, **_how: bool) -> str | Absent:
        assert 0 < timeout_s <= 20
        self.asked.append(" ".join(argv))
        return self.printed.get(" ".join(argv), Absent(f"{argv[0]} is not installed", "tool", " ".join(argv)))

    def glob(self, pattern: str) -> tuple[str, ...]:
        parts = pattern.split("/")
        return tuple(
            path
            for path in self.paths
            if len(names := path.split("/")) == len(parts) and all(map(matches_glob, names, parts))
        )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> ScriptedPrograms:
    scripted = ScriptedPrograms(
        ("/proc/spl/kstat/zfs", "/sys/class/net/eth0/device", "/sys/class/net/-x/device"), {}
    )
    monkeypatch.setattr(asking_host, "run_command", scripted.run)
    monkeypatch.setattr(Host, "glob_paths", lambda _host, pattern: scripted.glob(pattern))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return scripted


def test_a_rule_for_sosreports_finds_the_fault_on_the_live_host_and_cites_the_command(
    machine: ScriptedPrograms,
) -> None:
    machine.printed["zpool status -v"] = ZPOOL
    rule = next(rule for rule in all_rules() if rule.id == "storage.zfs-errors")
    host = AskingHost()
    assert not [e for e in apply_rule(rule, host, lambda: 0.0) if isinstance(e, ev.Found)]
    assert host.ask_programs(5.0) == ()
    [finding] = [e.finding for e in apply_rule(rule, host, lambda: 0.0) if isinstance(e, ev.Found)]
    assert {line.source for line in finding.evidence if line.source} == {"zpool status -v"}
    assert FOLDER not in repr(finding)
    assert host.read_command("zpool", "status", "-v") == ZPOOL.rstrip("\n")
    assert machine.asked.count("zpool status -v") == 1
    assert host.answering_programs == ("zpool",)


def test_what_is_not_there_is_not_asked_for_and_a_name_is_no_option(machine: ScriptedPrograms) -> None:
    AskingHost().ask_programs(5.0)
    assert "ethtool -m eth0" in machine.asked and "zpool get all" in machine.asked
    assert not any(re.search(r"nvidia|ceph|iptables| -x$|ipmitool", command) for command in machine.asked)


def test_a_user_asks_nothing_that_root_alone_may(
    machine: ScriptedPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    AskingHost().ask_programs(5.0)
    for_root = {argv[0] for program in load_programs() if program.root for argv in program.commands}
    for_all = {argv[0] for program in load_programs() if not program.root for argv in program.commands}
    assert machine.asked and not {c.split(" ")[0] for c in machine.asked} & (for_root - for_all)


def test_a_program_that_hangs_is_named_once_and_the_time_ends_all(machine: ScriptedPrograms) -> None:
    for command in ("zpool status -v", "zpool get all"):
        machine.printed[command] = Absent("zpool did not answer within 5 s", "timeout", command)
    assert [answer.source.split(" ")[0] for answer in AskingHost().ask_programs(5.0)] == ["zpool"]
    machine.asked.clear()
    assert AskingHost().ask_programs(0.0) == () and not machine.asked


def test_each_program_is_asked_for_a_rule() -> None:
    texts = [path.read_text() for kind in ("*.toml", "*.py") for path in ROOM.rglob(kind)]
    patterns = {
        re.sub(r"\{[^}]*\}", "*", pattern)
        for text in texts
        for pattern in re.findall(rf"{FOLDER}/[^\s\"',;)]+", text)
    }
    for program in load_programs():
        for argv in program.commands:
            name = captured_file_name(tuple(word.replace("{name}", "sda") for word in argv))
            parts = f"{FOLDER}/{program.folder}/{name}".split("/")
            fits = (p.split("/") for p in patterns if p.count("/") == len(parts) - 1)
            assert any(all(map(matches_glob, parts, pattern)) for pattern in fits), parts


def test_warnings_and_failures_are_read_as_in_a_sosreport(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """lvs warns on stderr; nvidia-smi lists its GPUs and fails where one of them is lost."""
    monkeypatch.setattr(
        Host, "glob_paths", lambda _host, pattern: ("/x",) if pattern == "/sys/block/dm-*" else ()
    )
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(command_runner, "ADMIN_PATH", ())
    tool = tmp_path / "lvs"
    tool.write_text("#!/bin/sh\necho '  LV VG Attr'\necho '  WARNING: PV is missing.' >&2\nexit 5\n")
    tool.chmod(0o755)
    monkeypatch.setattr(command_runner, "find_root_objection", lambda _path: "")
    for name in ("smartctl", "dmsetup"):
        (tmp_path / name).write_text("#!/bin/sh\nexec /bin/sleep 9\n" if name == "dmsetup" else "#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    host = AskingHost()
    assert not host.silent_programs
    host.ask_programs(1.0)
    silent = host.silent_programs
    assert {name: why.kind for name, why in silent.items()} == {
        "smartctl": "unsupported",
        "dmsetup": "timeout",
    }
    [path] = host.glob_paths(f"{FOLDER}/lvm2/*")
    assert host.read_file_text(path) == "  LV VG Attr\n  WARNING: PV is missing."


def test_a_cards_name_stays_a_text(machine: ScriptedPrograms) -> None:
    """The kernel lets a card be called anything without blanks, colons and slashes."""
    machine.paths = ('/sys/class/net/a","id":"x/device',)
    machine.printed['ethtool -m a","id":"x'] = "Laser rx power high alarm : On"
    host = AskingHost()
    host.ask_programs(5.0)
    file_name = captured_file_name(("ethtool", "-m", 'a","id":"x'))
    path = f"{FOLDER}/networking/{file_name}"
    rule = HostRule("test.card", "test", "a card", lambda _: [finding_of(path)])
    [event] = [e for e in apply_rule(rule, host, lambda: 0.0) if isinstance(e, ev.Found)]
    assert event.finding.id == "test.card" and event.finding.evidence[0].source == 'ethtool -m a","id":"x'
    assert event.finding.remedy[0].commands == (f"cat {path}",)


def finding_of(path: str) -> Finding:
    return Finding(
        id="test.card", severity="notice", confidence="rule", title="an alarm",
        evidence=(Evidence("rx power: alarm", path),), remedy=(Remedy(title="Look", commands=(f"cat {path}",)),),
    )  # fmt: skip
