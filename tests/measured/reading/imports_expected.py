"""An import against the facts in a sample folder's `expected.json`: what differs, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from hostdx.probes.imports.hep import hep_suite, hepscore
from hostdx.probes.imports.model import ImportResult

FOLDERS = ("io500", "fio", "hepscore", "prmon", "ior", "mdtest", "sysstat", "other", "darshan")
_RENAMED = {
    "run_time": "run_time_s",
    "aggregate_bytes_expected": "aggregate_bytes",
    "last_interval": "last_interval_s",
}
_DARSHAN_ADDED = 1e-5  # floats summed in another order, and of text with six decimals


def alike(value: Any, expected: Any, relative: float = 1e-9) -> bool:
    if isinstance(value, float) and isinstance(expected, int | float) and not isinstance(expected, bool):
        return abs(value - expected) <= relative * max(1.0, abs(expected))
    if isinstance(value, tuple):
        return len(value) == len(expected) and all(alike(g, w) for g, w in zip(value, expected, strict=True))
    return bool(value == expected)


def compare(record: Any, want: Mapping[str, Any], names: Iterable[str], relative: float = 1e-9) -> list[str]:
    """`names` of `want` against the attributes of `record`; what `want` does not claim (null) is not compared."""
    out = []
    for name in names:
        value = getattr(record, _RENAMED.get(name, name))
        if want.get(name) is not None and not alike(value, want[name], relative):
            out.append(f"{name}: {value!r} is not {want[name]!r}")
    return out


def find_differences(folder: str, result: ImportResult, want: Any) -> list[str]:
    return _CHECKS[folder](result, want)


def _io500(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    phases = {p.name: (p.value, p.seconds, p.invalid, p.counted) for p in detail.phases}
    claims = {
        name: (p["value"], p["time_s"], p.get("invalid", False), p["scored"])
        for name, p in (want["phases"] | want["other"]).items()
    }
    out = [
        f"{n}: {phases.get(n)} is not {claims.get(n)}"
        for n in claims | phases
        if phases.get(n) != claims.get(n)
    ]
    out += compare(detail, want, ("version", "mode", "invalid"))
    out += compare(detail.printed, want["printed"], ("bw", "md", "total"))
    out += compare(detail.recomputed, want["recomputed"], ("bw", "md", "total", "bw_phases", "md_phases"))
    if detail.agrees != want["agrees_within_rounding"]:
        out.append(f"agrees: {detail.agrees} is not {want['agrees_within_rounding']}")
    if list(detail.missing) != want["missing"]:
        out.append(f"missing: {detail.missing}")
    return out


def _fio(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    if result.kind == "fio-terse":  # its facts claim only that it is no JSON
        return [] if result.measures else ["nothing read"]
    out = compare(detail, want, ("version", "timestamp", "client_server"))
    if list(detail.messages) != want["messages"]:
        out.append(f"messages: {detail.messages}")
    jobs = [j for j in want["jobs"] if j["name"] != "All clients"]
    if len(jobs) != len(detail.jobs):
        return [*out, f"{len(detail.jobs)} jobs are not {len(jobs)}"]
    for job, claim in zip(detail.jobs, jobs, strict=True):
        names = ("name", "group", "error", "rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "hostname")
        out += compare(job, claim, names)
        if set(job.rates) != {d for d in ("read", "write", "trim") if d in claim}:
            out.append(f"{job.name}: directions {set(job.rates)}")
        for direction, rate in job.rates.items():
            out += _rate(rate, claim[direction])
    for group, directions in want["totals_by_group"].items():
        for direction, total in directions.items():
            totals = detail.totals[group][direction]
            if not alike(totals["iops"], total["iops"]) or not alike(totals["kib_s"] / 1024, total["mib_s"]):
                out.append(f"total {group} {direction}: {totals}")
    return out


def _rate(rate: Any, want: Mapping[str, Any]) -> list[str]:
    names = ("iops", "bw_kib_s", "bytes", "runtime_ms", "total_ios", "clat_mean_ns", "lat_mean_ns")
    out = compare(rate, want, names)
    for rank, key in (("50", "clat_p50_ns"), ("99", "clat_p99_ns"), ("99.9", "clat_p999_ns")):
        if rate.percentiles_ns.get(rank) != want.get(key):
            out.append(f"{key}: {rate.percentiles_ns.get(rank)} is not {want.get(key)}")
    if rate.bins != want.get("json_plus_bins", 0):
        out.append(f"bins: {rate.bins}")
    return out


def _hepscore(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    if isinstance(detail, hepscore.HepScore):
        return _score(detail, want)
    if isinstance(detail, hepscore.HepWorkload):
        out = compare(detail, want, ("copies", "threads_per_copy", "events_per_thread"))
        out += [] if detail.name == want["description"] else [f"name: {detail.name}"]
        return out if detail.chosen == want["wl_scores"] else [*out, f"scores: {detail.chosen}"]
    if result.kind == "hep-suite-text":
        scores = {m.workload: m.value for m in result.measures}
        claims = {name: profile["value"] for name, profile in want["profiles"].items()}
        model = {f.value for f in result.facts if f.name == "model"}
        is_same = (scores, result.host, model) == (claims, want["hostname"], {want["cpu_model"]})
        return [] if is_same else [f"scores: {scores}, {result.host}, {model}"]
    assert isinstance(detail, hep_suite.Suite)
    names = (
        "hostname",
        "cpu_model",
        "cpus",
        "sockets",
        "threads_per_core",
        "smt",
        "json_version",
        "suite_version",
    )
    out = compare(detail, want, (*names, "start", "end"))
    for profile in detail.profiles:
        claims = want["profiles"][profile.name]
        out += (
            _score(profile.hepscore, claims)
            if profile.hepscore
            else compare(profile, claims, ("value", "unit"))
        )
    return out


def _score(detail: Any, want: Mapping[str, Any]) -> list[str]:
    names = (
        "name",
        "score",
        "score_per_core",
        "status",
        "scaling",
        "repetitions",
        "reference",
        "environment",
    )
    out = compare(detail, want, names)
    if detail.version != str(want["version"]):
        out.append(f"version: {detail.version}")
    if not alike(detail.recomputed or 0.0, want.get("recomputed_score") or 0.0, 1e-7):
        out.append(f"recomputed: {detail.recomputed} is not {want.get('recomputed_score')}")
    for workload in detail.workloads:
        claim = want["workloads"][workload.name]
        names = (
            "version",
            "weight",
            "copies",
            "threads_per_copy",
            "events_per_thread",
            "ref",
            "chosen",
            "normalised",
        )
        out += compare(workload, claim, names)
        for run in workload.runs:
            part = claim["runs"][run.name]
            if (run.scores, run.log, run.seconds) != (part["wl_scores"], part["log"], part["duration"]):
                out.append(f"{workload.name} {run.name}")
    return out


def _prmon(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    if result.kind == "prmon-json":
        out = compare(detail, want, ("version", "wall_s", "hw"))
        for part in ("max", "avg", "avg_over_true_rate"):
            columns = getattr(detail, part)
            out += [
                f"{part} {n}: {columns.get(n)}"
                for n, v in want[part].items()
                if not alike(columns.get(n, -1.0), v)
            ]
        return out
    names = ("rows", "malformed", "wall_s", "span_s", "first_time", "nondecreasing_wtime", "cpu_cores_mean")
    out = compare(detail, want, names)
    for name, column in detail.values.items():
        out += [f"{name} {d}" for d in compare(column, want.get(name, {}), want.get(name, {}), 1e-6)]
    return out


def _ior(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    if result.kind == "ior-csv":
        return _rows(detail.runs[0].rows, want)
    claims = want["tests"] if result.kind == "ior-json" else want
    if len(claims) != len(detail.runs):
        return [f"{len(detail.runs)} runs"]
    out = []
    names = (
        "version", "began", "command", "machine", "api", "access", "tasks", "tasks_per_node", "nodes", "max",
        "transfer_bytes", "block_bytes", "aggregate_bytes_expected", "stonewall_s", "stonewall_pairs", "finished",
        "warnings", "errors", "repetitions", "segments",
    )  # fmt: skip
    for run, claim in zip(detail.runs, claims, strict=True):
        out += compare(run, claim, names) + _rows(run.rows, claim["results"])
    for part in want["summary"] if result.kind == "ior-json" else ():
        if detail.runs[0].max[part["op"]] != part["max_mib_s"]:
            out.append(f"max {part['op']}")
    return out


def _rows(rows: Any, want: Any) -> list[str]:
    if len(rows) != len(want):
        return [f"{len(rows)} rows"]
    names = ("op", "mib_s", "iops", "latency_s", "open_s", "io_s", "close_s", "total_s", "iter")
    return [d for row, claim in zip(rows, want, strict=True) for d in compare(row, claim, names)]


def _mdtest(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    if len(detail.runs) != len(want):
        return [f"{len(detail.runs)} runs"]
    out = []
    for run, claim in zip(detail.runs, want, strict=True):
        names = ("version", "tasks", "nodes", "command", "items", "item_kind", "iterations", "finished")
        out += compare(run, claim, names)
        for table in ("rate", "time"):
            statistics_of = {
                n: {k: getattr(s, k) for k in ("max", "min", "mean", "stddev")}
                for n, s in getattr(run, table).items()
            }
            out += [] if statistics_of == claim[table] else [f"{table}: {statistics_of}"]
    return out


def _sysstat(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    out = compare(detail, want, ("host", "kernel", "cpus", "date", "arch", "samples"))
    if "keys" in want and list(detail.keys) != want["keys"]:
        out.append(f"keys: {detail.keys}")
    if "columns" in want and (list(detail.columns), detail.samples) != (want["columns"], want["blocks"]):
        out.append(f"columns: {detail.columns}, {detail.samples} blocks")
    disks = want.get("last", {}) | {k: v for k, v in want.get("last_disks", {}).items() if k != "null"}
    for disk, columns in disks.items():
        columns_of = detail.tables["disk"].get(f"disk:{disk}", {})
        out += [f"{disk} {n}" for n, v in columns.items() if n not in columns_of or columns_of[n].last != v]
    if "cpu_samples" in want:
        cpu = detail.tables["CPU"]["all"]
        user = cpu.get("%user") or cpu["%usr"]
        claims = (want["cpu_samples"], want["average_user"], want["max_user"])
        out += [] if (user.count, user.average, user.most) == claims else [f"user: {user}"]
    if "rows" in want:
        table = detail.tables["vmstat"]["cpu"]
        claims = (want["rows"], want["max_blocked"], want["max_wa"])
        out += [] if (detail.samples, table["b"].most, table["wa"].most) == claims else ["vmstat"]
    return out


def _value(result: ImportResult, workload: str, metric: str) -> float | None:
    return next((m.value for m in result.measures if (m.workload, m.metric) == (workload, metric)), None)


def _stream(result: ImportResult, want: Any) -> list[str]:
    facts = {f.name: f.value for f in result.facts}
    figures = {
        "mb_s": {m.workload.removeprefix("stream "): m.value / 1e6 for m in result.measures},
        "threads": facts.get("threads"), "array_elements": facts.get("array elements"),
        "validates": "stream.not-validated" not in {t.id for t in result.troubles},
    }  # fmt: skip
    return [f"{name}: {value} is not {want[name]}" for name, value in figures.items() if value != want[name]]


def _stress_ng(result: ImportResult, want: Any) -> list[str]:
    metrics = {"bogo_ops": "bogo operations", "per_s_real": "bogo operations (real time)",
               "per_s_cpu": "bogo operations (CPU time)"}  # fmt: skip
    out = []
    for claim in want:
        workload = f"stress-ng {claim['stressor']}"
        seconds = {m.seconds for m in result.measures if m.workload == workload}
        out += [] if seconds == {claim["wall_s"]} else [f"{workload}: {seconds}"]
        out += [n for n, metric in metrics.items() if _value(result, workload, metric) != claim[n]]
    return out


def _unixbench(result: ImportResult, want: Any) -> list[str]:
    out = [] if {f.value for f in result.facts} <= {run["cpus"] for run in want} else ["cpus"]
    for run in want:
        name = f"UnixBench {run['copies']} {'copy' if run['copies'] == 1 else 'copies'}"
        out += [] if _value(result, name, "index") == run["index_score"] else [f"{name}: index"]
        for test, (value, unit) in run["tests"].items():
            metric, factor = ("bandwidth", 1024) if unit == "KBps" else (unit, 1)
            out += [] if _value(result, f"{name}: {test}", metric) == value * factor else [f"{name}: {test}"]
    return out


def _sysbench(result: ImportResult, want: Any) -> list[str]:
    metrics = {"tps": ("transactions", 1.0), "qps": ("queries", 1.0), "ops_s": ("operations", 1.0),
               "mib_s": ("bandwidth", float(1 << 20))}  # fmt: skip
    ranks = {"min": "least", "avg": "mean", "max": "greatest"}
    out = [] if result.version == want[0]["version"] else ["version"]
    for number, run in enumerate(want, 1):
        name = f"run {number}: sysbench" if len(want) > 1 else "sysbench"
        measures = [m for m in result.measures if m.workload == name and not m.runs]
        joined = [m for m in result.measures if m.runs]  # of calls alike
        if not joined:
            out += [] if {m.seconds for m in measures} == {run["total_s"]} else [f"{name}: seconds"]
            threads = {m.conditions["threads"] for m in measures}
            out += [] if threads == {str(run["threads"])} else [f"{name}: threads"]
        claims = [(metric, run[key] and run[key] * factor) for key, (metric, factor) in metrics.items()]
        claims += [(f"{ranks.get(r, r)} latency", ms and ms / 1000) for r, ms in run["lat_ms"].items()]
        for metric, claim in claims:
            values = [m.value for m in measures if m.metric == metric]
            values += [value for m in joined if m.metric == metric for value in m.runs]
            right = any(alike(value, claim) for value in values) if claim else bool(joined) or not values
            out += [] if right else [f"{name}: {metric}"]
    return out


def _iperf3(result: ImportResult, want: Any) -> list[str]:
    way = f"iperf3 {want['protocol']} send"
    facts = {f.name: f.value for f in result.facts}
    rates = [point.value * 8 for point in result.points]
    figures = {
        "version": f"iperf {result.version}", "protocol": facts["protocol"], "streams": facts["streams"],
        "duration_s": facts["duration"], "bytes": facts["bytes received"], "intervals": len(rates),
        "sent_bit_s": 8 * (_value(result, way, "bandwidth sent") or 0),
        "received_bit_s": 8 * (_value(result, way, "bandwidth received") or 0),
        "retransmits": _value(result, way, "retransmits"), "cpu_local_percent": 100 * facts["CPU used"],
        "cpu_remote_percent": 100 * facts["CPU used at the other end"],
        "min_interval_bit_s": min(rates), "max_interval_bit_s": max(rates), "error": None,
    }  # fmt: skip
    return [
        f"{name}: {value} is not {want[name]}"
        for name, value in figures.items()
        if not alike(value, want[name])
    ]


def _mlc(result: ImportResult, want: Any) -> list[str]:
    out = [] if result.version == want["version"] else ["version"]
    for metric, key, factor in (("latency", "latency_ns", 1e-9), ("bandwidth", "bandwidth_mb_s", 1e6)):
        claims = {
            f"memory node {i} to {j}": cell * factor
            for i, row in enumerate(want[key] or ())
            for j, cell in enumerate(row)
        }
        cells = {m.workload: m.value for m in result.measures if m.metric == metric}
        is_same = cells.keys() == claims.keys() and all(
            alike(cells[name], cell) for name, cell in claims.items()
        )
        out += [] if is_same else [f"{metric}: {cells}"]
    return out


_OF_LINES: dict[str, Any] = {
    "iperf3": _iperf3,
    "mlc": _mlc,
    "sysbench": _sysbench,
    "stream": _stream,
    "stress-ng": _stress_ng,
    "unixbench": _unixbench,
}


def _other(result: ImportResult, want: Any) -> list[str]:
    if result.kind in _OF_LINES:
        return _OF_LINES[result.kind](result, want)
    detail: Any = result.detail
    runs = getattr(detail, "runs", None) or getattr(detail, "stressors", None)
    if runs is not None:
        out = [] if len(runs) == len(want) else [f"{len(runs)} runs"]
        for run, claim in zip(runs, want, strict=False):
            renamed = {
                ("name" if k == "stressor" else k): v
                for k, v in claim.items()
                if k not in ("lat_ms", "tests")
            }
            out += compare(run, renamed, renamed)
            latency = {k: v for k, v in claim.get("lat_ms", {}).items() if v is not None}
            out += [f"latency {k}" for k, v in latency.items() if run.lat_ms.get(k) != v]
            tests = {name: tuple(pair) for name, pair in claim.get("tests", {}).items()}
            out += [] if not tests or run.tests == tests else ["tests"]
        return out
    skipped = {"bom", "peak", "events", "intervals", "cpus", "size_mb", "free_mb", "distances"}
    out = compare(detail, want, set(want) - skipped)
    for name in ("cpus", "size_mb", "free_mb", "distances"):
        if name in want:
            texts = {str(k): list(v) if isinstance(v, tuple) else v for k, v in getattr(detail, name).items()}
            out += [] if texts == want[name] else [name]
    if isinstance(want.get("events"), dict):
        out += [] if detail.totals == want["events"] else ["events"]
    elif "events" in want:
        out += [] if len(detail.totals) == want["events"] else ["events"]
    return out


def _darshan(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    names = ("exe", "command", "nprocs", "jobid", "run_time", "start", "end", "log_version", "lib_version")
    out = compare(detail, want, names)
    for module, claim in want["io"].items():
        out += [f"{module} {d}" for d in compare(detail.io[module], claim, claim, _DARSHAN_ADDED)]
    return out


_CHECKS = {
    "io500": _io500, "fio": _fio, "hepscore": _hepscore, "prmon": _prmon, "ior": _ior, "mdtest": _mdtest,
    "sysstat": _sysstat, "other": _other, "darshan": _darshan,
}  # fmt: skip
