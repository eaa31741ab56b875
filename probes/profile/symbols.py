"""Names of the frames of a call profile: the kernel's from /proc/kallsyms, a file's from its symbols, a just-in-time
compiler's from /tmp/perf-PID.map. One without a name is said as where it lies: `[libfoo.so+0x12a0]`.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from probes.files.named_file import open_regular
from probes.profile.call_profile import KERNEL, Frame
from probes.profile.elf_symbols import ElfSymbols, Ranges

MAX_BYTES = 64 << 20  # of kallsyms (10 MB), of a map
MAX_LINES = 1_000_000
MAX_NAME_CHARACTERS = 200
JITTED = "pid:"  # a file that stands for what a process wrote into its memory itself


class Symbols:
    """Each file is read once, when the first of its frames is named."""

    def __init__(self, kallsyms: str = "/proc/kallsyms", maps: str = "/tmp") -> None:
        self._kallsyms, self._maps = kallsyms, maps
        self._tables: dict[str, Ranges | ElfSymbols | None] = {}
        self._names: dict[tuple[str, int], str] = {}

    def frame_names(self, stack: Sequence[Frame], files: Sequence[str]) -> tuple[str, ...]:
        """Of a stack; a frame of a file that is not in `files` is left out."""
        names = []
        for number, place in stack:
            if number == KERNEL:
                names.append(self._name("", place))
            elif 0 <= number < len(files):
                names.append(self._name(files[number], place))
        return tuple(names)

    def _name(self, path: str, place: int) -> str:
        key = (path, place)
        if key not in self._names:
            if path not in self._tables:
                self._tables[path] = self._read(path)
            table = self._tables[path]
            name = table.name(place) if table is not None else None
            shown = "kernel" if not path else "jit" if path.startswith(JITTED) else Path(path).name
            self._names[key] = clean_name(name) if name else f"[{clean_name(shown)}+{place:#x}]"
        return self._names[key]

    def _read(self, path: str) -> Ranges | ElfSymbols | None:
        try:
            if not path:
                return Ranges(kernel_symbols(_text(self._kallsyms)))
            if path.startswith(JITTED):
                return Ranges(
                    map_symbols(_text(f"{self._maps}/perf-{int(path[len(JITTED) :])}.map", own=True))
                )
            return ElfSymbols(path)
        except (OSError, ValueError):
            return None


def kernel_symbols(text: str) -> Iterator[tuple[int, int, str]]:
    """Functions of /proc/kallsyms: `ffffffff81000000 T name [module]`; all 0 where kptr_restrict hides them."""
    for line in text.splitlines()[:MAX_LINES]:
        words = line.split(None, 3)
        if len(words) >= 3 and words[1] in "tTwW" and (start := _parse_hexadecimal(words[0])):
            yield start, 0, words[2]


def map_symbols(text: str) -> Iterator[tuple[int, int, str]]:
    """Lines `START SIZE name`, both hexadecimal (tools/perf/Documentation/jit-interface.txt)."""
    for line in text.splitlines()[:MAX_LINES]:
        words = line.split(None, 2)
        if (
            len(words) == 3
            and (start := _parse_hexadecimal(words[0]))
            and (size := _parse_hexadecimal(words[1]))
        ):
            yield start, size, words[2]


def clean_name(name: str) -> str:
    """As it can stand in a folded stack: one line, no `;`, bounded; a blank is kept."""
    shown = "".join(c if c.isprintable() and c != ";" else "?" for c in name[:MAX_NAME_CHARACTERS])
    return shown or "?"


def _parse_hexadecimal(word: str) -> int:
    try:
        return int(word, 16) if len(word) <= 18 else 0
    except ValueError:
        return 0


def _text(path: str, *, own: bool = False) -> str:
    """Raises OSError. `own`: of the user that runs this alone; anybody can write into /tmp."""
    file = open_regular(path)
    try:
        if own and os.fstat(file).st_uid != os.geteuid():
            raise OSError("of another user")
        data = bytearray()  # a read of kallsyms gives 4 KiB, however much is asked
        while len(data) < MAX_BYTES and (more := os.read(file, 1 << 20)):
            data += more
        return data.decode("utf-8", "replace")
    finally:
        os.close(file)
