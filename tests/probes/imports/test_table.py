"""A talk's table of phases: one result a column, in hostdx's units; what does not fit is refused in one line."""

import pytest

from hostdx.probes.imports.model import ImportRefusedError
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.io500_table import read_columns
from tests.every_case import every_case


def _read_values(text: str) -> dict[str, dict[str, float]]:
    columns = read_columns(ImportSource("t.tsv", text.encode()))
    return {name: {m.workload: m.value for m in result.measures} for name, result in columns.items()}


def test_a_result_a_column() -> None:
    columns = _read_values("# a talk\nphase\told\tnew\nior-hard-read\t1\t0.5\nfind\t2\t\n")
    assert columns == {
        "old": {"ior-hard-read": 1024.0**3, "find": 2000.0},
        "new": {"ior-hard-read": 1024.0**3 / 2},  # an empty cell was not measured
    }


@every_case("value", ["-", "nan", "inf", "0", "-1", "two"])
def test_what_is_no_positive_number_was_not_measured(value: str) -> None:
    assert _read_values(f"phase\told\nfind\t{value}\n") == {"old": {}}


@every_case(
    ("text", "reason"),
    [
        ("load\told\nfind\t1\n", "no table of phases"),
        ("phase\n", "no names"),
        ("phase\ta\ta\nfind\t1\t2\n", "no names"),
        ("phase\ta\nfind\t1\t2\n", "has 2 values"),
        ("\n", "no table of phases"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ImportRefusedError, match=reason):
        _read_values(text)
