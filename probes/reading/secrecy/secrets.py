"""What looks like a secret on a command line, in a URL or in an environment, masked before it is kept.

A guess from forms that are in use (`secret_forms`) and from programs whose options tell nothing by
their names (`known_programs`); a secret that looks like any other word is not found.
"""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.reading.secrecy.harmless_forms import is_harmless_option_value
from hostdx.probes.reading.secrecy.known_programs import TAKING_SECRETS, find_secret_starts
from hostdx.probes.reading.secrecy.secret_forms import ENDING, MASK, NAME, SECRET_FORMS
from hostdx.probes.reading.secrecy.secret_positions import find_secrets_by_position

T = TypeVar("T")

_OPTION = lazy_pattern(rf"(?i)--?(?:{NAME}|{ENDING})")  # a word of its own, its value the next one
_NAMED = lazy_pattern(rf"(?is)(-{{0,2}}{NAME}=).+")
_ASSIGNS = lazy_pattern(r"env|export|-e|--env|\w+=.*", re.DOTALL)  # what `NAME=VALUE` is one word after
_BARE = lazy_pattern(rf"(?i)[\w.:/-]*{NAME}")  # `aws configure set aws_session_token VALUE`
_SETTERS = frozenset(("set", "config", "connect", "put", "write", "setpass"))
_ONE_OR_TWO_DIGITS = lazy_pattern(r"\d{1,2}")  # `--pass 2`: no secret is so short
_WORD = lazy_pattern(
    r"""[;|&\n]+|(?:<\([^()]*\)|[^\s'"\\;|&]|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)|\\$)+""", re.DOTALL
)
_QUOTES = lazy_pattern(r"""'([^']*)'?|"((?:[^"\\]|\\.)*)"?|\\(.)""", re.DOTALL)
_HINT = lazy_pattern(
    r"(?i)pass|_PAT=|thin:|secret|token|pwd?|cred|auth|key|cookie|bearer|://|:[^\s/@:]+@|gh[pousr]_|glpat|AKIA|ASIA|xox|"
    r"k_live_|sk-|AIza|eyJ|psk|otp|jwt|hmac|license|phrase|-pin|webhook|/services/|/bot\d|DHHC|tskey|using|,p=|<<<|/p:|echo|printf|[?&]sig|send|\\$\\d|signature|identified|user|-u|login|<\(|1//|database|/[\w.-]+:[^\s/@:]+@|account|[A-Za-z_]:[^\s/:]{6}"
)
_PROGRAM = lazy_pattern(rf"\b(?:{'|'.join(TAKING_SECRETS)})\b")


def short_hash(text: str) -> str:
    """Return "sha256:" and 12 digits in place of a text that is not recorded. A short text can be guessed."""
    import hashlib  # loads OpenSSL, which the first screen does without

    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def mask_secrets(text: str) -> str:
    """The text with `***` in place of every value that looks like a secret; its name stays."""
    if not (_HINT.search(text) or _PROGRAM.search(text)):
        return text
    return mask_secret_forms(mask_shell_words(text, _masked_or_none_by_place, mask_secrets))


def mask_secret_forms(text: str) -> str:
    """Return the text with `***` for what has the form of a secret, wherever it stands."""
    if not _HINT.search(text):
        return text
    for form in SECRET_FORMS:
        text = form.mask(text)
    return text


def mask_command_words(words: Sequence[str]) -> list[str]:
    """A command's words. `--password` alone: the word after it is its value, blanks in it included."""
    return [
        mask_secrets(word) if masked_word is None else masked_word
        for word, masked_word in zip(words, _masked_or_none_by_place(words), strict=True)
    ]


def mask_by_position(words: Sequence[str]) -> list[str | None]:
    """Return what is kept of each word that is a secret, or stands where one would; None of the others."""
    return [
        word[:begins] + MASK if masked_word is None and begins is not None else masked_word
        for word, masked_word, begins in zip(
            words, _masked_or_none_by_place(words), find_secrets_by_position(words), strict=True
        )
    ]


def _masked_or_none_by_place(words: Sequence[str]) -> list[str | None]:
    """Return what is kept of each word that is known for a secret by where it stands; None of the others."""
    masked_arguments: list[str | None] = []
    setting = not _SETTERS.isdisjoint(words)
    for word, before, begins in zip(words, ("", *words), find_secret_starts(words), strict=False):
        name_match = _NAMED.fullmatch(word) if _ASSIGNS.fullmatch(before) else None
        is_named = _OPTION.fullmatch(before) or (setting and _BARE.fullmatch(before))
        if is_named and not word.startswith("-"):
            is_count = before == "--pass" and _ONE_OR_TWO_DIGITS.fullmatch(word)
            begins = None if is_count or is_harmless_option_value(before, word) else 0
        elif name_match:
            begins = name_match.end(1)
        masked_arguments.append(None if begins is None else word[:begins] + MASK)
    return masked_arguments


def mask_shell_words(
    text: str, mask_some: Callable[[Sequence[str]], list[str | None]], mask_inner: Callable[[str], str]
) -> str:
    """As a shell reads it; what a quoted word holds may be a command again."""
    matches = list(_WORD.finditer(text))
    bare = [
        _QUOTES.sub(lambda quoted: quoted[1] or quoted[2] or quoted[3] or "", word[0]) for word in matches
    ]
    out, at = "", 0
    for word, inside, replacement in zip(matches, bare, mask_some(bare), strict=True):
        quote = word[0][0]
        if replacement is None and quote in "'\"" and word[0] == f"{quote}{inside}{quote}" and " " in inside:
            replacement = f"{quote}{mask_inner(inside)}{quote}"
        if replacement is not None:
            out, at = out + text[at : word.start()] + replacement, word.end()
    return out + text[at:]


def mask_tree(value: T) -> T:
    """Every text in lists and dictionaries at any depth; a list of texts alone is taken for a command's words."""
    tree: object = value
    if isinstance(tree, str):
        tree = mask_secrets(tree)
    elif isinstance(tree, list | tuple):
        if tree and all(isinstance(item, str) for item in tree):
            tree = mask_command_words(cast("Sequence[str]", tree))
        else:
            tree = [mask_tree(item) for item in tree]
    elif isinstance(tree, dict):
        tree = {key: MASK if _is_key_of_secret(key, item) else mask_tree(item) for key, item in tree.items()}
    return cast("T", tree)


def _is_key_of_secret(key: object, value: object) -> bool:
    return (
        isinstance(key, str)
        and isinstance(value, str)
        and bool(value)
        and _OPTION.fullmatch("-" + key) is not None
    )
