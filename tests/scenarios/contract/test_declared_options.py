"""Options in `options.toml`: complete, bounded, and with no name in braces left."""

from pathlib import Path

import msgspec
import pytest

from hostdx.scenarios.contract.declared_options import COMMON_OPTIONS, apply_declaration, declared_options
from hostdx.scenarios.contract.knowledge_file import read_toml_tables
from hostdx.scenarios.contract.plan import Option
from hostdx.scenarios.contract.registry import load_scenario, scenario_names
from tests.every_case import every_case

ROOT = Path(__file__).parents[3] / "scenarios"


def _file(folder: Path, text: str) -> str:
    (folder / "options.toml").write_text(text, encoding="utf-8")
    return str(folder / "scenario.py")


def test_a_file_is_read_in_its_order_with_what_code_goes_by(tmp_path: Path) -> None:
    name = _file(
        tmp_path,
        'common = ["seed"]\n[[option]]\nname = "b"\nkind = "number"\nhelp = "at most {most:.0f}"\nmost = "{most}"\n'
        '[[option]]\nname = "a"\nkind = "choice"\nhelp = "one"\nchoices = "{all}"\n',
    )
    b, a, seed = declared_options(name, most=7.0, all=["x", "y"])
    assert (b.name, b.most, a.choices, seed) == ("b", 7.0, ("x", "y"), COMMON_OPTIONS[-1])
    assert b.help.endswith(" 7")


@every_case("wrong", ['nmae = "b"', 'least = "5"', 'kind = "nubmer"'])
def test_what_does_not_fit_is_no_option(tmp_path: Path, wrong: str) -> None:
    name = _file(tmp_path, f'[[option]]\nname = "b"\nhelp = ""\n{wrong}\n')
    with pytest.raises(msgspec.ValidationError):
        declared_options(name)


def test_a_class_gets_what_its_file_says_and_keeps_the_rest(tmp_path: Path) -> None:
    declared = '[scenario]\ntitle = "T"\nquestion = "q"\nwhy = "w"\nanswers = "a"\nmeasures = false\n'
    name = _file(tmp_path, f'{declared}[[option]]\nname = "b"\nkind = "flag"\nhelp = "at {{most}}"\n')

    class Own:
        takes_s = 7.0

    own_class = apply_declaration(name, most=3)(Own)
    values = [getattr(own_class, field) for field in ("id", "title", "measures", "takes_s")]
    assert values == [tmp_path.name, "T", False, 7.0]
    assert own_class.options[0].help == "at 3" and own_class.card.id == tmp_path.name  # type: ignore[attr-defined]
    assert not hasattr(own_class, "suspect")  # the protocol's own stands


def test_every_option_of_ours_has_its_bounds_and_its_default_within_them() -> None:
    options = [option for name in scenario_names() for option in load_scenario(name).options]
    assert len(options) > 60
    for option in options:
        assert "{" not in option.help and option.help, option.name
        if option.default is not None and option.kind in ("number", "integer"):
            assert isinstance(option.default, int | float)
            assert (option.least or 0) <= option.default <= (option.most or float("inf")), option.name
        if option.choices:
            assert option.default in option.choices or option.multiple, option.name


def test_no_name_of_a_field_is_mistyped() -> None:
    files = sorted(ROOT.glob("**/options.toml"))
    assert len(files) > 10
    for file in files:
        options = read_toml_tables(file)["option"]
        assert isinstance(options, list)
        assert not {key for option in options for key in option} - set(Option.__struct_fields__), file
