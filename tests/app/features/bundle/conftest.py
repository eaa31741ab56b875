"""One bundle of this tree for all tests here."""

from pathlib import Path

import pytest

from hostdx.app.features.bundle import build
from tests.app.features.bundle import installed


def build_bundle() -> bytes:
    """For this Python alone, of what is installed here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(build, "fetch_wheels", installed.copy_installed)
        return build.build_portable_archive().data


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "hostdx.pyz"
    path.write_bytes(build_bundle())
    path.chmod(0o755)
    return path
