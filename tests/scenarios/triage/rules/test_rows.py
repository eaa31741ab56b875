"""The rows of each rule."""

from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.triage.rules.engine import (
    answer_and_reason_of,
    host_rule_of,
    row_with_rule_values,
    rule_finding,
    severity_of,
)
from hostdx.scenarios.triage.rules.expression import _FUNCTIONS, _LAZY
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.rules.rule_file import RuleText, parse_rule_file
from hostdx.scenarios.triage.rules.subjects.cpu import (
    rapl_package_rows,
    sensor_rows,
    stat_rows,
    throttle_rows,
)
from hostdx.scenarios.triage.rules.subjects.disk import disk_rows
from hostdx.scenarios.triage.rules.subjects.memory import dimm_rows
from hostdx.scenarios.triage.rules.table import SubjectRow
from hostdx.scenarios.triage.rules.words import FORMS
from hostdx.scenarios.triage.triage import apply_rule
from tests.every_case import assert_each
from tests.fakes.hosts.tree import Tree
from tests.scenarios.planted import our_rules

PAGE = Path(__file__).parents[4] / "scenarios/triage/rules/README.md"


def fill_row(rule: RuleText, values: dict[str, object], root: Path) -> SubjectRow:
    """The row's values in the place of what the rule would read."""
    row_values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    bare = SubjectRow(str(row_values.get("name", row_values.get("mountpoint", "it"))), row_values)
    host_row = row_with_rule_values(rule, Host(str(root)), SubjectRow(bare.subject, {}))
    columns = {
        name: row_values[name] if name in row_values else (lambda n=name: host_row[n]) for name in rule.read
    }
    row = bare.with_columns(columns)
    text = RuleText(**{**{f: getattr(rule, f) for f in rule.__struct_fields__}, "read": {}})
    return row_with_rule_values(text, Host(str(root)), row)


def test_no_file_has_a_mistake() -> None:
    rules = our_rules().rules
    assert our_rules().problems == ()
    assert len({rule.id for rule in rules}) == len(rules) > 80


def test_the_page_s_rule_is_one_and_its_words_are_all(tmp_path: Path) -> None:
    page = PAGE.read_text()
    (tmp_path / "page.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    rule_file = parse_rule_file(tmp_path / "page.toml")
    assert rule_file.problems == ()
    [rule] = rule_file.rules
    check_rows(rule, tmp_path)
    assert f"`{' '.join((*_FUNCTIONS, *sorted(_LAZY, reverse=True)))}`" in page
    assert f"`{' '.join(FORMS)}`" in page


def test_the_rows_of_each_rule(tmp_path: Path) -> None:
    assert_each(our_rules().rules, lambda rule: check_rows(rule, tmp_path), name=lambda rule: rule.id)


def check_rows(rule: RuleText, tmp_path: Path) -> None:
    answers = {row.answer for row in rule.tests}
    assert {"found", "fine"} <= answers, "a rule without a row for each answer"
    for row in rule.tests:
        full = fill_row(rule, row.row, tmp_path)
        assert answer_and_reason_of(rule, full)[0] == row.answer, (row, answer_and_reason_of(rule, full))
        if row.answer == "found":
            finding = rule_finding(rule, Host(str(tmp_path)), severity_of(rule, full), [full])
            assert "{" not in finding.title and finding.evidence
            both = rule_finding(rule, Host(str(tmp_path)), severity_of(rule, full), [full, full])
            assert "{" not in both.title and len(both.subjects) == 2


def test_no_title_says_unknown_where_one_value_is_missing(tmp_path: Path) -> None:
    """A captured tree rarely has all files: what one of them alone proves has a whole title."""
    assert_each(our_rules().rules, lambda rule: check_titles(rule, tmp_path), name=lambda rule: rule.id)


def check_titles(rule: RuleText, tmp_path: Path) -> None:
    host = Host(str(tmp_path))
    for values in (example.row for example in rule.tests if example.answer == "found"):
        full = fill_row(rule, values, tmp_path)
        usual = rule_finding(rule, host, severity_of(rule, full), [full]).title
        for missing in values.keys() & rule.read.keys():
            row = fill_row(rule, {key: value for key, value in values.items() if key != missing}, tmp_path)
            if answer_and_reason_of(rule, row)[0] != "found":
                continue
            title = rule_finding(rule, host, severity_of(rule, row), [row]).title
            assert title.count("unknown") == usual.count("unknown"), (missing, title)


RULE = r"""
[[rule]]
id = "site.ports"
title = "our ports"
each = "/proc/x/*"
rows = '^port (?P<name>\S+) speed (?P<speed>\d+)(?: of (?P<most>\d+))?$'
let.folder = "'/sys/x/' + name"
read.state = { path = "{folder}/state" }
read.owner = { path = "/etc/owners", match = '^{name}: (\w+)' }
when = "speed < 10 and state == 'up'"
text = "{name} of {found(path, '([^/]+)$')} runs at {speed}[? of {most}][?, owned by {owner}]"
why = "we measured it"
"""


def finding_titles(tmp_path: Path, rule: str, host: Host) -> list[str]:
    site = tmp_path / "site"
    site.mkdir()
    (site / "own.toml").write_text(rule)
    [text] = [rule for rule in load_written_rules(site).rules if rule.id == "site.ports"]
    events = apply_rule(host_rule_of(text), host, lambda: 0.0)
    return [event.finding.title for event in events if isinstance(event, ev.Found)]


def test_each_match_is_a_row_that_other_files_are_joined_with(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree").put(
        "/proc/x/switch", "port a.1 speed 1 of 40\nport ax1 speed 99\nport b speed 2\n"
    )
    tree.put("/sys/x/a.1/state", "up\n").put("/sys/x/b/state", "down\n")
    tree.put("/etc/owners", "ax1: nobody\na.1: anna\n")  # the name stands for itself, its dot too
    assert finding_titles(tmp_path, RULE, tree.host()) == ["a.1 of switch runs at 1 of 40, owned by anna"]


def test_a_captured_output_is_cut_without_the_path_that_a_live_host_needs(tmp_path: Path) -> None:
    rule = RULE.replace('each = "/proc/x/*"', 'each = "/none/*"\ncommand = ["switch", "-p"]')
    tree = Tree(tmp_path / "tree").put("/sos_commands/networking/switch_-p", "port b speed 2\n")
    tree.put("/sys/x/b/state", "up\n")
    assert finding_titles(tmp_path, rule, tree.host()) == ["b of switch_-p runs at 2"]


def test_rows_and_a_command_belong_together(tmp_path: Path) -> None:
    for wrong in (RULE.replace("/proc/x/*", "host"), RULE.replace("rows = ", 'command = ["x"]\nlet.rows = ')):
        (tmp_path / "own.toml").write_text(wrong)
        assert len(parse_rule_file(tmp_path / "own.toml").problems) == 1


CPU = "/sys/devices/system/cpu"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def only_row(rows: Any) -> Any:
    assert isinstance(rows, list)
    [row] = rows
    return row


def test_events_of_a_package_are_told_by_each_of_its_cores_and_count_once(tree: Tree) -> None:
    for cpu, own in ((0, 3), (1, 4)):
        folder = f"{CPU}/cpu{cpu}/thermal_throttle"
        tree.files(folder, core_throttle_count=own, package_throttle_count=50)
    tree.put("/proc/uptime", "7200.00 9.00\n")
    row = only_row(throttle_rows(tree.host()))
    assert (row["core"], row["package"], row["hours"]) == (7, 50, 2.0)


def test_sensors_speak_in_thousandths_of_a_degree(tree: Tree) -> None:
    tree.files(
        "/sys/class/hwmon/hwmon0", name="coretemp", temp1_input=61500, temp1_crit=100000, temp1_max=80000
    )
    row = only_row(sensor_rows(tree.host()))
    assert (row["celsius"], row["critical"], row["high"], row["alarm"]) == (61.5, 100.0, 80.0, False)


def test_power_limits_are_in_microwatts(tree: Tree) -> None:
    tree.files(
        "/sys/class/powercap/intel-rapl:0",
        name="package-0",
        constraint_0_power_limit_uw=125_000_000,
        constraint_0_max_power_uw=250_000_000,
    )
    row = only_row(rapl_package_rows(tree.host()))
    assert (row["limit_w"], row["most_w"]) == (125.0, 250.0)


def test_shares_of_cpu_time_since_boot(tree: Tree) -> None:
    """user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user's."""
    tree.put("/proc/stat", "cpu  100 20 60 500 200 5 15 100 90 0\ncpu0 100 20 60 500 200 5 15 100 90 0\n")
    tree.put(f"{CPU}/online", "0\n")
    row = only_row(stat_rows(tree.host()))
    assert (row["steal"], row["iowait"], row["softirq"], row["busy"]) == (0.1, 0.2, 0.015, 0.3)
    assert (row["busiest_softirq"], row["busiest_softirq_cpu"], row["seconds"]) == (0.015, 0, 10.0)
    assert row["system"] == pytest.approx(60 / 180)


DIMM = "Memory Device\n\tSize: {}\n\tLocator: {}\n\tSpeed: {} MT/s\n\tConfigured Memory Speed: {} MT/s\n\n"


def test_the_slowest_module_sets_the_speed_and_an_empty_channel_is_seen(tree: Tree) -> None:
    modules = (("16 GB", "CPU1_DIMM_A1", 3200, 2933), ("16 GB", "CPU1_DIMM_B1", 2933, 2666))
    text = "".join(DIMM.format(*module) for module in modules)
    text += "Memory Device\n\tSize: No Module Installed\n\tLocator: CPU1_DIMM_C1\n"
    tree.put("/sos_commands/hardware/dmidecode", text)
    row = only_row(dimm_rows(tree.host()))
    assert (row["slots"], row["filled"], row["empty_channels"]) == (3, 2, 1)
    assert (row["rated"], row["configured"], row["uneven"]) == (2933, 2666, True)


def test_a_queues_sizes_are_in_kib(tree: Tree) -> None:
    path = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    tree.disk(path, read_ahead_kb=128, max_sectors_kb=1280, max_hw_sectors_kb=32767)
    row = only_row(disk_rows(tree.host()))
    assert (row["read_ahead"], row["max_sectors"]) == (128 << 10, 1280 << 10)
    assert row["max_hw_sectors"] == 32767 << 10
