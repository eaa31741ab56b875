"""What a recording keeps of a command line: what is known to be harmless, and enough to tell what ran."""

from __future__ import annotations

import shlex

import pytest

from probes.secrecy.harmless_words import LEFT_OUT, harmless_words

SECRET = "Zx7hunter2Q"


@pytest.mark.parametrize(
    "line",
    [
        f"tool login {SECRET}",
        f"tool --note {SECRET}",
        f"tool --note={SECRET}",
        f"DBPASS={SECRET} ./run",
        f"LDAP_BINDPW={SECRET} ./run",
        f"ANYTHING={SECRET} ./run",
        f"sh -c 'x {SECRET}; y'",
        f"tool a:{SECRET}",
        f"tool -x{SECRET}",
        f'tool \'{{"a": "{SECRET}"}}\'',
        f"tool https://h/x?y={SECRET}",
        f"tool /data/{SECRET}abcdef/x",
        f"{SECRET} --version; tool 'a b",
    ],
)
def test_what_is_not_known_is_left_out(line: str) -> None:
    try:
        words = shlex.split(line)
    except ValueError:
        words = ["sh", "-c", line]
    kept = harmless_words(words)
    assert SECRET not in " ".join(kept) and len(kept) == len(words)


@pytest.mark.parametrize(
    "line",
    [
        "fio --name=test --rw=randread --bs=4k --size=1G --ioengine=libaio --iodepth=32 --directory=/data",
        "fio job.fio --output=out.json",
        "mdtest -n 1000 -d /mnt/x -u -z 2",
        "java -Xmx4g -jar server.jar --port 8080",
        "python3 train.py --epochs 10 --lr 0.001 --data /data/imagenet",
        "dd if=/dev/zero of=/data/x bs=1M count=100 oflag=direct",
        "taskset -c 0-3 stress-ng --cpu 4 --vm 2 --vm-bytes 1G -t 60s",
    ],
)
def test_harmless_lines_stay_as_they_are(line: str) -> None:
    assert harmless_words(line.split()) == line.split()


def test_words_of_the_programs_own_are_known() -> None:
    assert harmless_words(["hostdx", "run", "contention"]) == ["hostdx", "run", LEFT_OUT]
    assert harmless_words(["hostdx", "run", "contention"], {"contention"})[-1] == "contention"
