"""Lines that a person pastes: whatever the directory is called, the shell and fio find it."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.engine.workloads import fio_directory, shell_line


@given(st.lists(st.text(alphabet=st.characters(blacklist_characters="\0", max_codepoint=0x2FF)), min_size=1))
def test_what_is_printable_is_quoted_as_ever_and_the_rest_is_one_line(words: list[str]) -> None:
    line = shell_line(words)
    assert line.isprintable()
    if all(word.isprintable() for word in words):
        assert line == shlex.join(words)


def test_colons_are_escaped() -> None:
    assert fio_directory("/dev/pci-0000:06:00.0") == "--directory=/dev/pci-0000\\:06\\:00.0"
