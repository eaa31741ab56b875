"""Other hosts' nights: read once, read again where they changed, and what cannot be read is said in one line."""

from pathlib import Path

import pytest

from hostdx.app.features.watch import fleet_nights as module
from hostdx.app.features.watch.fleet_nights import read_fleet_nights
from hostdx.app.state import state_dir
from tests.app.features.fleet.test_reading import write_run

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for host in ("n1", "n2"):
        for night in range(3):
            write_run(tmp_path / f"fleet/{host}/{night}.jsonl", host, 1.0 + night / 10, {})
    (tmp_path / "fleet/answers.jsonl").write_text("{}\n")  # of a fleet run
    return tmp_path / "fleet"


def read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[module.FleetNights, list[str]]:
    names: list[str] = []
    take_of = module.read_run_summary

    def read_and_note(path: Path, name: str, *, spread: bool) -> object:
        names.append(name)
        return take_of(path, name, spread=spread)

    with monkeypatch.context() as patched:
        patched.setattr(module, "read_run_summary", read_and_note)
        return read_fleet_nights(str(folder)), sorted(names)


def test_what_cannot_be_read_is_counted_with_the_first_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "n1/7.jsonl").write_text("nonsense\n")
    (folder / "n1/8.jsonl").write_text("")
    fleet, _ = read(folder, monkeypatch)
    assert (
        "2 of 8 recordings" in fleet.trouble and "7.jsonl" in fleet.trouble and "8.jsonl" not in fleet.trouble
    )
    assert len(fleet.trouble.splitlines()) == 1 and len(fleet.others["n1"]) == 3
    assert read(folder, monkeypatch) == (fleet, []), "said again, not read again"


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"\x82\xa4keys\x90\xa7entries\x81\xa1x\x96\x01\x01\xa0\xa0\x91\x07\x91\x01"]
)
def test_a_damaged_index_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    fleet, _ = read(folder, monkeypatch)
    (entry,) = (state_dir() / "fleet-nights").iterdir()
    entry.write_bytes(damage)
    reread, names = read(folder, monkeypatch)
    assert reread == fleet and len(names) == 6
