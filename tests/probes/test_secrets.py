"""What is masked, and what only looks a little like it."""

from __future__ import annotations

import pytest

from probes.secrets import masked, masked_tree, masked_words


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("job --password=hunter2 -v", "job --password=*** -v"),
        ("job --db-password hunter2 -v", "job --db-password *** -v"),
        ("job --password='two words' -v", "job --password=*** -v"),
        ("job --password='no end", "job --password=***"),
        ("job --password=a,b;c|d>e f", "job --password=*** f"),
        ("PGPASSWORD=x psql", "PGPASSWORD=*** psql"),
        (
            "env MYSQL_PWD=x AWS_SECRET_ACCESS_KEY=a/b+c= run",
            "env MYSQL_PWD=*** AWS_SECRET_ACCESS_KEY=*** run",
        ),
        ("--api-key abc --access_key=def", "--api-key *** --access_key=***"),
        ("curl -H 'Authorization: Bearer abc.def'", "curl -H 'Authorization: Bearer ***'"),
        ("curl -H 'X-Auth-Token: abc'", "curl -H 'X-Auth-Token: ***'"),
        ("curl https://me:pw@host/x?token=abc&n=1", "curl https://***@host/x?token=***&n=1"),
        ("redis://:pw@h:6379/0", "redis://***@h:6379/0"),
        ("push ghp_0123456789abcdefghijABCDEFGHIJ now", "push *** now"),
        ("AKIA0123456789ABCDEF", "***"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.sig", "***"),
    ],
)
def test_secrets_are_masked(text: str, kept: str) -> None:
    assert masked(text) == kept
    assert masked(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "shred --passes=3 /dev/null", "fio --name=pass --rw=read --filename=/a", "tokens=5", "key=value", "monkey=3",
        "/etc/passwd: world-readable", "firewalld: authorization", "token ring: slow", "PWD=/root", "keyboard=us",
        "root=UUID=1 rd.luks.key=/x", "rsync me@host:/x", "http://a/b@c", "see https://docs.kernel.org/x.html#a",
        "bypass: yes", "pass-through: on", "a password is required", "hostdx run storage --dir /scratch", "",
    ],
)  # fmt: skip
def test_other_words_stay(text: str) -> None:
    assert masked(text) == text


def test_a_value_may_be_the_next_word() -> None:
    words = ["job", "--password", "two words", "--token", "-v", "--url=ftp://a:b@c"]
    assert masked_words(words) == ["job", "--password", "***", "--token", "-v", "--url=ftp://***@c"]
    assert masked_words(()) == []


def test_at_any_depth() -> None:
    tree = {
        "password": "x",
        "empty": {"api_key": ""},
        "rows": [{"command": ["a", "--token", "b c"]}],
        "token": 7,
    }
    kept = {
        "password": "***",
        "empty": {"api_key": ""},
        "rows": [{"command": ["a", "--token", "***"]}],
        "token": 7,
    }
    assert masked_tree(tree) == kept
