"""What looks like a secret on a command line, in a URL or in an environment, masked before it is kept.

A guess from names and forms that are in use (`probes.secrecy.secret_options` has the programs whose options tell
nothing by their names); a secret that looks like any other word is not found.
"""

import re
from collections.abc import Sequence
from typing import TypeVar, cast

from probes.secrecy.secret_options import PROGRAMS, secrets_begin

MASK = "***"

T = TypeVar("T")

# `--password`, `db_password`, `PGPASSWORD`, `AWS_SECRET_ACCESS_KEY`, `api-key`, `--pw`; not `--passes`, `tokens`, `key`
_NAME = (
    r"(?:[\w.-]*?(?:passwor[dt]|passwd|passphrase|passcode|secret)|(?:pwd|pass)_\w+|secret_key\w*|[\w.-]*[_-]pwd|(?:[\w.-]*[_.-])?(?:pass|pw|sshpass|token|credentials?|"
    r"auth|authorization|cookie|bearer|apikey|(?:api|auth|access|private|secret|signing|encryption|account|master)[_-]?key)"
    r")(?:[_-](?:key|value|string|id))?"
)
_VALUE = r"(?:\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|[^\s\"'&]+)"
_ASSIGNED = re.compile(
    rf"(?i)(?<![\w./-])(-{{0,2}}{_NAME}\s?[=:]\s?)(?:(bearer|basic|token|digest|negotiate)\s+)?{_VALUE}"
)
_FOLLOWS = re.compile(rf"(?i)(?<![\w.-])(--?{_NAME}\s+)(?!-){_VALUE}")
_ENDING = (
    r"(?!\w*(?:bypass|compass))(?:[\w.-]*\w(?:pass|passwds?|pw|pwd|token|secret|psk|secretkey|"
    r"(?:hmac|license|certificate)-key)|(?:so-)?pin)"
)
_FOLLOWS_ENDING = re.compile(rf"(?i)(?<![\w.-])(--?{_ENDING}\s+)(?!-){_VALUE}")
_OPTION = re.compile(rf"(?i)--?(?:{_NAME}|{_ENDING})")  # a word of its own, its value the next one
_NAMED = re.compile(rf"(?is)(-{{0,2}}{_NAME}=).+")
_ASSIGNS = re.compile(r"env|export|-e|--env|\w+=.*", re.DOTALL)  # what `NAME=VALUE` is one word after
# names that end so without a separator (`DBPASS`, `LDAP_BINDPW`, `hosttoken`), with `=` alone: `bypass: yes` is none
_JOINED = re.compile(
    r"(?i)(?<![\w./-])(-{0,2}(?!\w*(?:bypass|compass|monkey|turkey|hotkey|donkey|passkey)=)"
    r"[\w.-]*\w(?:pass|passw|pw|pwd|key|token|secret|creds?|psk|otp|authz|passwds?)=)"
    r"(?!(?:\d{1,4}|yes|no|true|false|on|off|none|auto|~?/[^\s=]*|\./\S*)(?:[\s&,;'\"]|$))" + _VALUE
)
_JSON = re.compile(
    rf"(?i)(\\?[\"'](?:{_NAME}|pwd|[\w.-]+(?:pass|pw|key|token|secret|pwd))\\?[\"']\s*:\s*)"
    r"(?:\\?\"(?:[^\"\\]|\\[^\"])*(?:\\?\"|$)|\\?'[^']*(?:'|$)|[^\s,}\]\"']+)"
)
_QUERY = re.compile(
    r"(?i)([?&;](?:sig|signature|authz|auth|hmac|jwt|sas|key|code|ticket|assertion|session|sid|pwd?|pass|sign|"
    r"x-(?:amz|goog|oss|cos)-(?:signature|credential|security-token)|awsaccesskeyid|googleaccessid|"
    r"[\w.-]*(?:key|token|secret|signature|password))=)[^&\s\"'#]+"
)
_STRONG = r"(?=[^\s'\"]*[A-Za-z])(?=[^\s'\"]*[\d!#$%^&*?~])[^\s'\"/:][^\s'\"/:]{5,}"
_PAIR_OPTION = re.compile(
    rf"((?<![\w-])(?:-[uU]|--user(?:name)?)(?:[ =]|(?<=-[uU]))['\"]?[A-Za-z_][^\s:'\"/@]*:){_STRONG}"
    r"|((?<![\w-])--?(?:auth|basic-?auth|creds?|credentials?|login|userpwd|userpass|proxy-user|account|logon)"
    r"[ =]['\"]?[A-Za-z_][^\s:'\"/@]*:)(?!\d+\b)[^\s'\"]{3,}"
)
# `admin:Passw0rd` anywhere: small and large letters with digits, or a character that no name or device has
_PAIR = re.compile(
    r"(?<![\w/@:.+=-])([A-Za-z_][\w.+-]{0,40}:)(?:(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)|(?=[\w.-]*[!#$%^&*?~]))"
    r"(?=\S*[A-Za-z])[\w!#$%^&*?~.+-]{6,}(?=@|[\s'\"]|$)"
)
_SQL = re.compile(
    r"(?i)(?<![\"'\\])(\b(?:identified\b[^'\";]{0,60}?\b(?:by|as)|password|passwd|secret|(?:secret|access)_(?:access_)?key(?:_id)?)"
    r"\s*(?:=|:|to)?\s*(?:password\s*\()?\s*)(?:\\?'(?:[^'\\])+(?:\\?'|$)|\\?\"(?:[^\"\\])+(?:\\?\"|$))"
)
_SET = re.compile(
    r"(?i)(\b(?:set|config|connect|setpass|put|write|insert)\s+(?:[\w.-]+\s+)??(?:--?[\w-]+(?:=\S+)?\s+)*[\w.:/-]*(?:passw(?:or)?d|secret|token|_key|"
    r"apikey|psk)[\w.]*\s+)(?!-)" + _VALUE
)
# what is piped or given to a program that asks for it, `/p:` of remote desktops, `--key` with no path and no number
_GIVEN = re.compile(
    r"(?i)(\b(?:echo|printf)\s+(?:-\w+\s+)*)(?:\"[^\"]*\"|'[^']*'|\S+)(?=\s*\|\s*(?:\S*/)?(?:sudo|su|passwd|chpasswd|kinit|docker|podman|"
    r"cryptsetup|gpg|smbpasswd|vault|openssl|htpasswd|ssh-add|helm|gh|ansible-vault)\b)"
    rf"|(<<<\s*){_VALUE}|((?<!\S)/p:)\S+|((?<!\S)--?key[ =])(?=\S*[A-Za-z])(?=\S*\d)[\w+=-]{{8,}}(?!\S)"
)
_BARE = re.compile(rf"(?i)[\w.:/-]*{_NAME}")  # `aws configure set aws_session_token VALUE`
_SETTERS = frozenset(("set", "config", "connect", "put", "write", "setpass"))
_BEARER = re.compile(r"(?i)\b(bearer\s+)[^\s\"']{8,}")
_USERINFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s/?#\"']+@")  # RFC 3986, section 3.2.1
_NO_SCHEME = re.compile(r"(?<![\w/@:.+-])([\w.+-]+:)[^\s/@:\"']+(?=@(?!sha\d)[\w.-]+:\d)")
_WORD = re.compile(r"""[;|&\n]+|(?:[^\s'"\\;|&]|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)|\\$)+""", re.DOTALL)
_QUOTES = re.compile(r"""'([^']*)'?|"((?:[^"\\]|\\.)*)"?|\\(.)""", re.DOTALL)
# tokens known by their beginning: GitHub, GitLab, AWS, Slack, Stripe and others, JSON web tokens, private keys
_KNOWN = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|"
    r"[sr]k_live_\w{10,}|sk-(?=[\w-]*\d)[\w-]{20,}|AIza[\w-]{35}|eyJ[\w-]{8,}\.eyJ[\w-]+\.[\w-]*)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*-----|$)"
)
_HINT = re.compile(
    r"(?i)pass|secret|token|pwd?|cred|auth|key|cookie|bearer|://|:[^\s/@:]+@|gh[pousr]_|glpat|AKIA|ASIA|xox|"
    r"k_live_|sk-|AIza|eyJ|psk|otp|<<<|/p:|echo|printf|[?&]sig|signature|identified|user|-u|login|account|[A-Za-z_]:[^\s/:]{6}"
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
    text = _KNOWN.sub(MASK, text)
    text = _JSON.sub(rf"\1{MASK}", text)
    text = _QUERY.sub(rf"\1{MASK}", text)
    text = _SQL.sub(rf"\1{MASK}", text)
    text = _SET.sub(rf"\1{MASK}", text)
    text = _GIVEN.sub(lambda found: f"{found[1] or found[2] or found[3] or found[4]}{MASK}", text)
    text = _USERINFO.sub(rf"\1{MASK}@", text)
    text = _NO_SCHEME.sub(rf"\1{MASK}", text)
    text = _ASSIGNED.sub(_keep_name, text)
    text = _JOINED.sub(rf"\1{MASK}", text)
    text = _FOLLOWS.sub(rf"\1{MASK}", text)
    text = _FOLLOWS_ENDING.sub(rf"\1{MASK}", text)
    text = _PAIR_OPTION.sub(lambda found: f"{found[1] or found[2]}{MASK}", text)
    text = _PAIR.sub(rf"\1{MASK}", text)
    return _BEARER.sub(rf"\1{MASK}", text)


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


def _keep_name(found: re.Match[str]) -> str:
    scheme = f"{found[2]} " if found[2] else ""
    return f"{found[1]}{scheme}{MASK}"
