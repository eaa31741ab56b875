"""The words of a verdict: what recordings hold, and that code asks fields instead."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
CONTRACT = {"scenarios/contract/verdict/verdict.py", "probes/units.py"}
OTHER_MEANINGS = {
    "app/features/watch/openmetrics.py",
    "app/cli/recorded/compare.py",
    "app/tui/screens/run.py",
    "scenarios/triage/rules/subjects/net.py",
}  # a metric's, an option's value, a key's name, a row's field, a glossary
NAMED = re.compile(r"""["'](slower|faster|no material difference|inconclusive)["']""")
MEMBER = re.compile(r"\bWord\.[A-Z_]+\b")
# What decides, and the edge that shows it.
DECIDE = ("scenarios/contract/verdict/", "app/report/wording.py")


def _files_naming(pattern: re.Pattern[str]) -> set[str]:
    rooms = [path for room in ("app", "probes", "scenarios") for path in (ROOT / room).rglob("*.py")]
    assert len(rooms) > 300
    return {str(p.relative_to(ROOT)) for p in rooms if pattern.search(p.read_text(encoding="utf-8"))}


def test_no_finding_and_no_view_names_a_word() -> None:
    assert {
        f for f in _files_naming(NAMED) if not f.startswith("scenarios/contract/verdict/")
    } - OTHER_MEANINGS <= CONTRACT
    assert not {f for f in _files_naming(MEMBER) if not f.startswith(DECIDE)}
