"""Programs whose options take a secret without saying so by their names: `mysql -pSECRET`, `curl -u user:SECRET`."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Takes(NamedTuple):
    """`word` holds the secret itself, `value` where the word before is `option`; it begins behind their first group."""

    word: str = "(?!)"
    option: str = "(?!)"
    value: str = "()(?!-).+"


_ATTACHED = Takes(word="(-p).+")
_TABLE: tuple[tuple[str, Takes], ...] = (
    ("mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlpump mysqlslap mysqlsh", _ATTACHED),
    ("mariadb mariadb-dump mariadb-admin mariadb-import mariadb-check 7z 7za 7zz rar unrar", _ATTACHED),
    ("sshpass mongo mongosh mongodump mongorestore mongostat", Takes("(-p).+", "-p")),
    ("docker-login podman-login buildah-login skopeo-login oc-login az-login", Takes("(-p).+", "-p")),
    (
        "curl",
        Takes("(-[uU][^:]+:|--(?:proxy-)?user=[^:]+:).+", r"-\w*[uU]|--(?:proxy-)?user", "([^:]*:).+"),
    ),
    ("http https xh", Takes("(-a[^:]+:|--auth=[^:]+:).+", "-a|--auth", "([^:]*:).+")),
    ("smbclient smbget rpcclient", Takes("(-U[^%]+%|--user=[^%]+%).+", "-U|--user", "([^%]*%).+")),
    ("redis-cli", Takes("(-a).+", "-a")),
    ("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd", Takes("(-[ws]).+", "-w")),
    ("ipmitool sqlcmd bcp zip unzip", Takes("(-P).+", "-P")),
    ("snmpget snmpwalk snmpbulkwalk snmptable", Takes("(-[AXc]).+", "-[AXc]")),
    ("keytool jarsigner", Takes(option="-(?:store|key|new)pass")),
    ("ssh-keygen", Takes(option="-[NP]")),
    ("xfreerdp wlfreerdp", Takes("(/p:).+")),
    ("ssh scp sftp rsync", Takes()),  # behind sshpass, with a port
)
_BY_NAME = {name: takes for names, takes in _TABLE for name in names.split()}
PROGRAMS = tuple(name.partition("-login")[0] for name, takes in _BY_NAME.items() if takes != Takes())
_BETWEEN = re.compile(r"[;|&\n]+")


def secrets_begin(words: Sequence[str]) -> list[int | None]:
    """For each word of a command where the secret in it begins; None where none is known."""
    found: list[int | None] = []
    takes, before = Takes(), ""
    for word in words:
        name = word.rpartition("/")[2]
        secret = re.fullmatch(takes.word, word, re.DOTALL)
        if re.fullmatch(takes.option, before):
            secret = re.fullmatch(takes.value, word, re.DOTALL)
        found.append(secret.end(1) if secret else None)
        if _BETWEEN.fullmatch(word):
            takes = Takes()
        elif secret is None:
            takes = _BY_NAME.get(f"{before.rpartition('/')[2]}-{name}") or _BY_NAME.get(name, takes)
        before = word
    return found
