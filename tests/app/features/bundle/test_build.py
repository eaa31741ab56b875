"""The bundle's bytes depend on the tree, the wheels and SOURCE_DATE_EPOCH; its bill names each wheel."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from app.features.bundle import build
from app.terminal.failure import USAGE, Failure
from tests.every_case import every_case


@pytest.fixture
def two_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(into: Path) -> list[Path]:
        pure, compiled = (
            into / "Pure_Part-1.0-py3-none-any.whl",
            into / "core-2-cp312-cp312-manylinux_2_28_aarch64.whl",
        )
        pure.write_bytes(build.make_archive({"pure.py": b"", "pure.pyi": b""}, build.OLDEST_S))
        compiled.write_bytes(build.make_archive({"core.so": b"elf"}, build.OLDEST_S))
        return [pure, compiled]

    monkeypatch.setattr(build, "fetch_wheels", fetched)


def test_it_is_reproducible(two_wheels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.EPOCH, "1700000000")
    first, again = build.build_bundle(), build.build_bundle()
    assert first == again
    monkeypatch.setenv(build.EPOCH, "1700000002")
    assert build.build_bundle().data != first.data
    manifest = json.loads(zipfile.ZipFile(io.BytesIO(first.data)).read("manifest.json"))
    assert manifest["time_s"] == 1700000000


@every_case("epoch", ["yesterday", "-1", "0", "99999999999"])
def test_an_epoch_that_is_none_is_refused(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.EPOCH, epoch)
    with pytest.raises(Failure) as refused:
        build.build_bundle()
    assert refused.value.status == USAGE


def test_parts_go_by_interpreter_and_machine(two_wheels: None) -> None:
    archive = zipfile.ZipFile(io.BytesIO(build.build_bundle().data))
    parts = json.loads(archive.read("manifest.json"))["parts"]
    assert {name: hashlib.sha256(archive.read(f"{name}.zip")).hexdigest() for name in parts} == {
        name: part["sha256"] for name, part in parts.items()
    }
    assert parts["cp312-aarch64"]["files"] == [["core.so", 3]]
    files = {path for path, _ in parts["any"]["files"]}
    assert {"pure.py", "app/cli/__main__.py", "probes/children/start.py"} <= files
    assert not {path for path in files if path.endswith((".pyi", ".pyc"))}


def test_the_bill_names_each_wheel(two_wheels: None, tmp_path: Path) -> None:
    bill = json.loads(build.build_bundle().bill)
    sums = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in build.fetch_wheels(tmp_path)}
    assert {c["bom-ref"]: c["hashes"][0]["content"] for c in bill["components"]} == sums
    assert [c["purl"].partition("?")[0] for c in bill["components"]] == [
        "pkg:pypi/pure-part@1.0",
        "pkg:pypi/core@2",
    ]


def test_what_pip_says_is_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pip = tmp_path / "python"
    pip.write_text("#!/bin/sh\necho 'ERROR: no route to the index' >&2; exit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(build.sys, "executable", str(pip))
    with pytest.raises(Failure, match="no route to the index"):
        build.fetch_wheels(tmp_path)


def test_it_cannot_be_made_where_hostdx_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(Failure):
        build.fetch_wheels(tmp_path)
