"""A site's own files: root believes none that another user could have written, for rules name commands to run."""

import os
from pathlib import Path

import pytest

from hostdx.scenarios.contract.knowledge_file import trusted_files
from hostdx.scenarios.triage.rules.known import load_written_rules
from tests.needs import ROOT, needs

OTHER = 65534
RULE = """
[[rule]]
id = "site.mine"
title = "a rule of this site"
each = "/proc/version"
when = "x == 1"
text = "x"
why = "x"
[rule.read.x]
command = ["/tmp/own"]
"""


def make_site_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "knowledge.d"
    folder.mkdir(mode=0o755)
    (folder / "a.toml").write_text(RULE)
    return folder


def rule_ids(folder: Path) -> set[str]:
    return {rule.id for rule in load_written_rules(folder).rules}


@pytest.mark.real
@needs(ROOT)
@pytest.mark.parametrize("foreign_part", ["file", "folder", "writable"])
def test_root_believes_no_file_that_others_could_write(tmp_path: Path, foreign_part: str) -> None:
    folder = make_site_folder(tmp_path)
    if foreign_part == "file":
        os.chown(folder / "a.toml", OTHER, OTHER)
    elif foreign_part == "folder":
        os.chown(folder, OTHER, OTHER)
    else:
        (folder / "a.toml").chmod(0o666)
    assert "site.mine" not in rule_ids(folder)
    good, problems = trusted_files(folder)
    assert good == () and len(problems) == 1 and "not read as root" in problems[0]
