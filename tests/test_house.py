"""The shape of the tree: files of at most 600 lines, folders of at most 20 files, names that are nouns.

And no pattern that Debian 12's Python 3.11.2 matches otherwise than a newer one.
"""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.mutations.__main__ import read_mutations, trouble_of
from tests.syntax import ROOT, modules, nodes

ROOMS = ("app", "probes", "scenarios", "tests")
MAX_LINES = 600  # no minimum: a class is never cut in two for its length
MAX_FILES = 20  # in a folder, besides __init__.py
NO_NOUNS = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "shared", "base_utils"}


def _lengths() -> dict[Path, int]:
    """Each source file below the rooms, by its path in the tree: its number of lines."""
    lines = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
    }
    assert len(lines) > 500, "the tree was not found"
    return lines


def test_no_file_is_longer_than_can_be_read_at_once() -> None:
    assert {str(path): lines for path, lines in _lengths().items() if lines > MAX_LINES} == {}


def test_no_floor_is_crowded() -> None:
    files = Counter(path.parent for path in _lengths() if path.name != "__init__.py")
    assert files[Path("scenarios/storage")] > 1
    assert {f"{folder}": count for folder, count in files.items() if count > MAX_FILES} == {}


def test_each_file_and_folder_is_named_by_a_noun() -> None:
    names = {part.removesuffix(".py") for path in _lengths() for part in path.parts}
    assert names & NO_NOUNS == set()


def test_one_place_decides_what_a_test_needs() -> None:
    """`tests/needs.py`: whoever skips on his own has a reason of his own that nobody counts."""
    skip = re.compile(r"pytest\.(skip|mark\.skip\w*)\(")
    paths = {str(path) for path in _lengths() if skip.search((ROOT / path).read_text(encoding="utf-8"))}
    assert paths == {"tests/needs.py"}


def test_our_packages_are_imported_by_their_whole_names() -> None:
    """`hostdx.app`, never `app`: a test finds both, and would have each module twice."""
    short = re.compile(r"^\s*(?:from|import) (?:app|probes|scenarios)\b", re.MULTILINE)
    paths = {str(path) for path in _lengths() if short.search((ROOT / path).read_text(encoding="utf-8"))}
    assert paths == set()


def test_few_values_are_of_any_type() -> None:
    """Only at the edge, where bytes become values; what a reader takes out of foreign JSON is `Json` first."""
    count = 0
    for path in _lengths():
        if path.parts[0] != "tests":
            count += sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes(ROOT / path))
    assert count <= 80


def test_each_planted_mistake_has_its_place() -> None:
    """A change that leaves a list of `tests/mutations` behind is seen at once, not when the mistakes are made again."""
    assert [f"{mutation.name}: {bad}" for mutation in read_mutations() if (bad := trouble_of(mutation))] == []


# Before Python 3.11.5 they match wrongly where what they hold could match in another way (cpython issue 106052).
ONE_WAY = re.compile(r"\(\?>|(?:[\])}]|\\\w|\.)(?:[*+?]|\{\d*,?\d*\})\+(?!\+)")


def test_no_pattern_has_loops_that_old_pythons_match_wrongly() -> None:
    assert ONE_WAY.search("(?:a|b)*+c") and ONE_WAY.search("(?>a)") and ONE_WAY.search(r"\d++")
    calls = [
        node
        for path in modules("app", "probes", "scenarios")
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")
    ]
    assert len(calls) > 300
    texts = [str(c.value) for call in calls for c in ast.walk(call) if isinstance(c, ast.Constant)]
    files = [path for room in ("probes", "scenarios") for path in (ROOT / room).rglob("*.toml")]
    lines = (line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    texts += [line for line in lines if re.match(r"\w*pattern|recognise|line = ", line)]
    assert [text for text in texts if ONE_WAY.search(text)] == []
