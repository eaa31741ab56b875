"""Every `findings.toml`: each entry is filled, a shell reads its commands, a call gives what its templates ask."""

import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.triage.rules.texts import FindingTexts, finding_texts
from tests.every_case import assert_each, every_case

ROOT = Path(__file__).parents[4] / "scenarios"
FOLDERS = sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.rglob("findings.toml"))
FILES = {folder: finding_texts(folder) for folder in FOLDERS}
IN_APP = (
    *("run/findings", "report/findings", "undo/findings", "report/texts", "report/results/texts"),
    *("features/fleet/texts", "features/watch/texts"),
)
FILES |= {f"app/{file}": FindingTexts(ROOT.parent / "app" / f"{file}.toml") for file in IN_APP}
ENTRIES = [(folder, *key) for folder, file in FILES.items() for key in file.all_entries]
SAYING = ("scenarios", "probes/imports", "app/run", "app/report", "app/undo", "app/features")
OWN = frozenset(inspect.signature(FindingTexts.finding).parameters) - {"self", "name", "fields"}
KINDS = {"finding": "finding", "remedy": "remedy", "evidence": "line", "text": "line"}


class Call:
    """`SAYS.finding("name", field=…)` somewhere in the scenarios; `scenario_names`: none where the name is computed."""

    def __init__(self, file_name: str, folder: str, node: ast.Call, kind: str) -> None:
        self.location, self.folder, self.kind = f"{file_name}:{node.lineno}", folder, KINDS[kind]
        entry_name = node.args[0]
        self.names = [choice.value for choice in _choices(entry_name) if isinstance(choice, ast.Constant)]
        self.open = any(word.arg is None for word in node.keywords)
        fields = {word.arg for word in node.keywords if word.arg}
        self.fields = fields - OWN if kind == "finding" else fields


def _choices(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.IfExp):
        yield from (*_choices(expression.body), *_choices(expression.orelse))
    else:
        yield expression


def text_calls() -> Iterator[Call]:
    for path in ROOT.rglob("*.py"):
        if " = finding_texts(" not in (text := path.read_text()):
            continue
        tree = ast.parse(text)
        files = {
            node.targets[0].id: node.value.args[0].value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id == "finding_texts"
        }
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=kind)) if name in files:
                    yield Call(path.name, files[name], node, kind)


def test_each_call_gives_what_its_templates_ask_and_no_more() -> None:
    assert_each(text_calls(), check_call, name=lambda call: call.location)


def check_call(call: Call) -> None:
    required = [FILES[call.folder].required_fields(call.kind, name) for name in call.names]
    if not required:
        return  # filled below, and where it is called
    plain = [fields - {"subject"} if call.kind == "finding" else fields for fields in required]
    assert frozenset.intersection(*plain) <= call.fields or call.open
    assert call.fields <= frozenset.union(*plain)


def test_each_entry_is_filled_and_its_commands_are_read_by_a_shell() -> None:
    assert_each(ENTRIES, check_entry)


def check_entry(entry: tuple[str, str, str]) -> None:
    folder, kind, name = entry
    file = FILES[folder]
    fields = dict.fromkeys(file.required_fields(kind, name), 3)
    text = getattr(file, "evidence" if kind == "line" else kind)(name, **fields)
    remedies = text.remedy if isinstance(text, Finding) else [text] if isinstance(text, Remedy) else []
    for remedy in remedies:
        for line in (*remedy.commands, *remedy.verify, *remedy.undo):
            assert subprocess.run(["sh", "-n", "-c", line], check=False).returncode == 0, line


@cache
def _code_strings() -> tuple[set[str], set[str]]:
    """That stand in the code: whole ones, and how those begin that are filled in."""
    whole_strings: set[str] = set()
    begun: set[str] = set()
    for path in (source for place in SAYING for source in (ROOT.parent / place).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                begun.add(node.values[0].value)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole_strings.add(node.value)
    for path in (ROOT.parent / "probes/imports/formats").glob("*.toml"):  # formats of imports that are data
        whole_strings |= set(re.findall(r'"([\w.-]+)"', path.read_text()))
    return whole_strings, begun


def test_no_entry_is_left_over() -> None:
    assert_each(FILES, check_all_entries_are_used)


def check_all_entries_are_used(folder: str) -> None:
    whole_strings, begun = _code_strings()
    entries = FILES[folder].all_entries
    remedy_names = {name for text in entries.values() for name in getattr(text, "remedy", ())}
    unused = [key for key in entries if key[1] not in whole_strings | remedy_names]
    assert [key for key in unused if not any(part and key[1].startswith(part) for part in begun)] == []


@every_case(
    ("text", "mistake"),
    [
        ("[finding.a]\nseverity = 'notice'", "finding.a"),
        ("[remedy.b]\ntitle = 'x'\ncommand = ['y']", "remedy.b"),
        ("[finding.c]\ntitle = 'x'\nremedy = ['d']", "remedy.d"),
        ("[line.e]\ntext = '{x:furlongs}'", "furlongs"),
        ("[remedy.f]\ntitle = 'x'\ncommands = [\"grep '{name}' file\"]", "remedy.f"),
        ("[rule.g]\ntitle = 'x'", "rule"),
        ("nonsense", "key"),
    ],
)
def test_a_fault_is_named_by_file_and_entry(text: str, mistake: str, tmp_path: Path) -> None:
    (tmp_path / "findings.toml").write_text(text)
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / "findings.toml"))) as error:
        FindingTexts(tmp_path / "findings.toml").all_entries  # noqa: B018
    assert mistake in str(error.value)


def test_values_in_commands_are_quoted_and_several_make_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "findings.toml").write_text(
        "[remedy.a]\ntitle = '{n:percent}'\ncommands = ['cat {name}', 'ls {each}', 'x{end:raw}', '{none:raw}']"
    )
    file = FindingTexts(tmp_path / "findings.toml")
    remedy = file.remedy("a", n=0.5, name="a;b", each=("c", "d e"), end=" -y", none=())
    assert remedy.commands == ("cat 'a;b'", "ls c", "ls 'd e'", "x -y")
    with pytest.raises(KeyError, match="name"):
        file.remedy("a", n=0.5)
