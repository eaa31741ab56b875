"""Names that say what they mean: no figure of language.toml may get worse, so that the next change keeps them."""

import ast
import collections
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache

from tests.every_case import every_case
from tests.syntax import ROOT, modules, nodes

TABLE = tomllib.loads((ROOT / "tests/language.toml").read_text("utf-8"))
COMMON, VAGUE, PREPOSITIONS = (
    frozenset(TABLE["words"][key].split()) for key in ("common", "vague", "prepositions")
)
FILLER_CONSTANT = re.compile(rf"_?(?:{'|'.join(TABLE['words']['filler_constants'].split())})(?:_|$)")
PARTICIPLE = re.compile(r"[a-z]+ed")
ROOMS = {"product": ("app", "probes", "scenarios"), "tests": ("tests",)}
FIGURES = [(tree, figure) for tree, ceilings in TABLE["ceiling"].items() for figure in ceilings]


def words_of(name: str) -> list[str]:
    """Return the words of a name: `parse_elbencho_table` has two, `BundleArchive` too."""
    return [word for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", name.strip("_")) if word]


def is_vague_function(name: str) -> bool:
    """Return whether a function's name is one word that not every programmer reads at once."""
    return len(words_of(name)) == 1 and name.strip("_") not in COMMON


def is_participle(name: str) -> bool:
    """Return whether a function is called by a participle or a preposition alone."""
    bare = name.strip("_")
    return bare in PREPOSITIONS or PARTICIPLE.fullmatch(bare) is not None


def names_in(module: Sequence[ast.AST]) -> Iterator[str]:
    """Yield each identifier as often as it stands in the code: variables, parameters, attributes; none imported."""
    imports = (node for node in module if isinstance(node, ast.ImportFrom))
    imported = {alias.name for node in imports for alias in node.names if alias.asname is None}
    for node in module:
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) if name not in imported:
                yield name.strip("_")


@cache
def measure_names(tree: str) -> dict[str, float]:
    """Return the figures of language.toml as they are now, over the product's folders or `tests`."""
    lines = vague = filler = 0
    functions: list[str] = []
    classes: collections.Counter[str] = collections.Counter()
    for path in modules(*ROOMS[tree]):
        lines += path.read_text("utf-8").count("\n")
        vague += sum(name in VAGUE for name in names_in(nodes(path)))
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                functions.append(node.name)
            elif isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            elif isinstance(node, ast.Assign):
                targets = [target for target in node.targets if isinstance(target, ast.Name)]
                filler += sum(FILLER_CONSTANT.match(target.id) is not None for target in targets)
    return {
        "one_word_functions_percent": 100 * sum(map(is_vague_function, functions)) / len(functions),
        "participle_functions": sum(map(is_participle, functions)),
        "vague_names_per_1000_lines": 1000 * vague / lines,
        "filler_constants": filler,
        "shared_class_names": sum(count > 1 for count in classes.values()),
    }


@every_case("tree, figure", FIGURES)
def test_no_name_gets_worse(tree: str, figure: str) -> None:
    ceiling = TABLE["ceiling"][tree][figure]
    assert measure_names(tree)[figure] <= ceiling, "name what is new by tests/language.toml"


@every_case("tree, figure", FIGURES)
def test_a_ceiling_is_no_higher_than_it_need_be(tree: str, figure: str) -> None:
    """What was gained is kept: a ceiling lies at most a tenth, or one, above what there is."""
    now = max(measure_names(tree)[figure], TABLE["goal"][tree].get(figure, 0))
    assert TABLE["ceiling"][tree][figure] <= max(1.1 * now, now + 1)


@every_case(
    ("name", "is_vague", "is_bare_participle"),
    [
        ("parse_table", False, False),
        ("_told", True, True),
        ("moved", True, True),
        ("of", True, True),
        ("read", False, False),
    ],
)
def test_what_counts(name: str, is_vague: bool, is_bare_participle: bool) -> None:
    assert (is_vague_function(name), is_participle(name)) == (is_vague, is_bare_participle)
