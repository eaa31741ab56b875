"""Another package's scenario that is hostile or broken costs itself, and nothing else."""

import signal
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.reading import other_package
from hostdx.scenarios import GROUP
from hostdx.scenarios.contract import card, registry
from hostdx.scenarios.contract.card import Card
from hostdx.scenarios.contract.plan import Option
from hostdx.scenarios.contract.results.result import result_tagged
from tests.plugin.hostdx_thp import Thp

ESCAPE = "\x1b[2J"
DECLARATIONS: dict[str, dict[str, Any]] = {
    "title-number": {"title": 5},
    "question-none": {"question": None},
    "takes-word": {"takes_s": "abc"},
    "takes-nan": {"takes_s": float("nan")},
    "card-number": {"card": 7},
    "options-text": {"options": "abc"},
    "title-escape": {"title": ESCAPE},
    "option-escape": {"options": (Option(name="a", kind="flag", help=ESCAPE),)},
    "option-name": {"options": (Option(name="a b", kind="flag", help=""),)},
    "option-taken": {"options": (Option(name="yes", kind="flag", help=""),)},
    "option-twice": {"options": (Option(name="a", kind="flag", help=""), Option(name="a", kind="text", help=""))},
}  # fmt: skip


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[metadata.EntryPoint]:
    """The entry points of the packages that are installed; what stands in a module of theirs is run."""
    own_entries: list[metadata.EntryPoint] = []
    monkeypatch.setattr(other_package, "entry_points_of", lambda group: tuple(own_entries))
    monkeypatch.syspath_prepend(tmp_path)
    return own_entries


@pytest.mark.parametrize("members", DECLARATIONS.values(), ids=DECLARATIONS)
def test_what_no_command_could_take_is_refused(
    members: dict[str, Any], entries: list[metadata.EntryPoint], tmp_path: Path
) -> None:
    name = f"declares_{len(list(tmp_path.iterdir()))}_{abs(hash(str(members)))}"
    (tmp_path / f"{name}.py").write_text("")
    module: Any = import_module(name)
    module.Foreign = type("Foreign", (Thp,), {**members, "id": "foreign"})
    entries.append(metadata.EntryPoint("foreign", f"{name}:Foreign", GROUP))
    with pytest.raises(ImportError):
        registry.load_scenario("foreign")
    assert card.card_of.__wrapped__("foreign").id == "foreign"


def test_a_sound_one_is_loaded(entries: list[metadata.EntryPoint]) -> None:
    entries.append(metadata.EntryPoint("thp", "tests.plugin.hostdx_thp:Thp", GROUP))
    assert registry.load_scenario("thp").id == "thp" and "thp" in registry.scenario_names()


@pytest.mark.parametrize(
    "ending",
    ["import sys; sys.exit(0)", "raise KeyboardInterrupt", "raise GeneratorExit", "raise BaseException"],
)
@pytest.mark.parametrize("place", ["module", "class"])
def test_a_package_that_leaves_the_program_does_not_end_it(
    ending: str, place: str, entries: list[metadata.EntryPoint], tmp_path: Path
) -> None:
    name = f"leaves_{place}_{abs(hash(ending))}"
    indent = "class X:\n    def __init__(self):\n        " if place == "class" else ""
    (tmp_path / f"{name}.py").write_text(f"{indent}{ending}\n")
    entries.append(metadata.EntryPoint("leaves", f"{name}:X", GROUP))
    with pytest.raises(ImportError):
        registry.load_scenario("leaves")
    assert card.card_of.__wrapped__("leaves") == Card(id="leaves")
    assert result_tagged.__wrapped__("leaves.x/1") is None


def test_a_users_interrupt_ends_what_imports_a_package(
    entries: list[metadata.EntryPoint], tmp_path: Path
) -> None:
    """Its own handler is there again afterwards. A shell's background job, as of a CI, begins without one."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.getsignal(signal.SIGINT)
    (tmp_path / "interrupted.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    entries.append(metadata.EntryPoint("interrupted", "interrupted:X", GROUP))
    try:
        with pytest.raises(KeyboardInterrupt):
            registry.load_scenario("interrupted")
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, outside)


def test_a_name_that_is_none_is_not_listed(entries: list[metadata.EntryPoint]) -> None:
    entries += [metadata.EntryPoint(name, "x:X", GROUP) for name in (f"a{ESCAPE}", "--yes", "a b", "storage")]
    assert registry.scenario_names() == registry.bundled_scenario_ids()


@pytest.mark.parametrize(("group", "expected"), [("hostdx.scenarios", ["thp"]), ("other.scenarios", [])])
def test_a_package_on_the_search_path_is_found_by_its_list_of_entry_points(
    group: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "thp-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thp\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nthp = tests.plugin.hostdx_thp:Thp\n")
    monkeypatch.setattr("sys.path", [str(tmp_path), str(tmp_path / "absent")])
    other_package._all_entry_points.cache_clear()
    try:
        assert [entry.name for entry in other_package.entry_points_of("hostdx.scenarios")] == expected
        assert (other_package._all_entry_points() is None) is (not expected)
    finally:
        other_package._all_entry_points.cache_clear()
