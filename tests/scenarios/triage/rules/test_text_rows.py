"""Rows that a rule cuts from files and outputs, and what it joins them with."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.triage.rules.engine import host_rule_of
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.rules.rule_file import parse_rule_file
from hostdx.scenarios.triage.triage import apply_rule
from tests.fakes.hosts.tree import Tree

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


def test_a_value_that_the_text_does_not_say_is_left_out(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree").put("/proc/x/switch", "port b speed 2\n").put("/sys/x/b/state", "up\n")
    assert finding_titles(tmp_path, RULE, tree.host()) == ["b of switch runs at 2"]


def test_a_captured_output_is_cut_without_the_path_that_a_live_host_needs(tmp_path: Path) -> None:
    rule = RULE.replace('each = "/proc/x/*"', 'each = "/none/*"\ncommand = ["switch", "-p"]')
    tree = Tree(tmp_path / "tree").put("/sos_commands/networking/switch_-p", "port b speed 2\n")
    tree.put("/sys/x/b/state", "up\n")
    assert finding_titles(tmp_path, rule, tree.host()) == ["b of switch_-p runs at 2"]


def test_rows_and_a_command_belong_together(tmp_path: Path) -> None:
    for wrong in (RULE.replace("/proc/x/*", "host"), RULE.replace("rows = ", 'command = ["x"]\nlet.rows = ')):
        (tmp_path / "own.toml").write_text(wrong)
        assert len(parse_rule_file(tmp_path / "own.toml").problems) == 1
