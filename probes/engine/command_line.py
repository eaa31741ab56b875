"""Command lines that name a directory and can be pasted into a shell as they are, whatever the directory is called."""

import shlex
from collections.abc import Iterable


def shell_line(words: Iterable[str]) -> str:
    """Return one line for bash, zsh and ksh. Control characters and bytes that are no text are written as `$'...'`:
    raw they would break the line or be shown as something else.
    """
    return " ".join(map(_quote_word, words))


def fio_directory(directory: str) -> str:
    """fio splits directories at colons (HOWTO, `directory`, `filename`) and takes `\\:` for one.

    For a file in it `--filename` gets its bare name: fio 3.33 cuts its value at `#` and `;`, a directory's it does not.
    """
    return f"--directory={directory.replace(':', chr(92) + ':')}"


def _quote_word(word: str) -> str:
    if all(letter.isprintable() for letter in word):
        return shlex.quote(word)
    return "$'" + "".join(map(_escape_letter, word)) + "'"


def _escape_letter(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    if letter.isprintable():
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))
