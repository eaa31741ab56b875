"""A site's own program for the corners: what it is asked for, what of its output is taken, and how it may fail."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from probes.imports.model import ImportRefusedError
from probes.imports.numbers import MIB
from scenarios.box.measurement import programs
from scenarios.box.measurement.corner import BY_ID, CORNERS
from scenarios.box.measurement.programs import CornerDirectory, Program, can, corners, found, value
from tests.fakes.held import held
from tests.probes.imports import originals

MDTEST = originals.MDTEST.replace(
    "File stat                 :          0.000          0.000          0.000",
    "File stat                 :       5000.000       5000.000       5000.000",
    1,
)


def program(place: Path, name: str, text: str, status: int = 0) -> str:
    """Prints `text`, and keeps what it was asked for."""
    (place / f"{name}.out").write_text(text)
    path = place / name
    path.write_text(f'#!/bin/sh\necho "$*" >> {path}.log\ncat {path}.out\nexit {status}\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An mpirun that starts one process."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "mpirun"
    path.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def measured(tmp_path: Path, known: Program) -> tuple[dict[str, float], list[str]]:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    private = held(own)
    try:
        return asyncio.run(corners(known, private, CornerDirectory(str(own), 2, 64 << 20, 200, direct=True)))
    finally:
        private.close()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ior", originals.IOR, {"ior-easy-write": 16 * MIB, "ior-hard-write": 16 * MIB,
                                "ior-easy-read": 32 * MIB, "ior-hard-read": 32 * MIB}),
        ("mdtest", MDTEST, {"mdtest-easy-write": 8000, "mdtest-hard-write": 8000,
                            "mdtest-easy-stat": 5000, "mdtest-hard-stat": 5000}),
        ("elbencho", originals.ELBENCHO, {"ior-easy-write": 512 * MIB, "ior-hard-write": 512 * MIB,
                                          "mdtest-easy-write": 30, "mdtest-hard-write": 30,
                                          "mdtest-easy-stat": 1142465, "mdtest-hard-stat": 1142465}),
    ],
)  # fmt: skip
def test_each_corner_is_a_start_of_it_and_its_output_is_imported(
    tmp_path: Path, mpi: Path, name: str, text: str, expected: dict[str, float]
) -> None:
    known = found(program(mpi, name, text))
    assert isinstance(known, Program)
    values, troubles = measured(tmp_path, known)
    asked = (mpi / f"{name}.log").read_text().splitlines()
    assert len(asked) == sum(can(name, corner) for corner in CORNERS) == len(values) + len(troubles)
    # a table has what was asked for only; this one is the same for all of them
    assert {corner: values[corner] for corner in expected} == expected
    assert all(str(tmp_path / "own" / "box") in line for line in asked)


def test_one_that_fails_or_is_no_such_program_has_a_reason(tmp_path: Path, mpi: Path) -> None:
    known = found(program(mpi, "ior", "ERROR: no", status=3))
    assert isinstance(known, Program)
    values, troubles = measured(tmp_path, known)
    assert values == {} and len(troubles) == 4
    assert isinstance(found("iozone"), str)
    assert isinstance(found(str(tmp_path / "fio")), str)  # not there
    with pytest.raises(ImportRefusedError):
        value("fio", BY_ID["ior-easy-write"], b"nothing")


def test_ior_and_mdtest_need_something_that_starts_their_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(tmp_path, "mdtest", MDTEST)
    monkeypatch.setattr(programs, "MPI", ("no-such-mpirun",))
    assert isinstance(found(path), str)


def test_one_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fio"
    path.write_text("#!/bin/sh\nexec sleep 600\n")
    path.chmod(0o755)
    monkeypatch.setattr(programs, "LONGEST_S", 0.2)
    values, troubles = measured(tmp_path, Program("fio", str(path), ""))
    assert values == {} and len(troubles) == 4
