"""How a verdict looks, wherever one is drawn: its role in the theme and its colour in a picture."""

from scenarios import events as ev
from scenarios.verdict.verdict import Word

_ROLES = {Word.SLOWER: "critical", Word.FASTER: "ok", Word.EQUAL: "strong"}
_COLOURS = {Word.SLOWER: "#d64545", Word.FASTER: "#2f9e5b"}


def role(word: Word) -> str:
    return _ROLES.get(word, "unknown")


def role_of(verdict: ev.RunVerdict) -> str:
    """A control is no result: one that moved is a warning, as is a difference between two places of one file system."""
    doubted = verdict.control or verdict.one_file_system
    return "warning" if doubted and verdict.is_different else role(verdict.verdict)


def colour(word: Word) -> str:
    return _COLOURS.get(word, "currentColor")
