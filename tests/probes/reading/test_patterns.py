"""Words that a pattern needs, and TOML that is kept by the digest of its text."""

import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.reading.parsed_toml import parse_toml
from hostdx.probes.reading.patterns import matches_glob, words_every_match_needs
from tests.every_case import every_case


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
    assert words_every_match_needs(pattern) == words


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
