"""Links to one file are made for a comparison only, and never rated: a job makes files."""

import pytest

from hostdx.probes.reading.host import Host
from hostdx.scenarios.storage import plan
from hostdx.scenarios.storage.plan import StorageSetup
from tests.every_case import every_case


@every_case(("directories", "keeps", "expected"), [(1, True, False), (2, True, True), (2, False, False)])
def test_one_directory_is_measured_by_real_files(
    directories: int, keeps: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "delays_inode_reuse", lambda host, place: keeps)
    setup = StorageSetup.__new__(StorageSetup)
    setup.targets = [type("Target", (), {"place": None})() for _ in range(directories)]
    assert setup.uses_links(Host("/")) is expected
