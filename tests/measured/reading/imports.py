"""Every sample imported and compared with its facts; mutations; speed.

`python -m tests.measured.reading.imports SAMPLES`.

`--mutations N`: N byte mutations a kind (2000 take four minutes on two cores). `--speed`: 365 IO500 results, a fio
JSON of 100 MB; long tables of 200 MB, a comparison of 600,000 facts, a tree of 500,000 CPUs
(`imports_large`). Prints tables; exit status 1 where a value differs, a traceback shows or a limit is passed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from probes.imports import kinds
from probes.imports.model import ImportRefusedError
from probes.imports.source import ImportSource
from tests.measured.reading.imports_expected import differences, files
from tests.measured.reading.imports_large import cases
from tests.measured.reading.imports_mutations import mutated

LIMIT_S = {"365 IO500 results": 2.0, "fio JSON of 100 MB": 5.0}
LARGE_LIMIT_S = 10.0
LIMIT_MIB, LARGE_LIMIT_MIB = 200, 300


def table(samples: Path) -> bool:
    """One line a file: imported as what, with how many values, and what differs from the facts."""
    facts: dict[str, Any] = {}
    good = True
    counts = {"imported": 0, "refused": 0, "differs": 0}
    for path in files(samples):
        folder, name = path.relative_to(samples).parts[0], str(Path(*path.relative_to(samples).parts[1:]))
        if folder not in facts:
            expected = samples / folder / "expected.json"
            facts[folder] = json.loads(expected.read_text()) if expected.exists() else {}
        try:
            result = kinds.parse(ImportSource.read(path))
        except ImportRefusedError as why:
            counts["refused"] += 1
            print(f"refused   {folder}/{name}: {why.why}; {why.hint}")
            continue
        known = name in facts[folder]
        wrong = differences(folder, result, facts[folder][name]) if known else []
        counts["differs" if wrong else "imported"] += 1
        good = good and not wrong
        state = "DIFFERS" if wrong else "same" if known else "imported"
        contradicted = ", ".join(dict.fromkeys(c.id for c in result.contradictions))
        print(
            f"{state:<9} {folder}/{name}: {result.kind}, {len(result.measures)} values, {len(result.facts)} facts"
            f"{'; contradicts: ' + contradicted if contradicted else ''}{'; ' + '; '.join(wrong[:3]) if wrong else ''}"
        )
    print(", ".join(f"{n} {word}" for word, n in counts.items()))
    return good


def mutations(samples: Path, count: int, seed: int = 1) -> bool:
    """Never anything but a result or one line; never longer than a second for a file."""
    chosen: dict[str, list[bytes]] = {}
    for path in files(samples):
        data = path.read_bytes()
        source = ImportSource(path.name, data)
        kind = kinds.recognise_kind(source)
        if kind is not None and kind.id != "darshan" and len(data) < 300_000:
            chosen.setdefault(kind.id, []).append(data)
    draw = random.Random(seed)
    good = True
    for identifier, originals in chosen.items():
        kind = kinds.find_kind(identifier)
        began, slowest, imported, shapes = time.perf_counter(), 0.0, 0, 0
        for turn in range(count):
            data = mutated(draw.choice(originals), draw)
            one = time.process_time()
            try:
                kinds.parse(ImportSource("mutated", data), kind if turn % 2 else None)
                imported += 1
            except ImportRefusedError as why:
                shapes += why.__cause__ is not None
                good = good and "\n" not in why.why
            slowest = max(slowest, time.process_time() - one)
        seconds = time.perf_counter() - began
        print(
            f"{identifier:<15} {count} mutations, {imported} imported, the rest refused ({shapes} for an unexpected "
            f"form); {seconds:.1f} s, slowest {slowest * 1000:.0f} ms"
        )
        good = good and slowest < 2
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
    return good


def speed(samples: Path) -> bool:
    """Each in a process of its own, through the command."""
    with tempfile.TemporaryDirectory() as place:
        room = Path(place)
        summary = (samples / "io500/2025-app-4.1.0/result_summary.txt").read_text()
        results = []
        for n in range(365):
            (room / f"{n}.txt").write_text(summary.replace("128.754860", f"{128 + n / 1000:.6f}"))
            results.append(str(room / f"{n}.txt"))
        large = room / "large.json"
        _large_fio(samples / "fio/3.33-json-plus-null-engine.json", large)
        good = _timed("365 IO500 results", ["import", "-o", str(room / "a.jsonl"), *results], room)
        good = (
            _timed("fio JSON of 100 MB", ["import", "-o", str(room / "b.jsonl"), str(large)], room) and good
        )
        for name, arguments in cases(room, samples):
            good = _timed(name, arguments, room) and good
        return good


def _large_fio(sample: Path, path: Path) -> None:
    """The sample's job again and again under other names, up to 100 MB."""
    document = json.loads(sample.read_text())
    job = json.dumps(document["jobs"][0], indent=2)
    times = 100_000_000 // len(job) + 1
    document["jobs"] = []
    head = json.dumps(document)[:-3]
    with path.open("w") as file:
        file.write(head + "[")
        for n in range(times):
            file.write(("," if n else "") + job.replace('"jsonplus"', f'"job{n}"', 1))
        file.write("]}")


def _timed(name: str, arguments: list[str], room: Path) -> bool:
    code = (
        "import resource,sys,time; began=time.perf_counter(); from app.cli.entry import run_command_line; "
        "status=run_command_line(sys.argv[1:]); "
        "peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss>>10; "
        "print(status, time.perf_counter()-began, time.process_time(), peak, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False,
        env={"XDG_STATE_HOME": str(room), "XDG_RUNTIME_DIR": str(room), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    status, seconds, cpu, memory = done.stderr.strip().splitlines()[-1].split()
    most_s, most_mib = LIMIT_S.get(name, LARGE_LIMIT_S), LIMIT_MIB if name in LIMIT_S else LARGE_LIMIT_MIB
    took = f"{float(seconds):.2f} s (limit {most_s} s; CPU {float(cpu):.2f} s)"
    print(f"{name}: exit {status}, {took}, {memory} MiB (limit {most_mib})", flush=True)
    return status in ("0", "3") and float(seconds) < most_s and int(memory) < most_mib


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--mutations", type=int, default=0)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    good = table(options.samples)
    if options.mutations:
        good = mutations(options.samples, options.mutations) and good
    if options.speed:
        good = speed(options.samples) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
