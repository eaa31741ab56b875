"""How a verdict looks, wherever one is drawn: its role in the theme and its colour in a picture."""

from scenarios.contract import events as ev
from scenarios.contract.verdict.verdict import Word

_ROLES = {Word.SLOWER: "critical", Word.FASTER: "ok", Word.EQUAL: "strong"}
_COLOURS = {Word.SLOWER: "#d64545", Word.FASTER: "#2f9e5b"}


def word_role(word: Word) -> str:
    return _ROLES.get(word, "unknown")


def verdict_role(verdict: ev.RunVerdict) -> str:
    """A control is no result: one that moved is a warning, as is a difference between two places of one file system."""
    doubted = verdict.control or verdict.one_file_system
    return "warning" if doubted and verdict.is_different else word_role(verdict.verdict)


def word_colour(word: Word) -> str:
    return _COLOURS.get(word, "currentColor")
