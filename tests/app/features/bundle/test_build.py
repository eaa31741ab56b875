"""The bundle's bytes depend on the tree, the wheels and SOURCE_DATE_EPOCH; its bill names each wheel."""

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from hostdx.app.features.bundle import build
from hostdx.app.terminal.failure import USAGE, Failure
from tests.every_case import every_case


@pytest.fixture
def two_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_wheels(into: Path) -> list[Path]:
        pure, compiled = (
            into / "Pure_Part-1.0-py3-none-any.whl",
            into / "core-2-cp312-cp312-manylinux_2_28_aarch64.whl",
        )
        pure.write_bytes(build.make_archive({"pure.py": b"", "pure.pyi": b""}, build.OLDEST_S))
        compiled.write_bytes(build.make_archive({"core.so": b"elf"}, build.OLDEST_S))
        return [pure, compiled]

    monkeypatch.setattr(build, "fetch_wheels", write_wheels)


def test_it_is_reproducible(two_wheels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.EPOCH, "1700000000")
    first, second = build.build_portable_archive(), build.build_portable_archive()
    assert first == second
    monkeypatch.setenv(build.EPOCH, "1700000002")
    assert build.build_portable_archive().data != first.data
    manifest = json.loads(zipfile.ZipFile(io.BytesIO(first.data)).read("manifest.json"))
    assert manifest["time_s"] == 1700000000


@every_case("epoch", ["yesterday", "-1", "0", "99999999999"])
def test_an_epoch_that_is_none_is_refused(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.EPOCH, epoch)
    with pytest.raises(Failure) as error:
        build.build_portable_archive()
    assert error.value.status == USAGE


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
