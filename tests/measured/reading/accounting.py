"""What the imports of the files below PATH… leave out: `python -m tests.measured.reading.accounting PATH…`.

A line a file, then a line a kind with the number of its fields by what becomes of them. Exit status 1 where a field of
any file is unknown.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path

from probes.imports import kinds
from probes.imports.accounting import UNKNOWN_REASON, load_accounts, numeric_fields
from probes.imports.model import ImportRefusedError
from probes.imports.source import ImportSource


def main(paths: list[str]) -> int:
    uses: defaultdict[str, Counter[str]] = defaultdict(Counter)
    files = sorted(
        f for p in paths for f in (Path(p).rglob("*") if Path(p).is_dir() else [Path(p)]) if f.is_file()
    )
    unknown = refused = free = 0
    for file in files:
        try:
            source = ImportSource.read(file)
            kind = kinds.recognise_kind(source)
            result = kinds.parse(source)
        except ImportRefusedError:
            refused += 1
            continue
        if kind is None or (account := load_accounts().get(kind.id)) is None:
            free += 1
            metrics = ", ".join(dict.fromkeys(m.metric for m in result.measures)) or "facts only"
            print(f"{file} ({result.kind}): recognised {metrics}")
            continue
        for field in numeric_fields(source, account, result):
            uses[kind.id][account.use_of(field)[0]] += 1
        print(
            f"{file} ({result.kind}): not imported: "
            + "; ".join(f"{one.name} ({one.fields})" for one in result.left_out)
        )
        unknown += sum(one.reason == UNKNOWN_REASON for one in result.left_out)
    for name, counts in sorted(uses.items()):
        print(f"{name}: " + ", ".join(f"{count} {use}" for use, count in sorted(counts.items())))
    print(f"{len(files)} files: {refused} are no results, {free} are free text, {unknown} unknown fields")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
