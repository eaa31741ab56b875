"""An import against the facts in a sample folder's `expected.json`: what differs, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from hostdx.probes.imports.hep import hepscore
from hostdx.probes.imports.model import ImportResult
from hostdx.probes.imports.numbers import GIB, MIB

FOLDERS = ("io500", "fio", "hepscore", "prmon", "ior", "mdtest", "sysstat", "other", "darshan")
_RENAMED = {"run_time": "run_time_s", "aggregate_bytes_expected": "aggregate_bytes"}
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
    figures = {m.workload: m for m in result.measures}
    out = []
    for name, phase in (want["phases"] | want["other"]).items():
        measure, scale = figures.get(name), GIB if phase["unit"].startswith("G") else 1000
        claim = (phase["value"] * scale, phase["time_s"] or 0.0, phase.get("invalid", False))
        if phase["value"] and (
            measure is None
            or not alike((measure.value, measure.seconds, "[INVALID]" in measure.invalid), claim)
        ):
            out.append(f"{name}: {measure} is not {claim}")
    for name, key, scale in (("total", "total", 1), ("bandwidth", "bw", GIB), ("metadata", "md", 1000)):
        again = want["recomputed"].get(key)
        if again is not None and not alike(figures[f"io500 {name}"].value, again * scale):
            out.append(f"{name}: {figures[f'io500 {name}'].value} is not {again * scale}")
    contradicted = {
        c.subject for c in result.contradictions if c.id.startswith(("io500.score", "io500.total"))
    }
    subjects = {"bw": "Bandwidth", "md": "IOPS", "total": "TOTAL"}
    wrong = {subjects[key] for key in subjects if want["agrees_within_rounding"].get(key) is False}
    out += [] if contradicted == wrong else [f"agrees: {contradicted} is not {wrong}"]
    out += [] if [m.name for m in result.missing] == want["missing"] else [f"missing: {result.missing}"]
    is_invalid = any(t.id in ("io500.phase-invalid", "io500.run-invalid") for t in result.troubles)
    out += [] if is_invalid == want["invalid"] else [f"invalid: {is_invalid}"]
    mode = next((f.value for f in result.facts if f.name == "mode"), None)
    return out + (
        [] if (result.version or "", mode) == (want["version"] or "", want["mode"]) else [f"version: {mode}"]
    )


def _fio(result: ImportResult, want: Any) -> list[str]:
    if result.kind == "fio-terse":  # its facts claim only that it is no JSON
        return [] if result.measures else ["nothing read"]
    jobs = [j for j in want["jobs"] if j["name"] != "All clients"]
    out = (
        []
        if f"fio-{result.version}" in (want["version"], f"fio-{want['version']}")
        else [f"{result.version}"]
    )
    said = [t.said for t in result.troubles if t.id in ("fio.message", "fio.interrupted")]
    out += [] if sorted(said) == sorted(want["messages"]) else [f"messages: {said}"]
    facts = {(f.subject, f.name): f.value for f in result.facts}
    for job in jobs[:200]:
        for name in ("rw", "bs", "iodepth", "numjobs", "ioengine", "direct"):
            alone = sum(j["name"] == job["name"] for j in jobs) == 1
            if alone and job.get(name) is not None and facts.get((f"job:{job['name']}", name)) != job[name]:
                out.append(f"{job['name']} {name}: {job[name]}")
    return out + [d for key, same in _by_place(jobs).items() for d in _place(result, key, same)]


def _by_place(jobs: list[Any]) -> dict[tuple[str, str, int], list[Any]]:
    """Return the claims by workload: jobs of one name, group and direction are summed."""
    places: dict[tuple[str, str, int], list[Any]] = {}
    for job in jobs:
        for direction in ("read", "write", "trim"):
            if direction in job:
                places.setdefault((job["name"], direction, job["group"]), []).append(job[direction])
    return places


def _place(result: ImportResult, key: tuple[str, str, int], same: list[Any]) -> list[str]:
    name, direction, group = key
    titles = (f"{name} {direction}", f"{name} {direction} (group {group})")
    values = {m.metric: (m.value, *m.runs) for m in result.measures if m.workload.endswith(titles)}
    claims = {
        "IOPS": sum(rate["iops"] for rate in same),
        "bandwidth": sum(rate["bw_kib_s"] for rate in same) * 1024,
    }
    for rank, key_of in (("p50", "clat_p50_ns"), ("p99", "clat_p99_ns"), ("p99.9", "clat_p999_ns")):
        [rate, *others] = same
        if rate.get(key_of) and not others:
            claims[next((m for m in values if m.startswith(f"{rank} ")), rank)] = rate[key_of] / 1e9
    return [
        f"{titles[0]} {metric}: {claim} is not in {values.get(metric)}"
        for metric, claim in claims.items()
        if not any(alike(value, claim) for value in values.get(metric, ()))
    ]


def _hepscore(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    if isinstance(detail, hepscore.HepScore):
        return _score(detail, want)
    facts = {f.name: f.value for f in result.facts}
    if result.kind == "hep-workload":
        scores = {m.workload.removeprefix(f"{want['description']} "): m.value for m in result.measures}
        names = ("copies", "threads_per_copy", "events_per_thread")
        out = [n for n in names if want.get(n) is not None and facts.get(n.replace("_", " ")) != want[n]]
        return out if scores == want["wl_scores"] else [*out, f"scores: {scores}"]
    if result.kind == "hep-suite-text":
        scores = {m.workload: m.value for m in result.measures}
        claims = {name: profile["value"] for name, profile in want["profiles"].items()}
        model = {f.value for f in result.facts if f.name == "model"}
        is_same = (scores, result.host, model) == (claims, want["hostname"], {want["cpu_model"]})
        return [] if is_same else [f"scores: {scores}, {result.host}, {model}"]
    out = [] if result.host == want["hostname"] and result.version == want["suite_version"] else ["host"]
    for name, key in (("model", "cpu_model"), ("threads", "cpus"), ("sockets", "sockets")):
        if want[key] is not None and str(facts.get(name)) != want[key]:
            out.append(f"{key}: {facts.get(name)}")
    scores = {m.workload: m.value for m in result.measures}
    for name, claim in want["profiles"].items():
        value = claim["score"] if "score" in claim else claim["value"]
        if value is not None and value > 0 and value not in scores.values():
            out.append(f"{name}: {value}")
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
        model = next((f.value for f in result.facts if f.name == "model"), None)
        is_same = (result.version, result.seconds, model) == (want["version"], want["wall_s"], want["hw"])
        out = [] if is_same else [f"head: {result.version}, {result.seconds}, {model}"]
        out += [
            f"max {n}: {detail.max.get(n)}"
            for n, v in want["max"].items()
            if not alike(detail.max.get(n, -1.0), v)
        ]
        for name, ratio in want["avg_over_true_rate"].items():
            hundredfold = name in {c.subject for c in result.contradictions if c.id == "prmon.hundredfold"}
            out += [] if hundredfold == (99 <= ratio <= 101) else [f"average of {name}"]
        return out
    out = compare(detail, want, ("wall_s",))
    for name, column in detail.values.items():
        out += [f"{name} {d}" for d in compare(column, want.get(name, {}), want.get(name, {}), 1e-6)]
    going_back = any(t.id == "prmon.time-goes-back" for t in result.troubles)
    return out + ([] if going_back != want["nondecreasing_wtime"] else ["order"])


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
        "errors", "segments",
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
    names = ("op", "mib_s", "iops", "total_s")
    return [d for row, claim in zip(rows, want, strict=True) for d in compare(row, claim, names)]


def _mdtest(result: ImportResult, want: Any) -> list[str]:
    facts = {(f.subject, f.name): f.value for f in result.facts}
    measured = [run for run in want if run["rate"]]
    out = []
    for index, run in enumerate(measured):
        subject = f"run:{index + 1}" if len(measured) > 1 else ""
        for name, claim in (
            ("tasks", run["tasks"]),
            ("nodes", run["nodes"]),
            (run["item_kind"], run["items"]),
        ):
            out += [] if facts.get((subject, name)) == claim else [f"{subject} {name}: {claim}"]
        for phase, rate in run["rate"].items():
            values = [v for m in result.measures if m.workload.endswith(f"mdtest {phase.lower()}")
                      for v in (m.value, *m.runs)]  # fmt: skip
            out += [] if rate["max"] in values else [f"{subject} {phase}: {rate['max']} is not in {values}"]
    unfinished = sum(t.id == "mdtest.unfinished" for t in result.troubles)
    return out + ([] if unfinished == sum(not run["finished"] for run in measured) else ["finished"])


def _sysstat(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    out = compare(detail.header, want, ("host", "kernel", "cpus", "date", "arch"))
    out += compare(detail, want, ("samples",))
    if "blocks" in want and detail.samples != want["blocks"]:
        out.append(f"{detail.samples} blocks")
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
    return {"numactl": _numactl, "hwloc": _hwloc}.get(result.kind, _perf)(result, want)


def _numactl(result: ImportResult, want: Any) -> list[str]:
    facts = {(f.subject, f.name): f.value for f in result.facts}
    out = [] if facts["", "memory nodes"] == want["nodes"] else ["nodes"]
    for node, size in want["size_mb"].items():
        of_node = {name: value for (subject, name), value in facts.items() if subject == f"node:{node}"}
        claims = {
            "memory": size * MIB, "free memory": want["free_mb"][node] * MIB, "CPUs": len(want["cpus"][node]),
            "distances": want["distances"][node],
        }  # fmt: skip
        out += [] if of_node == claims else [f"node {node}: {of_node}"]
    return out


def _hwloc(result: ImportResult, want: Any) -> list[str]:
    facts = {f.name: f.value for f in result.facts}
    names = {
        "pus": "CPUs",
        "cores": "cores",
        "packages": "packages",
        "numa": "memory nodes",
        "cpu_model": "CPU model",
    }
    return [key for key, name in names.items() if facts.get(name) != want[key]]


def _perf(result: ImportResult, want: Any) -> list[str]:
    totals = want.get("totals") or want["events"]
    claims = {
        name: total * (1e-3 if name.endswith("-clock") else 1)
        for name, total in totals.items()
        if total is not None
    }
    values = {m.metric: m.value for m in result.measures if m.metric in totals}
    out = (
        [] if all(alike(values.get(name), claim) for name, claim in claims.items()) else [f"events: {values}"]
    )
    out += [] if {m.name for m in result.missing} == totals.keys() - claims.keys() else ["missing"]
    last_s = want.get("last_interval")
    return out + ([] if last_s is None or result.seconds == last_s else [f"seconds: {result.seconds}"])


def _darshan(result: ImportResult, want: Any) -> list[str]:
    detail: Any = result.detail
    names = ("exe", "command", "nprocs", "jobid", "run_time", "start", "log_version", "lib_version")
    out = compare(detail, want, names)
    for module, claim in want["io"].items():
        out += [f"{module} {d}" for d in compare(detail.io[module], claim, _read_of(claim), _DARSHAN_ADDED)]
    return out


def _read_of(claim: Mapping[str, Any]) -> list[str]:
    """Return what hostdx reads of it: how many calls were sequential or collective is not shown."""
    return [name for name in claim if not name.startswith(("sequential_", "collective_"))]


_CHECKS = {
    "io500": _io500, "fio": _fio, "hepscore": _hepscore, "prmon": _prmon, "ior": _ior, "mdtest": _mdtest,
    "sysstat": _sysstat, "other": _other, "darshan": _darshan,
}  # fmt: skip
