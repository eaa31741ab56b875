"""Which nodes are meant by `node[001-200,205],gpu3,!node007`: ClusterShell's NodeSet, where it is installed.

Without it a small part of its syntax: commas, one range of numbers a bracket, padding, and `!` for but these.
"""

import re
from collections.abc import Callable

MAX_CHARACTERS = 400  # characters
_NAME = re.compile(r"[A-Za-z0-9_.@%!,:\[\]-]+")
_PART = re.compile(r"(!?)((?:[^\[\],]|\[[0-9,-]+\])+)(?:,|$)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def node_set_matcher(words: str) -> Callable[[str], bool] | None:
    """None where it is no such expression, or an unfinished one. What has no bracket, comma, @ or ! is none."""
    if len(words) > MAX_CHARACTERS or not _NAME.fullmatch(words) or not re.search(r"[\[\],@!]", words):
        return None
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException
    except ImportError:
        return _matcher_without_clustershell(words)
    try:
        nodes = NodeSet(words)
    except NodeSetException:
        return None
    return lambda name: _is_in_node_set(nodes, name, NodeSetException)


def _is_in_node_set(nodes: object, name: str, syntax_error: type[Exception]) -> bool:
    """A host may call itself what no expression can be."""
    try:
        return name in nodes  # type: ignore[operator]
    except syntax_error:
        return False


def _matcher_without_clustershell(words: str) -> Callable[[str], bool] | None:
    wanted: list[re.Pattern[str]] = []
    unwanted: list[re.Pattern[str]] = []
    ranges: dict[str, list[tuple[int, int, int]]] = {}
    at = 0
    while at < len(words):
        part = _PART.match(words, at)
        if part is None or part.end() == at or "@" in part[2]:
            return None
        at = part.end()
        pattern = ""
        for piece in re.split(r"(\[[0-9,-]+\])", part[2]):
            if not piece.startswith("["):
                pattern += re.escape(piece)
                continue
            bounds = [_RANGE.fullmatch(bound) for bound in piece[1:-1].split(",")]
            name = f"n{len(ranges)}"
            ranges[name] = [(int(b[1]), int(b[2] or b[1]), len(b[1])) for b in bounds if b is not None]
            if len(ranges[name]) < len(bounds):
                return None
            pattern += rf"(?P<{name}>\d+)"
        (unwanted if part[1] else wanted).append(re.compile(pattern))

    def matches_pattern(pattern: re.Pattern[str], name: str) -> bool:
        full_match = pattern.fullmatch(name)
        return full_match is not None and all(
            any(low <= int(digits) <= high and len(digits) >= least for low, high, least in ranges[group])
            for group, digits in full_match.groupdict().items()
            if len(digits) < 10
        )

    return lambda name: (
        (not wanted or any(matches_pattern(p, name) for p in wanted))
        and not any(matches_pattern(p, name) for p in unwanted)
    )
