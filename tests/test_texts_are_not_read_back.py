"""A text that a person reads is made once, from fields: no code tests, splits, replaces or matches it afterwards.

What counts as such a text: the fields named below, what the wording places return, and local names made from those.
Text of the host (a log line, a rule, a file) is in fields with other names, and may be parsed.

A test may look for a number or a name in such a text, not for our words: it reads the fields instead. The tests of the
wording itself are left out.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.every_case import every_case
from tests.syntax import ROOT, modules, parse_module

# ruff: noqa: SIM905
FIELDS = frozenset(
    "title text reason explain sentence headline question why detail label answer remark blocked refusal brief risk "
    "refusal_reason answer_text expression_texts full_sentence guard_sentence reason_sentence brief_text "
    "words warning summary hint advice scope".split()
)
SEVERAL_TEXTS = frozenset("sentences left_out differs doubts remarks".split())  # several texts each
WORDING = ("wording", "units", "phrases", "disturbance")  # modules whose functions return texts
TESTS = frozenset(
    "startswith endswith split rsplit partition rpartition removeprefix removesuffix replace find rfind index count "
    "splitlines isdigit isalpha".split()
)
PATTERNS = frozenset("match search fullmatch findall finditer sub subn split".split())
KEEPS = frozenset("strip lstrip rstrip lower upper casefold title format join".split())  # a text stays one
LEAVES = frozenset({ast.Name, ast.Constant, ast.Load, ast.Store})  # most of a tree, and nothing below them
PASSES = frozenset("clean_text str".split())
PHRASE = re.compile(r"\b(?!hostdx )[a-z]{2,}[,;:]? [a-z]{2,}")  # words of ours; a number or a name is data
# the tests of where sentences are made
OF_WORDING = frozenset(
    "test_wording test_answer test_headline test_verdict_table test_units test_disturbance".split()
)


class Reader(ast.NodeVisitor):
    """One module's; `hits` holds (line, text). `phrases`: only where words of ours are looked for, as in tests."""

    def __init__(self, module: ast.Module, phrases: bool = False) -> None:
        self._phrases = phrases
        self.hits: list[tuple[int, str]] = []
        self._texts: list[set[str]] = [set()]
        self._makers: set[str] = set()
        self._modules: set[str] = set()
        self.visit(module)

    def visit(self, node: ast.AST) -> None:
        if type(node) not in LEAVES:
            super().visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Stands before its uses."""
        is_wording = (node.module or "").rsplit(".", 1)[-1] in WORDING
        self._makers |= {a.asname or a.name for a in node.names if is_wording and a.name.islower()}
        self._modules |= {a.asname or a.name for a in node.names if a.name in WORDING}

    def _text(self, node: ast.expr | None) -> bool:
        match node:
            case ast.Attribute(attr=name):
                return name in FIELDS
            case ast.Name(id=name):
                return name in self._texts[-1]
            case ast.Call(func=ast.Name(id=name), args=args):
                return name in self._makers or (name in PASSES and any(map(self._text, args)))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if name in self._modules:
                return True
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args):
                return name in KEEPS and (self._text(value) or any(map(self._text, args)))
            case ast.JoinedStr(values=values):
                return any(isinstance(v, ast.FormattedValue) and self._text(v.value) for v in values)
            case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
                return self._text(left) or self._text(right)
            case ast.BoolOp(values=parts):
                return any(map(self._text, parts))
            case ast.IfExp(body=body, orelse=other):
                return self._text(body) or self._text(other)
            case ast.NamedExpr(value=value):
                return self._text(value)
        return False

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            (self._texts[-1].add if self._text(value) else self._texts[-1].discard)(target.id)

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        if isinstance(target, ast.Name) and isinstance(over, ast.Attribute) and over.attr in SEVERAL_TEXTS:
            self._texts[-1].add(target.id)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        self._texts.append(set())
        self.generic_visit(node)
        self._texts.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self._bind(target, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and self._text(node.value):
            self._texts[-1].add(node.target.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.generic_visit(node)
        self._bind(node.target, node.value)

    def visit_For(self, node: ast.For) -> None:
        self._loop(node.target, node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._loop(node.target, node.iter)
        self.generic_visit(node)

    def _visit_comprehension(
        self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp
    ) -> None:
        for clause in node.generators:
            self.visit(clause)
        self.generic_visit(node)

    visit_GeneratorExp = visit_ListComp = visit_SetComp = visit_DictComp = _visit_comprehension

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name in TESTS and self._text(node.func.value):
                self._hit(node, f".{name}() of {ast.unparse(node.func.value)}")
            elif name in PATTERNS and any(map(self._text, node.args)):
                self._hit(node, f"pattern .{name}() on {ast.unparse(node)}")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if (isinstance(op, ast.In | ast.NotIn) and self._text(right)) or (
                isinstance(op, ast.Eq | ast.NotEq)
                and ((self._text(left) and _is_text(right)) or (self._text(right) and _is_text(left)))
            ):
                self._hit(node, ast.unparse(node))
        self.generic_visit(node)

    def visit_Match(self, node: ast.Match) -> None:
        if self._text(node.subject) and any(isinstance(c.pattern, ast.MatchValue) for c in node.cases):
            self._hit(node, f"match {ast.unparse(node.subject)}")
        self.generic_visit(node)

    def _hit(self, node: ast.AST, text: str) -> None:
        if self._phrases and not any(map(_is_phrase, ast.walk(node))):
            return
        if (place := (getattr(node, "lineno", 0), text[:120])) not in self.hits:
            self.hits.append(place)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)


def _is_phrase(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and PHRASE.search(node.value) is not None
    )


def read_back(source: str, phrases: bool = False) -> list[tuple[int, str]]:
    return Reader(ast.parse(source), phrases).hits


def _checked_modules(*folders: str) -> Iterator[Path]:
    return (path for path in modules(*folders) if path.stem not in (*WORDING, *OF_WORDING))


def test_nothing_outside_the_wording_reads_a_text_back() -> None:
    readers = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in _checked_modules("app", "scenarios", "probes")
        for line, text in Reader(parse_module(path)).hits
    ]
    assert not readers, "a text that a person reads is tested or taken apart:\n" + "\n".join(readers)


def test_no_test_looks_for_our_words() -> None:
    readers = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in _checked_modules("tests")
        for line, text in Reader(parse_module(path), phrases=True).hits
    ]
    assert not readers, "a test looks for words that a person reads:\n" + "\n".join(readers)


@every_case(
    "planted",
    [
        "def test_f(one): assert 'is slower than' in one.title",
        "def test_f(one): assert any('not measured' in e.text for e in one.evidence)",
        "def test_f(one): assert one.reason == 'no such disk'",
        "def test_f(one): assert one.title.startswith('the firewall costs')",
        "def test_f(one): assert f'{one.n} of the disks are' in one.sentence",
    ],
)
def test_words_in_a_test_are_found(planted: str) -> None:
    assert read_back(planted, phrases=True)


@every_case(
    "right",
    [
        "def test_f(one): assert '40 %' in one.title and 'sda' in one.title",
        "def test_f(one, said): assert said in one.text",
        "def test_f(one): assert one.title == answer(one)",
    ],
)
def test_data_in_a_test_is_no_word(right: str) -> None:
    assert read_back(right, phrases=True) == []


@every_case(
    "planted",
    [
        "def f(one): return one.title.startswith('a')",
        "def f(one): return 'disk' in one.reason",
        "def f(one):\n    said = one.sentence\n    return said.split(': ')",
        "def f(one):\n    return any('x' in s for s in one.plan.sentences)",
        "import re\ndef f(one): return re.match(r'\\d', one.text)",
        "P = 1\ndef f(one): return P.search(f'{one.headline}: {one.subject}')",
        "from probes import units\ndef f(n): return units.percent(n).removesuffix(' %')",
        "from hostdx.scenarios.experiment.wording import effect_words\ndef f(v): return effect_words(v).partition(' ')",
        "def f(one):\n    if one.why == 'too slow': pass",
        "def f(one):\n    match one.explain:\n        case 'x': pass",
        "def f(one): return one.label.replace('the treatment', 'the trim')",
        "def f(one): return (clean_text(one.question) or '').endswith('?')",
    ],
)
def test_a_planted_one_is_found(planted: str) -> None:
    assert read_back(planted)


@every_case(
    "right",
    [
        "def f(line): return line.message.startswith('ata')",
        "def f(one): return one.label != one.id",
        "def f(one): return one.title == ''",
        "def f(one, host): return host.text('/proc/x').split()",
        "def f(one):\n    text = one.title\n    text = open('x').read()\n    return text.split()",
        "def f(one): return one.kind in ('a', 'b') and f'{one.title}: {one.reason}'",
    ],
)
def test_what_is_no_reading_back(right: str) -> None:
    assert read_back(right) == []
