"""The reader of line-oriented formats: templates, arithmetic, blocks, tables, what is invalid, what is left out."""

import msgspec
import pytest

from hostdx.probes.imports.accounting import UNKNOWN_REASON
from hostdx.probes.imports.line_format import LineFormat, evaluate_formula, fill_template
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.source import ImportSource
from tests.probes.imports.test_kinds import read_text

TOY = {
    "kind": "toy", "title": "toy", "tool": "toy", "recognise": ["^toy "],
    "nothing": ["no figure in it", "run it again"],
    "workload": "toy {load:lower}", "several": "run {n}: ", "unfinished": "toy.unfinished",
    "line": [
        {"match": r"toy (?P<version>\S+)"},
        {"match": r"run (?P<load>\w+)", "begins": True},
        {"match": r"size (?P<size>\d+)", "conditions": {"size": "size"}},
        {"match": r"rate (?P<rate>\S+)", "values": {"rate": {"metric": "rate", "unit": "1/s", "seconds": "time"}}},
        {"match": r"time (?P<time>\S+)"},
        {"match": r"bad", "invalid": "it says bad", "trouble": "toy.bad", "said": "{count}"},
    ],
    "check": [
        {"id": "toy.rate", "at": "time", "subject": "{load}", "claimed": "rate", "formula": "size / time", "rule": "r"}
    ],
}  # fmt: skip


def parse_toy(text: str) -> ImportResult:
    return msgspec.convert(TOY, LineFormat).parse(ImportSource("x", text.encode()))


def test_a_row_is_called_invalid_and_a_block_without_a_figure_is_told() -> None:
    result = parse_toy("toy 1\nrun A\nrate 5\nbad\nrun B\nrate 7\nrun C\n")
    assert [m.invalid for m in result.measures] == ["it says bad", ""]
    assert [(t.id, t.said) for t in result.troubles] == [("toy.bad", "1"), ("toy.unfinished", "1")]
    with pytest.raises(ImportRefusedError, match="no figure"):
        parse_toy("toy 1\nrun A\n")


def test_templates_and_arithmetic() -> None:
    names = {"size": "4194304", "copies": "1", "n": "3"}
    assert fill_template("{size:bytes}, {copies:copy|copies}{missing}", names) == "4 MiB, 1 copy"
    assert evaluate_formula("2 / 3 * n ** 3 - -n", names, {}) == pytest.approx(21)
    assert evaluate_formula("geomean(i)", names, {"i": [2.0, 8.0]}) == pytest.approx(4)
    assert evaluate_formula("n / 0", names, {}) is None and evaluate_formula("gone + 1", names, {}) is None
    assert evaluate_formula("__import__('os')", names, {}) is None


def test_a_column_that_the_format_does_not_know_is_left_out_by_its_name() -> None:
    head = "# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)        Wobble (%)    Iterations\n"
    text = head + "1  2.5  7  100\n"
    result = read_text(text)
    assert [m.value for m in result.measures] == [2.5e6]
    reasons = {part.name: part.reason for part in result.left_out}
    assert reasons["Wobble (%)"] == UNKNOWN_REASON and reasons["Iterations"] not in ("", UNKNOWN_REASON)


@pytest.mark.parametrize("score", ["116.8305", "-1"])
def test_the_log_of_hepscore(score: str) -> None:
    line = "2023-05-21 01:55:02 hepscore [INFO] "
    messages = ("Test Benchmark", "HEPscore version:    1.2.0", "System:      Linux n1 5.15.1 #1 SMP x86_64",
            "Executing 1 run of a-bmk", f"Final result: {score}")  # fmt: skip
    text = "".join(f"{line}{part}\n" for part in messages)
    if score == "-1":
        with pytest.raises(ImportRefusedError, match="no final result"):
            read_text(text)
        return
    [measure] = read_text(text).measures
    assert (measure.workload, measure.value, measure.conditions) == ("Test", 116.8305, {"runs of a-bmk": "1"})
