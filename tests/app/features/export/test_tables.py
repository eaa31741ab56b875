"""Tables of recordings: every row of every table, in three forms, whatever lies beside the recordings."""

import csv
import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.features.export.schema import COLUMNS
from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from tests.needs import ROOT, module, need, needs
from tests.probes.imports import originals

pytestmark = pytest.mark.usefixtures("own_state")
Rows = list[dict[str, object]]


@pytest.fixture(name="demos")
def copied_demos(tmp_path: Path) -> Path:
    folder = tmp_path / "kept"
    folder.mkdir()
    for name in ("demo:storage", "demo:box", "demo:workload"):
        path = store.resolve_recording(name)
        shutil.copy(path, folder / path.name)
    return folder


def export(*arguments: object, status: int = 0) -> None:
    assert run_command_line(["export", *map(str, arguments)]) == status


def read_ndjson(folder: Path, table: str) -> Rows:
    return [json.loads(line) for line in (folder / f"{table}.ndjson").read_text("utf-8").splitlines()]


def export_rows(folder: Path, *arguments: object, status: int = 0) -> Callable[[str], Rows]:
    export(*arguments, "--format", "ndjson", "-o", folder, status=status)
    return lambda table: read_ndjson(folder, table)


def test_each_table_holds_what_the_recordings_hold(demos: Path, tmp_path: Path) -> None:
    rows = export_rows(tmp_path / "out", demos)
    sessions: list[RunSession] = [load_recording(path) for path in sorted(demos.iterdir())]
    assert len(rows("runs")) == 3
    assert len(rows("facts")) == sum(len(s.facts) + len(s.absent) for s in sessions)
    assert len(rows("effects")) == sum(len(s.verdicts) + len(s.series) for s in sessions)
    groups = [group for s in sessions for of_load in s.groups.values() for group in of_load]
    assert len(rows("groups")) == sum(len(group.log_ratios) for group in groups) > 100
    guards = [row for row in rows("interference") if row["record"] == "guard"]
    assert len(guards) == sum(len(s.guards) for s in sessions) > 0
    disturbances = sum(len(look.told) for s in sessions for look in s.watched)
    assert 0 < len(rows("interference")) - len(guards) <= disturbances
    evidence = [max(1, len(f.evidence)) for s in sessions for f in s.findings.values()]
    assert len(rows("findings")) == sum(evidence)
    assert len(rows("latencies")) > 0 and len(rows("time_breakdown")) > 5
    runs = {row["run_id"] for row in rows("runs")}
    for table in COLUMNS:
        assert {row["run_id"] for row in rows(table)} <= runs
        assert all(list(row) == [column.name for column in COLUMNS[table]] for row in rows(table))


def test_forms_hold_the_same(demos: Path, tmp_path: Path) -> None:
    need(module("pyarrow"))
    from pyarrow import parquet

    for form in ("csv", "ndjson", "parquet"):
        export(demos, "--format", form, "-o", tmp_path / form)
    for table, columns in COLUMNS.items():
        lines = read_ndjson(tmp_path / "ndjson", table)
        with (tmp_path / "csv" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
            cells = list(csv.DictReader(file))
        arrow = parquet.read_table(tmp_path / "parquet" / f"{table}.parquet")
        assert len(lines) == len(cells) == arrow.num_rows
        for field, column in zip(arrow.schema, columns, strict=True):
            assert field.name == column.name and field.metadata[b"unit"].decode() == column.unit
            if column.type == "real":
                values = [line[column.name] for line in lines]
                assert arrow.column(column.name).to_pylist() == values
                assert [float(cell[column.name]) if cell[column.name] else None for cell in cells] == values


def test_rubbish_is_named_and_stops_nothing(
    demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (demos / "storage.jsonl").read_bytes()
    lines = text.splitlines(keepends=True)
    (demos / "cut.jsonl").write_bytes(
        b"".join(lines[:200]).replace(b'"seed":', b'"seed":1', 1) + lines[200][:20]
    )
    middle = (
        b"".join(lines[:200]).replace(b'"seed":', b'"seed":2', 1) + b"\x00rubbish\n" + b"".join(lines[200:])
    )
    (demos / "damaged.jsonl.gz").write_bytes(gzip.compress(middle))
    (demos / "rubbish.jsonl").write_bytes(os.urandom(4096))
    (demos / "empty.jsonl").touch()
    (demos / "again.jsonl").write_bytes(text)
    (demos / "link.jsonl").symlink_to(demos / "storage.jsonl")
    rows = export_rows(tmp_path / "out", demos, status=3)
    complaints = capsys.readouterr().err.splitlines()[:-1]
    for name in ("cut.jsonl", "damaged.jsonl.gz", "rubbish.jsonl", "empty.jsonl", "storage.jsonl"):
        assert sum(f"/{name}: " in line.partition("; ")[0] for line in complaints) == 1, name
    assert len(complaints) == 5
    states = {Path(str(row["file"])).name: row["status"] for row in rows("runs")}
    assert states == {
        "again.jsonl": "done", "cut.jsonl": "unfinished", "damaged.jsonl.gz": "damaged", "box.jsonl": "done",
        "workload.jsonl": "done",
    }  # fmt: skip
    ids = {Path(str(row["file"])).name: row["run_id"] for row in rows("runs")}
    facts = [row["run_id"] for row in rows("facts")]
    assert facts.count(ids["damaged.jsonl.gz"]) == facts.count(ids["cut.jsonl"]) > 50
    assert sum(row["run_id"] == ids["damaged.jsonl.gz"] for row in rows("slices")) > 0


def test_other_tools_and_triages_and_a_fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = tmp_path / "fleet"
    for node, name in (("n1", "demo:kernel-5-10"), ("n2", "demo:kernel-6-1")):
        (fleet / "nodes" / node).mkdir(parents=True)
        shutil.copy(store.resolve_recording(name), fleet / "nodes" / node / "round-0.jsonl")
    (fleet / "fleet.json").write_text("{}")
    assert run_command_line(["triage", "--json"]) == 0
    (fleet / "nodes" / "n2" / "triage.json").write_text(capsys.readouterr().out)
    result = tmp_path / "hepscore.json"
    result.write_text(originals.hepscore())
    rows = export_rows(tmp_path / "out", fleet, result)
    kinds = [(row["node"], row["kind"]) for row in rows("runs")]
    assert sorted(map(str, kinds)) == sorted(
        map(str, [("n1", "recording"), ("n2", "recording"), ("n2", "triage"), ("", "imported")])
    )
    of_kind = {row["kind"]: row["run_id"] for row in rows("runs")}
    assert sum(row["run_id"] == of_kind["triage"] for row in rows("facts")) > 20
    assert sum(row["run_id"] == of_kind["imported"] for row in rows("slices")) > 3


def test_nights_by_the_baselines_name(demos: Path, tmp_path: Path) -> None:
    assert run_command_line(["baseline", "save", "before", str(demos / "storage.jsonl")]) == 0
    rows = export_rows(tmp_path / "out", "before")
    assert [row["scenario"] for row in rows("runs")] == ["storage"]


def test_nothing_is_overwritten_and_nothing_is_left_of_a_failure(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(demos, "--format", "csv", "-o", tmp_path / "out")
    export(demos, "--format", "csv", "-o", tmp_path / "out", status=2)
    (tmp_path / "new").mkdir()
    (demos / "storage.jsonl").write_bytes(b"no")
    export(demos / "storage.jsonl", "--format", "csv", "-o", tmp_path / "new", status=3)
    assert list((tmp_path / "new").iterdir()) == []


@needs(ROOT)
def test_root_follows_no_link_of_another_user(demos: Path, tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (tmp_path / "etc").mkdir()
    (others / "way").symlink_to(tmp_path / "etc")
    os.chown(others, 65534, 65534)
    export(demos, "--format", "csv", "-o", others / "way" / "out", status=3)
    assert list((tmp_path / "etc").iterdir()) == []


def test_a_cell_is_no_formula(tmp_path: Path, demos: Path) -> None:
    data = (demos / "storage.jsonl").read_bytes()
    began = json.loads(data.splitlines()[0])
    head = json.dumps({**began, "host": "=cmd|' /C calc'!A0\x1b[2J"}).encode()
    (demos / "storage.jsonl").write_bytes(head + b"\n" + data.partition(b"\n")[2])
    export(demos / "storage.jsonl", "--format", "csv", "-o", tmp_path / "out")
    with (tmp_path / "out" / "runs.csv").open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["host"].startswith("'=") and "\x1b" not in row["host"]


def test_every_reader_gets_the_same_sums(demos: Path, tmp_path: Path) -> None:
    """Three recordings in DuckDB, pandas and polars."""
    need(module("pyarrow"), module("duckdb"), module("pandas"), module("polars"))
    import duckdb
    import pandas
    import polars

    export(demos, "--format", "parquet", "-o", tmp_path / "out")
    for table, columns in COLUMNS.items():
        file = str(tmp_path / "out" / f"{table}.parquet")
        for column in (c for c in columns if c.type in ("real", "integer")):
            query = f"select count(*), sum(\"{column.name}\") from read_parquet('{file}')"
            (count, summed) = duckdb.sql(query).fetchall()[0]
            series, lazy = pandas.read_parquet(file)[column.name], polars.read_parquet(file)[column.name]
            assert count == len(series) == len(lazy)
            assert series.sum() == pytest.approx(summed or 0, rel=1e-12)
            assert lazy.sum() == pytest.approx(summed or 0, rel=1e-12)
    rows_joined = duckdb.sql(
        f"select r.scenario, count(*) from read_parquet('{tmp_path}/out/runs.parquet') r "
        f"join read_parquet('{tmp_path}/out/groups.parquet') g using (run_id) group by 1 order by 1"
    ).fetchall()
    assert [scenario for scenario, _ in rows_joined] == ["box", "storage", "workload"]
