"""Node expressions without ClusterShell: ranges with their padding, and what is left out."""

from hostdx.app.features.fleet.node_names import _matcher_without_clustershell
from tests.every_case import every_case


@every_case(
    ("words", "name", "is_meant"),
    [
        ("node[001-003]", "node002", True),
        ("node[001-003]", "node2", False),  # another name
        ("node[001-003]", "node004", False),
        ("node[1-3]", "node2", True),
        ("node[001-003,205],gpu3", "node205", True),
        ("node[001-003,205],gpu3", "gpu3", True),
        ("node[001-003],!node002", "node002", False),
        ("node[001-003],!node002", "node003", True),
        ("!node002", "gpu3", True),
    ],
)
def test_who_is_meant(words: str, name: str, is_meant: bool) -> None:
    fits = _matcher_without_clustershell(words)
    assert fits is not None and fits(name) is is_meant


@every_case("words", ["node[1-3", "node[a]", "node[1-]", "@group"])
def test_what_is_no_expression(words: str) -> None:
    assert _matcher_without_clustershell(words) is None
