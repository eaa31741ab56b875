"""`compare` and `baseline` as they are typed: sides, formats, and what is refused in one line."""

import json
import os
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from tests.every_case import every_case
from tests.probes.imports import originals as texts

TABLE = str(Path(__file__).parents[2] / "data" / "io500-claix.tsv")
OLD, NEW = f"{TABLE}:claix18_centos_isc20", f"{TABLE}:claix18_rocky_isc20"

pytestmark = pytest.mark.usefixtures("own_state")


def enter(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_command_line(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("form", ["md", "json"])
def test_nothing_in_common_is_said_and_is_no_success(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = enter(capsys, "compare", "demo:storage", "demo:iosched", "--format", form)
    assert status == 3 and bool(out) is (form == "json")


@every_case(
    ("arguments", "part"),
    [
        (["compare"], "two sides are needed"),
        (["compare", OLD], "two sides are needed"),
        (["compare", OLD, NEW, OLD], "two sides are needed"),
        (["compare", "--", NEW], "two sides are needed"),
        (["compare", OLD, OLD], "stands on both sides"),
        (["compare", "demo:kernel", "--", "demo:kernel-6-1", "demo:storage"], "storage"),
        (["compare", "demo:storage", "demo:kernel", "--", "demo:kernel-6-1"], "storage"),
        (["compare", f"{TABLE}:nothing", NEW], "no column nothing"),
        (["compare", "nothing", NEW], "no such recording"),
        (["compare", OLD, NEW, "--margin", "5"], "--margin"),
        (["compare", "--against", "nothing", NEW], "no such baseline"),
        (["compare", "--against", "../x", NEW], "letters, digits"),
        (["baseline", "save", "a/b", "demo:null"], "letters, digits"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = enter(capsys, *arguments)
    assert status == 2 and out == "" and part in err and err.count("\n") == 1


def test_a_directory_of_recordings_is_a_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = enter(capsys, "compare", str(tmp_path), "--", NEW)
    assert status == 2 and "no recording" in err


def test_a_baseline_keeps_copies(capsys: pytest.CaptureFixture[str]) -> None:
    assert enter(capsys, "baseline", "list")[1].startswith("no baseline")
    assert enter(capsys, "baseline", "save", "old", "demo:null")[0] == 0
    assert enter(capsys, "baseline", "save", "old", "demo:storage")[1].startswith(
        "baseline old: 2 recordings"
    )
    document = json.loads(enter(capsys, "baseline", "list", "--json")[1])
    assert [(b["name"], len(b["recordings"])) for b in document["baselines"]] == [("old", 2)]
    status, out, _ = enter(capsys, "compare", "--against", "old", "demo:storage")
    assert status == 0 and "against" in out


def test_a_baseline_takes_files_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "endless.jsonl").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("endless.jsonl", "pipe.jsonl"):
        status, _, err = enter(capsys, "baseline", "save", "x", str(tmp_path / name))
        assert status != 0 and "not a regular file" in err
    assert "no recording by its name" in enter(capsys, "baseline", "save", "x", "/dev/zero")[2]
    assert enter(capsys, "baseline", "list")[1].startswith("no baseline")


def test_another_depth_is_not_compared_and_that_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for depth in ("16", "128"):
        (tmp_path / depth).mkdir()
        job = texts.fio_job(**{"job options": {"rw": "randread", "bs": "4k", "iodepth": depth}})
        (tmp_path / depth / "result.json").write_text(texts.fio(job))
    files = [str(tmp_path / depth / "result.json") for depth in ("16", "128")]
    status, out, err = enter(capsys, "compare", *files, "--format", "json")
    document = json.loads(out)
    assert status == 3 and "iodepth 16 / 128" in err and "--anyway" in err
    assert (document["a"]["names"], document["b"]["names"], document["effects"]) == (["16"], ["128"], [])
    assert document["unlike"][0]["differing"] == {"iodepth": [["16"], ["128"]]}
    status, out, _ = enter(capsys, "compare", *files, "--anyway", "--format", "json")
    assert status == 0 and len(json.loads(out)["effects"]) == 3


def test_the_odd_one_of_a_pile_is_named_by_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seven results of one name, a phase of one of them a third of the others'."""
    for n in range(7):
        (tmp_path / f"run{n}").mkdir()
        text = texts.IO500.replace("100.000000 kIOPS", f"{33 if n == 4 else 100 + n / 10} kIOPS")
        (tmp_path / f"run{n}/result_summary.txt").write_text(text.replace("20.000000", f"20.0{n}"))
    files = sorted(map(str, tmp_path.glob("*/result_summary.txt")))
    status, out, _ = enter(capsys, "compare", "--odd", *files, "--format", "json")
    document = json.loads(out)
    assert status == 0 and document["runs"] == [f"run{n}" for n in range(7)]
    [load] = document["found"]
    assert (load["key"]["workload"], [outlier["run"] for outlier in load["apart"]]) == ("find", ["run4"])
    status, out, _ = enter(capsys, "compare", "--odd", *files)
    assert status == 0 and "run4" in out.splitlines()[0]


def test_four_results_are_no_pile(capsys: pytest.CaptureFixture[str]) -> None:
    assert enter(capsys, "compare", "--odd", OLD, NEW)[0] == 2
    assert enter(capsys, "compare", "--odd", OLD, NEW, "--format", "csv")[0] == 2


def test_a_slower_side_is_a_status_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    slower, back = ("demo:kernel-5-10", "demo:kernel-6-1"), ("demo:kernel-6-1", "demo:kernel-6-1")
    _, out, _ = enter(capsys, "compare", *slower, "--format", "json")
    words = [effect["verdict"] for effect in json.loads(out)["effects"]]
    assert enter(capsys, "compare", *slower, "--fail-on", "slower")[0] == int("slower" in words)
    assert enter(capsys, "compare", OLD, "--", NEW, "--fail-on", "slower")[0] in (0, 1)
    assert enter(capsys, "compare", *back, "--fail-on", "slower")[0] == 2  # one recording on both sides
    assert enter(capsys, "compare", "--odd", *slower, "--fail-on", "slower")[0] == 2
