"""A judgement as rows, one a node and measure, for a site's own Grafana or Jupyter: NDJSON, and Parquet as an extra."""

import io
from collections.abc import Iterator

import msgspec

from app.failure import Failure
from app.output_file import write_bytes
from app.printable import printable_json
from probes.safe_read import own_data
from scenarios.peers.judgement import FleetJudgement
from scenarios.peers.retest import RetestedSuspect

COLUMNS = own_data(__file__, "columns.toml", dict[str, str])


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


def rows(found: FleetJudgement) -> Iterator[NodeFigure]:
    """A node without a measure has one row."""
    judged: dict[tuple[str, int], RetestedSuspect] = {
        (one.node, one.column): one
        for one in (*(s for odd in found.odd for s in odd.standings), *found.suspects, *found.cleared)
    }
    hardware = [", ".join(f"{kind} {which}" for kind, which in group.hardware) for group in found.groups]
    seen: set[str] = set()
    for number, measure in enumerate(found.measures):
        slow = frozenset(measure.parts.slow) if measure.parts is not None else frozenset()
        for name, value in measure.values.items():
            seen.add(name)
            more = measure.metric.better == "more"
            row = NodeFigure(
                node=name, group=measure.group, hardware=hardware[measure.group], workload=measure.key.workload,
                metric=measure.key.metric, variant=measure.key.variant, measure=measure.title,
                unit=measure.metric.unit, better=measure.metric.better, value=value, centre=measure.centre,
                ratio=value / measure.centre if more else measure.centre / value,
                part="" if measure.parts is None else "slow" if name in slow else "fast",
            )  # fmt: skip
            if (one := judged.get((name, number))) is not None:
                row.verdict, row.rounds, row.retest_ratio = one.verdict, one.rounds, one.ratio
                row.ci95_low, row.ci95_high = one.ci95 or (None, None)
            yield row
    gone = {one.node for one in found.missing}
    for name in found.files:
        if name not in seen and name not in gone:
            yield NodeFigure(node=name)
    for missing in found.missing:
        yield NodeFigure(
            node=missing.node, state=missing.state, reason=missing.reason, rounds=max(0, missing.round)
        )


def ndjson(found: FleetJudgement) -> str:
    lines = (printable_json(msgspec.json.encode(row)).decode() for row in rows(found))
    return "\n".join(lines) + "\n"


def write_parquet(found: FleetJudgement, path: str) -> None:
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
    table = pyarrow.Table.from_pylist([msgspec.structs.asdict(row) for row in rows(found)], schema)
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd")
    write_bytes("fleet", path, 0o644, sink.getvalue())
