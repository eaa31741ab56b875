"""What a recording keeps of a command line: what is known to be harmless, and enough to tell what ran."""

import shlex

from hostdx.probes.reading.secrecy.harmless_words import (
    LEFT_OUT,
    harmless_value,
    mask_unknown_text,
    mask_unknown_words,
)
from hostdx.probes.reading.secrecy.secret_forms import MASK
from tests.every_case import every_case

SECRET = "Zx7hunter2Q"


@every_case(
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
        f"tool --phrase '{SECRET} alpha'",
        f"tool https://h/services/{SECRET}",
    ],
)
def test_what_is_not_known_is_left_out(line: str) -> None:
    try:
        words = shlex.split(line)
    except ValueError:
        words = ["sh", "-c", line]
    harmless = mask_unknown_words(words)
    assert SECRET not in " ".join(harmless) and len(harmless) == len(words)


@every_case(
    "line",
    [
        "fio --name=test --rw=randread --bs=4k --size=1G --ioengine=libaio --iodepth=32 --directory=/data",
        "fio job.fio --output=out.json",
        "mdtest -n 1000 -d /mnt/x -u -z 2",
        "java -Xmx4g -jar server.jar --port 8080",
        "python3 train.py --epochs 10 --lr 0.001 --data /data/imagenet",
        "dd if=/dev/zero of=/data/x bs=1M count=100 oflag=direct",
        "taskset -c 0-3 stress-ng --cpu 4 --vm 2 --vm-bytes 1G -t 60s",
        "python3 -m torch.distributed.run --nproc_per_node=8 train.py",
        "java -XX:+UseZGC -cp app.jar com.example.Main --size 1073741824 --port 65535",
        "OMP_SCHEDULE=dynamic,4 mpirun --bind-to core ior -o /m/a",
        "fio --filename=/dev/nvme0n1p2 --name=job --offset=250000",
    ],
)
def test_harmless_lines_stay_as_they_are(line: str) -> None:
    assert mask_unknown_words(line.split()) == line.split()


def test_words_of_the_programs_own_are_known() -> None:
    assert mask_unknown_words(["mytool", "run", "contention"]) == ["mytool", "run", LEFT_OUT]
    assert mask_unknown_words(["mytool", "run", "contention"], {"contention"})[-1] == "contention"


@every_case("number", ["482133", "48213377", "1234567890123456"])
def test_a_long_number_that_is_not_round_may_be_a_pin(number: str) -> None:
    assert mask_unknown_words(["tool", number, f"--code={number}"]) == ["tool", LEFT_OUT, f"--code={MASK}"]


@every_case("word", ["Xk3", "abc12", "pw1"])
def test_a_short_word_with_digits_is_no_device(word: str) -> None:
    assert mask_unknown_words(["tool", word]) == ["tool", LEFT_OUT]


def test_a_command_of_harmless_words_stays_as_it_was_typed() -> None:
    for text in ("fio  job.fio", "sh -c 'cat /a | sort'", ""):
        assert mask_unknown_text(text) == text


def test_commands_that_differ_in_what_is_left_out_are_told_apart() -> None:
    harmless_texts = {mask_unknown_text(f"tool login {SECRET}{number}") for number in range(64)}
    assert len(harmless_texts) > 50 and all(
        text.startswith(f"tool {LEFT_OUT} {MASK} #") for text in harmless_texts
    )
    assert not [text for text in harmless_texts if SECRET in text]
    assert mask_unknown_text(f"a: CODE={SECRET} TMPDIR=/data").startswith(f"a: CODE={MASK} TMPDIR=/data #")


def test_what_is_left_out_of_a_text_is_told_by_few_bits() -> None:
    """More would confirm a guess."""
    assert {len(mask_unknown_text(f"x {number}q").partition("#")[2]) for number in range(100)} == {2}


def test_a_variables_value_stays_if_its_name_says_what_it_is() -> None:
    assert harmless_value("OMP_PROC_BIND", "spread") == "spread" and harmless_value("DIR", "/data") == "/data"
    assert SECRET not in harmless_value("OMP_X", f"{SECRET}ABCdef12345") + harmless_value("CODE", SECRET)
    assert harmless_value("MODEL", "tiger").startswith(f"{LEFT_OUT} #")
