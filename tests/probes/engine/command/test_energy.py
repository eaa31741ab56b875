"""RAPL: joules by kind over all packages, with wrap-around, and nothing where nothing can be read."""

from pathlib import Path

import pytest

from hostdx.probes.engine.command.energy import EnergyCounters, energy_counter_access
from tests.every_case import every_case


def make_zone(root: Path, name: str, kind: str, energy: int) -> None:
    (root / name).mkdir(exist_ok=True)
    for file, text in (("name", kind), ("energy_uj", energy), ("max_energy_range_uj", 262_143_328_850)):
        (root / name / file).write_text(f"{text}\n")


def test_packages_and_memory_with_wrap_around(tmp_path: Path) -> None:
    make_zone(tmp_path, "intel-rapl:0", "package-0", 262_143_000_000)
    make_zone(tmp_path, "intel-rapl:1", "package-1", 5_000_000)
    make_zone(tmp_path, "intel-rapl:0:0", "core", 1)
    make_zone(tmp_path, "intel-rapl:0:1", "dram", 7_000_000)
    energy = EnergyCounters(str(tmp_path))
    make_zone(tmp_path, "intel-rapl:0", "package-0", 2_000_000)
    make_zone(tmp_path, "intel-rapl:1", "package-1", 8_000_000)
    energy.add_energy()
    make_zone(tmp_path, "intel-rapl:1", "package-1", 9_000_000)
    energy.add_energy()
    joules = energy.joules_by_name()
    assert joules["energy_package_j"] == pytest.approx(2.0 + 0.32885 + 4.0)
    assert joules["energy_dram_j"] == 0.0


@every_case(
    ("energy", "error", "expected"),
    [
        (5, None, "readable"),
        (5, PermissionError, "permission"),
        (5, OSError, "unreadable"),
        ("none", None, "unreadable"),
        (None, None, "missing"),
    ],
)
def test_rights_that_lack_are_told_from_counters_that_are_not_there(
    energy: int | str | None,
    error: type[OSError] | None,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_zone(tmp_path, "intel-rapl:0", "psys", 0)  # neither packages nor DRAM
    if energy is not None:
        make_zone(tmp_path, "intel-rapl:1", "package-0", 0)
        (tmp_path / "intel-rapl:1/energy_uj").write_text(f"{energy}\n")
    read_bytes, read_text = Path.read_bytes, Path.read_text

    def refuse_energy(path: Path) -> None:
        if error is not None and path.name == "energy_uj":
            raise error("not for you")

    def bytes_of(path: Path) -> bytes:
        refuse_energy(path)
        return read_bytes(path)

    def text_of(path: Path, **options: str) -> str:
        refuse_energy(path)
        return read_text(path, **options)

    monkeypatch.setattr(Path, "read_bytes", bytes_of)
    monkeypatch.setattr(Path, "read_text", text_of)
    assert energy_counter_access(str(tmp_path)) == expected
