"""Every sample imported and compared with its facts; mutations.

`python -m tests.measured.reading.imports SAMPLES`.

`--mutations N`: N byte mutations a kind (2000 take four minutes on two cores). Prints tables; exit status 1 where a
value differs, a traceback shows or a mutation takes longer than two seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

from probes.imports import kinds
from probes.imports.model import ImportRefusedError
from probes.imports.source import ImportSource
from tests.measured.reading.imports_expected import differences, files
from tests.measured.reading.imports_mutations import mutated


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--mutations", type=int, default=0)
    options = parser.parse_args()
    good = table(options.samples)
    if options.mutations:
        good = mutations(options.samples, options.mutations) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
