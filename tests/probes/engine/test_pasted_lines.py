"""Lines that a person pastes: whatever the directory is called, the shell and fio find it."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.engine.workloads import fio_directory, fio_equivalent, shell_line
from tests.needs import needs, program, some_always

ODD = [
    "a b", "a:b", "a\\:b", ":", "a\nb", "a\tb\x1b[31m", "it's", "a#b;c", "$HOME `id`", "a\\", "äö", "a\x7fb",
    os.fsdecode(b"a\xff\xfeb"), "a\u2028b", "-n", "$jobname", "a,b=c", "\x01" + "1",
]  # fmt: skip


def of_a_shell(line: str) -> list[str]:
    """The words as bash takes them, ended by NUL each."""
    script = f"printf '%s\\0' {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=20, check=True)
    return [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]


@needs(program("bash"))
def test_a_shell_takes_the_words_as_they_were() -> None:
    line = shell_line(ODD)
    assert line.isprintable()
    assert of_a_shell(line) == ODD


@given(st.lists(st.text(alphabet=st.characters(blacklist_characters="\0", max_codepoint=0x2FF)), min_size=1))
def test_what_is_printable_is_quoted_as_ever_and_the_rest_is_one_line(words: list[str]) -> None:
    line = shell_line(words)
    assert line.isprintable()
    if all(word.isprintable() for word in words):
        assert line == shlex.join(words)


@needs(program("fio", "bash"))
@pytest.mark.parametrize("name", some_always(ODD[:6], ODD))
def test_fio_finds_the_directory(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir()
    line = fio_equivalent("randread-4k-qd1", 1 << 20, str(directory)).replace("--unlink=1", "--create_only=1")
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=30, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in directory.iterdir()] == ["hostdx.fio"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_colons_are_escaped() -> None:
    assert fio_directory("/dev/pci-0000:06:00.0") == "--directory=/dev/pci-0000\\:06\\:00.0"
