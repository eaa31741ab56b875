"""Where a word of a command stands when it is likely a secret, whatever the program and whatever the word looks like.

What `probes.secrecy.secret_forms` and `secret_options` know are forms and programs. This knows kinds of places: behind
an option or a word whose name has to do with secrets, behind one-letter options that tools use for them, behind
`echo`, `<<<`, and all words of programs that are about passwords. A word there is masked unless its form is harmless.
It serves for command lines only: in a sentence most words would be masked.
"""

import re
from collections.abc import Iterator, Sequence

from probes.secrecy.harmless_forms import SEPARATORS, holds_random_part, is_harmless
from probes.secrecy.known_programs import LAUNCHERS, WITHOUT_SECRETS

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SECRET_PART = re.compile(
    r"\w*(?:passw\w*|passphrase|passcode|passwd|secrets?|token|pwd|psk|creds?|credentials?|apikey|authtok\w*)|(?:\w{0,8})pass|"
    r"\w{0,8}(?:pw|key)|(?:bind|user|db|root|admin)(?:pw|pass)|auth|authz|authkey|oauth2?|cookies?|session(?:id)?|sid|jwt|otp|pin|hmac|"
    r"salt|licen[sc]e|ticket|bearer|rt|login|logon|sas|pa|sig|signature|payload|phrase|encrypt|unseal|unlock|webhook|value|base64|"
    r"community|rwcommunity|cert|seed|obscure|connstr|dsn|munge|crypt"
)
_SETS = re.compile(
    r"(?:\w*[._-])?(?:set|add|change|reset|create|config|alias|adduser|useradd|register|enroll|join)(?:[._-]\w*)?"
)
_PROGRAM = re.compile(
    r"\w*(?:pass|secret|token|cred|auth|login|kinit|iinit|key(?!s?can))\w*|rad(?:test|client)|munge|pdbedit"
)
_LETTER = re.compile(r"-(?:[pPwWkKsStTaAxXyYNEeC]|ap|au|pw|pwd|sp|pa)")
_USER_LETTER = re.compile(r"-[a-zA-Z]*[uUn]")
_USER_PAIR = re.compile(r"([A-Za-z_][\w.@+-]*[:%,/]).+", re.DOTALL)
_PAIR = re.compile(r"(-{0,2}[A-Za-z][\w./:-]*=)(?!=?$).+", re.DOTALL)
_BASE64 = re.compile(r"[\w+/-]{6,}={1,2}")
_REPEAT = frozenset(("echo", "printf"))
_WHERE_PROGRAMS_START = re.compile(r"[;|&\n(`]+")


def names_secret(name: str) -> bool:
    """Return True if a part of the name (`DB_PASS`, `masterUserPassword`, `--eab-hmac-key`) has to do with secrets."""
    return any(_SECRET_PART.fullmatch(part.lower()) for part in _PARTS.findall(name))


def find_secrets_by_position(words: Sequence[str]) -> list[int | None]:
    """For each word where the secret in it begins; None where nothing hints at one."""
    return list(_find(words))


def _find(words: Sequence[str]) -> Iterator[int | None]:
    program, before, about_secrets, sets = "", "", False, False
    for word in words:
        if word in SEPARATORS or _WHERE_PROGRAMS_START.fullmatch(word):
            program, before, about_secrets, sets = "", "", False, False
            yield None
            continue
        pair = _PAIR.fullmatch(word)
        if not program and pair is None:
            program = before if word.startswith("-") else re.split(r"[/(`]", word)[-1]
            about_secrets = bool(_PROGRAM.fullmatch(program)) or program in _REPEAT
            before = word
            yield None
            continue
        if pair is not None:
            value = word[pair.end(1) :]
            yield pair.end(1) if names_secret(pair[1]) and not is_harmless(value) else None
        elif is_harmless(word) or (word.startswith("-") and before != "<<<"):
            yield None
        else:
            yield (
                0
                if about_secrets or (sets and not before.startswith("-"))
                else _begin_in(word, before, program)
            )
        about_secrets |= not word.startswith("-") and names_secret(word)
        sets |= _SETS.fullmatch(word) is not None
        before = word


def _begin_in(word: str, before: str, program: str) -> int | None:
    """Where the secret begins in a word that is neither an option nor harmless by its form."""
    is_value = before.startswith("-") and "=" not in before
    if (
        before == "<<<"
        or (is_value and names_secret(before))
        or _BASE64.fullmatch(word)
        or holds_random_part(word)
    ):
        return 0
    if " " in word or not is_value or program in WITHOUT_SECRETS | LAUNCHERS:
        return None  # what has blanks is a command or a text of its own
    if _LETTER.fullmatch(before):
        return 0
    pair = _USER_PAIR.fullmatch(word) if _USER_LETTER.fullmatch(before) else None
    return pair.end(1) if pair else None
