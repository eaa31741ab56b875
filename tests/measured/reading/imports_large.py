"""Files of 200 MB of the kinds that grow so long, and what else is read at once: (title, arguments of hostdx)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from scenarios.contract import events as ev

SIZE = 200_000_000  # bytes
FACTS = 600_000
CPUS = 500_000


def cases(room: Path, samples: Path) -> Iterator[tuple[str, list[str]]]:
    """One file at a time: it is deleted when the next one is asked for."""
    rng = random.Random(1)
    sample = samples / "fio/3.1-sata-ssd.json"
    parts = {
        "vmstat": vmstat(rng), "sar": sar(rng), "prmon": prmon(rng),
        "fio JSON": fio(sample, SIZE), "fio JSON, cut off": fio(sample, 0),
    }  # fmt: skip
    for name, content in parts.items():
        path = _written(room / "large.txt", content, SIZE)
        yield (
            f"{name}, {path.stat().st_size / 1e6:.0f} MB",
            ["import", "-o", str(room / f"{name}.jsonl"), str(path)],
        )
        path.unlink()
    path = _written(room / "nan.json", nan(sample), 100_000_000)
    yield (
        "fio JSON, a nan in each of its documents, 100 MB",
        ["import", "-o", str(room / "n.jsonl"), str(path)],
    )
    path.unlink()
    for name in "ab":
        _written(room / f"{name}.jsonl", facts(), SIZE)
    yield f"compare, {FACTS} facts a side", ["compare", str(room / "a.jsonl"), str(room / "b.jsonl")]
    tree = room / "tree" / "proc"
    tree.mkdir(parents=True)
    _written(tree / "cpuinfo", (f"processor\t: {n}\nmodel name\t: x\n\n" for n in range(CPUS)), SIZE)
    yield f"triage of a tree of {CPUS} CPUs", ["triage", "--root", str(room / "tree")]


def _written(path: Path, content: Iterator[str], most: int) -> Path:
    size = 0
    with path.open("w") as file:
        for text in content:
            size += file.write(text)
            if size >= most:
                break
    return path


def vmstat(rng: random.Random) -> Iterator[str]:
    head = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    )
    while True:
        yield head + "".join(
            f"{rng.randrange(9):2d}  0      0 {rng.randrange(999_999):6d} {rng.randrange(99_999):6d} 7654321    0    0 "
            f"{rng.randrange(9_999):5d} {rng.randrange(9_999):5d} {rng.randrange(9_999):4d} {rng.randrange(9_999):4d} "
            f"{rng.randrange(50):2d}  3 {rng.randrange(50):2d}  1  0\n"
            for _ in range(20)
        )


def sar(rng: random.Random) -> Iterator[str]:
    yield "Linux 5.14.0 (node1) \t11/22/2026 \t_x86_64_\t(8 CPU)\n"
    second = 0
    while True:
        lines = [
            f"\n{_clock(second)}        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
        ]
        for _ in range(60):
            second += 1
            lines += [
                f"{_clock(second)}       {cpu:>3}     {rng.random() * 50:5.2f}      0.00      2.00      0.02      0.00"
                f"     {rng.random() * 40:5.2f}\n"
                for cpu in ("all", *range(8))
            ]
        yield "".join(lines)


def _clock(second: int) -> str:
    return f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def prmon(rng: random.Random) -> Iterator[str]:
    yield "Time\twtime\tutime\tstime\tpss\trss\tswap\tvmem\trchar\twchar\tread_bytes\twrite_bytes\tnprocs\tnthreads\n"
    row = moved = 0
    while True:
        row, moved = row + 1, moved + rng.randrange(99_999)
        yield (
            f"{1_600_000_000 + row}\t{row}\t{row // 2}\t{row // 9}\t{rng.randrange(9_999_999)}\t8000000\t0\t9000000\t"
            f"{moved}\t{moved // 2}\t{moved // 3}\t{moved // 4}\t4\t9\n"
        )


def fio(sample: Path, most: int) -> Iterator[str]:
    """One document of many jobs, complete after `most` bytes; 0: it never ends."""
    document = json.loads(sample.read_text())
    one = document["jobs"][0]
    job = (
        json.dumps(one, indent=2)
        .replace(f'"{one["jobname"]}"', '"job%d"', 1)
        .replace("%", "%%")
        .replace("%%d", "%d")
    )
    document["jobs"] = []
    yield json.dumps(document)[:-1].replace('"jobs": []', '"nothing": 0') + ', "jobs": [' + job % 0
    size, number = len(job), 1
    while not most or size < most - 3_000_000:
        yield "," + job % number
        size, number = size + len(job), number + 1
    yield "]}"


def nan(sample: Path) -> Iterator[str]:
    document = json.loads(sample.read_text())
    document["jobs"][0]["read"]["iops_stddev"] = float("nan")
    text = json.dumps(document, indent=2).replace("NaN", "nan") + "\n"
    while True:
        yield text


def facts() -> Iterator[str]:
    yield json.dumps(
        {"type": "run", "t": 0, "schema": ev.SCHEMA, "version": "0", "scenario": "x", "command": [], "host": "h",
         "wall": "", "seed": 0, "pid": 1, "pid_start": 0, "boot_id": ""}
    ) + "\n"  # fmt: skip
    for number in range(FACTS):
        yield (
            json.dumps({"type": "fact", "t": 1, "name": f"fact {number}", "value": number, "source": "x"})
            + "\n"
        )
