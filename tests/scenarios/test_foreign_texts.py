"""Foreign text is data: on screens, in options and in commands."""

import os
import re
from pathlib import Path

import pytest

from hostdx.app.cli.telling import triage as command
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.secrets import short_hash
from hostdx.probes.reading.time_limit import iterate_in_time
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Severity, fold_alike_findings
from hostdx.scenarios.contract.knowledge_file import read_toml_tables
from hostdx.scenarios.contract.option_value import OptionRedaction
from hostdx.scenarios.contract.plan import Option, Plan, Variant
from hostdx.scenarios.contract.rule import HostRule
from hostdx.scenarios.triage import triage
from hostdx.scenarios.triage.rules.read import ReadingText, read_value
from hostdx.scenarios.triage.rules.rule_file import parse_rule_file
from hostdx.scenarios.workload.group import ScoreReader
from tests.every_case import every_case
from tests.fakes.hosts.server import Server
from tests.fakes.hosts.tree import Tree
from tests.scenarios import test_planted_faults as planted
from tests.scenarios.test_planted_faults import findings_by_id

DIGITS_5000 = "9" * 5000  # int() raises ValueError beyond 4,300
MOUNT = "27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n30 27 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
QUANTITIES = "\n".join(
    f"{name}: {DIGITS_5000} kB" for name in ("MemTotal", "HugePages_Total", "Hugepagesize")
)

TEXTS = {
    "/proc/net/softnet_stat": "00a8f075 00000000 00000010 " * 6 + "(\n",  # doubled with each digit
    "/proc/self/mountinfo": f"{DIGITS_5000} 1 254:0 / / rw - ext4 /dev/vda rw\n{MOUNT}",
    "/proc/self/cgroup": "0::/" + "a/" * 35_000,  # 35,000 folders of up to 70,000 letters
    "/proc/sys/fs/file-nr": "9" * 500_000 + "x",  # the square of a line's length
    "/proc/sys/vm/swappiness": DIGITS_5000,
    "/proc/vmstat": "\n" * 200_000 + f"allocstall_normal {DIGITS_5000}",
    "/proc/meminfo": QUANTITIES,
    "/proc/stat": f"cpu  {DIGITS_5000} 0 0 0\ncpu0 {' '.join([DIGITS_5000] * 8)}\nprocs_running {DIGITS_5000}\n",
    "/proc/diskstats": f"8 0 sda {' '.join([DIGITS_5000] * 17)}\n",
    "/proc/uptime": f"{DIGITS_5000} 1.0",
    "/proc/1/stat": f"1 (init) S {' '.join([DIGITS_5000] * 40)}\n",
    "/proc/mdstat": f"md0 : active\n [{DIGITS_5000}/{DIGITS_5000}]\n",
    "/proc/sys/kernel/osrelease": "9." * 50_000,
    "/sys/block/sda/queue/scheduler": "[a " * 20_000,
    "/sys/block/sda/inflight": f"{DIGITS_5000} 1\n",
}


def test_no_text_keeps_triage_busy_or_makes_a_rule_fail(tmp_path: Path) -> None:
    tree = Tree(tmp_path).disk("/sys/devices/a/sda")
    for path, text in TEXTS.items():
        tree.put(path, text)
    tree.put("/sys/fs/cgroup/a/cpu.max", f"{DIGITS_5000} {DIGITS_5000}")
    host = Host(str(tmp_path))
    iterate = list(iterate_in_time(triage.examine_host(host, lambda: 0.0), host, 60.0))
    failed = [e.reason for e in iterate if isinstance(e, ev.Checked) and e.fault]
    assert failed == [] and not host.is_out_of_time
    assert [e.text for e in iterate if isinstance(e, ev.Note)] == []


def test_the_command_ends_a_rule_that_is_busy_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own clock: the reading of files looks at one, an expression of the wrong form at none."""

    def loop_forever(_host: Host) -> tuple[()]:
        while True:
            pass

    monkeypatch.setattr("hostdx.probes.reading.time_limit.AGAIN_S", 0.05)
    monkeypatch.setattr(command, "MAX_TRIAGE_S", 0.05)
    rules = [HostRule(f"test.{n}", "test", "endless", loop_forever) for n in range(2)]
    monkeypatch.setattr(triage, "all_rules", lambda: rules)
    tree = Tree(tmp_path)
    triage_events = list(command._triage_events(Host(str(tree.root)), str(tmp_path), facts=False))
    checks = [(e.rule, e.state, e.reason) for e in triage_events if isinstance(e, ev.Checked)]
    assert checks == [(rule.id, "unreadable", triage.OUT_OF_TIME) for rule in rules]
    assert isinstance(triage_events[-1], ev.RunEnded)


@every_case(
    ("reader", "text", "value"),
    [
        (ReadingText(path="/proc/a", key="name"), "other 1\nname   =  7 \n", 7),
        (ReadingText(path="/proc/a", key="name"), "name:\t12 kB\n", 12 << 10),
        (ReadingText(path="/proc/a", key="name"), " name 3.5", 3.5),
        (
            ReadingText(path="/proc/a", match="([0-9]+)$"),
            "x" * 20_000 + "\n42",
            42,
        ),  # a line beyond every bound is none of the kernel's
    ],
)
def test_values_are_read_line_by_line(tmp_path: Path, reader: ReadingText, text: str, value: object) -> None:
    Tree(tmp_path).put("/proc/a", text)
    assert read_value(Host(str(tmp_path)), reader, "/proc", {}) == value


def test_a_file_of_a_sites_with_thousands_of_digits_is_one_problem(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f"[[rule]]\nid = {DIGITS_5000}\n")
    assert [p.startswith(f"{file}:1: ") for p in parse_rule_file(file).problems] == [True]
    with pytest.raises(ValueError, match=rf"^{file}: Exceeds"):
        read_toml_tables(file)


@pytest.mark.parametrize("digits", [4000, 5000])
def test_a_score_of_thousands_of_digits_is_none(digits: int) -> None:
    """JSON's whole numbers have no bound of their own; a float has one."""
    assert ScoreReader("json:score").find(f'{{"score": {"9" * digits}}}') is None
    assert ScoreReader("score=(.*)").find(f"score={'9' * digits}") is None


def make_finding(name: str, severity: Severity = "notice", fault: str = "runs none") -> Finding:
    return Finding(
        id="x.y",
        severity=severity,
        subject=name,
        alike=fault,
        title=f"{name} {fault}",
        evidence=(Evidence(f"{name}: none"),),
    )


def test_119_disks_are_one_line_with_a_count_and_a_list() -> None:
    [alike_finding] = fold_alike_findings(make_finding(f"sd{n}") for n in range(119))
    assert all(part in alike_finding.title for part in ("sd0", "118", "sd1, sd2, sd3"))
    assert len(alike_finding.subjects) == 119 and all(
        part in alike_finding.evidence[-1].text for part in ("111", "sd8, sd9")
    )


DECLARED = (
    Option(name="cmd", kind="text", help="", secret=True),
    Option(name="variant", kind="text", help="", multiple=True, secret=True),
    Option(name="private", kind="flag", help=""),
)
VARIANT = "a: CODE=tiger7 LEVEL=1"
VALUES: dict[str, Json] = {"cmd": "/job tiger7", "variant": [VARIANT], "budget": 9.0}
COMMAND = ["hostdx", "run", "--cmd", "/job tiger7", f"--variant={VARIANT}", "--budget", "9"]


def test_options_and_command_become_digests() -> None:
    redaction = OptionRedaction({**VALUES, "private": True}, DECLARED)
    assert redaction.redact_options(VALUES) == {
        "cmd": short_hash("/job tiger7"),
        "variant": [short_hash(VARIANT)],
        "budget": 9.0,
    }
    assert redaction.redact_command(COMMAND) == [
        "hostdx", "run", "--cmd", short_hash("/job tiger7"), f"--variant={short_hash(VARIANT)}", "--budget", "9"
    ]  # fmt: skip


def test_a_sentence_tells_no_word_of_them() -> None:
    redaction = OptionRedaction({**VALUES, "private": True}, DECLARED)
    text = redaction.redact_text("variant a: tiger7: no such command; CODE=tiger7")
    assert "tiger7" not in text and "variant a: sha256:" in text


def test_without_it_harmless_words_are_recorded() -> None:
    redaction = OptionRedaction(VALUES, DECLARED)
    values = redaction.redact_options(VALUES)
    assert values["budget"] == 9.0
    assert "tiger7" not in str(values) and "/job" in str(values) and "LEVEL=1" in str(values)
    assert redaction.redact_command(COMMAND) == COMMAND
    assert "tiger7" not in redaction.redact_text("variant a: tiger7: no such command")
    assert redaction.redact_text("a job of hosts") == "a job of hosts"


def test_a_recorded_plan_keeps_harmless_words_of_variants_and_commands() -> None:
    facts = {"CODE": "tiger7", "TMPDIR": "/data"}
    variant = Variant(id="a", label="CODE=tiger7, TMPDIR=/data", facts=facts)
    plan = Plan(
        scenario="s", title="", question="", options=VALUES, variants=(variant,), commands=("/job tiger7",)
    )
    redacted = OptionRedaction(VALUES, DECLARED).redact_plan(plan)
    assert "tiger7" not in str(redacted)
    assert redacted.variants[0].facts["TMPDIR"] == "/data" and "TMPDIR=/data" in redacted.variants[0].label
    assert OptionRedaction(VALUES, DECLARED, form=str).redact_plan(plan) == plan
    assert OptionRedaction({**VALUES, "private": True}, DECLARED).redact_plan(plan) == plan


NAMES = re.compile(
    r"(?<![A-Za-z0-9])(sd[a-z]|eth[0-9]|bond[0-9]|nvme[0-9]+n[0-9]|md[0-9]+|dm-[0-9]+)(?![A-Za-z0-9])"
)
EVIL = ";pwn"


def test_no_name_is_a_command(tmp_path: Path) -> None:
    server = Server(tmp_path)
    for _, _, files in planted.PLANTED:
        for path, text in files.items():
            server.put(path, text)
    server.put("proc/self/cgroup", "0::/user.slice/alice;pwn").put(
        "sys/fs/cgroup/user.slice/alice;pwn/cpu.stat", "nr_periods 100\nnr_throttled 90\nthrottled_usec 9"
    )
    server.put("sys/class/scsi_host/host3/link_power_management_policy", "min_power")
    rename_all(tmp_path)
    by_id = findings_by_id(tmp_path)
    lines = [(f.id, command) for f in by_id.values() for command in commands_of(f) if EVIL in command]
    assert len({id for id, _ in lines}) > 8, sorted(by_id)
    assert [(id, command) for id, command in lines if EVIL in unquote(command)] == []


def test_what_stands_in_quotes_is_told_from_what_does_not() -> None:
    assert EVIL not in unquote("cat '/sys/block/sda;pwn/x'") and EVIL not in unquote("cat '/a'\\'';pwn'")
    assert EVIL in unquote("grep -E ''sda;pwn'|x'") and EVIL in unquote("cat /sys/block/sda;pwn")


def commands_of(finding: Finding) -> list[str]:
    return [
        line
        for remedy in finding.remedy
        for line in (*remedy.commands, *remedy.verify, *remedy.undo, *remedy.persistent)
        if not line.startswith("#")
    ]


def unquote(command: str) -> str:
    return re.sub(r"'[^']*'|\\.", "", command)


def rename_all(root: Path) -> None:
    def insert_evil(text: str) -> str:
        return NAMES.sub(rf"\1{EVIL}", text)

    for folder, below, files in os.walk(root, topdown=False):
        for name in (*files, *below):
            path = Path(folder, name)
            if path.is_symlink():
                target = insert_evil(str(path.readlink()))
                path.unlink()
                path.symlink_to(target)
            elif path.is_file():
                path.write_text(insert_evil(path.read_text()))
            if insert_evil(name) != name:
                path.rename(path.with_name(insert_evil(name)))
