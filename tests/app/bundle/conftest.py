"""One bundle of this tree for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.bundle import build
from tests.app.bundle import installed


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(build, "fetched", installed.fetched)
        made = build.built()
    path = tmp_path_factory.mktemp("bundle") / "hostdx.pyz"
    path.write_bytes(made.data)
    path.chmod(0o755)
    return path
