"""IO500: phases of both layouts, what counts in the score, three spellings of invalid, and the hash."""

from hostdx.probes.imports.storage.io500 import Io500
from hostdx.probes.imports.storage.io500_score import _io500_hash, expected_hash
from tests.every_case import every_case
from tests.probes.imports import originals as texts
from tests.probes.imports.test_kinds import read_text, value


def test_gb_of_the_script_are_gib_and_its_names_are_the_programs() -> None:
    result = read_text(texts.SCRIPT)
    assert value(result, "ior-easy-write", "bandwidth") == 4 * 2**30
    assert value(result, "mdtest-hard-write", "IOPS") == 4000


@every_case(
    "text",
    [
        texts.SCRIPT,
        texts.IO500.replace("time 3.500 seconds", "time 3.500 seconds [INVALID]"),
        texts.IO500.replace("TOTAL 8.165542", "TOTAL 8.165542 [INVALID]"),
    ],
)
def test_three_spellings_of_invalid(text: str) -> None:
    result = read_text(text)
    assert isinstance(result.detail, Io500) and result.detail.invalid
    assert any(t.id in ("io500.phase-invalid", "io500.run-invalid") for t in result.troubles)


def test_a_phase_of_zero_drops_out_and_is_said() -> None:
    result = read_text(texts.IO500.replace("100.000000 kIOPS : time 3.5", "0.000000 kIOPS : time 3.5"))
    assert isinstance(result.detail, Io500) and result.detail.recomputed is not None
    assert result.detail.recomputed.md_phases == 7
    assert [t.subject for t in result.troubles if t.id == "io500.phase-dropped"] == ["find"]
    assert not any(m.workload == "find" for m in result.measures)


def test_of_several_runs_the_last_stands() -> None:
    result = read_text(texts.IO500 + texts.IO500.replace("10.000000 GiB/s", "40.000000 GiB/s"))
    assert value(result, "ior-easy-write", "bandwidth") == 40 * 2**30
    assert [t.said for t in result.troubles if t.id == "io500.several-runs"] == ["2"]


RESULT = """[run]
procs           = 8
version         = {version}
mode            = standard
; START 2025-11-06 00:16:43
; ERROR INVALID stonewall-time < 30s

[ior-easy-write]
score           = {easy}
t_delta         = 419.8486

[mdtest-easy-write]
score           = 2.000000
t_delta         = 506.6818

[SCORE]
MD              = 2.000000
BW              = 8.000000
SCORE           = 4.000000
hash            = {hash}
"""


def _result_text(easy: str = "8.000000", version: str = "v1") -> str:
    scores = {"ior-easy-write": "8.000000", "mdtest-easy-write": "2.000000"}
    hashed = (
        _io500_hash("versionv1")
        ^ _io500_hash("ior-easy-write8.000000")
        ^ _io500_hash("mdtest-easy-write2.000000")
    )
    for key, text in (("MD", "2.000000"), ("BW", "8.000000"), ("SCORE", "4.000000")):
        hashed ^= _io500_hash(key + text)
    assert expected_hash("v1", scores, {"MD": "2.000000", "BW": "8.000000", "SCORE": "4.000000"}, f"{hashed:08X}",
                         invalid=False) == f"{hashed:08X}"  # fmt: skip
    return RESULT.format(hash=f"{hashed:08X}", easy=easy, version=version)


EXTENDED = (
    RESULT.replace("mode            = standard", "mode            = extended")
    + """
[ior-rnd4K-write]
score           = {random}

[mdworkbench-create]
score           = 33.530394

[mdworkbench-bench]
score           = 8.000000

[SCOREX]
MD              = 4.000000
BW              = 2.000000
SCORE           = {total}
hash            = {second}
"""
)


def _extended_text(random: str = "0.500000", total: str = "2.828427") -> str:
    """As src/main.c: over the optional phases that have a group, their MD, BW and SCORE, without the version."""
    second = 0
    for text in (
        "ior-rnd4K-write0.500000", "mdworkbench-bench8.000000", "MD4.000000", "BW2.000000", "SCORE2.828427"
    ):  # fmt: skip
        second ^= _io500_hash(text)
    first = _result_text().partition("hash            = ")[2].split()[0]
    return EXTENDED.format(
        hash=first, easy="8.000000", version="v1", random=random, total=total, second=f"{second:X}"
    )


def test_a_changed_optional_phase_breaks_the_extended_hash_and_score_only() -> None:
    contradictions = read_text(_extended_text(random="1.000000")).contradictions
    assert {(c.id, c.subject) for c in contradictions} == {
        ("io500.hash", "SCOREX"), ("io500.score", "SCOREX Bandwidth"), ("io500.score", "SCOREX TOTAL"),
    }  # fmt: skip


def test_a_changed_extended_total_is_told_with_both_figures() -> None:
    contradictions = read_text(_extended_text(total="3.000000")).contradictions
    assert [
        (c.claimed, round(float(c.recomputed), 3)) for c in contradictions if c.subject == "SCOREX TOTAL"
    ] == [(3.0, 2.828)]
