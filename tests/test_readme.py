"""The README's paths and commands are there, and it stays a page."""

import re
from pathlib import Path

from hostdx.app.cli.commands import FOR_THE_SCREEN, core_and_feature_commands
from hostdx.scenarios.contract import registry

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAX_LINES = 140


def test_it_stays_a_page() -> None:
    assert len(README.splitlines()) <= MAX_LINES


def test_each_path_that_it_names_is_there() -> None:
    matches = re.findall(r"`((?:app|probes|scenarios|tests|\.ci)/[\w./-]+)`", README)
    linked = re.findall(r"\]\(([\w./-]+)\)", README)
    assert len(matches) > 10 and len(linked) > 3
    assert [path for path in matches + linked if not (ROOT / path).exists()] == []


def test_each_command_and_scenario_is_there() -> None:
    names = {name for line in re.findall(r"^hostdx +([a-z| ]+)", README, re.M) for name in line.split()}
    commands = set(re.findall(r"`hostdx ([a-z]+)", README))
    assert commands <= set(core_and_feature_commands())
    assert set(core_and_feature_commands()) - FOR_THE_SCREEN - {"completion"} <= names
    table = set(re.findall(r"^\| `([a-z]+)` \|", README, re.M))
    assert table == {name for name in registry.scenario_names() if (ROOT / "scenarios" / name).is_dir()}
