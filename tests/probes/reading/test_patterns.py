"""Words that a pattern needs, and TOML that is kept by the digest of its text."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.reading.parsed_toml import parse_toml
from probes.reading.patterns import LineIndex, matches_glob, needed_words
from scenarios.triage.rules.known import written_rules
from tests.every_case import every_case

LINES = Path(__file__).parents[2] / "data"


@every_case(
    ("pattern", "words"),
    [
        ("I/O error, dev (sd|vd)", ["i/o error, dev "]),
        ("(Out of memory|killed)", ["killed", "out of memory"]),
        (r"ata\d+: failed", [": failed"]),
        (r"(a|bcdef)", []),
        (r"\d+", []),
    ],
)
def test_words_without_which_nothing_matches(pattern: str, words: list[str]) -> None:
    assert needed_words(pattern) == words


def test_no_line_of_a_fault_lacks_the_words_of_its_rule() -> None:
    rules = [rule for rule in written_rules(Path("/nonexistent")).rules if rule.log]
    files = (LINES / "kernel_log/faults.tsv", LINES / "unseen/lines.tsv")
    lines = [line.split("\t", 1)[1] for file in files for line in file.read_text().splitlines()]
    met = [(rule, line) for rule in rules for line in lines if re.search(rule.log, line)]
    assert len(met) > 80
    assert [line for rule, line in met if not any(word in line.lower() for word in rule.log_words)] == []


def test_an_index_of_lines_answers_as_if_each_line_were_asked() -> None:
    files = (LINES / "kernel_log/faults.tsv", LINES / "kernel_log/start.txt", LINES / "unseen/lines.tsv")
    lines = [line for file in files for line in ("", "İ two\nin one", *file.read_text().splitlines())]
    index = LineIndex(lines)
    some = range(3, len(lines), 2)
    for rule in (rule for rule in written_rules(Path("/nonexistent")).rules if rule.log):
        wanted = {number for number in some if re.search(rule.log, lines[number])}
        assert index.find_matches([(rule.log, rule.log_words)], some) == wanted, rule.id
        for number in wanted:
            alone = LineIndex([lines[number]])  # the last line, and the first
            assert alone.find_matches([(rule.log, rule.log_words)], range(1)) == {0}, rule.id


def test_a_changed_file_is_parsed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "x.toml"
    (tmp_path / "__pycache__").mkdir()
    assert parse_toml(path, b"a = 1") == parse_toml(path, b"a = 1") == {"a": 1}
    assert parse_toml(path, b"a = 2") == {"a": 2}
    assert len(list((tmp_path / "__pycache__").glob("*.json"))) == 1, "the old one is gone"


def test_nothing_is_kept_where_python_keeps_no_byte_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert parse_toml(tmp_path / "x.toml", b"a = 1") == {"a": 1}
    assert not (tmp_path / "__pycache__").exists()


@given(st.text("ab*?[].", max_size=8), st.text("ab*?[].", max_size=5))
def test_a_glob_matches_what_fnmatch_says(name: str, pattern: str) -> None:
    assert matches_glob(name, pattern) is fnmatchcase(name, pattern)
