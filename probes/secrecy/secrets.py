"""What looks like a secret on a command line, in a URL or in an environment, masked before it is kept.

A guess from forms that are in use (`probes.secrecy.secret_forms`) and from programs whose options tell nothing by
their names (`probes.secrecy.secret_options`); a secret that looks like any other word is not found.
"""

import re
from collections.abc import Sequence
from typing import TypeVar, cast

from probes.secrecy.secret_forms import ENDING, MASK, NAME, SECRET_FORMS
from probes.secrecy.secret_options import PROGRAMS, secrets_begin

T = TypeVar("T")

_OPTION = re.compile(rf"(?i)--?(?:{NAME}|{ENDING})")  # a word of its own, its value the next one
_NAMED = re.compile(rf"(?is)(-{{0,2}}{NAME}=).+")
_ASSIGNS = re.compile(r"env|export|-e|--env|\w+=.*", re.DOTALL)  # what `NAME=VALUE` is one word after
_BARE = re.compile(rf"(?i)[\w.:/-]*{NAME}")  # `aws configure set aws_session_token VALUE`
_SETTERS = frozenset(("set", "config", "connect", "put", "write", "setpass"))
_WORD = re.compile(r"""[;|&\n]+|(?:[^\s'"\\;|&]|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)|\\$)+""", re.DOTALL)
_QUOTES = re.compile(r"""'([^']*)'?|"((?:[^"\\]|\\.)*)"?|\\(.)""", re.DOTALL)
_HINT = re.compile(
    r"(?i)pass|secret|token|pwd?|cred|auth|key|cookie|bearer|://|:[^\s/@:]+@|gh[pousr]_|glpat|AKIA|ASIA|xox|"
    r"k_live_|sk-|AIza|eyJ|psk|otp|jwt|hmac|license|phrase|-pin|webhook|/services/|/bot\d|DHHC|tskey|using|,p=|<<<|/p:|echo|printf|[?&]sig|signature|identified|user|-u|login|account|[A-Za-z_]:[^\s/:]{6}"
)
_PROGRAM = re.compile(rf"\b(?:{'|'.join(PROGRAMS)})\b")


def digest(text: str) -> str:
    """What stands for a text that is not to be recorded: the same for the same text. A short one can be guessed."""
    import hashlib  # loads OpenSSL, which the first screen does without

    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def masked(text: str) -> str:
    """The text with `***` in place of every value that looks like a secret; its name stays."""
    if not (_HINT.search(text) or _PROGRAM.search(text)):
        return text
    text = _arguments_masked(text)
    for form in SECRET_FORMS:
        text = form.pattern.sub(form.kept, text)
    return text


def masked_words(words: Sequence[str]) -> list[str]:
    """A command's words. `--password` alone: the word after it is its value, blanks in it included."""
    return [
        masked(word) if kept is None else kept for word, kept in zip(words, _arguments(words), strict=True)
    ]


def _arguments(words: Sequence[str]) -> list[str | None]:
    """What is kept of each word that is known for a secret by where it stands; None of the others."""
    kept: list[str | None] = []
    setting = not _SETTERS.isdisjoint(words)
    for word, before, begins in zip(words, ("", *words), secrets_begin(words), strict=False):
        named = _NAMED.fullmatch(word) if _ASSIGNS.fullmatch(before) else None
        if (_OPTION.fullmatch(before) and not word.startswith("-")) or (
            setting and _BARE.fullmatch(before) and not word.startswith("-")
        ):
            begins = 0
        elif named:
            begins = named.end(1)
        kept.append(None if begins is None else word[:begins] + MASK)
    return kept


def _arguments_masked(text: str) -> str:
    """As a shell reads it; what a quoted word holds may be a command again."""
    found = list(_WORD.finditer(text))
    bare = [_QUOTES.sub(lambda one: one[1] or one[2] or one[3] or "", word[0]) for word in found]
    out, at = "", 0
    for word, inside, kept in zip(found, bare, _arguments(bare), strict=True):
        quote = word[0][0]
        if kept is None and quote in "'\"" and word[0] == f"{quote}{inside}{quote}" and " " in inside:
            kept = f"{quote}{masked(inside)}{quote}"
        if kept is not None:
            out, at = out + text[at : word.start()] + kept, word.end()
    return out + text[at:]


def masked_tree(value: T) -> T:
    """Every text in lists and dictionaries at any depth; a list of texts alone is taken for a command's words."""
    tree: object = value
    if isinstance(tree, str):
        tree = masked(tree)
    elif isinstance(tree, list | tuple):
        if tree and all(isinstance(one, str) for one in tree):
            tree = masked_words(cast("Sequence[str]", tree))
        else:
            tree = [masked_tree(one) for one in tree]
    elif isinstance(tree, dict):
        tree = {key: MASK if _names(key, one) else masked_tree(one) for key, one in tree.items()}
    return cast("T", tree)


def _names(key: object, value: object) -> bool:
    return (
        isinstance(key, str)
        and isinstance(value, str)
        and bool(value)
        and _OPTION.fullmatch("-" + key) is not None
    )
