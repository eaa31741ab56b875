"""A judgement as rows, one a node and measure, for a site's own Grafana or Jupyter: NDJSON, and Parquet as an extra."""

import io
from collections.abc import Iterator

import msgspec

from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.output_file import write_bytes
from hostdx.app.terminal.printable import make_json_printable
from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement
from hostdx.scenarios.analysis.peers.retest import RetestedMeasure

COLUMNS = read_shipped_toml(__file__, "columns.toml", dict[str, str])


class NodeFigure(msgspec.Struct, kw_only=True):
    node: str
    state: str = "answered"
    reason: str = ""
    group: int | None = None
    hardware: str = ""
    workload: str = ""
    metric: str = ""
    variant: str = ""
    measure: str = ""
    unit: str = ""
    better: str = ""
    value: float | None = None
    centre: float | None = None
    ratio: float | None = None
    part: str = ""
    verdict: str = ""
    retest_ratio: float | None = None
    ci95_low: float | None = None
    ci95_high: float | None = None
    rounds: int = 0


def judgement_rows(judgement: FleetJudgement) -> Iterator[NodeFigure]:
    """A node without a measure has one row."""
    judged: dict[tuple[str, int], RetestedMeasure] = {
        (standing.node, standing.column): standing
        for standing in (
            *(s for odd in judgement.odd for s in odd.standings),
            *judgement.suspects,
            *judgement.cleared,
        )
    }
    hardware = [", ".join(f"{kind} {which}" for kind, which in group.hardware) for group in judgement.groups]
    measured_nodes: set[str] = set()
    for number, measure in enumerate(judgement.measures):
        slow = frozenset(measure.parts.slow) if measure.parts is not None else frozenset()
        for name, value in measure.values.items():
            measured_nodes.add(name)
            more = measure.metric.better == "more"
            row = NodeFigure(
                node=name, group=measure.group, hardware=hardware[measure.group], workload=measure.key.workload,
                metric=measure.key.metric, variant=measure.key.variant, measure=measure.title,
                unit=measure.metric.unit, better=measure.metric.better, value=value, centre=measure.centre,
                ratio=value / measure.centre if more else measure.centre / value,
                part="" if measure.parts is None else "slow" if name in slow else "fast",
            )  # fmt: skip
            if (standing := judged.get((name, number))) is not None:
                row.verdict, row.rounds, row.retest_ratio = standing.verdict, standing.rounds, standing.ratio
                row.ci95_low, row.ci95_high = standing.ci95 or (None, None)
            yield row
    missing_nodes = {standing.node for standing in judgement.missing}
    for name in judgement.files:
        if name not in measured_nodes and name not in missing_nodes:
            yield NodeFigure(node=name)
    for missing in judgement.missing:
        yield NodeFigure(
            node=missing.node, state=missing.state, reason=missing.reason, rounds=max(0, missing.round)
        )


def rows_as_ndjson(judgement: FleetJudgement) -> str:
    lines = (make_json_printable(msgspec.json.encode(row)).decode() for row in judgement_rows(judgement))
    return "\n".join(lines) + "\n"


def write_parquet(judgement: FleetJudgement, path: str) -> None:
    """Raises Failure: without pyarrow, and where it cannot be written."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise Failure(
            "fleet: --parquet needs pyarrow: `pip install 'hostdx[parquet]'`; --format ndjson has the same rows"
        ) from None
    kinds = {"group": pyarrow.int32(), "rounds": pyarrow.int32()}
    numbers = ("value", "centre", "ratio", "retest_ratio", "ci95_low", "ci95_high")
    schema = pyarrow.schema(
        pyarrow.field(
            name,
            kinds.get(name) or (pyarrow.float64() if name in numbers else pyarrow.string()),
            metadata={"description": words},
        )
        for name, words in COLUMNS.items()
    )
    table = pyarrow.Table.from_pylist(
        [msgspec.structs.asdict(row) for row in judgement_rows(judgement)], schema
    )
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd")
    write_bytes("fleet", path, 0o644, sink.getvalue())
