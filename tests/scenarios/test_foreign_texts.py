"""Texts that a tree may hold keep no rule busy and make none fail: each once took for ever, or stopped triage.

No time is asserted: the reading has 60 s and takes a fraction of one.
"""

from pathlib import Path

import pytest

from hostdx.app.cli.telling import triage as command
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.time_limit import iterate_in_time
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.knowledge_file import read_tables
from hostdx.scenarios.contract.rule import HostRule
from hostdx.scenarios.triage import triage
from hostdx.scenarios.triage.rules.read import ReadingText, read_value
from hostdx.scenarios.triage.rules.rule_file import parse_rule_file
from hostdx.scenarios.workload.group import ScoreReader
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

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
    assert failed == [] and not host.out_of_time
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
        read_tables(file)


@pytest.mark.parametrize("digits", [4000, 5000])
def test_a_score_of_thousands_of_digits_is_none(digits: int) -> None:
    """JSON's whole numbers have no bound of their own; a float has one."""
    assert ScoreReader("json:score").find(f'{{"score": {"9" * digits}}}') is None
    assert ScoreReader("score=(.*)").find(f"score={'9' * digits}") is None
