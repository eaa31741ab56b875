"""Every rule's own rows, and that nothing is found where nothing is known."""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.scenarios.triage.rules.engine import (
    answer_and_reason_of,
    row_with_rule_values,
    rule_finding,
    severity_of,
)
from hostdx.scenarios.triage.rules.expression import _FUNCTIONS, _LAZY
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.rules.rule_file import RuleText, parse_rule_file
from hostdx.scenarios.triage.rules.table import SubjectRow
from hostdx.scenarios.triage.rules.words import FORMS
from tests.every_case import assert_each

WRITTEN = load_written_rules(Path("/nonexistent"), tested=False)
RULES = WRITTEN.rules
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
    assert WRITTEN.problems == ()
    assert len({rule.id for rule in RULES}) == len(RULES) > 80


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
    assert_each(RULES, lambda rule: check_rows(rule, tmp_path), name=lambda rule: rule.id)


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
    assert_each(RULES, lambda rule: check_titles(rule, tmp_path), name=lambda rule: rule.id)


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
