"""Names of the frames of a call profile: the kernel's from /proc/kallsyms, a file's from its symbols, a just-in-time
compiler's from /tmp/perf-PID.map. One without a name is said as where it lies: `[libfoo.so+0x12a0]`.

Names of the functions in an ELF file, by the place in the file: its own symbol table, else the dynamic one.

Any file that a command maps may be read here: all of it is hostile. Sizes and counts are bounded, what lies outside
of the file is not there, a name has MOST_NAME bytes at most. No debug information is read. System V ABI, chapter 4.
"""

import os
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hostdx.probes.files.safe_read import open_trusted_regular
from hostdx.probes.profile.call_profile import KERNEL, Frame

MAX_HEADERS = 512  # of segments, of sections
MAX_SYMBOLS = 400_000
MAX_STRING_BYTES = 32 << 20
MAX_NAME_BYTES = 512
_SYMTAB, _DYNSYM, _LOAD, _FUNCTION, _IFUNC = 2, 11, 1, 2, 10


class _ElfSegment(NamedTuple):
    offset: int
    address: int
    length: int


class SymbolRanges:
    """Names by where they begin; one that tells no length goes to the next."""

    def __init__(self, symbols: Iterable[tuple[int, int, str]]) -> None:
        self._symbols = sorted(symbols)
        self._starts = [start for start, _, _ in self._symbols]

    def name(self, place: int) -> str | None:
        at = bisect_right(self._starts, place) - 1
        if at < 0:
            return None
        start, size, name = self._symbols[at]
        return name if not size or place < start + size else None


class ElfSymbols:
    """Raises OSError or ValueError where the file cannot be read as one."""

    def __init__(self, path: str) -> None:
        self._file = open_trusted_regular(path)
        try:
            self._bytes = os.fstat(self._file).st_size
            self._segments, symbols = self._read_segments_and_symbols()
        except (struct.error, OverflowError) as error:
            raise ValueError(f"{path}: {error}") from None
        finally:
            os.close(self._file)
        self._names = SymbolRanges((start, max(size, 1), name) for start, size, name in symbols)

    def name(self, place: int) -> str | None:
        """Of the function at this place of the file."""
        address = next(
            (place - s.offset + s.address for s in self._segments if s.offset <= place < s.offset + s.length),
            None,
        )
        return None if address is None else self._names.name(address)

    def _read_range(self, offset: int, length: int) -> bytes:
        if offset < 0 or length < 0 or offset + length > self._bytes:
            raise ValueError("outside of the file")
        return os.pread(self._file, length, offset)

    def _read_segments_and_symbols(self) -> tuple[list[_ElfSegment], list[tuple[int, int, str]]]:
        ident = self._read_range(0, 16)
        if ident[:4] != b"\x7fELF" or ident[4] not in (1, 2) or ident[5] not in (1, 2):
            raise ValueError("no ELF file")
        self._order, self._wide = "<" if ident[5] == 1 else ">", ident[4] == 2
        # From byte 16: type, machine, version, entry, segments, sections, flags, size, 2 x (size, count), names
        head = struct.Struct(f"{self._order}HHI{'QQQ' if self._wide else 'III'}IHHHHHH")
        fields = head.unpack(self._read_range(16, head.size))
        segments_at, sections_at, (segment_size, segments, section_size, sections) = (
            fields[4],
            fields[5],
            fields[8:12],
        )
        loads = list(self._load_segments(segments_at, segment_size, min(segments, MAX_HEADERS)))
        tables = list(self._symbol_tables(sections_at, section_size, min(sections, MAX_HEADERS)))
        for kind in (_SYMTAB, _DYNSYM):
            for table_kind, table, strings in tables:
                if table_kind == kind and (symbols := list(self._address_size_and_name(table, strings))):
                    return loads, symbols
        return loads, []

    def _load_segments(self, at: int, size: int, count: int) -> Iterator[_ElfSegment]:
        form = struct.Struct(self._order + ("IIQQQQQQ" if self._wide else "IIIIIIII"))
        for n in range(count):
            fields = form.unpack(self._read_range(at + n * size, form.size))
            kind, offset, address = (fields[0], fields[2], fields[3]) if self._wide else fields[:3]
            length = fields[5] if self._wide else fields[4]
            if kind == _LOAD:
                yield _ElfSegment(offset, address, length)

    def _symbol_tables(self, at: int, size: int, count: int) -> Iterator[tuple[int, bytes, bytes]]:
        """The symbol tables with their strings."""
        form = struct.Struct(self._order + ("IIQQQQIIQQ" if self._wide else "IIIIIIIIII"))
        heads = [form.unpack(self._read_range(at + n * size, form.size)) for n in range(count)]
        entry = 24 if self._wide else 16
        for head in heads:
            if head[1] in (_SYMTAB, _DYNSYM) and head[6] < len(heads):
                strings = heads[head[6]]
                symbols = min(head[5], MAX_SYMBOLS * entry)
                yield (
                    head[1],
                    self._read_range(head[4], symbols),
                    self._read_range(strings[4], min(strings[5], MAX_STRING_BYTES)),
                )

    def _address_size_and_name(self, table: bytes, strings: bytes) -> Iterator[tuple[int, int, str]]:
        form = struct.Struct(self._order + ("IBBHQQ" if self._wide else "IIIBBH"))
        for fields in form.iter_unpack(table[: len(table) // form.size * form.size]):
            if self._wide:
                name, info, _, section, value, size = fields
            else:
                name, value, size, info, _, section = fields
            if info & 15 in (_FUNCTION, _IFUNC) and section and name < len(strings):
                end = strings.find(b"\0", name, name + MAX_NAME_BYTES)
                yield (
                    value,
                    size,
                    strings[name : end if end >= 0 else name + MAX_NAME_BYTES].decode("ascii", "replace"),
                )


MAX_BYTES = 64 << 20  # of kallsyms (10 MB), of a map
MAX_LINES = 1_000_000
MAX_NAME_CHARACTERS = 200
JITTED = "pid:"  # a file that stands for what a process wrote into its memory itself


class FrameNames:
    """Each file is read once, when the first of its frames is named."""

    def __init__(self, kallsyms: str = "/proc/kallsyms", maps: str = "/tmp") -> None:
        self._kallsyms, self._maps = kallsyms, maps
        self._tables: dict[str, SymbolRanges | ElfSymbols | None] = {}
        self._names: dict[tuple[str, int], str] = {}

    def frame_names(self, stack: Sequence[Frame], files: Sequence[str]) -> tuple[str, ...]:
        """Of a stack; a frame of a file that is not in `files` is left out."""
        names = []
        for number, place in stack:
            if number == KERNEL:
                names.append(self._symbol_name("", place))
            elif 0 <= number < len(files):
                names.append(self._symbol_name(files[number], place))
        return tuple(names)

    def _symbol_name(self, path: str, place: int) -> str:
        key = (path, place)
        if key not in self._names:
            if path not in self._tables:
                self._tables[path] = self._read_symbols(path)
            table = self._tables[path]
            name = table.name(place) if table is not None else None
            shown = "kernel" if not path else "jit" if path.startswith(JITTED) else Path(path).name
            self._names[key] = clean_symbol_name(name) if name else f"[{clean_symbol_name(shown)}+{place:#x}]"
        return self._names[key]

    def _read_symbols(self, path: str) -> SymbolRanges | ElfSymbols | None:
        try:
            if not path:
                return SymbolRanges(parse_kallsyms(_read_user_text(self._kallsyms)))
            if path.startswith(JITTED):
                return SymbolRanges(
                    parse_perf_map(
                        _read_user_text(f"{self._maps}/perf-{int(path[len(JITTED) :])}.map", only_own=True)
                    )
                )
            return ElfSymbols(path)
        except (OSError, ValueError):
            return None


def parse_kallsyms(text: str) -> Iterator[tuple[int, int, str]]:
    """Functions of /proc/kallsyms: `ffffffff81000000 T name [module]`; all 0 where kptr_restrict hides them."""
    for line in text.splitlines()[:MAX_LINES]:
        words = line.split(None, 3)
        if len(words) >= 3 and words[1] in "tTwW" and (start := _hexadecimal_or_zero(words[0])):
            yield start, 0, words[2]


def parse_perf_map(text: str) -> Iterator[tuple[int, int, str]]:
    """Lines `START SIZE name`, both hexadecimal (tools/perf/Documentation/jit-interface.txt)."""
    for line in text.splitlines()[:MAX_LINES]:
        words = line.split(None, 2)
        if (
            len(words) == 3
            and (start := _hexadecimal_or_zero(words[0]))
            and (size := _hexadecimal_or_zero(words[1]))
        ):
            yield start, size, words[2]


def clean_symbol_name(name: str) -> str:
    """As it can stand in a folded stack: one line, no `;`, bounded; a blank is kept."""
    shown = "".join(c if c.isprintable() and c != ";" else "?" for c in name[:MAX_NAME_CHARACTERS])
    return shown or "?"


def _hexadecimal_or_zero(word: str) -> int:
    try:
        return int(word, 16) if len(word) <= 18 else 0
    except ValueError:
        return 0


def _read_user_text(path: str, *, only_own: bool = False) -> str:
    """Raises OSError. `only_own`: of the user that runs this alone; anybody can write into /tmp."""
    file = open_trusted_regular(path)
    try:
        if only_own and os.fstat(file).st_uid != os.geteuid():
            raise OSError("of another user")
        data = bytearray()  # a read of kallsyms gives 4 KiB, however much is asked
        while len(data) < MAX_BYTES and (more := os.read(file, 1 << 20)):
            data += more
        return data.decode("utf-8", "replace")
    finally:
        os.close(file)
