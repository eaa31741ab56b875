"""`app/` knows no scenario: what it asks of one stands in the contract (`scenarios/contract`)."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hostdx.scenarios.contract.card import bundled_cards
from hostdx.scenarios.contract.registry import scenario_names
from tests.every_case import every_case
from tests.syntax import modules, nodes

APP = Path(__file__).parents[2] / "app"
IDS = frozenset({*scenario_names(), *(card.id for card in bundled_cards())})
# no ordinary words, as `null`, `storage` or `numa` are
PLAIN = IDS & {"checkup", "cpuwatch", "dstate", "fstrim", "iosched", "rpfilter"}
OF_A_SCENARIO = frozenset({"scenario", "id", "prove", "rule"})  # attributes that hold an id
COMMAND = re.compile(rf"hostdx (?:run|plan|explain) (?:{'|'.join(sorted(IDS))})\b")


def find_faults(module: Sequence[ast.AST]) -> Iterator[str]:
    docstrings = {id(node.value) for node in module if isinstance(node, ast.Expr)}  # docstrings
    for node in module:
        is_collection = isinstance(
            node, ast.Compare | ast.MatchValue | ast.Tuple | ast.List | ast.Set | ast.Dict
        )
        ids = _strings_in(node) & IDS if is_collection else set()
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if ids and any(isinstance(side, ast.Attribute) and side.attr in OF_A_SCENARIO for side in sides):
                yield f"line {node.lineno}: compares with {', '.join(sorted(ids))}"
        elif isinstance(node, ast.MatchValue | ast.Tuple | ast.List | ast.Set | ast.Dict) and ids & PLAIN:
            yield f"lists {', '.join(sorted(ids))}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hostdx.scenarios."):
            if (room := (node.module or "").split(".")[2]) in scenario_names():
                yield f"line {node.lineno}: imports from hostdx.scenarios.{room}"
        elif isinstance(node, ast.Constant) and id(node) not in docstrings and _is_named(str(node.value)):
            yield f"line {node.lineno}: names {str(node.value)[:60]!r}"


def _is_named(text: str) -> bool:
    return text in PLAIN or COMMAND.search(text) is not None


def _strings_in(node: ast.AST) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def test_no_file_knows_a_scenario() -> None:
    files = [path for path in modules("app") if "features" not in path.parts]
    assert len(files) > 100
    by_file = {str(path.relative_to(APP)): [*find_faults(nodes(path))] for path in files}
    assert {path: faults for path, faults in by_file.items() if faults} == {}


@every_case(
    "text",
    [
        'if session.began.scenario == "kernel": pass',
        'x = offer.id in ("storage", "null")',
        'ORDER = ("rpfilter", "dstate")',
        "from hostdx.scenarios.null.results import Resolution",
        'found = results.get("fstrim")',
        'step = "hostdx run null"',
    ],
)
def test_what_is_found(text: str) -> None:
    assert [*find_faults([*ast.walk(ast.parse(text))])]
