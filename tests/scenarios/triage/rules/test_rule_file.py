"""The rule language and its files."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.triage.rules.engine import host_rule_of
from hostdx.scenarios.triage.rules.expression import InvalidExpression, Value, parse_expression
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.rules.read import ReadingText, read_value
from hostdx.scenarios.triage.rules.subjects.log import rows_of_unlisted_lines
from hostdx.scenarios.triage.rules.table import SubjectRow
from hostdx.scenarios.triage.rules.words import fill_command
from hostdx.scenarios.triage.triage import apply_rule
from tests.every_case import assert_each, every_case
from tests.fakes.hosts.tree import Tree

GOOD = """
[[rule]]
id = "site.limit"
title = "our limit"
each = "/sys/x/*"
read.now = { path = "now" }
when = "now > 5"
text = "{name} is {now}"
why = "we measured it"
"""


def test_a_sites_own_rule_is_asked(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(GOOD)
    [text] = [r for r in load_written_rules(tmp_path).rules if r.id == "site.limit"]
    tree = tmp_path / "tree"
    for name, now in (("a", "9"), ("b", "1"), ("c", "")):
        (tree / f"sys/x/{name}").mkdir(parents=True)
        if now:
            (tree / f"sys/x/{name}/now").write_text(now)
    events = list(apply_rule(host_rule_of(text), Host(str(tree)), lambda: 0.0))
    assert [e.finding.title for e in events if isinstance(e, ev.Found)] == ["a is 9"]
    last = events[-1]
    assert isinstance(last, ev.Checked) and last.state == "spoke" and "/sys/x/c/now" in last.reason


@every_case(
    ("reader", "value"),
    [
        (ReadingText(path="/sys/x/size"), 4 << 20),  # `4096 kB`, compared in bytes
        (ReadingText(path="/proc/meminfo", key="Dirty"), 12 << 10),
        (ReadingText(path="/proc/meminfo", key="HugePages_Total"), 8),
        (ReadingText(path="/sys/x/chosen", choice=True), "madvise"),
        (ReadingText(path="/sys/x/mask"), 255),
        (ReadingText(path="/sys/x/digits"), 10),
        (ReadingText(path="/sys/x/digits", plain=True), "0010"),
        (ReadingText(path="/sys/x/load"), 0.25),
        (ReadingText(path="/sys/x", count=True), 5),
        (ReadingText(path="/sys/x/chosen", exists=True), True),
        (ReadingText(path="/sys/x/none", exists=True), False),
    ],
)
def test_what_a_rule_reads_has_its_type_and_its_unit(
    tmp_path: Path, reader: ReadingText, value: Value
) -> None:
    tree = Tree(tmp_path).put("/proc/meminfo", "Dirty:    12 kB\nHugePages_Total:  8\n")
    texts = {
        "size": "4096 kB",
        "chosen": "always [madvise] never",
        "mask": "0xff",
        "digits": "0010",
        "load": "0.25",
    }
    for name, text in texts.items():
        tree.put(f"/sys/x/{name}", f"{text}\n")
    result = read_value(tree.host(), reader, "", {})
    assert (result, type(result)) == (value, type(value))


@every_case(
    ("reader", "words"),
    [
        (ReadingText(path="/proc/vmstat", key="oom_kill"), "what stands after oom_kill in /proc/vmstat"),
        (ReadingText(command=("tc", "-s", "qdisc"), match="x (\\d)"), "what x (\\d) finds in tc -s qdisc"),
        (ReadingText(log="EDAC"), "how many lines of the kernel's log match EDAC"),
        (ReadingText(last="lines"), "the last of the lines that lines counts"),
    ],
)
def test_what_a_rule_reads_is_explained(reader: ReadingText, words: str) -> None:
    assert reader.source_words() == words


@every_case(
    ("wrong", "line", "part"),
    [
        (GOOD + '\n[[rule]]\nid = "site.x"\n', 11, "missing required field"),
        (GOOD.replace("now > 5", "__import__('os').system('x')"), 2, "no function of rules"),
        (GOOD.replace("now > 5", "now.real > 5"), 2, "Attribute"),
        (GOOD.replace("now > 5", "now >"), 2, "is no expression"),
        (GOOD.replace('id = "site.limit"', 'id = "site.limit'), 3, "line 3"),
        (GOOD.replace("{now}", "{now:furlongs}"), 2, "furlongs is no form"),
        (GOOD.replace('{ path = "now" }', '{ last = "lines" }'), 2, "lines is no read with a log"),
        (GOOD + '[[rule.remedy]]\ntitle = "x"\ncommands = ["tune {now // 2}"]\n', 2, "now // 2"),
        (GOOD.replace("/sys/x/*", "nothing"), 0, "there is no table nothing"),
    ],
)
def test_a_broken_rule_is_named_with_its_line_and_harms_nothing_else(
    tmp_path: Path, wrong: str, line: int, part: str
) -> None:
    (tmp_path / "own.toml").write_text(wrong)
    (tmp_path / "z.toml").write_text(GOOD.replace("site.limit", "site.other"))
    rules = load_written_rules(tmp_path)
    assert len(rules.problems) == 1 and part in rules.problems[0]
    assert not line or rules.problems[0].startswith(f"{tmp_path / 'own.toml'}:{line}: ")
    assert "site.other" in {rule.id for rule in rules.rules} and len(rules.rules) > 100


@every_case(
    ("text", "names", "value"),
    [
        ("a and b", {"a": False, "b": Absent("no")}, False),
        ("a and b", {"a": True, "b": Absent("no")}, None),
        ("a or b", {"a": Absent("no"), "b": True}, True),
        ("known(a) and a > 1", {"a": Absent("no")}, False),
        ("given(a, b) + 1", {"a": Absent("no"), "b": 2}, 3),
        ("a / b > 1", {"a": 1, "b": 0}, None),
        ("x in ('a', 'b')", {"x": "b"}, True),
        ("x if x > 1 else None", {"x": 1}, None),
        ("cpus(a)", {"a": "nohz,domain,2-31,64"}, 31),
        ("cpus(a)", {"a": "9-2"}, None),
    ],
)
def test_what_is_absent_makes_unknown_unless_the_rest_decides(
    text: str, names: dict[str, object], value: object
) -> None:
    result = parse_expression(text).value(names)
    assert isinstance(result, Absent) if value is None else result == value


@pytest.mark.parametrize("text", ["'x' * 999999999", "[1] * 99999999"])
def test_no_expression_fills_the_memory(text: str) -> None:
    assert isinstance(parse_expression(text).value({}), Absent)


@every_case("text", ["2 ** 999999", "lambda: 1", "[x for x in a]", "a[0]", "f'{a}'", "1" * 3000])
def test_what_is_not_in_the_language(text: str) -> None:
    with pytest.raises(InvalidExpression):
        parse_expression(text)


@every_case(
    ("line", "name", "typed_line"),
    [
        ("ethtool {name}", "eth0", "ethtool eth0"),
        ("ethtool {name}", "a b", "ethtool 'a b'"),
        ("ethtool {name}", "-i", ""),
        ("cat x | grep {name}", "--file=/etc/shadow", ""),
        ("cat -- x | grep {name}", "-f/etc/shadow", ""),
        ("grep -- {name} /proc/interrupts", "-f/etc/shadow", "grep -- -f/etc/shadow /proc/interrupts"),
        ("cat /sys/class/net/{name}/speed", "-i", "cat /sys/class/net/-i/speed"),
        ("renice {name}", -5, "renice -5"),
    ],
)
def test_a_name_is_never_an_option_of_a_remedys_command(line: str, name: str | int, typed_line: str) -> None:
    assert fill_command(line, SubjectRow("x", {"name": lambda: name})) == typed_line


def test_a_name_is_never_an_option_of_a_command_that_a_rule_runs() -> None:
    read = ReadingText(command=("echo", "{name}"))
    assert read_value(Host(), read, "", {"name": "lo"}) == "lo"
    value = read_value(Host(), read, "", {"name": "--version"})
    assert isinstance(value, Absent) and value.kind == "invalid"


RULES = {
    rule.id: rule for rule in load_written_rules(Path("/nonexistent")).rules if rule.id.startswith("log.")
}

DATA = Path(__file__).parents[3] / "data" / "kernel_log"
FAULTS = [line.split("\t") for line in (DATA / "faults.tsv").read_text().splitlines()]
INNOCENT = (DATA / "start.txt").read_text().splitlines()


def rules_of(line: str, root: Path) -> set[str]:
    """The rule for what no other speaks of has a line only where none does."""
    rule_names = {name for name, rule in RULES.items() if not rule.rest and re.search(rule.log, line)}
    log = root / "sos_commands/kernel/dmesg"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"[    1.0] {line}\n")
    rows = rows_of_unlisted_lines(
        Host(str(root)), {rule.log: rule.log_words for rule in RULES.values() if rule.log}
    )
    assert not isinstance(rows, Absent)
    return rule_names or ({"log.driver"} if rows[0]["lines"] else set())


def test_each_fault_is_found(tmp_path: Path) -> None:
    def check(fault: list[str]) -> None:
        rule, line = fault
        assert rule in rules_of(line, tmp_path)

    assert_each(FAULTS, check)


def test_no_line_of_every_start_is_a_fault(tmp_path: Path) -> None:
    def check(line: str) -> None:
        assert rules_of(line, tmp_path) == set()

    assert_each(INNOCENT, check)


HEAVY = (
    "asyncio",
    "http.client",
    "ssl",
    "hostdx.probes.engine",
    "hostdx.scenarios.analysis.imported.findings",
)


def test_triage_loads_nothing_that_it_does_not_need() -> None:
    code = (
        "import sys; from hostdx.scenarios.triage.triage import all_rules; all_rules(); "
        "import hostdx.app.report.triage_text; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
