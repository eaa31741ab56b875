"""Names of frames: from ELF files that are made, broken and hostile, the kernel's list, a compiler's map."""

import os
import random
import struct
from pathlib import Path

import pytest

from hostdx.probes.profile.call_profile import KERNEL
from hostdx.probes.profile.symbols import MAX_NAME_BYTES, ElfSymbols, FrameNames
from tests.every_case import every_case


def make_elf(
    names: list[tuple[bytes, int, int]], *, kind: int = 2, link: int = 1, offset: int | None = None
) -> bytes:
    """64 bits, little-endian: file offset 0x1000 lies at address 0x401000; the symbols' table, then its strings."""
    strings, symbols = b"\0", bytes(24)
    for name, value, size in names:
        symbols += struct.pack("<IBBHQQ", len(strings), 2, 0, 1, value, size)
        strings += name + b"\0"
    at = 64 + 56 + 2 * 64
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 120, 0, 64, 56, 1, 64, 2, 0)
    )
    load = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x401000, 0, 0x1000, 0x1000, 0x1000)
    table = struct.pack(
        "<IIQQQQIIQQ", 0, kind, 0, 0, at if offset is None else offset, len(symbols), link, 1, 8, 24
    )
    text = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(symbols), len(strings), 0, 0, 1, 0)
    return head + load + table + text + symbols + strings


@every_case(
    "data",
    [
        b"",
        b"\x7fELF",
        b"#!/bin/sh\n" * 20,
        make_elf([(b"a", 0x401000, 16)], offset=1 << 62),
        make_elf([(b"a", 0x401000, 16)])[:150],
        b"\x7fELF\x02\x01\x01" + b"\xff" * 57,
    ],
)
def test_what_is_no_sound_elf_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises((ValueError, OSError)):
        ElfSymbols(str(path))


@every_case("seed", range(30))
def test_a_hostile_elf_file_is_read_to_an_end_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(make_elf([(b"f%d" % n, 0x401000 + 16 * n, 16) for n in range(8)]))
    for _ in range(10):
        data[rng.randrange(16, len(data))] = rng.randrange(256)
    path = tmp_path / "x"
    path.write_bytes(bytes(data))
    try:
        ElfSymbols(str(path)).name(0x1010)
    except (ValueError, OSError):
        pass


def test_a_long_name_is_cut_and_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(make_elf([(b"n" * 5000, 0x401000, 16)]))
    assert ElfSymbols(str(path)).name(0x1001) == "n" * MAX_NAME_BYTES
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError):
        ElfSymbols(str(tmp_path / "fifo"))


def test_each_frame_has_a_name_or_says_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(
        "ffffffff81000000 T do_it\nffffffff81000100 t other\t[mod]\nffffffff81000200 d data\n"
    )
    library = tmp_path / "libfoo.so"
    library.write_bytes(make_elf([(b"first", 0x401000, 0x40)]))
    (tmp_path / "perf-12.map").write_text("7f00 20 py::main script.py\nzz 1 x\n")
    names = FrameNames(str(tmp_path / "kallsyms"), str(tmp_path)).frame_names
    files = [str(library), "pid:12", "pid:13", str(tmp_path / "gone")]
    stack = [
        (0, 0x1001),
        (0, 0x12A0),
        (1, 0x7F01),
        (2, 0x10),
        (3, 0x20),
        (KERNEL, 0xFFFFFFFF81000150),
        (9, 1),
    ]
    assert names(stack, files) == (
        "first",
        "[libfoo.so+0x12a0]",
        "py::main script.py",
        "[jit+0x10]",
        "[gone+0x20]",
        "other",
    )


def test_a_map_of_another_user_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "perf-12.map").write_text("7f00 20 mine\n")
    monkeypatch.setattr("hostdx.probes.profile.symbols.os.geteuid", lambda: 4242)
    assert FrameNames(maps=str(tmp_path)).frame_names([(0, 0x7F01)], ["pid:12"]) == ("[jit+0x7f01]",)
